"""An index for BM25 in a folder: the files of bm25s, `ids.txt` and `meta.json`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import orjson

from structkit.embeddings.matrices import mapped, unique
from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record
from structkit.records.lines import cannot_read

FORMAT = 1
METHOD = "bm25"
META, IDS, VOCABULARY = "meta.json", "ids.txt", "vocab.index.json"
# the postings of bm25s: scores, their documents, and where those of each word begin
ARRAYS = {"data": "f", "indices": "i", "indptr": "i"}
WHOLE = {"count": int, "sha256": str, "reading": dict, "settings": dict}
KINDS = {"k1": float, "b": float, "stopwords": bool}


@dataclass(frozen=True)
class SavedIndex:
    """The content of a folder; `scores` as in bm25s, mapped from the files."""

    doc_ids: list[str]
    vocabulary: dict[str, int]
    scores: dict[str, Any]
    settings: Record
    reading: Record
    sha256: str

    @classmethod
    def read(cls, folder: str) -> Self:
        """The index of a folder. Errors: `UserError` for a folder that holds none or is damaged."""
        meta = read_meta(folder)
        count = meta["count"]
        vocabulary = _vocabulary(os.path.join(folder, VOCABULARY))
        return cls(
            _ids(os.path.join(folder, IDS), count),
            vocabulary,
            {**_scores(folder, count, len(vocabulary)), "num_docs": count},
            meta["settings"],
            meta["reading"],
            meta["sha256"],
        )


def again() -> str:
    """The remedy for a damaged index."""
    return f"build the index again with {flag('save_index')}"


def is_saved(folder: str) -> bool:
    """Whether a folder says that it holds an index for BM25, or looks like one that is damaged."""
    if os.path.lexists(os.path.join(folder, VOCABULARY)):
        return True
    try:
        with open(os.path.join(folder, META), "rb") as handle:
            return bool(orjson.loads(handle.read())["method"] == METHOD)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def method_of(corpus: Sequence[str], method: str | None = None) -> str:
    """How a corpus is searched: as given, or as its folder says, or dense.

    Errors: an index for BM25 that shall be searched otherwise.
    """
    lexical = len(corpus) == 1 and is_saved(corpus[0])
    if lexical and method not in (None, METHOD):
        problem = f"is an index for {flag('method', METHOD)}"
        raise UserError(problem, f"leave out {flag('method')}").at(corpus[0])
    return method or (METHOD if lexical else "dense")


def check_there(corpus: Sequence[str]) -> None:
    """Raise for a file of a corpus that is not there, and for a folder that holds no index."""
    for name in corpus:
        try:
            if name != "-":
                os.stat(name)
        except OSError as error:
            raise cannot_read(error).at(name) from None
        if os.path.isdir(name) and not os.path.lexists(os.path.join(name, META)):
            save, ask = flag("save_index"), program("ask")
            remedy = f"save one with {save}, or search the folder's files with {ask}"
            raise UserError(f"holds no index (no {META})", remedy).at(name)


def read_meta(folder: str) -> Record:
    """What an index says of itself."""
    path = os.path.join(folder, META)
    if not os.path.exists(path):
        raise UserError(f"holds no index for BM25 (no {META})", again()).at(folder)
    meta = _json(path)
    if not isinstance(meta, dict) or meta.get("method") != METHOD:
        raise UserError("is not that of an index for BM25", again()).at(path)
    if meta.get("format") != FORMAT:
        raise UserError(f"has format {meta.get('format')}, not {FORMAT}", again()).at(path)
    kinds = {name: type(meta.get(name)) for name in WHOLE}
    settings = {name: type(meta["settings"].get(name)) for name in KINDS} if kinds == WHOLE else {}
    if settings != KINDS or meta["count"] < 1:
        raise UserError("is damaged: a setting or the count is missing or wrong", again()).at(path)
    return meta


def _ids(path: str, count: int) -> list[str]:
    try:
        doc_ids = _bytes(path).decode().removesuffix("\n").split("\n")
    except ValueError as error:
        raise UserError(f"is damaged ({error})", again()).at(path) from None
    if len(doc_ids) != count:
        raise UserError(f"holds {len(doc_ids):,} ids for {count:,} documents", again()).at(path)
    try:
        return unique(doc_ids, path)
    except UserError as error:
        error.remedy = again()
        raise


def _vocabulary(path: str) -> dict[str, int]:
    numbers = _json(path)
    if not isinstance(numbers, dict) or list(numbers.values()) != list(range(len(numbers))):
        raise UserError("is damaged: it does not number its words", again()).at(path)
    return numbers


def _scores(folder: str, documents: int, words: int) -> dict[str, Any]:
    paths = {name: os.path.join(folder, f"{name}.csc.index.npy") for name in ARRAYS}
    arrays = {name: _array(path, ARRAYS[name]) for name, path in paths.items()}
    data, indices, starts = arrays.values()
    if len(starts) != words + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise UserError("is damaged: it does not fit the words", again()).at(paths["indptr"])
    for name, array in (("data", data), ("indices", indices)):
        if len(array) != starts[-1]:
            problem = f"is damaged: it holds {len(array):,} postings of {starts[-1]:,}"
            raise UserError(problem, again()).at(paths[name])
    if len(indices) and not 0 <= indices.min() <= indices.max() < documents:
        raise UserError("is damaged: it names unknown documents", again()).at(paths["indices"])
    return arrays


def _array(path: str, kind: str) -> Any:
    try:
        array = mapped(path)
    except OSError as error:
        raise _unreadable(error).at(path) from None
    except ValueError as error:
        raise UserError(f"is damaged, or not a .npy file (NumPy: {error})", again()).at(
            path
        ) from None
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind != kind:
        raise UserError("is damaged: it holds other numbers", again()).at(path)
    return array


def _json(path: str) -> Any:
    try:
        return orjson.loads(_bytes(path))
    except ValueError as error:
        raise UserError(f"is damaged: it is not JSON ({error})", again()).at(path) from None


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError as error:
        raise _unreadable(error).at(path) from None


def _unreadable(error: OSError) -> UserError:
    if isinstance(error, FileNotFoundError):
        return UserError("is missing", again())
    return cannot_read(error)
