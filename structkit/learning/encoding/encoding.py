"""Records to embeddings: their texts, one after the other, in windows, whole or in parts.

Tests: tests/commands/test_encode.py.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from structkit.embeddings.reading import differing_settings, read_hashes, read_matrix
from structkit.embeddings.vectors import EmbeddingRow, Vectors
from structkit.errors import UserError, flag, missing, program, wrong_usage
from structkit.learning.encoding.engines import open_engine
from structkit.learning.encoding.settings import (
    NODE_ROWS,
    OPENING_SETTINGS,
    PART_FIELDS,
    EncodingSettings,
    Opened,
)
from structkit.learning.folders import (
    content_hash,
    folder_signature,
    model_folder,
    not_finite_error,
)
from structkit.learning.metadata import has_metadata, is_multi_vector, plain_metadata, read_metadata
from structkit.learning.model import Engine, Model, UnreadableText
from structkit.learning.static import StaticEncoder, normalized
from structkit.learning.tokens import batches_of
from structkit.processes import group_by_size
from structkit.progress import say
from structkit.records.fields import (
    COMMAND_THAT_ADDS,
    HTML_FIELDS,
    add_place,
    is_tree,
    remedy_for,
    text_name,
)
from structkit.records.jsonl import Record, text_field
from structkit.structure import lines_of
from structkit.structure.bags import Bags
from structkit.structure.trees.brackets import unlabeled

# what is held in memory at a time: fewer records where these characters are reached
WINDOW_RECORDS = 2048  # or elements
WINDOW_TREES = 256  # or texts of tokens: each has many rows
WINDOW_CHARACTERS = 1 << 24
EXCERPT_CHARACTERS = 200  # maximum, for people


@dataclass(frozen=True)
class ReadRecord:
    """The texts of a record, one per field or per element, and its kept fields."""

    id: str
    texts: list[str]
    kept: Record
    places: list[Record] = field(default_factory=list)  # the place of each element
    prepared: list[Record] = field(default_factory=list)  # for models of words or trees: each text

    @cached_property
    def hash(self) -> str:
        """The hash of its texts, the first half of a sha256."""
        content = "".join(f"{len(text)} {text}" for text in self.texts)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def row(self) -> EmbeddingRow:
        """Return its row, with its kept fields."""
        return EmbeddingRow(self.id, fields=self.kept, hash=self.hash)

    def part(self, number: int | str, place: Mapping[str, Any]) -> EmbeddingRow:
        """Return the row of a part, with its place."""
        fields = {**self.kept, **place}
        return EmbeddingRow(f"{self.id}#{number}", self.id, fields, self.hash)

    def __len__(self) -> int:
        """Return its number of elements, or one: its share of a window."""
        return len(self.places) or 1


def elements_of(html: str, *, tagged: bool) -> tuple[list[str], list[Record]]:
    """Return each element's text, and its `xpath`, `start`, `end`, and short `text`.

    `tagged` keeps the tags inside. Errors: a document without text.
    """
    from structkit.structure.html.markup import XML_START  # lxml, which other rows do not need
    from structkit.structure.html.page_text import PageText
    from structkit.structure.html.reader import Reader
    from structkit.structure.html.xpaths import walk

    texts, places, reader = [], [], Reader()
    xml = "<?xml ?>" if XML_START.match(html) else ""  # without it a part of XHTML is read as HTML
    for element in walk(PageText(html)).parts:
        document = reader.read(xml + html[element.start : element.end])
        if document.text:
            texts.append(document.tagged if tagged else document.text)
            places.append(element._asdict() | {"text": excerpt(document.text)})
    if not texts:
        raise UserError("the document holds no text", "leave the record out")
    return texts, places


def excerpt(text: str) -> str:
    """Return the beginning of a text, for people.

    >>> excerpt("a b"), excerpt("word " * 100)[-10:], len(excerpt("word " * 100))
    ('a b', 'ord word …', 196)
    """
    if len(text) <= EXCERPT_CHARACTERS:
        return text
    start = text[: EXCERPT_CHARACTERS - 2]
    words = start.rpartition(" ")[0]
    return f"{words or start} …"


@dataclass(frozen=True)
class TextReader:
    """Reader of records; an unusable one raises while its place is known.

    `asked` are the fields that the user names, `known` the model's, of which the first counts.
    With `elements`, HTML is read as the texts of its elements, tagged if the model's first field
    is. `paths` is as in `add_place`.
    """

    model: Model
    asked: Sequence[str]
    known: Sequence[str]
    keep: Sequence[str] = ()
    elements: bool = False
    paths: bool | None = False

    def read(self, record: Record) -> ReadRecord:
        """Read a record; with elements, their texts."""
        for name in self.keep:
            if name not in record:
                raise missing(name, record, what=f" of {flag('keep')}")
        kept = {name: record[name] for name in self.keep}
        texts = self.texts(record)
        prepared = self._prepared(texts)
        places: list[Record] = []
        if self.elements:
            texts, places = elements_of(texts[0], tagged=self.known[0] == "tagged")
        return ReadRecord(record["id"], texts, kept, places, prepared)

    def texts(self, record: Record) -> list[str]:
        """Return a record's texts: of the named fields, or of the model's first."""
        hint = f"name the text's field with {flag('field')}"
        if self.elements:
            hint = f"{flag('rows', 'elements')} takes HTML: name its field with {flag('field')}"
        known = HTML_FIELDS if self.elements else self.known
        names = self.asked
        if not names:
            remedy = hint
            if len(known) == 1 and known[0] in COMMAND_THAT_ADDS:
                remedy = f"{remedy_for(known[0])}; or {hint}"
            names = (text_name(record, known, remedy),)
        texts = []
        for name in names:
            text = text_field(record, name, hint)
            if is_tree(name) and "text" in known:
                text = unlabeled(text)
            texts.append(add_place(text, record, name, self.paths))
        return texts

    def _prepared(self, texts: Sequence[str]) -> list[Record]:
        prepared = []
        for name, text in zip(self.asked or ("",), texts, strict=True):
            try:
                prepared.append(self.model.prepared(text))
            except UserError as error:
                field_name = f'field "{name}": ' if name else ""
                raise UserError(
                    field_name + error.problem, error.remedy, status=error.status
                ) from None
        return prepared


Window = list[ReadRecord]
EmbeddedRows = tuple[list[EmbeddingRow], Vectors]  # (rows, dimensions)


def windows(texts: Iterable[ReadRecord], maximum: int) -> Iterator[Window]:
    """Return records that an encoding has read, in windows that are held in memory."""
    return group_by_size(
        texts, (len, maximum), (lambda record: sum(map(len, record.texts)), WINDOW_CHARACTERS)
    )


class Encoding:
    """`encode` with its model loaded: `embeddings(map(read, records))`.

    A model that is `opened` already reads texts from now on as these settings say. Errors: a
    damaged model is a `UserError`, and so is a setting that is not for such a model, and a record
    without its field.
    """

    window_records: int

    def __init__(
        self,
        settings: EncodingSettings,
        *,
        device: str | None = None,
        opened: tuple[Engine, Record] | None = None,
    ) -> None:
        self.settings = settings
        self.engine, self.metadata = (
            opened or _already_open(settings) or open_engine(settings, device)
        )
        self.part = settings.part or self.metadata.get("part", "")
        self.encoder = encoder = self.engine.model
        self.folder: Path = self.metadata["folder"]
        self.dimensions = settings.dimensions
        has_many_rows = self.part in ("tokens", *NODE_ROWS)
        self.window_records = WINDOW_TREES if has_many_rows else WINDOW_RECORDS
        _check_parts(encoder, settings)
        if settings.pool_factor and self.part != "tokens":
            raise wrong_usage(
                f"{flag('pool_factor')} is for rows of tokens", f"use {flag('rows', 'tokens')}"
            )
        # queries keep all their rows
        self.pool_factor = settings.pool_factor if settings.as_ == "document" else None
        encoder.read_at_most(settings.as_, settings.length)
        known: Sequence[str] = self.metadata[f"{settings.as_}_fields"]
        # a tree's words, and the characters of a part, belong to the text alone
        reads_paths = settings.as_ == "document" and not self.part and "chunk" in encoder.parts
        paths = None if reads_paths else False
        self.reader = TextReader(
            encoder, settings.field, known, settings.keep, self.part == "elements", paths
        )
        self.read = self.reader.read  # a record, or raise where it has no text
        self.truncation = encoder.truncation
        self.is_static = isinstance(encoder, StaticEncoder) and encoder.reads_bags
        encoder.read_field(known[0] if self.part == "elements" else self.first_field)
        self.earlier: EarlierEmbeddings | None = None
        if settings.reuse:
            self.earlier = EarlierEmbeddings(settings.reuse, self.run(), self.part)
            self.engine.precision = self.earlier.precision or self.engine.precision

    @property
    def first_field(self) -> str:
        """Field that is read first: the named one, or the model's."""
        return [*self.settings.field, *self.reader.known][0]

    def embeddings(self, texts: Iterable[ReadRecord]) -> Iterator[Record]:
        """Yield `{id, embedding, …kept}` for every record of `texts`, in the same order.

        Embeddings are arrays, (dim,), which are written shorter than lists of Python's floats. A
        part has `doc_id` and its place; with several fields, each has its `FIELD_embedding`.
        """
        if len(self.settings.field) > 1:
            yield from self._of_several_fields(texts)
            return
        for rows, embeddings in self.windows(texts):
            for row, embedding in zip(rows, embeddings, strict=True):
                doc_id = {} if row.doc_id is None else {"doc_id": row.doc_id}
                yield {"id": row.id, **doc_id, "embedding": embedding, **row.fields}

    def _of_several_fields(self, texts: Iterable[ReadRecord]) -> Iterator[Record]:
        for window in windows(texts, self.window_records):
            columns: dict[str, Vectors] = {}
            for place, name in enumerate(self.settings.field):
                self.truncation.field = name
                self.encoder.read_field(name)
                embeddings = self.embed([record.texts[place] for record in window])
                check_finite((record.id for record in window), embeddings, self.folder)
                columns[f"{name}_embedding"] = embeddings
            for row, record in enumerate(window):
                vectors = {name: embeddings[row] for name, embeddings in columns.items()}
                yield {"id": record.id, **vectors, **record.kept}

    def embedded(self, records: Iterable[Record]) -> Iterator[EmbeddedRows]:
        """Yield the embeddings of records, some at a time."""
        return self.windows(map(self.read, records))

    def windows(self, texts: Iterable[ReadRecord]) -> Iterator[EmbeddedRows]:
        """Yield the rows of a window of `texts`, and their embeddings (rows, dim)."""
        for window in windows(texts, self.window_records):
            rows, embeddings = self.window(window)
            check_finite((row.document for row in rows), embeddings, self.folder)
            if rows:  # a tree of one word has no phrases
                yield rows, embeddings

    def window(self, window: Window) -> EmbeddedRows:
        """Return the rows of some records, and their embeddings (rows, dim).

        Errors: a text that the model cannot read, with the id of its record.
        """
        embed = {
            "": self._whole,
            "chunk": self._chunks,
            "tokens": self._tokens,
            "elements": self._elements,
        }.get(self.part, self._nodes)
        try:
            return self.earlier.complete(window, embed) if self.earlier else embed(window)
        except UnreadableText as error:
            if len(window) > 1:
                for record in window:
                    self.window([record])
            raise error.at(f'record "{window[0].id}"') from None

    def _whole(self, window: Sequence[ReadRecord]) -> EmbeddedRows:
        rows = [record.row() for record in window]
        return rows, self.embed([record.texts[0] for record in window])

    def _elements(self, window: Sequence[ReadRecord]) -> EmbeddedRows:
        rows = [
            record.part(number, place)
            for record in window
            for number, place in enumerate(record.places)
        ]
        return rows, self.embed([text for record in window for text in record.texts])

    def _chunks(self, window: Sequence[ReadRecord]) -> EmbeddedRows:
        rows: list[EmbeddingRow] = []
        inputs: list[Any] = []
        size = self.settings.chunk or 0
        length = self.settings.length
        side = self.settings.as_
        max_chunks = length // size if length else None  # chunks of a text
        for record in window:
            (text,) = record.texts
            chunks, lines = self.encoder.chunks(text, side, size), lines_of(text)
            for number, chunk in enumerate(chunks[:max_chunks]):
                span = chunk.start, chunk.end
                place = dict(zip(PART_FIELDS["chunk"], (*span, lines(*span)), strict=True))
                rows.append(record.part(number, place))
                inputs.append(chunk.ids)
        return rows, self.embed_inputs(inputs)

    def _tokens(self, window: Sequence[ReadRecord]) -> EmbeddedRows:
        side = self.settings.as_
        inputs = self.encoder.inputs([record.texts[0] for record in window], side)
        vectors = compute_in_batches(
            lambda batch: self.engine.token_rows(batch, side), inputs, self.engine.batch_tokens
        )
        if pool_factor := self.pool_factor:
            from structkit.embeddings.pooling import pool_rows

            vectors = [pool_rows(rows_of_text, pool_factor) for rows_of_text in vectors]
        rows = [
            record.part(row_number, {})
            for record, record_rows in zip(window, vectors, strict=True)
            for row_number in range(len(record_rows))
        ]
        return rows, self.finish(np.concatenate(vectors))

    def _nodes(self, window: Sequence[ReadRecord]) -> EmbeddedRows:
        nodes_of_records = self.encoder.nodes(
            [record.prepared[0] for record in window],
            self.part,
            self.engine.batch_tokens,
            finish=self.finish,
        )
        rows, vectors = [], []
        for record, nodes in zip(window, nodes_of_records, strict=True):
            for node in nodes:
                vectors.append(node.pop("embedding"))
                rows.append(record.part(node["node"], node))
        return rows, np.array(vectors, np.float32)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the embeddings of some texts in their order, (texts, dim).

        Equal texts are computed once per call; a later call computes them again, so that memory
        does not grow with the corpus.
        """
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        embeddings = self.embed_inputs(self.encoder.inputs(list(row_of), self.settings.as_))
        return embeddings[[row_of[text] for text in texts]]  # (texts, dim)

    def of_bags(self, texts: Sequence[str], bags: Bags) -> Vectors:
        """Return the embeddings of documents by a model that `is_static`, from their pieces."""
        assert isinstance(self.encoder, StaticEncoder)
        embeddings = self.finish(self.encoder.of_bags(texts, bags))
        check_finite(map(excerpt, texts), embeddings, self.folder)
        return embeddings

    def sizes(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return list(map(len, self.encoder.inputs(texts, self.settings.as_)))

    def embed_inputs(self, inputs: Sequence[Any]) -> Vectors:
        """Return the embeddings of inputs in their order, (inputs, dim)."""
        engine = self.engine
        embeddings = compute_in_batches(engine.embeddings, inputs, engine.batch_tokens)
        return self.finish(np.stack(embeddings))

    def finish(self, embeddings: Vectors) -> Vectors:
        """Return embeddings (inputs, dim), cut to `dimensions` and scaled if asked for."""
        model_dimensions = embeddings.shape[1]
        if self.dimensions and self.dimensions > model_dimensions:
            raise wrong_usage(
                f"{flag('dimensions', self.dimensions)}: the model gives {model_dimensions}",
                f"use at most {model_dimensions}",
            )
        embeddings = embeddings[:, : self.dimensions]
        if self.settings.normalize or (self.dimensions and self.metadata["normalize"]):
            return normalized(embeddings)
        return embeddings

    def report(self) -> None:
        """Say how many texts were truncated, and how many were not encoded again."""
        if self.earlier:
            self.earlier.report()
        for message in self.truncation.messages(flag("length")):
            say(message)

    @cached_property
    def model_sha256(self) -> str:
        """The hash of the model's weights and metadata."""
        return content_hash(self.folder)

    def meta(self) -> Record:
        """Return the content of NAME.meta.json beside the vectors."""
        settings = self.settings
        changes = {
            "length": settings.length,
            "dimensions": self.dimensions,
            "chunk": settings.chunk,
            "rows": self.part.replace("chunk", ""),
            "pool_factor": self.pool_factor,
            "quantize": settings.quantize,
        }
        return {
            "model": settings.model,
            "model_sha256": self.model_sha256,
            "method": self.metadata["method"],
            "engine": self.engine.name,
            "side": settings.as_,
            "pooling": self.metadata["pooling"],
            "normalize": self.metadata["normalize"],
            "similarity": self.metadata.get("similarity") or "dot",
            **{name: value for name, value in changes.items() if value},
        }

    def run(self) -> Record:
        """Return what determines the vectors: an unfinished run continues only with the same."""
        return {
            **self.meta(),
            "fields": list(self.settings.field),
            "keep": list(self.settings.keep),
            "dtype": self.engine.dtype,
            "batch_tokens": self.engine.batch_tokens,
            "mcls_every": self.metadata.get("mcls_every"),
            "hashes": 1,
        }


@contextmanager
def idle_encodings(settings: EncodingSettings) -> Iterator[Callable[[str], Encoding]]:
    """Yield a function that gives the encoding of a side; an earlier block may have opened it.

    No two threads have the same one, and what was opened is as it is on disk now.
    """
    if isinstance(settings.model, Opened):
        yield lambda side: Encoding(of_side(settings, side))
        return
    folder = model_folder(settings.model, offline=settings.offline)
    key = settings, folder_signature(folder)
    used: list[Encoding] = []

    def encoding(side: str) -> Encoding:
        if not used:
            is_idle = key in _idle
            used.append(_idle.pop(key) if is_idle else Encoding(of_side(settings, "query")))
        (of_queries,) = used
        if side == "query":
            return of_queries
        opened = of_queries.engine, of_queries.metadata
        return Encoding(of_side(settings, side), opened=opened)

    yield encoding
    for encoding_used in used:
        encoding_used.truncation.drain()
        _idle[key] = encoding_used
    for oldest in list(_idle)[:-MAX_IDLE_ENCODINGS]:
        _idle.pop(oldest, None)


def metadata_of(settings: EncodingSettings) -> Record:
    """Return a model's fields of texts, and its `part` if it has only rows, without opening it."""
    if isinstance(settings.model, Opened):
        return settings.model.opened[1]
    folder = model_folder(settings.model, offline=settings.offline)
    if has_metadata(folder):
        return read_metadata(folder)
    return plain_metadata("") | ({"part": "tokens"} if is_multi_vector(folder) else {})


def of_side(settings: EncodingSettings, side: str) -> EncodingSettings:
    """Return the settings for queries, or for documents."""
    return replace(settings, as_="query" if side == "query" else "document")


MAX_IDLE_ENCODINGS = 2  # models that wait for the next question
_idle: dict[Any, Encoding] = {}


def _check_parts(model: Model, settings: EncodingSettings) -> None:
    """Raise for a length, or parts of texts, for which the model has no embeddings."""
    for name in ("length", "chunk"):
        if getattr(settings, name) and "chunk" not in model.parts:
            raise wrong_usage(f"{flag(name)} is for models that read tokens", "leave it out")
    needed = {"tokens": "tokens", **dict.fromkeys(NODE_ROWS, "nodes")}.get(settings.rows or "")
    if needed and needed not in model.parts:
        kind = needed.replace("nodes", "trees")
        raise wrong_usage(
            f"{flag('rows', settings.rows)} needs a model of {kind}",
            "leave it out, or name such a model",
        )


def compute_in_batches(
    compute: Callable[[Sequence[Any]], Iterable[Vectors]], inputs: Sequence[Any], batch_tokens: int
) -> list[Vectors]:
    """Return what is computed for each of the inputs, in their order.

    Inputs of similar lengths are computed together, with at most `batch_tokens` padded tokens.
    """
    computed: dict[int, Vectors] = {}
    for batch in batches_of([*map(len, inputs)], batch_tokens):
        computed |= zip(batch, compute([inputs[place] for place in batch]), strict=True)
    return [computed[place] for place in range(len(inputs))]


def _already_open(settings: EncodingSettings) -> tuple[Engine, Record] | None:
    """Return a model that is open already. Errors: a setting that it was opened without."""
    if not isinstance(model := settings.model, Opened):
        return None
    for name in OPENING_SETTINGS:
        value = getattr(settings, name)
        default = EncodingSettings.__dataclass_fields__[name].default
        if value not in (default, getattr(model.settings, name)):
            raise wrong_usage(
                f"{flag(name, value)} is not how the model {model} was loaded",
                f"leave it out, or load the model with {flag(name)}",
            )
    return model.opened


def check_finite(owners: Iterable[str], embeddings: Vectors, folder: Path) -> None:
    """Raise if an embedding (owners, dim) of the model in a folder is not finite.

    `owners` are the ids of the records that the embeddings are of.
    """
    finite = np.isfinite(embeddings).all(axis=-1)
    if not finite.all():
        first = int(np.argmin(finite))
        raise not_finite_error(folder, next(islice(owners, first, None)))


class EarlierEmbeddings:
    """Rows of NAME.npy by the hash of their record's source.

    It has none if `run`, the identity of this run, has another model or other settings. Errors:
    `UserError` if the file holds no hashes, or another run's.
    """

    def __init__(self, path: str, run: Record, part: str) -> None:
        self.path, self.part = path, part
        if not path.endswith(".npy"):
            raise wrong_usage(
                f"{flag('reuse', path)} is not a .npy file",
                f"name a file that {program('encode')} wrote",
            )
        self.old = read_matrix(path, fields=bool(part))
        earlier_run = self.old.meta.get("run") or {}
        if "hashes" not in earlier_run:
            raise UserError(
                "holds no hashes of its texts", f"encode once without {flag('reuse')}"
            ).at(path)
        # floats become this run's format; codes keep theirs
        earlier_settings = {"quantize": run.get("quantize"), **self.old.meta, **earlier_run}
        self.differing = differing_settings(run, earlier_settings)
        self.precision: str | None = None if self.differing else earlier_settings.get("precision")
        self.rows: dict[str, range] = {} if self.differing else self._rows_by_hash()
        self.records = self.reused = 0

    def _rows_by_hash(self) -> dict[str, range]:
        """Return the rows of the first record with each hash."""
        hashes, doc_ids = read_hashes(self.path, self.old), self.old.doc_ids
        rows_of: dict[str, range] = {}
        records = groupby(range(len(hashes)), lambda row: (hashes[row], doc_ids[row]))
        for (hash_, _), group in records:
            rows = list(group)
            rows_of.setdefault(hash_, range(rows[0], rows[-1] + 1))
        return rows_of

    def complete(
        self, window: Sequence[ReadRecord], embed: Callable[[Sequence[ReadRecord]], EmbeddedRows]
    ) -> EmbeddedRows:
        """Return the rows of some records: known ones, and the result of `embed` for the others."""
        others = [record for record in window if record.hash not in self.rows]
        self.records += len(window)
        self.reused += len(window) - len(others)
        if len(others) == len(window):
            return embed(window)
        new_rows, new_vectors = embed(others) if others else ([], np.empty(0, np.float32))
        rows: list[EmbeddingRow] = []
        vectors: list[Vectors] = []
        end = 0  # new rows before it have their place
        for record in window:
            if earlier_rows := self.rows.get(record.hash):
                rows += self._copies(record)
                vectors.append(self.old.vectors[earlier_rows.start : earlier_rows.stop])
                continue
            start, key = end, (record.id, record.hash)
            while end < len(new_rows) and (new_rows[end].document, new_rows[end].hash) == key:
                end += 1
            if start < end:  # texts without parts have no rows
                rows += new_rows[start:end]
                vectors.append(new_vectors[start:end])
        return rows, np.concatenate(vectors)

    def _copies(self, record: ReadRecord) -> list[EmbeddingRow]:
        """Return the rows of an unchanged record, under its own id and with its kept fields."""
        if not self.part:
            return [record.row()]
        copies = []
        for number, row in enumerate(self.rows[record.hash]):
            earlier_fields = {
                name: self.old.fields[row].get(name) for name in PART_FIELDS[self.part]
            }
            # the place of an element may have changed, even if its text has not
            fields = record.places[number] if record.places else earlier_fields
            part_name = number if self.part == "tokens" else self.old.ids[row].rpartition("#")[2]
            copies.append(record.part(part_name, fields))
        return copies

    def report(self) -> None:
        """Say how many records were not encoded again."""
        message = f"{self.reused:,} of {self.records:,} records are as in {self.path}"
        if self.differing:
            message += f" (it was encoded with another {', '.join(self.differing)})"
        say(message)
