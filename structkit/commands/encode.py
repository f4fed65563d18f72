"""Turn texts into embeddings with a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from numpy import float32
from numpy.typing import NDArray

from structkit.errors import UserError
from structkit.jsonl import Record, Records, text_field
from structkit.learning.devices import chosen_device
from structkit.learning.embedding import Embedder
from structkit.learning.model_folder import content_hash, open_model
from structkit.learning.vector_files import VectorFiles
from structkit.progress import Position, progress, say
from structkit.rejects import Rejects, accepted
from structkit.stream import Stream

WINDOW = 2048  # records held at a time
BATCH_TOKENS = 4096
SIDES = ("query", "document")


class Encoding:
    """`encode` with its model loaded: `embeddings(texts(records))`.

    `side` chooses the length and the default field; `field` is the text's field; `keep` names
    fields that go along. Errors: an unknown side or a damaged model is a `UserError`, and so is a
    record without its field.
    """

    def __init__(
        self,
        model: str,
        side: str,
        *,
        field: str | None = None,
        keep: Sequence[str] = (),
        batch_tokens: int = BATCH_TOKENS,
        pooling: str | None = None,
        dtype: str = "fp32",
        device: str | None = None,
        offline: bool = False,
    ) -> None:
        if side not in SIDES:
            raise UserError(f"--as {side} is not query or document", status=2)
        if batch_tokens < 1:
            raise UserError("--batch-tokens must be at least 1", status=2)
        if dtype not in ("fp32", "bf16"):
            raise UserError(f"--dtype {dtype} is not fp32 or bf16", status=2)
        self.model, self.side, self.field, self.keep = model, side, field, tuple(keep)
        encoder, self.facts = open_model(model, pooling=pooling, offline=offline)
        encoder.to(chosen_device(device))
        self.embedder = Embedder(encoder, side, batch_tokens, bf16=dtype == "bf16")
        self.truncation = encoder.tokenizing.truncation

    def texts(self, records: Iterable[Record]) -> Iterator[Record]:
        """`{id, text, kept}` of every record: the part that may fail, and be skipped."""
        for record in records:
            for name in self.keep:
                if name not in record:
                    raise UserError(f'field "{name}" of --keep is missing')
            kept = {name: record[name] for name in self.keep}
            yield {"id": record["id"], "text": self.text(record), "kept": kept}

    def embeddings(self, texts: Iterable[Record]) -> Iterator[Record]:
        """`{id, embedding, …kept}` for every record of `texts`, in the same order."""
        for window, embeddings in self.windows(texts):
            for record, embedding in zip(window, embeddings.tolist(), strict=True):
                yield {"id": record["id"], "embedding": embedding, **record["kept"]}

    def windows(self, texts: Iterable[Record]) -> Iterator[tuple[list[Record], NDArray[float32]]]:
        """Up to `WINDOW` records of `texts`, and their embeddings (n, dim)."""
        texts = iter(texts)
        while window := list(islice(texts, WINDOW)):
            yield window, self.embedder.embed([record["text"] for record in window])

    def text(self, record: Record) -> str:
        """The record's text: of the field asked for, or of the first one the model knows."""
        if self.field:
            return text_field(record, self.field, "name the text's field with --field")
        names = self.facts[f"{self.side}_fields"]
        for name in names:
            if name in record:
                return text_field(record, name)
        raise UserError(
            f"the record has none of the fields {', '.join(names)} (it has: {', '.join(record)})",
            "name the text's field with --field",
        )

    def report(self) -> None:
        """Say how many texts were cut."""
        for message in self.truncation.messages():
            say(message)

    def meta(self) -> Record:
        """What stands in NAME.meta.json beside the vectors."""
        folder = Path(self.model)
        return {
            "model": self.model,
            "model_sha256": content_hash(folder) if folder.is_dir() else None,
            "method": self.facts["method"],
            "side": self.side,
            "pooling": self.facts["pooling"],
            "normalize": self.facts["normalize"],
        }


def encode(records: Iterable[Record], *, model: str, side: str, **options: Any) -> Iterator[Record]:
    """`{id, embedding}` for every record, in input order; texts that were cut are counted.

    The options are those of `Encoding`.
    """
    encoding = Encoding(model, side, **options)
    yield from encoding.embeddings(encoding.texts(records))
    encoding.report()


def write(encoding: Encoding, stream: Stream) -> None:
    """Encode the stream's records into its output: JSONL, or `NAME.npy` with ids and meta."""
    if not stream.output.endswith(".npy"):
        stream.run(encoding.texts, encoding.embeddings, label="encode")
    else:
        records = Records.read(stream.files, stream.shard)
        lines = records.lines

        def look() -> Position:
            return Position(records.count, lines.bytes, lines.total)

        with Rejects(stream.on_error, stream.rejects) as rejects:
            with progress("encode", look, quiet=stream.quiet):
                texts = accepted(encoding.texts, records, rejects.add)
                encode_to_numpy(texts, stream.output, encoding)
    encoding.report()


def encode_to_numpy(texts: Iterable[Record], path: str, encoding: Encoding) -> Record:
    """Write NAME.npy, NAME.ids.txt and NAME.meta.json; each appears whole. Returns the meta data.

    `texts` is what `encoding.texts` yields. Errors: an id with a line break is a `UserError`, and
    so is no record at all.
    """
    with VectorFiles(path) as files:
        for window, embeddings in encoding.windows(texts):
            files.add([record["id"] for record in window], embeddings)
        return files.finish(encoding.meta())
