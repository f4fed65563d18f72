"""`structkit.pair`."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

from structkit.api.arguments import check, in_python
from structkit.api.given import Held, Names, Rows
from structkit.api.stage import made_of
from structkit.commands.pair import Pairing
from structkit.records.jsonl import Record

# what a command reads from files
FILES = ("qrels", "corpus", "negatives_from")


def pair(
    records: Rows,
    /,
    *,
    query: str | None = None,
    positive: str | None = None,
    template: str | None = None,
    qrels: Names | Rows | None = None,
    corpus: Names | Rows | None = None,
    judged: bool | None = None,
    negatives_from: Names | Rows | None = None,
    depth: int | None = None,
    per_query: int | None = None,
    margin: float | None = None,
    dedupe: bool = False,
    split: str | None = None,
    seed: int = 0,
) -> Iterator[Record]:
    """Training examples: adds `query` and `positive`; a docstring is cut out of its code.

    With `qrels` and `corpus`, records are judged queries (`judged`; not with `negatives_from`,
    unless you say so), and examples are made from the judgements. With `negatives_from`, a run, and
    `corpus`, they get hard `negatives`. Each is dicts, or a file. The others are the flags of
    `structkit pair --help`.
    """
    given = {name: value for name, value in locals().items() if name != "records"}
    with in_python(signature(pair).parameters):
        check("pair", {name: given[name] for name in given if name not in FILES}, given)
        asked = given.pop("judged")
        if asked is None:
            asked = qrels is not None and negatives_from is None
        told = {name: None if given[name] is None else name for name in FILES}
        Pairing(**{**given, **told}, queries="records" if asked else None)
    return _pairs(records, given, queries="records" if asked else None)


def _pairs(records: Rows, given: dict[str, Any], queries: str | None) -> Iterator[Record]:
    with in_python(signature(pair).parameters), Held() as held:
        for name in FILES:
            given[name] = None if given[name] is None else held.file(given[name], name)
        pairing = Pairing(**given, queries=queries)
        made = made_of(records, pairing.command)
        yield from pairing.then(made) if pairing.then else made
