"""Embeddings on disk, written as they come: NAME.npy with ids and metadata beside it, or Parquet.

Beside NAME.npy are NAME.ids.txt, NAME.meta.json, for chunks NAME.doc_ids.txt, for kept fields
NAME.fields.jsonl, NAME.hashes.txt with the hash of what was read of each row's record, and for
8-bit rows NAME.scales.f32.
"""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import orjson
from numpy.lib import format as npy
from numpy.typing import NDArray

from structkit.embeddings.fingerprints import check_together, fingerprint
from structkit.embeddings.matrices import HASHES, read_matrix
from structkit.embeddings.quantized import FLOATS, KINDS, SCALES, columns, quantized
from structkit.embeddings.rows import EmbeddingRow, id_line
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.paths import BESIDE
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.records.output import (
    WholeFile,
    append_to,
    cannot_write,
    indented,
    keep_together,
    own,
    remove,
)

# room for any number of rows: the header is written again when their count is known
HEADER = 128
META, IDS = ".meta.json", ".ids.txt"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HASHES_FORMAT = 1
JSONL = "write JSONL, or change the id"


class VectorFiles:
    """Files that appear together when all vectors are there; memory does not grow.

    With `chunks` the ids of documents are written too, with `fields` the fields of rows, with
    `hashes` the hashes of what was read; `quantize` is `int8` or `binary`. `run` identifies the
    run: with `resume`, the files of an unfinished run with the same `run` are continued, and
    `state` is what its last `checkpoint` was given. Errors: `UserError` where a file cannot be
    written, an id holds a line break, or the unfinished files are another run's.
    """

    def __init__(
        self,
        path: str,
        *,
        chunks: bool = False,
        fields: bool = False,
        hashes: bool = False,
        quantize: str | None = None,
        run: Record | None = None,
        resume: bool = False,
    ) -> None:
        self.path, self.run, self.resume = path, run or {}, resume
        name = path.removesuffix(".npy")
        endings = [".npy", IDS]
        endings += [SCALES] * (quantize == "int8")
        endings += [".doc_ids.txt"] * chunks + [HASHES] * hashes + [".fields.jsonl"] * fields
        self.targets = {ending: Path(name + ending) for ending in (*endings, META)}
        self._journal_path = Path(path).with_name(f".{Path(path).name}.resume")
        self.chunks, self.hashes, self.fields, self.quantize = chunks, hashes, fields, quantize
        self.count = self.dim = 0
        self.state: Record | None = None
        self.complete = False
        self._files: dict[str, WholeFile] = {}
        with self._writing():
            self._open()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(error).at(self.path) from None

    def _open(self) -> None:
        self._journal = append_to(self._journal_path)
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._journal.close()
            raise UserError("is being written by another process", "wait for it").at(
                self.path
            ) from None
        last = self._last() if self.resume else None
        if last and last.get("finished"):  # a run was killed before all files had their names
            for ending in self.targets:
                if own(partial := self._partial(ending)):
                    self._add_file(ending, partial.stat().st_size)
            self._name_files()
            last = None
        if self.resume and not last and self._finished():
            self.complete = True
            return
        contents = [ending for ending in self.targets if ending != META]
        for number, ending in enumerate(contents):
            self._add_file(ending, last["sizes"][number] if last else None)
        if last:
            self.count, self.dim, self.state = last["count"], last["dim"], last["state"]
        else:
            for ending in BESIDE:  # what a killed run with other files left
                if ending not in self.targets:
                    remove(self._partial(ending))
            self._files[".npy"].handle.write(b"\0" * HEADER)
            self._journal.truncate(0)
            self._note({"run": self.run})

    def _partial(self, ending: str) -> Path:
        """Where a file is until it is complete, and where `resume` finds it."""
        path = Path(self.path.removesuffix(".npy") + ending)
        return path.with_name(f".{path.name}.partial")

    def _add_file(self, ending: str, size: int | None = None) -> WholeFile:
        file = WholeFile(self.targets[ending], partial=self._partial(ending), size=size)
        self._files[ending] = file
        return file

    def _name_files(self) -> None:
        """Give the files their names; that of the ids, which all readers need, comes last."""
        files = [self._files[each] for each in sorted(self._files, key=IDS.__eq__)]
        stem = self.path.removesuffix(".npy")
        others = [stem + ending for ending in BESIDE if ending not in self.targets]
        keep_together(files, others)

    def _finished(self) -> bool:
        """Whether the complete files of a run are there; another run's raise."""
        try:
            meta: Record = orjson.loads(self.targets[META].read_bytes())
            known = {**meta, **meta["run"]}
        except (OSError, ValueError, KeyError, TypeError):
            return False
        try:
            self._must_be_the_same({name: known.get(name) for name in self.run}, "finished")
        except UserError:
            self._journal_path.unlink()  # it is new, and nothing was begun
            raise
        try:
            read_matrix(self.path, fields=True, looked=False)
            contents = [ending for ending in self.targets if ending != META]
            check_together(self.path, {"files": {}, **meta}, contents)
        except UserError as error:
            say(f"{error}: all is written again")
            return False
        return True

    def _must_be_the_same(self, known: Record, state: str) -> None:
        for key in {**known, **self.run}:
            if known.get(key) != self.run.get(key):
                raise UserError(
                    f"the {state} run had {key} {known.get(key)!r}, this one has "
                    f"{self.run.get(key)!r}",
                    f"run it as before, or start again without {flag('resume')}",
                ).at(self.path)

    def _last(self) -> Record | None:
        """The last whole entry of the journal; None where there is none to continue from."""
        self._journal.seek(0)
        lines = self._journal.read().splitlines(keepends=True)
        entries = [orjson.loads(line) for line in lines if line.endswith(b"\n")]
        if len(entries) < 2:
            return None
        self._must_be_the_same(entries[0]["run"], "unfinished")
        contents = [self._partial(ending) for ending in self.targets if ending != META]
        if not entries[-1].get("finished") and not all(map(own, contents)):
            return None
        if lines and not lines[-1].endswith(b"\n"):  # a kill in the middle of an entry
            self._journal.truncate(sum(map(len, lines[:-1])))
        last: Record = entries[-1]
        return last

    def _note(self, entry: Record) -> None:
        self._journal.write(orjson.dumps(entry) + b"\n")  # unbuffered, at the end: whole or torn

    def __enter__(self) -> VectorFiles:
        return self

    def add(self, rows: Sequence[EmbeddingRow], embeddings: NDArray[np.float32]) -> None:
        """Append rows and their embeddings (rows, dim)."""
        numbers, scales = (
            quantized(embeddings, self.quantize)
            if self.quantize
            else (np.ascontiguousarray(embeddings, FLOATS), None)
        )
        contents = [numbers.tobytes(), _lines(id_line(row.id, JSONL) for row in rows)]
        if scales is not None:
            contents.append(scales.astype(FLOATS).tobytes())
        doc_ids = _lines(id_line(row.document, JSONL) for row in rows)
        if self.chunks:
            contents.append(doc_ids)
        if self.hashes:
            contents.append(_lines(f"{row.hash}\n" for row in rows))
        if self.fields:
            contents.append(b"".join([orjson.dumps(row.fields) + b"\n" for row in rows]))
        self.dim = embeddings.shape[1]
        self.count += len(rows)
        with self._writing():
            for file, content in zip(self._files.values(), contents, strict=True):
                file.handle.write(content)

    def checkpoint(self, state: Record) -> None:
        """Remember how far the files are, and `state`: a killed run can continue from here."""
        self.state = state
        with self._writing():
            for file in self._files.values():
                file.handle.flush()
            sizes = [file.handle.tell() for file in self._files.values()]
            self._note({"count": self.count, "dim": self.dim, "sizes": sizes, "state": state})

    def finish(self, meta: Record) -> Record:
        """Complete the files and give them their names; returns the metadata as written."""
        with self._writing():
            if not self.complete:
                self._complete(meta)
            self._journal_path.unlink(missing_ok=True)
            facts: Record = orjson.loads(self.targets[META].read_bytes())
        return facts

    def _complete(self, meta: Record) -> None:
        kind = KINDS.get(self.quantize or "", FLOATS)
        self._files[".npy"].handle.seek(0)
        top = header(self.count, columns(self.dim, self.quantize), kind)
        self._files[".npy"].handle.write(top)
        for file in self._files.values():
            file.handle.flush()
        prints = {each: fingerprint(file.handle, each) for each, file in self._files.items()}
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": str(np.dtype(kind))}
        self._add_file(META).handle.write(indented({**meta, "files": prints}))
        self._files[META].handle.flush()
        self._note({"finished": True})
        self._name_files()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for file in self._files.values():
            if self.resume and kind:
                file.close()
            else:
                file.drop()
        if not self.resume or kind is None:
            self._journal_path.unlink(missing_ok=True)
        self._journal.close()  # this frees the lock
        if isinstance(error, OSError) and error.errno in FULL:
            raise cannot_write(error).at(self.path) from None


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(lines).encode()


def header(count: int, dim: int, kind: str = FLOATS) -> bytes:
    """The header of a .npy file of numbers (count, dim), padded to `HEADER` bytes.

    >>> len(header(10**12, 4096))
    128
    """
    fields = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count}, {dim}), }}"
    body = fields.ljust(HEADER - 11) + "\n"
    return npy.magic(1, 0) + len(body).to_bytes(2, "little") + body.encode("ascii")


# how many numbers each field of a part's place has
PLACES = {"start": 1, "end": 1, "node": 1, "lines": 2, "span": 2}


class ParquetFile:
    """A file that appears when all rows are there; a window of rows is a row group.

    A field's column is text, with other values as JSON; the numbers of a part are integers:
    `start`, `end`, `node`, and two each in `lines` and `span`. The metadata is in the schema under
    `structkit`. Errors: `UserError` where the package is missing or the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self._writer: Any = None
        self.count = self.dim = 0
        with self._writing():
            self._file = WholeFile(path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(error).at(self.path) from None

    def __enter__(self) -> ParquetFile:
        return self

    def add(self, rows: Sequence[EmbeddingRow], embeddings: NDArray[np.float32]) -> None:
        """Append rows and their embeddings (rows, dim)."""
        arrow = self.arrow
        self.dim = embeddings.shape[1]
        self.count += len(rows)
        numbers = arrow.array(np.ascontiguousarray(embeddings).ravel())
        columns = {
            "id": arrow.array([row.id for row in rows], arrow.string()),
            "embedding": arrow.FixedSizeListArray.from_arrays(numbers, self.dim),
        }
        parts = rows[0].doc_id is not None
        if parts:
            columns["doc_id"] = arrow.array([row.doc_id for row in rows], arrow.string())
        for name in rows[0].fields:
            values = [row.fields[name] for row in rows]
            own = parts and PLACES.get(name)
            columns[name] = (
                arrow.array(values, arrow.list_(arrow.int64()) if own == 2 else arrow.int64())
                if own
                else arrow.array(map(as_text, values), arrow.string())
            )
        table = arrow.table(columns)
        with self._writing():
            if self._writer is None:
                self._writer = self.parquet.ParquetWriter(self._file.handle, table.schema)
            self._writer.write_table(table)

    def checkpoint(self, state: Record) -> None:
        """Do nothing: a Parquet file cannot be continued."""

    def finish(self, meta: Record) -> Record:
        """Complete the file and give it its name; returns the metadata as written."""
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": "float32"}
        with self._writing():
            self._writer.add_key_value_metadata({"structkit": orjson.dumps(meta).decode()})
            self._writer.close()
            self._file.keep()
        return meta

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._writer is not None and kind is not None:
            with suppress(OSError):
                self._writer.close()
        self._file.drop()


def as_text(value: object) -> str | None:
    """A value of a text column.

    >>> as_text("go"), as_text([1, 2]), as_text(None)
    ('go', '[1,2]', None)
    """
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()
