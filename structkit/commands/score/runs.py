"""Score runs against judgements: all queries together, one by one, by groups, or beside others.

Tests: tests/commands/test_score.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from structkit.commands.score.scored import QRELS_GROUP, Compared, by_name
from structkit.errors import UserError, flag, missing, wrong_usage
from structkit.records.jsonl import Record, Records
from structkit.scoring.exclusions import OWN_ID, Exclusions, exclude_setting
from structkit.settings import file_setting, setting, settings_class

if TYPE_CHECKING:
    from structkit.scoring.judgements import Judgements
    from structkit.scoring.measures import Evaluation

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "R@100", "Success@1", "Success@5", "Judged@10")
MEASURE_NAME = re.compile(r"(?:\([^()]*\)|[^\s,])+")  # parameters of one may have blanks
NO_VALUE = "none"


@settings_class
class Settings(Compared):
    """Settings of runs and judgements."""

    qrels: str | None = setting(
        None,
        "File of judgements (JSONL, TREC or BEIR), or `self`: the document with the query's "
        "own id.",
        reads="self",
    )
    measures: tuple[str, ...] = setting(
        DEFAULT_MEASURES,
        "Measures separated by spaces, named as in ir_measures, with parameters as in "
        "AP(rel=2), or MRR and HitRate@k. Among equal scores the later id comes first, also "
        "in RR@k, as in trec_eval.",
        metavar="NAMES",
    )
    queries: tuple[str, ...] = file_setting(
        "File with the queries that count, for {qrels:self}, or that have the field of {by}.",
        (),
        group=QRELS_GROUP,
    )
    gains: str | None = setting(
        None,
        "Gains of the qrels' field `label`, instead of `relevance`: esci-documented "
        "(E=1,S=0.1,C=0.01,I=0), esci-official (S and C swapped), exact (E=1, others 0), or your "
        "own; binary: 1 for any relevance above 0.",
        metavar="PRESET|LABEL=VALUE,…",
        group=QRELS_GROUP,
    )
    per_query: bool = setting(
        False, "Write one record per run and query.", excludes=("by", "compare"), group=QRELS_GROUP
    )
    compare: tuple[str, ...] = file_setting("", (), metavar="RUN", excludes="by")
    by: str | None = setting(
        None,
        "Write one record per value of this field of the queries.",
        metavar="FIELD",
        requires="queries",
        group=QRELS_GROUP,
    )
    mean: bool = setting(
        False,
        "Average over the values of {by}, equally weighted.",
        requires="by",
        group=QRELS_GROUP,
    )
    exclude: tuple[str, ...] = exclude_setting(QRELS_GROUP)
    passages: tuple[str, ...] = file_setting(
        "File of the parts that the runs rank, with `doc_id` or `path`, and `lines`. A judged "
        "document has the rank of its first part that overlaps `start_line` to `end_line`.",
        (),
        group=QRELS_GROUP,
    )


def _check_combinations(settings: Settings) -> None:
    """Raise for settings that do not go together."""
    qrels, own, is_own = flag("qrels"), flag("qrels", "self"), settings.qrels == "self"
    problems = {
        f"{flag('gains')} goes with a file of {qrels}": is_own and settings.gains,
        f"{flag('exclude', OWN_ID)} leaves out the answers of {own}": is_own
        and OWN_ID in settings.exclude,
        f"{flag('queries')} goes with {own} or {flag('by')}": settings.queries
        and not (is_own or settings.by),
    }
    for problem, is_there in problems.items():
        if is_there:
            raise wrong_usage(problem, "give both, or leave it out")


def score_runs(settings: Settings) -> Iterator[Record]:
    """Yield one record per run: measures averaged over all judged queries, with 95 % intervals."""
    from structkit.scoring.judgements import Judgements

    _check_combinations(settings)
    names = _measure_names(settings.measures)
    against = by_name(settings.compare)
    if settings.compare and len({*settings.runs, *settings.compare}) == 1:
        raise wrong_usage(
            f"{flag('compare', settings.compare[0])} is the run itself",
            "name another run",
        )
    asked = read_values(settings.queries, settings.by)
    judgements = Judgements(settings.qrels or "", list(asked), settings.gains, settings.passages)
    excluded = Exclusions(settings.exclude)
    others = {name: _evaluate(path, judgements, names, excluded) for name, path in against.items()}
    evaluations = {
        run: _evaluate(path, judgements, names, excluded)
        for run, path in settings.named_runs.items()
    }
    excluded.report()
    for run, evaluation in evaluations.items():
        if settings.per_query:
            rows = evaluation.values.tolist()
            for query_id, row in zip(evaluation.query_ids, rows, strict=True):
                named = dict(zip(evaluation.names, row, strict=True))
                yield {"run": run, "query_id": query_id, **named}
        elif settings.by:
            yield from _by_group(run, evaluation, settings.by, asked, settings)
        elif others:
            for name, other in others.items():
                if settings.named_runs[run] != against[name]:
                    yield from _compare(run, evaluation, name, other, settings.seed)
        else:
            yield {"run": run, **_summary(evaluation, settings.seed)}


def _measure_names(measures: Sequence[str]) -> list[str]:
    """Return the measures, each once. Errors: an unknown one, before anything is read."""
    from structkit.scoring.measures import measure

    found = (name for each in measures for name in MEASURE_NAME.findall(each))
    names = list(dict.fromkeys(found))
    for name in names:
        measure(name)
    return names


def _evaluate(
    path: str, judgements: Judgements, measures: Sequence[str], excluded: Exclusions
) -> Evaluation:
    from structkit.scoring.measures import evaluate
    from structkit.scoring.runs import read_run

    run = read_run(path)
    if excluded.most:
        kept = {
            query_id: {
                doc_id: score
                for doc_id, score in documents.items()
                if not excluded.holds(query_id, doc_id)
            }
            for query_id, documents in run.items()
        }
        run = {query_id: documents for query_id, documents in kept.items() if documents}
    try:
        return evaluate(*judgements.of(run), measures)
    except UserError as error:
        raise error.at(path) from None


def _summary(evaluation: Evaluation, seed: int, parts: Sequence[Evaluation] = ()) -> Record:
    """Return counts, means and intervals; with `parts`, the mean over these, equally weighted."""
    from structkit.scoring.measures import macro_average

    means, low, high = macro_average([part.values for part in parts or [evaluation]], seed)
    record: Record = {
        "queries": len(evaluation.query_ids),
        "missing": len(evaluation.lost),
        "unjudged": evaluation.unjudged,
    }
    for column, name in enumerate(evaluation.names):
        record[name] = float(means[column])
        record[f"{name}_low"] = float(low[column])
        record[f"{name}_high"] = float(high[column])
    return record


def _by_group(
    run: str, evaluation: Evaluation, field: str, values: dict[str, str], settings: Settings
) -> Iterator[Record]:
    groups = [values.get(query_id, NO_VALUE) for query_id in evaluation.query_ids]
    if set(groups) == {NO_VALUE}:
        raise UserError(f"{flag('queries')} has none of the judged queries", "give their records")
    parts = {
        group: evaluation.part([place for place, name in enumerate(groups) if name == group])
        for group in sort_groups(groups)
    }
    if settings.mean:
        whole = _summary(evaluation, settings.seed, list(parts.values()))
        yield {"run": run, field: len(parts), **whole}
        return
    for group, part in parts.items():
        yield {"run": run, field: group, **_summary(part, settings.seed)}


def _compare(
    run: str, evaluation: Evaluation, other_name: str, other: Evaluation, seed: int
) -> Iterator[Record]:
    """Yield paired tests over the queries that are judged for both."""
    from structkit.scoring.measures import compare_values

    place = {query_id: row for row, query_id in enumerate(other.query_ids)}
    both = [row for row, query_id in enumerate(evaluation.query_ids) if query_id in place]
    theirs = [place[evaluation.query_ids[row]] for row in both]
    if not both:
        raise UserError(
            f"{run} and {other_name} have no judged query in common",
            "compare runs of the same queries",
        )
    for column, name in enumerate(evaluation.names):
        ours_values, their_values = evaluation.values[both, column], other.values[theirs, column]
        yield {
            "run": run,
            "against": other_name,
            "measure": name,
            "queries": len(both),
            "value": float(ours_values.mean()),
            "against_value": float(their_values.mean()),
            **compare_values(ours_values, their_values, seed),
        }


def read_values(files: Sequence[str], field: str | None) -> dict[str, str]:
    """Return the value of a field, if any, for each id. Errors: a field that no record has."""
    values: dict[str, str] = {}
    known: set[str] = set()
    for record in Records.read(files) if files else ():
        known.update(record)
        value = None if field is None else record.get(field)
        values[record["id"]] = NO_VALUE if value is None else str(value)
    if field is not None and field not in known:
        raise missing(field, sorted(known), named=True).at(files[0])
    return values


def sort_groups(groups: Sequence[str]) -> list[str]:
    """Return the groups in the order of a table: whole numbers by size, then names.

    >>> sort_groups(["b", "10", "9", "a", "b"])
    ['9', '10', 'a', 'b']
    """
    return sorted(set(groups), key=lambda name: (len(name) if name.isdecimal() else inf, name))
