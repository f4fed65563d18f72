"""An index in a folder: `index` and `docid` as in Pyserini, and what structkit adds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from structkit.embeddings.matrices import read_fields, read_ids, read_meta, unique
from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import Matrix
from structkit.errors import UserError, flag
from structkit.records.lines import cannot_read


def again() -> str:
    """The remedy for a damaged index."""
    return f"build the index again with {flag('save_index')}"


def read_index(folder: Path, similarity: str) -> tuple[Any, Embeddings]:
    """The index of a folder, and its rows, whose vectors are only in the index."""
    index = _index(folder)
    return index, _rows(folder, index.ntotal, index.d, similarity)


def has_index(folder: Path) -> bool:
    """Whether a folder is meant to be a saved index, even a damaged one."""
    return os.path.lexists(folder / "index")


def _index(folder: Path) -> Any:
    path = folder / "index"
    if not has_index(folder):
        raise UserError(
            "is a folder without an index", f"name embeddings, or what {flag('save_index')} wrote"
        ).at(str(folder))
    try:
        path.open("rb").close()
        # mapped: an index may be larger than memory, and only what a search touches is read
        index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except OSError as error:
        raise cannot_read(error).at(str(path)) from None
    except (RuntimeError, MemoryError) as error:  # for a damaged size faiss asks for all memory
        reason = "larger than memory" if isinstance(error, MemoryError) else said(error)
        raise UserError(f"is damaged, or not an index (faiss: {reason})", again()).at(
            str(path)
        ) from None
    return index


def _rows(folder: Path, rows: int, dimensions: int, similarity: str) -> Embeddings:
    doc_ids = read_ids(str(folder / "docid"), rows, again())
    nothing = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (rows, dimensions), (0, 0))
    if not (folder / "meta.json").exists():
        return Embeddings(doc_ids, Matrix([nothing]), 0.0)
    path = str(folder / "meta.json")
    meta = read_meta(path, rows, dimensions, again=again())
    if meta.get("similarity") not in ("dot", "cosine"):
        raise UserError("names no similarity", again()).at(path)
    if meta["similarity"] != similarity:
        raise UserError(
            f"was built for {flag('similarity', meta['similarity'])}", "search it with the same"
        ).at(str(folder))
    names = str(folder / "ids.txt")
    ids = unique(read_ids(names, rows, again()), names)
    kept = folder / "fields.jsonl"  # empty if nothing was kept
    nothing_kept = kept.exists() and not kept.stat().st_size
    fields = [] if nothing_kept else read_fields(str(kept), rows, again())
    return Embeddings(doc_ids, Matrix([nothing]), 0.0, ids, fields, meta.get("model_sha256"))


def said(error: Exception) -> str:
    """The message of faiss, without the place in its source."""
    return str(error).strip().partition(".cpp:")[2].partition(": ")[2] or str(error).strip()
