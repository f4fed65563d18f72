"""Make training examples: a query and the document that answers it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from structkit.errors import UserError
from structkit.jsonl import Record, text_field
from structkit.progress import say
from structkit.registry import load
from structkit.seeds import key, random_for
from structkit.stream import Command
from structkit.structure.spans import Span


def pair(
    records: Iterable[Record],
    *,
    query: str = "docstring",
    positive: str = "code",
    seed: int = 0,
) -> Iterator[Record]:
    """Add `query` and `positive`, taken from two fields of each record.

    A list field yields one item, drawn by `(seed, id)`. Where the query is a docstring, it is cut
    out of the code: CodeSearchNet's Python functions contain it, and a query must not sit in its
    own document. An empty text raises.

    >>> record = {"id": "1", "docstring": "Add.", "code": "def f(a, b): return a + b"}
    >>> [(made["query"], made["positive"]) for made in pair([record])]
    [('Add.', 'def f(a, b): return a + b')]
    """
    for record in records:
        texts = {
            "query": _text(record, query, seed, "--query"),
            "positive": _text(record, positive, seed, "--positive"),
        }
        if query == "docstring":
            texts["positive"] = without_docstring(texts["positive"], record)
        yield {**record, **texts}


def _text(record: Record, field: str, seed: int, flag: str) -> str:
    value: Any = record.get(field)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        value = random_for(seed, record["id"], field).choice(value)
    else:
        value = text_field(record, field, f"name another with {flag}")
    if not value.strip():
        raise UserError(f'field "{field}" is empty', "leave the record out")
    return str(value)


def without_docstring(code: str, record: Record) -> str:
    """The code without the docstring of its function, where its language keeps it inside."""
    language = record.get("language")
    if not isinstance(language, str):
        return code
    plugin = load("language", language, status=1)
    span = plugin.docstring(code) if hasattr(plugin, "docstring") else None
    if span is None:
        return code
    if "masked" in record:
        raise UserError(
            "the record is masked already, with the docstring inside",
            "run pair before mask-entities",
        )
    return cut(code, span)


def cut(text: str, span: Span) -> str:
    r"""The text without a statement: its whole lines, or itself and the semicolon behind it.

    >>> cut("def f():\n    'doc'\n    return 1", (13, 18))
    'def f():\n    return 1'
    >>> cut("def f(): 'doc'; return 1", (9, 14))
    'def f(): return 1'
    """
    before, after = text[: span[0]], text[span[1] :]
    rest, newline, following = after.partition("\n")
    if rest.lstrip().startswith(";"):
        return before + after.lstrip().removeprefix(";").lstrip(" \t")
    line = before.rpartition("\n")[2]
    if not line.strip() and not rest.strip():
        return before[: len(before) - len(line)] + following
    return before + after


def _digest(text: str) -> bytes:
    """What two texts share that differ in blanks only."""
    return hashlib.blake2b(" ".join(text.split()).encode("utf-8"), digest_size=8).digest()


def drop_repeated(records: Iterable[Record]) -> Iterator[Record]:
    """Drop examples whose query or positive was there before; say how many.

    Memory: eight bytes and some overhead for every text seen.
    """
    seen: set[bytes] = set()
    dropped = 0
    for record in records:
        texts = {_digest("q" + record["query"]), _digest("d" + record["positive"])}
        if texts & seen:
            dropped += 1
            continue
        seen |= texts
        yield record
    if dropped:
        say(f"{dropped:,} records dropped: their query or document was there before")


def whole_input(
    *, dedupe: bool, splits: str | None, shard: str | None, seed: int
) -> Command | None:
    """The stages that remember what they saw, as one; none if nothing is asked for."""
    stages: list[Command] = [drop_repeated] if dedupe else []
    if splits:
        stages.append(partial(split, splits=parse_split(splits), seed=seed))
    if stages and shard:
        raise UserError(
            "--dedupe and --split need the whole input, --shard gives a part",
            "shard another stage",
            status=2,
        )
    return partial(_chain, stages=stages) if stages else None


def _chain(records: Iterable[Record], stages: list[Command]) -> Iterator[Record]:
    for stage in stages:
        records = stage(records)
    yield from records


def parse_split(text: str) -> list[tuple[str, float]]:
    """The splits that `NAME:SHARE,NAME:SHARE` names; the shares sum to 1.

    >>> parse_split("train:0.9,dev:0.1")
    [('train', 0.9), ('dev', 0.1)]
    """
    wrong = UserError(
        f"--split {text!r} is not NAME:SHARE,NAME:SHARE with shares that sum to 1",
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
    if abs(sum(share for _, share in splits) - 1) > 1e-6 or min(splits, key=_share)[1] < 0:
        raise wrong
    return splits


def _share(split: tuple[str, float]) -> float:
    return split[1]


def split(
    records: Iterable[Record], splits: list[tuple[str, float]], *, seed: int = 0
) -> Iterator[Record]:
    """Add `split`: drawn by `(seed, id)`, the same for examples that share a query or document.

    An example that would tie two splits together is dropped, and counted: nothing leaks.
    """
    homes: dict[bytes, str] = {}
    dropped = 0
    for record in records:
        texts = _digest("q" + record["query"]), _digest("d" + record["positive"])
        found = {homes[text] for text in texts if text in homes}
        if len(found) == 2:
            dropped += 1
            continue
        name = found.pop() if found else _drawn(splits, key(seed, record["id"], "split") / 2**64)
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
