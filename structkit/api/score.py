"""`structkit.score`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

from structkit.api.arguments import check, in_python
from structkit.api.given import Held, Names, Rows, rows
from structkit.commands import score as command
from structkit.commands import score_pairs
from structkit.errors import UserError, unknown
from structkit.records.jsonl import Record
from structkit.scoring.measures import DEFAULT

TASKS: dict[str, Callable[[Mapping[str, str]], Iterator[Record]]] = {
    "similarity": score_pairs.similarity,
    "space": score_pairs.space,
}


def score(
    runs: Mapping[str, Names | Rows] | Names | Rows,
    /,
    qrels: Names | Rows | None = None,
    *,
    task: str | None = None,
    measures: Sequence[str] = DEFAULT,
    per_query: bool = False,
    queries: Names | Rows = (),
    gains: str | None = None,
    compare_with: Sequence[str] = (),
    by: str | None = None,
    by_records: Names | Rows = (),
    by_mean: bool = False,
    passages: Names | Rows = (),
    seed: int = 0,
) -> Iterator[Record]:
    """One record for each run: measures averaged over all judged queries, with 95 % intervals.

    `runs` maps names to runs, which are dicts or names of files; one alone is called `run`. `qrels`
    are judgements, or "self": the document with the query's own id is the relevant one.
    `compare_with` names some of `runs`: the others are compared with these by paired tests. With
    `task` ("similarity" or "space"), `runs` are pairs of embeddings. The others are the flags.
    """
    given = {name: rows(value) for name, value in locals().items()}
    runs, qrels, task = given.pop("runs"), given.pop("qrels"), given.pop("task")
    named = runs if isinstance(runs, Mapping) else {"run": runs}
    with in_python(signature(score).parameters):
        check("score", given, given)
        if (task is None) == (qrels is None):
            raise UserError("score needs one of qrels and task", "give one", status=2)
        if task is not None and task not in TASKS:
            raise unknown("task", task, TASKS)
        for name in compare_with:
            if name not in named:
                raise unknown("run", name, named)
        if compare_with and set(named) <= set(compare_with):
            problem = "compare_with names all runs: none is left to compare with them"
            raise UserError(problem, "add another run", status=2)
    return _scores(named, qrels, task, given)


def _scores(
    runs: Mapping[str, Any], qrels: Names | Rows | None, task: str | None, given: Record
) -> Iterator[Record]:
    with in_python(signature(score).parameters), Held() as held:
        files = {name: held.file(run, name) for name, run in runs.items()}
        if task:
            yield from TASKS[task](files)
            return
        against = given.pop("compare_with")
        for name in ("queries", "by_records", "passages"):
            given[name] = held.files(given[name], name) if given[name] != () else ()
        yield from command.score(
            {name: path for name, path in files.items() if name not in against},
            "self" if qrels == "self" else held.file(() if qrels is None else qrels, "qrels"),
            compare_with={name: files[name] for name in against},
            **given,
        )
