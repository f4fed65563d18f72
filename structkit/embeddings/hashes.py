"""What the files beside NAME.npy record: the hash of each text, and how it was encoded."""

from __future__ import annotations

from structkit.embeddings.fingerprints import check_together
from structkit.embeddings.matrices import read_ids
from structkit.embeddings.npy import HASHES
from structkit.records.jsonl import Record

# facts of a run that do not affect the numbers of a row
ELSEWHERE = frozenset(
    (
        *("model", "keep", "batch_tokens", "count", "dim", "run", "files"),
        *("records", "sha256", "precision"),
    )
)


def differing(run: Record, other: Record) -> list[str]:
    """The settings in which two runs differ, of those that rows depend on.

    >>> differing({"dtype": "fp32", "keep": ["n"]}, {"dtype": "bf16", "side": "query"})
    ['dtype', 'side']
    """
    names = dict.fromkeys([*run, *other])
    return [name for name in names if name not in ELSEWHERE and run.get(name) != other.get(name)]


def hashes_of(path: str, rows: int, meta: Record) -> list[str]:
    """The hash of what was read from the record of each row; `meta` is what is beside them."""
    hashes = read_ids(path.removesuffix(".npy") + HASHES, rows)
    check_together(path, meta, [HASHES])
    return hashes
