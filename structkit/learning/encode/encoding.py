"""Records to embeddings: their texts, one after the other, in windows, whole or in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.npy import HASHES_FORMAT
from structkit.embeddings.rows import EmbeddingRow
from structkit.learning.encode.batches import Embedder, check_finite
from structkit.learning.encode.engines import Wanted
from structkit.learning.encode.flags import (
    check_able,
    check_flags,
    check_length,
    check_together,
    chosen_paths,
)
from structkit.learning.encode.parts import FIELDS, Elements, chosen_part, lines_of
from structkit.learning.encode.reading import ReadRecord, TextReader
from structkit.learning.encode.reuse import Earlier, Embedded
from structkit.learning.encode.windows import TREES, Spread, Window, windows
from structkit.learning.folders.facts import content_hash
from structkit.progress import say
from structkit.records.jsonl import Record, Records


class Encoding:
    """`encode` with its model loaded: `embeddings(texts(records))`.

    `side` chooses the length, the prompt and the default field; `field` is the text's field, or
    several; `paths` is that of `texts.placed`; `keep` names fields that go along. `length` is the
    most tokens of a text, the model's own where it is None. `chunk` makes an
    embedding of each so many tokens, `elements` of each element of HTML, `nodes` of a tree's words,
    phrases or all its nodes.
    `batch_tokens` and `precision` are chosen for the device where they are None. `reuse` is a .npy
    file whose rows are copied where text, model and settings are unchanged. `quantize` is how they
    are stored in .npy files: `int8`, `binary`, or None for floats. Errors: an unknown
    side or a damaged model is a `UserError`, and so is a record without its field.
    """

    spread: Spread  # how windows are embedded: here, or by other processes

    def __init__(
        self,
        model: str,
        side: str = "document",
        *,
        field: str | Sequence[str] | None = None,
        paths: bool | None = None,
        keep: Sequence[str] = (),
        batch_tokens: int | None = None,
        length: int | None = None,
        chunk: int | None = None,
        elements: bool = False,
        nodes: str | None = None,
        downward: bool = False,
        pooling: str | None = None,
        mcls_every: int | None = None,
        normalize: bool | None = None,
        dimensions: int | None = None,
        dtype: str = "fp32",
        device: str | None = None,
        engine: str = "auto",
        offline: bool = False,
        reuse: str | None = None,
        quantize: str | None = None,
    ) -> None:
        self.options = {name: value for name, value in locals().items() if name != "self"}
        check_flags(side, dtype, batch_tokens, chunk, quantize)
        check_length(length, chunk)
        self.fields = [field] if isinstance(field, str) else list(field or ())
        self.parts = {"chunk": chunk, "elements": elements, "nodes": nodes and str(nodes)}
        self.part = chosen_part(self.parts, self.fields, keep)
        check_together(self.part, downward, len(self.fields), reuse)
        self.nodes, self.downward, self.length, self.chunk = str(nodes), downward, length, chunk
        side = str(side)  # a flag's is an enum
        self.model, self.side, self.keep = model, side, tuple(keep)
        self.quantize = str(quantize) if quantize else None
        changes = {"pooling": pooling, "mcls_every": mcls_every, "normalize": normalize}
        wanted = Wanted(model, str(engine), device, str(dtype), offline, changes)
        self.engine, self.facts = wanted.load()
        self.encoder = encoder = self.engine.model
        self.folder: Path = self.facts["folder"]
        check_able(encoder, self.part, length)
        if length:
            encoder.read_at_most(side, length)
        known = self.facts[f"{side}_fields"]
        self.reader = self._reader(known, paths)
        self.dtype, self.dimensions = self.engine.dtype, dimensions
        self.batch_tokens = batch_tokens or self.engine.batch_tokens
        self.embedder = Embedder(
            self.engine,
            side,
            self.batch_tokens,
            dimensions=dimensions,
            normalize=bool(normalize or dimensions and self.facts["normalize"]),
        )
        self.truncation, self.spread = self.engine.truncation, self.here
        encoder.read_field(self.fields[0] if self.fields and not elements else known[0])
        self.earlier = Earlier(reuse, self.run(), self.part) if reuse else None
        if self.earlier:
            self.precision = self.earlier.precision or self.precision

    def _reader(self, known: Sequence[str], paths: bool | None) -> TextReader:
        # of an element, the model reads what it was trained on
        elements = Elements(tagged=known[0] == "tagged") if self.part == "elements" else None
        chosen = chosen_paths(paths, self.side, self.part, self.encoder)
        return TextReader(self.encoder, self.fields, known, self.keep, elements, chosen)

    @property
    def precision(self) -> str | None:
        """The precision of matrix products: the fastest one that is exact enough, once measured."""
        return self.engine.precision

    @precision.setter
    def precision(self, value: str | None) -> None:
        self.engine.precision = value

    def texts(self, records: Iterable[Record]) -> Iterator[ReadRecord]:
        """What is read of every record: the step that may fail, and skip the record."""
        return self.reader.read(records)

    def embeddings(self, texts: Iterable[ReadRecord]) -> Iterator[Record]:
        """`{id, embedding, …kept}` for every record of `texts`, in the same order.

        Embeddings are arrays, (dim,), which are written shorter than lists of Python's floats. A
        part has `doc_id` and its place; with several fields, each has its `FIELD_embedding`.
        """
        if len(self.fields) > 1:
            yield from self._of_several_fields(texts)
            return
        for rows, embeddings in self.windows(texts):
            for row, embedding in zip(rows, embeddings, strict=True):
                of_part = {} if row.doc_id is None else {"doc_id": row.doc_id}
                yield {"id": row.id, **of_part, "embedding": embedding, **row.fields}

    def _of_several_fields(self, texts: Iterable[ReadRecord]) -> Iterator[Record]:
        names = [f"{name}_embedding" for name in self.fields]
        for window in windows(texts):
            inputs: dict[str, Any] = {}  # a text in several fields is encoded once
            for place, field in enumerate(self.fields):
                different = list(dict.fromkeys(record.texts[place] for record in window))
                self.truncation.field = field  # … and counted in each
                self.encoder.read_field(field)
                inputs.update(
                    zip(different, self.encoder.inputs(different, self.side), strict=True)
                )
            numbers = {text: number for number, text in enumerate(inputs)}
            of_texts = self.embedder.embed_inputs(list(inputs.values()))
            for record in window:
                embeddings = of_texts[[numbers[text] for text in record.texts]]
                check_finite([record], [record.id] * len(names), embeddings, self.folder)
                named = dict(zip(names, embeddings, strict=True))
                yield {"id": record.id, **named, **record.kept}

    def embedded(
        self, records: Iterable[Record], source: Records | None = None
    ) -> Iterator[Embedded]:
        """The embeddings of records, some at a time; `source` knows their lines."""
        return self.windows(self.reader.read(records, source))

    def windows(
        self, texts: Iterable[ReadRecord], taken: Callable[[Window], None] | None = None
    ) -> Iterator[Embedded]:
        """The rows of a window of `texts`, and their embeddings (rows, dim).

        Before them, `taken` gets the window itself.
        """
        several = windows(texts, TREES if self.part == "nodes" else None)
        for window, (rows, embeddings) in self.spread(several):
            if taken:
                taken(window)
            check_finite(window, [row.document for row in rows], embeddings, self.folder)
            if rows:  # a tree of one word has no phrases
                yield rows, embeddings

    def here(self, several: Iterator[Window]) -> Iterator[tuple[Window, Embedded]]:
        """Windows, each with what it becomes."""
        return ((window, self.window(window)) for window in several)

    def window(self, window: Window) -> Embedded:
        """The rows of some records, and their embeddings (rows, dim)."""
        embed = {
            "": self._whole,
            "chunk": self._chunks,
            "elements": self._elements,
            "nodes": self._nodes,
        }[self.part]
        return self.earlier.completed(window, embed) if self.earlier else embed(window)

    def _whole(self, window: Sequence[ReadRecord]) -> Embedded:
        rows = [record.row() for record in window]
        return rows, self.embed([record.texts[0] for record in window])

    def _elements(self, window: Sequence[ReadRecord]) -> Embedded:
        rows = [
            record.part(number, place)
            for record in window
            for number, place in enumerate(record.places)
        ]
        return rows, self.embed([text for record in window for text in record.texts])

    def _chunks(self, window: Sequence[ReadRecord]) -> Embedded:
        inputs: list[Any] = []
        places: list[Record] = []  # of each input
        chunks_of: dict[str, range] = {}  # the inputs of a text: an equal one is encoded once
        for text in dict.fromkeys(record.texts[0] for record in window):
            size = self.chunk or 0
            chunks, lines = self.encoder.chunks(text, self.side, size), lines_of(text)
            if self.length:
                chunks = chunks[: self.length // size]
            chunks_of[text] = range(len(inputs), len(inputs) + len(chunks))
            inputs += chunks
            for chunk in chunks:
                span = chunk.start, chunk.end
                places.append(dict(zip(FIELDS["chunk"], (*span, lines(*span)), strict=True)))
        rows: list[EmbeddingRow] = []
        chosen: list[int] = []  # the input of each row
        for record in window:
            for number, place in enumerate(chunks_of[record.texts[0]]):
                rows.append(record.part(number, places[place]))
                chosen.append(place)
        return rows, self.embedder.embed_inputs(inputs)[chosen]

    def _nodes(self, window: Sequence[ReadRecord]) -> Embedded:
        nodes_of_records = self.encoder.nodes(
            [record.prepared[0] for record in window],
            self.nodes,
            self.batch_tokens,
            downward=self.downward,
            finish=self.embedder.finished,
        )
        rows, vectors, downward = [], [], []
        for record, nodes in zip(window, nodes_of_records, strict=True):
            for node in nodes:
                vectors.append(node.pop("embedding"))
                if self.downward:
                    downward.append(node["downward"])
                rows.append(record.part(node["node"], node))
        if downward:
            check_finite(window, [row.document for row in rows], np.array(downward), self.folder)
        return rows, np.array(vectors, np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The embeddings of texts, (texts, dim)."""
        return self.embedder.embed(texts)

    def report(self) -> None:
        """Say how many texts were truncated, and how many were not encoded again."""
        if self.earlier:
            self.earlier.report()
        self.truncation.flag = "--length"
        for message in self.truncation.messages():
            say(message)

    @cached_property
    def model_sha256(self) -> str:
        """The hash of the model's weights and facts."""
        return content_hash(self.folder)

    def meta(self) -> Record:
        """What NAME.meta.json beside the vectors says."""
        return {
            "model": self.model,
            "model_sha256": self.model_sha256,
            "method": self.facts["method"],
            "engine": self.engine.name,
            "side": self.side,
            "pooling": self.facts["pooling"],
            "normalize": self.facts["normalize"],
            **({"length": self.length} if self.length else {}),
            **({"dimensions": self.dimensions} if self.dimensions else {}),
            **({self.part: self.parts[self.part]} if self.part else {}),
            **({"quantize": self.quantize} if self.quantize else {}),
        }

    def run(self) -> Record:
        """What determines the vectors: an unfinished run continues only with the same."""
        return {
            **self.meta(),
            "fields": self.fields,
            "keep": list(self.keep),
            "dtype": self.dtype,
            "batch_tokens": self.batch_tokens,
            "mcls_every": self.facts.get("mcls_every"),
            "hashes": HASHES_FORMAT,
        }
