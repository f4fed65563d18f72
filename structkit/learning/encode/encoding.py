"""Records to embeddings: their texts, one after the other, in windows, whole or in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy
import torch
from numpy import float32
from numpy.typing import NDArray

from structkit.errors import UserError, unknown
from structkit.learning.encode.batches import Embedder, check_finite
from structkit.learning.encode.parts import (
    FIELDS,
    Elements,
    check_readable,
    chosen_part,
    lines_of,
    part_row,
)
from structkit.learning.encoders.model_folder import content_hash, open_model
from structkit.learning.strae.nodes import nodes_of
from structkit.learning.strae.settings import text_or_tree
from structkit.learning.training.devices import chosen_device
from structkit.learning.training.precision import fastest_matmul, has_bf16
from structkit.learning.training.spool import MAKERS
from structkit.progress import say
from structkit.records.jsonl import Record, Records, text_field
from structkit.records.texts import HTML, text_name

WINDOW = 2048  # records, or elements, held at a time …
TREES = 256  # … or trees: each has many nodes …
CHARACTERS = 1 << 24  # … or fewer, where they are long
SIDES = ("query", "document")
DTYPES = ("fp32", "bf16", "auto")
# padded tokens in a batch: what stays in a processor's cache, what keeps a GPU busy
BATCH_TOKENS = {"cpu": 1024}
GPU_BATCH_TOKENS = 32768

Rows = tuple[list[Record], NDArray[float32]]


class Encoding:
    """`encode` with its model loaded: `embeddings(texts(records))`.

    `side` chooses the length, the prompt and the default field; `field` is the text's field, or
    several; `keep` names fields that go along. `chunk` makes an embedding of each so many tokens,
    `elements` of each element of HTML, `nodes` of a tree's words, phrases or all its nodes.
    `batch_tokens` and `precision` are chosen for the device where they are None. Errors: an unknown
    side or a damaged model is a `UserError`, and so is a record without its field.
    """

    def __init__(
        self,
        model: str,
        side: str,
        *,
        field: str | Sequence[str] | None = None,
        keep: Sequence[str] = (),
        batch_tokens: int | None = None,
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
        offline: bool = False,
    ) -> None:
        if side not in SIDES:
            raise UserError(f"--as {side} is not query or document", "name one of them", status=2)
        if dtype not in DTYPES:
            raise unknown("precision of --dtype", dtype, DTYPES)
        for flag, number in (("batch-tokens", batch_tokens), ("chunk", chunk)):
            if number is not None and number < 1:
                raise UserError(f"--{flag} must be at least 1", "name another number", status=2)
        self.fields = [field] if isinstance(field, str) else list(field or ())
        self.parts = {"chunk": chunk, "elements": elements, "nodes": nodes and str(nodes)}
        self.part = chosen_part(self.parts, self.fields, keep)
        if downward and self.part != "nodes":
            raise UserError("--downward goes with --nodes", "add it", status=2)
        self.nodes, self.downward = str(nodes), downward
        side = str(side)  # of a flag it is more than a string
        self.model, self.side, self.keep, self.chunk = model, side, tuple(keep), chunk
        changes = {"pooling": pooling, "mcls_every": mcls_every, "normalize": normalize}
        encoder, self.facts = open_model(model, offline=offline, **changes)
        if chunk and not hasattr(encoder, "chunks"):
            raise UserError("--chunk is for models that read tokens", "leave it out", status=2)
        if nodes and not hasattr(encoder, "both_ways"):
            remedy = "train strae, self-strae, iornn or tree-lstm"
            raise UserError("--nodes needs a model with trees", remedy, status=2)
        # what a model was trained on is what it reads of an element
        known = self.facts[f"{side}_fields"][0]
        self.elements = Elements(tagged=known == "tagged") if elements else None
        self.encoder = encoder.to(chosen_device(device))
        bf16 = dtype == "bf16" or dtype == "auto" and has_bf16(encoder.device)
        self.dtype, self.dimensions = "bf16" if bf16 else "fp32", dimensions
        self.batch_tokens = batch_tokens or BATCH_TOKENS.get(encoder.device.type, GPU_BATCH_TOKENS)
        self.precision: str | None = None
        self.embedder = Embedder(
            encoder,
            side,
            self.batch_tokens,
            bf16=bf16,
            dimensions=dimensions,
            normalize=bool(normalize or dimensions and self.facts["normalize"]),
        )
        self.truncation = encoder.truncation
        self._read_field(self.fields[0] if self.fields and not elements else known)

    def texts(self, records: Iterable[Record]) -> Iterator[Record]:
        """`{id, texts, kept}` of every record: the part that may fail, and be skipped.

        With `elements` the texts are those of elements, and `places` says where they are.
        """
        for record in records:
            for name in self.keep:
                if name not in record:
                    others = f"the record has: {', '.join(record)}"
                    raise UserError(f'field "{name}" of --keep is missing', others)
            kept = {name: record[name] for name in self.keep}
            found = {"id": record["id"], "texts": self.texts_of(record), "kept": kept}
            found["here"] = records.here if isinstance(records, Records) else ("", 0)
            check_readable(self.encoder, found["texts"], self.fields)
            if self.elements:
                found["texts"], found["places"] = self.elements.of(found["texts"][0])
            yield found

    def texts_of(self, record: Record) -> list[str]:
        """The record's texts: of the fields asked for, or of the first one the model knows."""
        hint = "name the text's field with --field"
        names = HTML if self.elements else self.facts[f"{self.side}_fields"]
        read = text_or_tree if "text" in names else text_field
        if len(names) == 1 and names[0] in MAKERS:
            missing = f"{MAKERS[names[0]]}; or {hint}"
        else:
            missing = hint
        fields = self.fields or [text_name(record, names, missing)]
        return [read(record, name, hint) for name in fields]

    def _read_field(self, name: str) -> None:
        """Say whether the texts of a field may have tags."""
        if tokenizing := getattr(self.encoder, "tokenizing", None):
            tokenizing.read_field(name)

    def embeddings(self, texts: Iterable[Record]) -> Iterator[Record]:
        """`{id, embedding, …kept}` for every record of `texts`, in the same order.

        A part has `doc_id` and its place; of several fields `FIELD_embedding` is each one's.
        """
        if len(self.fields) > 1:
            yield from self._of_several_fields(texts)
            return
        for rows, embeddings in self.windows(texts):
            for row, embedding in zip(rows, embeddings.tolist(), strict=True):
                fields = row.pop("fields")
                yield {**row, "embedding": embedding, **fields}

    def _of_several_fields(self, texts: Iterable[Record]) -> Iterator[Record]:
        names = [f"{name}_embedding" for name in self.fields]
        for window in windows(texts):
            inputs: dict[str, Any] = {}  # a text that several fields have is encoded once
            for place, field in enumerate(self.fields):
                different = list(dict.fromkeys(record["texts"][place] for record in window))
                self.truncation.field = field  # … and counted in each
                self._read_field(field)
                inputs.update(
                    zip(different, self.encoder.inputs(different, self.side), strict=True)
                )
            rows = {text: row for row, text in enumerate(inputs)}
            found = self.computed(partial(self.embedder.embed_inputs, list(inputs.values())))
            for record in window:
                embeddings = found[[rows[text] for text in record["texts"]]]
                check_finite([record], [record] * len(names), embeddings)
                named = dict(zip(names, embeddings.tolist(), strict=True))
                yield {"id": record["id"], **named, **record["kept"]}

    def windows(self, texts: Iterable[Record]) -> Iterator[Rows]:
        """The rows `{id, fields}` of a window of `texts`, and their embeddings (rows, dim)."""
        for window in windows(texts, TREES if self.part == "nodes" else WINDOW):
            rows, embeddings = self.rows(window)
            check_finite(window, rows, embeddings)
            if rows:  # a tree of one word has no phrases
                yield rows, embeddings

    def rows(self, window: Sequence[Record]) -> Rows:
        """The rows of some records: one each, or one a part, then also with `doc_id`."""
        if self.part == "chunk":
            return self._chunks(window)
        if self.part == "nodes":
            return self._nodes(window)
        texts = [text for record in window for text in record["texts"]]
        if self.part == "elements":
            places = [(record, *each) for record in window for each in enumerate(record["places"])]
            return [part_row(*each) for each in places], self.embed(texts)
        found = [{"id": record["id"], "fields": record["kept"]} for record in window]
        return found, self.embed(texts)

    def _chunks(self, window: Sequence[Record]) -> Rows:
        inputs: list[Any] = []
        places: list[Record] = []
        pieces: dict[str, range] = {}  # an equal text is encoded once
        for text in dict.fromkeys(record["texts"][0] for record in window):
            chunks, lines = self.encoder.chunks(text, self.side, self.chunk), lines_of(text)
            pieces[text] = range(len(inputs), len(inputs) + len(chunks))
            inputs += chunks
            for chunk in chunks:
                span = chunk.start, chunk.end
                places.append(dict(zip(FIELDS["chunk"], (*span, lines(*span)), strict=True)))
        found = [(each, *pair) for each in window for pair in enumerate(pieces[each["texts"][0]])]
        rows = [part_row(record, number, places[place]) for record, number, place in found]
        numbers = [place for _, _, place in found]
        return rows, self.computed(lambda: self.embedder.embed_inputs(inputs))[numbers]

    def _nodes(self, window: Sequence[Record]) -> Rows:
        rows, vectors = [], []
        texts = [record["texts"][0] for record in window]
        options: Any = {"downward": self.downward, "finish": self.embedder.finished}
        found = nodes_of(self.encoder, texts, self.nodes, self.batch_tokens, **options)
        for record, nodes in zip(window, found, strict=True):
            for node in nodes:
                vectors.append(node.pop("embedding"))
                if self.downward:
                    node["downward"] = node["downward"].tolist()
                rows.append(part_row(record, node["node"], node))
        if self.downward:
            check_finite(window, rows, numpy.array([row["fields"]["downward"] for row in rows]))
        return rows, numpy.array(vectors, float32)

    def embed(self, texts: Sequence[str]) -> NDArray[float32]:
        """The embeddings of texts, (texts, dim)."""
        return self.computed(partial(self.embedder.embed, texts))

    def computed(self, compute: Any) -> NDArray[float32]:
        """What `compute()` gives at the precision that is fastest here, measured once."""
        if self.precision is None:
            on_cpu = self.encoder.device.type == "cpu"
            self.precision = fastest_matmul() if on_cpu else "highest"
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(self.precision)
        try:
            found: NDArray[float32] = compute()
        finally:
            torch.set_float32_matmul_precision(before)
        return found

    def report(self) -> None:
        """Say how many texts were cut."""
        for message in self.truncation.messages():
            say(message)

    def meta(self) -> Record:
        """What stands in NAME.meta.json beside the vectors."""
        folder = self.facts["folder"]
        return {
            "model": self.model,
            "model_sha256": content_hash(folder),
            "method": self.facts["method"],
            "side": self.side,
            "pooling": self.facts["pooling"],
            "normalize": self.facts["normalize"],
            **({"dimensions": self.dimensions} if self.dimensions else {}),
            **({self.part: self.parts[self.part]} if self.part else {}),
        }

    def run(self) -> Record:
        """What decides about each byte of the vectors: an unfinished run goes on with the same."""
        return {
            **self.meta(),
            "fields": self.fields,
            "keep": list(self.keep),
            "dtype": self.dtype,
            "batch_tokens": self.batch_tokens,
            "mcls_every": self.facts.get("mcls_every"),
        }


def windows(texts: Iterable[Record], most: int | None = None) -> Iterator[list[Record]]:
    """Records of `Encoding.texts`, as many at a time as are held in memory."""
    most = most or WINDOW
    window, rows, characters = list[Record](), 0, 0
    for record in texts:
        window.append(record)
        rows += len(record.get("places", "1"))
        characters += sum(map(len, record["texts"]))
        if rows >= most or characters >= CHARACTERS:
            yield window
            window, rows, characters = [], 0, 0
    if window:
        yield window
