"""Embeddings on disk, written as they come: NAME.npy with ids and metadata, or Parquet.

Beside NAME.npy are NAME.ids.txt, NAME.meta.json, for chunks NAME.doc_ids.txt, for kept fields
NAME.fields.jsonl, NAME.hashes.txt with the hash of each row's source, and for 8-bit rows
NAME.scales.f32. Rows of tokens have no ids of their own: NAME.ids.txt and NAME.hashes.txt have a
line for each document, NAME.rows.txt its number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.lib import format as npy
from numpy.typing import NDArray

from structkit.embeddings import (
    DOC_IDS_SUFFIX,
    FIELDS_SUFFIX,
    HASHES_SUFFIX,
    IDS_SUFFIX,
    META_SUFFIX,
    ROWS_SUFFIX,
    SCALES_SUFFIX,
    SUFFIXES_BESIDE,
)
from structkit.embeddings.reading import check_together, fingerprint, id_line, read_matrix
from structkit.embeddings.vectors import QUANTIZED_TYPES, EmbeddingRow, column_count, quantize
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.records.output import (
    WholeFile,
    append_to,
    beside,
    cannot_write,
    indented,
    is_single_link_file,
    keep_together,
    lock,
    refuse_name,
    remove,
)

FLOAT32_TYPE = "<f4"
NPY_HEADER_BYTES = 128  # bytes that NumPy takes for it, whatever the number of rows
JSONL_REMEDY = "write JSONL, or change the id"


@contextmanager
def write_errors(path: str) -> Iterator[None]:
    """Raise a `UserError` with the path if the system refuses to write."""
    try:
        yield
    except OSError as error:
        raise cannot_write(error).at(path) from None


class VectorFiles:
    """Files that appear together when all vectors are there; memory does not grow.

    With `chunks` the ids of documents are written too, with `fields` the fields of rows, with
    `hashes` the hashes of their sources. With `counts` rows have the ids of their documents, which
    are written once. `quantize` is one of `FORMS`. `run` identifies the
    run: with `resume`, the files of an unfinished run with the same `run` are continued, `state` is
    the argument of its last `checkpoint`, and `complete` is True if nothing is left to do. Errors:
    `UserError` if a file cannot be written, an id holds a line break, or the unfinished files are
    another run's.
    """

    def __init__(
        self,
        path: str,
        *,
        chunks: bool = False,
        counts: bool = False,
        fields: bool = False,
        hashes: bool = False,
        quantize: str | None = None,
        run: Record | None = None,
        resume: bool = False,
    ) -> None:
        self.path, self.run, self.resume, self.quantize = path, run or {}, resume, quantize
        others = {
            SCALES_SUFFIX: quantize == "int8",
            DOC_IDS_SUFFIX: chunks,
            HASHES_SUFFIX: hashes,
            FIELDS_SUFFIX: fields,
        }
        others[ROWS_SUFFIX] = self.counts = counts
        self.endings = [".npy", IDS_SUFFIX, *(ending for ending, there in others.items() if there)]
        self._others = set(SUFFIXES_BESIDE) - {*self.endings, META_SUFFIX}
        self._stem = path.removesuffix(".npy")
        self._journal_path = Path(beside(path, ".", ".resume"))
        self.count = self.dim = 0
        self.state: Record | None = None
        self.complete = False
        self._files: dict[str, WholeFile] = {}
        with write_errors(path):
            self._open()

    def _open(self) -> None:
        for ending in (*self.endings, META_SUFFIX):
            refuse_name(self._stem + ending)
        self._journal = append_to(self._journal_path)
        if not lock(self._journal):
            self._journal.close()
            problem = UserError("is being written by another process", "wait for it")
            raise problem.at(self.path)
        last = self._last_entry() if self.resume else None
        if last and last.get("finished"):  # a run was killed before all files had their names
            for ending in (*self.endings, META_SUFFIX):
                if is_single_link_file(partial := self._partial(ending)):
                    self._add_file(ending, partial.stat().st_size)
            self._name_files()
            last = None
        if self.resume and not last and self._is_finished():
            self.complete = True
            return
        for number, ending in enumerate(self.endings):
            self._add_file(ending, last["sizes"][number] if last else None)
        if last:
            self.count, self.dim, self.state = last["count"], last["dim"], last["state"]
            return
        for ending in self._others:  # left by a killed run with other files
            remove(self._partial(ending))
        self._files[".npy"].handle.write(b"\0" * NPY_HEADER_BYTES)
        self._journal.truncate(0)
        self._note({"run": self.run})

    def _partial(self, ending: str) -> Path:
        """Return where a file is until it is complete, and where `resume` finds it."""
        return Path(beside(self._stem + ending, ".", ".partial"))

    def _add_file(self, ending: str, size: int | None = None) -> WholeFile:
        file = WholeFile(self._stem + ending, partial=self._partial(ending), size=size)
        self._files[ending] = file
        return file

    def _name_files(self) -> None:
        """Give the files their names; the ids, which all readers need, come last."""
        files = [self._files[each] for each in sorted(self._files, key=IDS_SUFFIX.__eq__)]
        keep_together(files, [self._stem + ending for ending in self._others])

    def _is_finished(self) -> bool:
        """Return whether the complete files of the run exist. Errors: another run's."""
        try:
            meta: Record = orjson.loads(Path(self._stem + META_SUFFIX).read_bytes())
            known = {**meta, **meta["run"]}
        except (OSError, ValueError, KeyError, TypeError):
            return False
        try:
            self._check_run({name: known.get(name) for name in self.run}, "finished")
        except UserError:
            self._journal_path.unlink()  # it is new, and nothing was begun
            raise
        try:
            read_matrix(self.path, fields=True, scan=False)
            check_together(self.path, {"files": {}, **meta}, self.endings)
        except UserError as error:
            say(f"{error}: all is written again")
            return False
        return True

    def _check_run(self, known: Record, state: str) -> None:
        """Raise if files are of another run."""
        for key in {**known, **self.run}:
            if known.get(key) != self.run.get(key):
                problem = f"the {state} run had {key} {known.get(key)!r}, this one has "
                remedy = f"run it as before, or start again without {flag('resume')}"
                raise UserError(f"{problem}{self.run.get(key)!r}", remedy).at(self.path)

    def _last_entry(self) -> Record | None:
        """Return the last whole entry of the journal, or None."""
        self._journal.seek(0)
        lines = self._journal.read().splitlines(keepends=True)
        entries = [orjson.loads(line) for line in lines if line.endswith(b"\n")]
        if len(entries) < 2:
            return None
        self._check_run(entries[0]["run"], "unfinished")
        if not entries[-1].get("finished") and not all(
            map(is_single_link_file, map(self._partial, self.endings))
        ):
            return None
        # a kill in the middle of an entry leaves a part of it
        self._journal.truncate(sum(len(line) for line in lines if line.endswith(b"\n")))
        last: Record = entries[-1]
        return last

    def _note(self, entry: Record) -> None:
        self._journal.write(orjson.dumps(entry) + b"\n")  # unbuffered, at the end: whole or torn

    def __enter__(self) -> VectorFiles:
        return self

    def add(self, rows: Sequence[EmbeddingRow], embeddings: NDArray[np.float32]) -> None:
        """Append rows and their embeddings (rows, dim)."""
        numbers, scales = (
            quantize(embeddings, self.quantize)
            if self.quantize
            else (np.ascontiguousarray(embeddings, FLOAT32_TYPE), None)
        )
        of_documents = [[*each] for _, each in groupby(rows, lambda row: row.document)]
        named = [each[0] for each in of_documents] if self.counts else rows
        ids = [row.document if self.counts else row.id for row in named]
        contents = {
            ".npy": numbers.tobytes(),
            IDS_SUFFIX: "".join(id_line(each, JSONL_REMEDY) for each in ids).encode(),
            DOC_IDS_SUFFIX: "".join(id_line(row.document, JSONL_REMEDY) for row in rows).encode(),
            HASHES_SUFFIX: "".join(f"{row.hash}\n" for row in named).encode(),
            FIELDS_SUFFIX: b"".join([orjson.dumps(row.fields) + b"\n" for row in rows]),
            SCALES_SUFFIX: b"" if scales is None else scales.astype(FLOAT32_TYPE).tobytes(),
            ROWS_SUFFIX: "".join(f"{len(each)}\n" for each in of_documents).encode(),
        }
        self.dim = embeddings.shape[1]
        self.count += len(rows)
        with write_errors(self.path):
            for ending, file in self._files.items():
                file.handle.write(contents[ending])

    def checkpoint(self, state: Record) -> None:
        """Remember how far the files are, and `state`: a killed run can continue from here."""
        self.state = state
        with write_errors(self.path):
            for file in self._files.values():
                file.handle.flush()
            sizes = [file.handle.tell() for file in self._files.values()]
            self._note({"count": self.count, "dim": self.dim, "sizes": sizes, "state": state})

    def finish(self, meta: Record) -> Record:
        """Complete the files and give them their names; returns the metadata as written."""
        with write_errors(self.path):
            if not self.complete:
                self._complete(meta)
            self._journal_path.unlink(missing_ok=True)
            written: Record = orjson.loads(Path(self._stem + META_SUFFIX).read_bytes())
        return written

    def _complete(self, meta: Record) -> None:
        kind = QUANTIZED_TYPES.get(self.quantize or "", FLOAT32_TYPE)
        self._files[".npy"].handle.seek(0)
        shape = (self.count, column_count(self.dim, self.quantize))
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self._files[".npy"].handle, header)
        for file in self._files.values():
            file.handle.flush()
        prints = {each: fingerprint(file.handle, each) for each, file in self._files.items()}
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": str(np.dtype(kind))}
        self._add_file(META_SUFFIX).handle.write(indented({**meta, "files": prints}))
        self._files[META_SUFFIX].handle.flush()
        self._note({"finished": True})
        self._name_files()

    def __exit__(self, kind: Any, *_: Any) -> None:
        # after Ctrl-C or a scheduler's SIGTERM a first run can be continued, as after kill -9
        stopped = kind in (KeyboardInterrupt, SystemExit) and self.state
        keep = kind and (self.resume or stopped)
        for file in self._files.values():
            if keep:
                file.close()
            else:
                file.drop()
        if not keep:
            self._journal_path.unlink(missing_ok=True)
        self._journal.close()  # this frees the lock


PLACE_FIELDS = (
    "start",
    "end",
    "node",
    "lines",
    "span",
)  # the fields of a part's place that are numbers


class ParquetFile:
    """File that appears when all rows are there; a window of rows is a row group.

    A field's column is text, with other values as JSON; the numbers of a part are integers:
    `start`, `end`, `node`, and two each in `lines` and `span`. The metadata is in the schema under
    `structkit`. It cannot be continued. Errors: `UserError` if the package is missing or the file
    cannot be written.
    """

    state: Record | None = None
    complete = False

    def __init__(self, path: str) -> None:
        self.path = path
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self._writer: Any = None
        self.count = self.dim = 0
        with write_errors(path):
            self._file = WholeFile(path)

    def __enter__(self) -> ParquetFile:
        return self

    def add(self, rows: Sequence[EmbeddingRow], embeddings: NDArray[np.float32]) -> None:
        """Append rows and their embeddings (rows, dim)."""
        arrow, string = self.arrow, self.arrow.string()
        self.dim = embeddings.shape[1]
        self.count += len(rows)
        numbers = arrow.array(np.ascontiguousarray(embeddings).ravel())
        columns = {
            "id": arrow.array([row.id for row in rows], string),
            "embedding": arrow.FixedSizeListArray.from_arrays(numbers, self.dim),
        }
        parts = rows[0].doc_id is not None
        if parts:
            columns["doc_id"] = arrow.array([row.doc_id for row in rows], string)
        for name in rows[0].fields:
            values = [row.fields[name] for row in rows]
            is_place = parts and name in PLACE_FIELDS
            columns[name] = (
                arrow.array(values) if is_place else arrow.array(map(as_text, values), string)
            )
        table = arrow.table(columns)
        with write_errors(self.path):
            if self._writer is None:
                self._writer = self.parquet.ParquetWriter(self._file.handle, table.schema)
            self._writer.write_table(table)

    def checkpoint(self, state: Record) -> None:
        """Do nothing: there is no going on from here."""

    def finish(self, meta: Record) -> Record:
        """Complete the file and give it its name; returns the metadata as written."""
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": "float32"}
        with write_errors(self.path):
            self._writer.add_key_value_metadata({"structkit": orjson.dumps(meta).decode()})
            self._writer.close()
            self._file.keep()
        return meta

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._writer is not None and kind is not None:
            with suppress(OSError):
                self._writer.close()
        self._file.drop()


def as_text(value: object) -> str | None:
    """Return a value of a text column.

    >>> as_text("go"), as_text([1, 2]), as_text(None)
    ('go', '[1,2]', None)
    """
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()
