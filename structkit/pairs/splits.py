"""Stages that remember what they saw: repeated examples dropped, splits without leaks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from structkit.errors import UserError, flag
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.seeds import key


def digest(text: str) -> bytes:
    """A hash that is the same for texts that differ only in white space."""
    return hashlib.blake2b(" ".join(text.split()).encode("utf-8"), digest_size=8).digest()


def digests(record: Record) -> tuple[bytes, bytes]:
    """The digests of a query and of its document, different even for equal texts."""
    return digest("q" + record["query"]), digest("d" + record["positive"])


def drop_repeated(records: Iterable[Record]) -> Iterator[Record]:
    """Drop examples whose query or positive occurred before; say how many.

    Memory: eight bytes and some overhead for every text seen.
    """
    seen: set[bytes] = set()
    dropped = 0
    for record in records:
        texts = digests(record)
        if not seen.isdisjoint(texts):
            dropped += 1
            continue
        seen.update(texts)
        yield record
    if dropped:
        say(f"{dropped:,} records dropped: their query or document occurred before")


def parse_split(text: str) -> list[tuple[str, float]]:
    """The splits that `NAME:SHARE,NAME:SHARE` names; the shares sum to 1.

    >>> parse_split("train:0.9,dev:0.1")
    [('train', 0.9), ('dev', 0.1)]
    """
    wrong = UserError(
        f"{flag('split', text)} is not NAME:SHARE,NAME:SHARE with distinct names and shares that "
        "sum to 1",
        "for example train:0.9,dev:0.1",
        status=2,
    )
    splits = []
    for part in text.split(","):
        name, _, share = part.partition(":")
        try:
            splits.append((name, float(share)))
        except ValueError:
            raise wrong from None
    names, shares = zip(*splits, strict=True)
    if not all(map(str.strip, names)) or len(set(names)) < len(names):
        raise wrong
    # written so that NaN does not pass
    if not (all(share >= 0 for share in shares) and abs(sum(shares) - 1) <= 1e-6):
        raise wrong
    return splits


def split(
    records: Iterable[Record], splits: list[tuple[str, float]], *, seed: int = 0
) -> Iterator[Record]:
    """Add `split`: drawn by `(seed, id)`, the same for examples that share a query or document.

    An example that would tie two splits together is dropped, and counted: nothing leaks.
    """
    homes: dict[bytes, str] = {}
    dropped = 0
    for record in records:
        texts = digests(record)
        known = {homes[text] for text in texts if text in homes}
        if len(known) == 2:
            dropped += 1
            continue
        name = known.pop() if known else _drawn(splits, key(seed, record["id"], "split") / 2**64)
        homes.update(dict.fromkeys(texts, name))
        yield {**record, "split": name}
    if dropped:
        say(f"{dropped:,} records dropped: they would tie two splits together")


def _drawn(splits: list[tuple[str, float]], at: float) -> str:
    for name, share in splits:
        if at < share:
            return name
        at -= share
    return splits[-1][0]
