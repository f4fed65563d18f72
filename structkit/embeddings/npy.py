"""Embeddings on disk: NAME.npy with ids and metadata beside it, written as they come.

Beside NAME.npy are NAME.ids.txt, NAME.meta.json, for chunks NAME.doc_ids.txt, for kept fields
NAME.fields.jsonl, NAME.hashes.txt with the hash of what was read of each row's record, and for
8-bit rows NAME.scales.f32.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np
import orjson
from numpy.lib import format as npy
from numpy.typing import NDArray

from structkit.embeddings.quantized import FLOATS, KINDS, SCALES, columns, quantized
from structkit.embeddings.rows import EmbeddingRow, id_line
from structkit.errors import UserError
from structkit.paths import BESIDE
from structkit.records.jsonl import Record
from structkit.records.output import cannot_write, write_json
from structkit.records.partial import keep_mode

# room for any number of rows: the header is written again when their count is known
HEADER = 128
BUFFER = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HASHES, HASHES_FORMAT = ".hashes.txt", 1
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
        endings = [".npy", ".ids.txt"]
        endings += [SCALES] * (quantize == "int8")
        endings += [".doc_ids.txt"] * chunks + [HASHES] * hashes + [".fields.jsonl"] * fields
        self.targets = [Path(name + ending) for ending in (*endings, ".meta.json")]
        self._partial = [target.with_name(f".{target.name}.partial") for target in self.targets]
        self._journal_path = journal_of(path)
        self.chunks, self.hashes, self.fields, self.quantize = chunks, hashes, fields, quantize
        self.count = self.dim = 0
        self.state: Record | None = None
        self.complete = False
        try:
            self._open()
        except OSError as error:
            raise cannot_write(error).at(path) from None

    def _open(self) -> None:
        self._journal = self._journal_path.open("ab+", buffering=0)
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._journal.close()
            raise UserError("is being written by another process", "wait for it").at(
                self.path
            ) from None
        last = self._last() if self.resume else None
        self._handles: list[IO[bytes]] = []
        if last and last.get("finished") or self.resume and not last and self._finished():
            self.complete = True
            return
        for number, partial in enumerate(self._partial[:-1]):
            handle = partial.open("r+b" if last else "w+b", buffering=BUFFER)
            self._handles.append(handle)
            if last:
                handle.truncate(last["sizes"][number])
                handle.seek(0, os.SEEK_END)
        if last:
            self.count, self.dim, self.state = last["count"], last["dim"], last["state"]
        else:
            for other in self._others():  # what a killed run with other files left
                other.with_name(f".{other.name}.partial").unlink(missing_ok=True)
            self._handles[0].write(b"\0" * HEADER)
            self._journal.truncate(0)
            self._note({"run": self.run})

    def _others(self) -> list[Path]:
        """The files beside the vectors that this run does not write."""
        name = self.path.removesuffix(".npy")
        return [path for ending in BESIDE if (path := Path(name + ending)) not in self.targets]

    def _finished(self) -> bool:
        """Whether the complete files of a run are there; another run's raise."""
        try:
            meta: Record = orjson.loads(self.targets[-1].read_bytes())
            known = {**meta, **meta["run"]}
        except (OSError, ValueError, KeyError, TypeError):
            return False
        try:
            self._must_be_the_same({name: known.get(name) for name in self.run}, "finished")
        except UserError:
            self._journal_path.unlink()  # it is new, and nothing was begun
            raise
        return all(target.exists() for target in self.targets)

    def _must_be_the_same(self, known: Record, state: str) -> None:
        for key in {**known, **self.run}:
            if known.get(key) != self.run.get(key):
                raise UserError(
                    f"the {state} run had {key} {known.get(key)!r}, this one has "
                    f"{self.run.get(key)!r}",
                    "run it as before, or start again without --resume",
                ).at(self.path)

    def _last(self) -> Record | None:
        """The last whole entry of the journal; None where there is none to continue from."""
        self._journal.seek(0)
        lines = self._journal.read().splitlines(keepends=True)
        entries = [orjson.loads(line) for line in lines if line.endswith(b"\n")]
        if len(entries) < 2:
            return None
        self._must_be_the_same(entries[0]["run"], "unfinished")
        if not entries[-1].get("finished") and not all(
            partial.exists() for partial in self._partial[:-1]
        ):
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
        for handle, content in zip(self._handles, contents, strict=True):
            handle.write(content)

    def checkpoint(self, state: Record) -> None:
        """Remember how far the files are, and `state`: a killed run can continue from here."""
        self.state = state
        for handle in self._handles:
            handle.flush()
        sizes = [handle.tell() for handle in self._handles]
        self._note({"count": self.count, "dim": self.dim, "sizes": sizes, "state": state})

    def finish(self, meta: Record) -> Record:
        """Complete the files and give them their names; returns the metadata as written."""
        if not self.complete:
            kind = KINDS.get(self.quantize or "", FLOATS)
            dtype = str(np.dtype(kind))
            meta = {**meta, "count": self.count, "dim": self.dim, "dtype": dtype}
            self._handles[0].seek(0)
            self._handles[0].write(header(self.count, columns(self.dim, self.quantize), kind))
            for handle in self._handles:
                handle.close()
            write_json(self._partial[-1], meta)
            self._note({"finished": True})
        for partial, target in zip(self._partial, self.targets, strict=True):
            if partial.exists():  # a run that was killed here has renamed some already
                keep_mode(str(partial), str(target))
                os.replace(partial, target)
        for other in self._others():  # left by the file that was there before
            other.unlink(missing_ok=True)
        self._journal_path.unlink(missing_ok=True)
        facts: Record = orjson.loads(self.targets[-1].read_bytes())
        return facts

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for handle in self._handles:
            with suppress(OSError):  # of a full disk, which was told
                handle.close()
        if not self.resume or kind is None:
            for partial in (*self._partial, self._journal_path):
                partial.unlink(missing_ok=True)
        self._journal.close()  # this frees the lock
        if isinstance(error, OSError) and error.errno in FULL:
            raise cannot_write(error).at(self.path) from None


def half_replaced(path: str) -> bool:
    """Whether a run was killed while it was renaming the files at a path."""
    try:
        last = journal_of(path).read_bytes().splitlines()[-1]
    except (FileNotFoundError, IndexError):
        return False
    return b"finished" in last


def journal_of(path: str) -> Path:
    """The file in which a run that writes the files at a path notes its progress."""
    return Path(path).with_name(f".{Path(path).name}.resume")


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
