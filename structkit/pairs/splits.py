"""Equal texts of training examples: repeats that are dropped, splits that share none.

Neither depends on the order of the examples. Tests: tests/commands/test_pair.py.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator

import orjson

from structkit.errors import flag, missing, wrong_usage
from structkit.progress import say
from structkit.records.fields import ABSENT, flag_text, lookup
from structkit.records.jsonl import Record, ReplayBuffer, may_be_rounded
from structkit.records.output import dump
from structkit.reproducibility import key

Splits = list[tuple[str, float]]  # names and shares
TEXT_PREFIX_BYTES = 24  # bytes of a text by which examples are put in order


def digest(kind: str, text: str) -> bytes:
    """Return the beginning and the hash of a text of a kind, without extra white space."""
    words = " ".join(text.split()).encode()
    return (
        words[:TEXT_PREFIX_BYTES] + hashlib.blake2b(kind.encode() + words, digest_size=8).digest()
    )


def group_of(record: Record, field: str) -> str:
    """Return the value of a field whose equal values stay together. Errors: it has none."""
    value = lookup(record, field)
    if value is ABSENT or value is None:
        raise missing(field, record, named=True)
    return flag_text(value)


def decide(
    records: Iterable[Record],
    by: str | None,
    reason: str,
    decision: Callable[[set[bytes], str], str],
) -> Iterator[tuple[Record, str]]:
    """Yield each example with the decision about it, unless that is ""; say how many are dropped.

    `decision` gets the digests of query and document, and the id or the value of the field `by`. It
    is called in the order of the texts, so that the order of the examples decides nothing. They are
    copied to a temporary file; memory holds digests and ids.
    """
    copy, marks = ReplayBuffer(), list[tuple[bytes, ...]]()
    for record in records:
        copy.add(dump(record))
        texts = digest("q", record["query"]), digest("d", record["positive"])
        rest = digest("", dump({**record, "id": ""}).decode())
        names = [record.get("id", "")]
        if by is not None:
            names.append(group_of(record, by))
        marks.append((*texts, rest, *(name.encode() for name in names)))
    decisions = [""] * len(marks)
    for place in sorted(range(len(marks)), key=marks.__getitem__):
        decisions[place] = decision({*marks[place][:2]}, marks[place][-1].decode())
    for line, each in zip(copy.replay(), decisions, strict=True):
        if each:
            yield json.loads(line) if may_be_rounded(line) else orjson.loads(line), each
    if dropped := decisions.count(""):
        say(f"{dropped:,} records dropped: {reason}")


def drop_repeated(records: Iterable[Record]) -> Iterator[Record]:
    """Drop examples until none share a query or document: the first by query and document stays."""
    seen: set[bytes] = set()

    def decision(texts: set[bytes], _: str) -> str:
        if not seen.isdisjoint(texts):
            return ""
        seen.update(texts)
        return "kept"

    reason = "others have their query or document"
    return (record for record, _ in decide(records, None, reason, decision))


def parse_split(text: str) -> Splits:
    """Return the splits in `NAME:SHARE,NAME:SHARE`, whose shares sum to 1.

    >>> parse_split("train:0.9,dev:0.1")
    [('train', 0.9), ('dev', 0.1)]
    """
    parts = [part.partition(":") for part in text.split(",")]
    names = {name.strip() for name, _, _ in parts} - {""}
    try:
        shares = [float(share) for _, _, share in parts]
    except ValueError:
        shares = []
    # written so that NaN does not pass
    sums = all(share >= 0 for share in shares) and abs(sum(shares) - 1) <= 1e-6
    if len(names) < len(parts) or not sums:
        problem = f"{flag('split', text)} is not NAME:SHARE,NAME:SHARE with distinct names and "
        raise wrong_usage(f"{problem}shares that sum to 1", "for example train:0.9,dev:0.1")
    return [(name, share) for (name, _, _), share in zip(parts, shares, strict=True)]


def add_split(
    records: Iterable[Record], splits: Splits, by: str | None = None, seed: int = 0
) -> Iterator[Record]:
    """Add `split`: drawn by `(seed, id)`, the same for examples that share a query or document.

    With `by`, the value of that field is in place of the id, and all examples that have it get one
    split. An example that would tie two splits together is dropped, and counted: nothing leaks.
    """
    homes: dict[bytes, str] = {}

    def decision(texts: set[bytes], name: str) -> str:
        drawn = _drawn_split(splits, key(seed, name, "split") / 2**64)
        known = {homes[text] for text in texts if text in homes} | ({drawn} if by else set())
        if len(known) > 1:
            return ""
        home = known.pop() if known else drawn
        homes.update(dict.fromkeys(texts, home))
        return home

    reason = "they would leak from one split into another"
    for record, name in decide(records, by, reason, decision):
        yield {**record, "split": name}


def _drawn_split(splits: Splits, at: float) -> str:
    for name, share in splits:
        if at < share:
            return name
        at -= share
    return splits[-1][0]
