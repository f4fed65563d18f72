"""Make training examples: a query, the document that answers it, and documents that do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from structkit.errors import UserError
from structkit.pairs.examples import Fields
from structkit.pairs.hard_negatives import HardNegatives
from structkit.pairs.judged import Judged
from structkit.pairs.splits import drop_repeated, parse_split, split
from structkit.records.jsonl import Record
from structkit.records.rejects import Command


def pair(
    records: Iterable[Record],
    *,
    query: str | None = None,
    positive: str | None = None,
    template: str | None = None,
    seed: int = 0,
) -> Iterator[Record]:
    """Add `query` and `positive`, taken from two fields of each record.

    By default docstring and code, one of the bullets and the description of a product, query and
    HTML. A list yields one item, drawn by `(seed, id)`. `template` makes the positive of several
    fields. Where the query is a docstring, it is cut out of the code: CodeSearchNet's Python
    functions contain it, and a query must not sit in its own document. An empty text raises.

    >>> record = {"id": "1", "docstring": "Add.", "code": "def f(a, b): return a + b"}
    >>> [(made["query"], made["positive"]) for made in pair([record])]
    [('Add.', 'def f(a, b): return a + b')]
    """
    fields = Fields(query, positive, template)
    for record in records:
        yield {**record, **fields.example(record, seed)}


@dataclass(frozen=True)
class Pairing:
    """The stages that the flags ask for: a command, and what sees all it yields."""

    command: Command
    then: Command | None

    @classmethod
    def of(cls, flags: dict[str, Any]) -> Pairing:
        """The stages of the command's flags, whose files agree with each other."""
        _check(flags)
        fields = Fields(flags["query"], flags["positive"], flags["positive_template"])
        stages: list[Command] = []
        then = _whole_input(flags)
        if flags["queries"]:
            judged = _judged(flags, fields)
            stages.append(judged)
            if not flags["shard"]:
                then.insert(0, judged.all_known)
        else:
            stages.append(
                partial(
                    pair,
                    query=fields.query,
                    positive=fields.positive,
                    template=fields.template,
                    seed=flags["seed"],
                )
            )
        if flags["negatives_from"]:
            stages.append(_hard(flags, fields))
        return cls(_chain(stages), _chain(then) if then else None)


def _check(flags: dict[str, Any]) -> None:
    """Raise if flags are missing that others need."""
    flag = {name: f"--{name.replace('_', '-')}" for name in flags}
    needs = {
        "queries": ("qrels", "corpus"),
        "negatives_from": ("corpus",),
        "margin": ("negatives_from",),
        "depth": ("negatives_from",),
    }
    for name, others in needs.items():
        for other in others:
            if flags[name] is not None and flags[other] is None:
                raise UserError(f"{flag[name]} needs {flag[other]}", "add it", status=2)
    if flags["qrels"] and not flags["queries"] and not flags["negatives_from"]:
        raise UserError("--qrels needs --queries and --corpus", "add them", status=2)
    if flags["corpus"] and not flags["queries"] and not flags["negatives_from"]:
        raise UserError("--corpus needs --qrels or --negatives-from", "add one", status=2)
    if flags["per_query"] is not None and not flags["corpus"]:
        raise UserError("--per-query needs --qrels or --negatives-from", "add one", status=2)
    if flags["per_query"] == 0 and flags["negatives_from"]:
        raise UserError("--per-query 0 asks --negatives-from for nothing", "leave one", status=2)
    if flags["queries"] and flags["files"]:
        raise UserError(
            f"--queries names what is read, and so does {flags['files'][0]!r}", "give one", status=2
        )


def _count(flags: dict[str, Any]) -> int:
    return 1 if flags["per_query"] is None else int(flags["per_query"])


def _judged(flags: dict[str, Any], fields: Fields) -> Judged:
    return Judged(
        flags["qrels"],
        flags["corpus"],
        fields.query_text,
        fields.document_text,
        per_query=0 if flags["negatives_from"] else _count(flags),
        seed=flags["seed"],
    )


def _hard(flags: dict[str, Any], fields: Fields) -> HardNegatives:
    return HardNegatives(
        flags["negatives_from"],
        flags["corpus"],
        fields.document_text,
        qrels_path=flags["qrels"],
        depth=flags["depth"] or 100,
        per_query=_count(flags),
        margin=flags["margin"],
        seed=flags["seed"],
    )


def _whole_input(flags: dict[str, Any]) -> list[Command]:
    """The stages that remember what they saw."""
    stages: list[Command] = [drop_repeated] if flags["dedupe"] else []
    if flags["split"]:
        stages.append(partial(split, splits=parse_split(flags["split"]), seed=flags["seed"]))
    if stages and flags["shard"]:
        raise UserError(
            "--dedupe and --split need the whole input, --shard gives a part",
            "shard another stage",
            status=2,
        )
    return stages


def _chain(stages: list[Command]) -> Command:
    def chained(records: Iterable[Record]) -> Iterator[Record]:
        for stage in stages:
            records = stage(records)
        yield from records

    return chained
