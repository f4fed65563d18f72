"""Turn texts into embeddings with a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from structkit.command import Command
from structkit.embeddings import files_beside
from structkit.errors import UserError, flag, wrong_usage
from structkit.learning.encoding.settings import PART_FIELDS, EncodingSettings
from structkit.records.jsonl import Record, Stage, accepted
from structkit.records.stream import Options, Stream
from structkit.settings import setting, settings_class

if TYPE_CHECKING:
    from structkit.embeddings.writing import ParquetFile, VectorFiles
    from structkit.learning.encoding.encoding import Encoding, ReadRecord


@settings_class
class Settings(EncodingSettings):
    """Turn texts into embeddings with a model: `id` and `embedding`, in input order.

    A part of a text has `doc_id` and its place: a chunk `start`, `end` (characters) and `lines`, an
    element `xpath`, `start`, `end` and `text`, a node `node`, `span` (words) and `text`.
    """


@settings_class
class FileOptions(Options):
    """Settings of the file of embeddings."""

    output: str = setting(
        "-",
        "File to write: NAME.npy (with ids and metadata), .parquet, or JSONL.",
        short="-o",
        writes=True,
    )


def encode(settings: Settings) -> Stage:
    """Yield `{id, embedding}` for every record, in input order; cut texts are counted.

    A string is a record with the field that the model reads. An embedding is a list. A part of a
    text has `doc_id` and its place; with several fields, each has its `FIELD_embedding`.
    """
    import numpy as np

    from structkit.learning.encoding.encoding import Encoding

    check_output(settings, "")
    encoding = Encoding(settings)

    def embeddings(texts: Iterable[ReadRecord]) -> Iterator[Record]:
        for record in encoding.embeddings(texts):
            yield {
                name: value.tolist() if isinstance(value, np.ndarray) else value
                for name, value in record.items()
            }
        encoding.report()

    return Stage(encoding.read, embeddings)


def field_of_texts(settings: Settings) -> str:
    """Return the field for texts without a record: the first that is named, or the model's."""
    from structkit.learning.encoding.encoding import metadata_of

    return str([*settings.field, *metadata_of(settings)[f"{settings.as_}_fields"]][0])


def _main(settings: Settings, target: FileOptions) -> None:
    from structkit.learning.encoding.encoding import Encoding

    stream = Stream.of(
        target,
        settings,
        replaced=[settings.reuse],
        together=files_beside(target.output),
        in_place=False,
    )
    check_output(settings, stream.output)
    write_embeddings(Encoding(settings), stream)


def check_output(settings: EncodingSettings, path: str) -> None:
    """Raise for settings for which a file of that name has no place."""
    remedy = "write such a file, or leave it out"
    if settings.quantize and not path.endswith(".npy"):
        raise wrong_usage(f"{flag('quantize')} is for NAME.npy files", remedy)
    if len(settings.field) > 1 and path.endswith((".npy", ".parquet")):
        raise wrong_usage(f"several {flag('field')} need JSONL output", remedy)


def write_embeddings(encoding: Encoding, stream: Stream) -> None:
    """Encode the stream's records into its output: JSONL, `NAME.npy` with ids and meta, Parquet."""
    if not stream.output.endswith((".npy", ".parquet")):
        stream.run(Stage(encoding.read, encoding.embeddings), label="encode")
    else:
        with stream.reading("encode") as (records, reject):
            texts = accepted(encoding.read, records, reject)
            encode_to_file(texts, stream.output, encoding, (stream.files or ["-"])[0])
    encoding.report()


def encode_to_file(
    texts: Iterable[ReadRecord], path: str, encoding: Encoding, source: str = ""
) -> Record:
    """Write NAME.npy and the files beside it, or NAME.parquet, and return the metadata.

    Files appear only when complete. `texts` is what `encoding.read` returns, `source` the file to
    name in an error about all of them. Errors: `UserError` for an id with a line break, and for no
    records.
    """
    with _open_output(path, encoding) as files:
        for rows, embeddings in encoding.windows(texts):
            files.add(rows, embeddings)
        if not files.count:
            raise UserError("holds no record to encode", "name a file that has some").at(source)
        meta = encoding.meta()
        run = {name: value for name, value in encoding.run().items() if name not in meta}
        return files.finish({**meta, "run": {**run, "precision": encoding.engine.precision}})


def _open_output(path: str, encoding: Encoding) -> VectorFiles | ParquetFile:
    """Open the output file."""
    from structkit.embeddings.writing import ParquetFile, VectorFiles

    if path.endswith(".parquet"):
        return ParquetFile(path)
    settings, part = encoding.settings, encoding.part
    return VectorFiles(
        path,
        chunks=part not in ("", "tokens"),
        counts=part == "tokens",
        fields=bool(settings.keep or PART_FIELDS[part]),
        hashes=True,
        quantize=settings.quantize,
    )


COMMAND = Command(
    encode,
    Settings,
    _main,
    also=(FileOptions,),
    stage=encode,
    texts=field_of_texts,
    reads="`query` or `positive`, `code`, `tagged`, `text` …, which the model and {as_} choose",
    writes=(
        "`id`, `embedding`, and the fields of {keep}; for several fields: `FIELD_embedding`; "
        "for a part: `doc_id`, and `start`, `end`, `lines`, `xpath`, `node`, `span`, `text`"
    ),
    examples="""
structkit encode -m models/seal --as document variants.jsonl -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --reuse pages.npy -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --quantize int8 -o codes.npy
structkit encode -m models/seal --as query pages.jsonl -o queries.jsonl
""",
)
