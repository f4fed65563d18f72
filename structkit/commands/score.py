"""Score runs against relevance judgements."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from structkit.errors import UserError
from structkit.progress import say
from structkit.records.jsonl import Record, shown
from structkit.scoring.comparison import compare
from structkit.scoring.groups import NONE, FieldValues, grouped, order, read_values
from structkit.scoring.judgements import Judgements
from structkit.scoring.measures import DEFAULT, Evaluation, evaluate, macro, measure
from structkit.scoring.passages import Passages
from structkit.scoring.runs import read_run


def score(
    runs: Mapping[str, str],
    qrels: str,
    *,
    measures: Sequence[str] = DEFAULT,
    per_query: bool = False,
    queries: Sequence[str] = (),
    gains: str | None = None,
    compare_with: Mapping[str, str] | None = None,
    by: str | None = None,
    by_records: Sequence[str] = (),
    by_mean: bool = False,
    passages: Sequence[str] = (),
    seed: int = 0,
) -> Iterator[Record]:
    """One record for each run: measures averaged over all judged queries, with 95 % intervals.

    `runs` maps the names to print to files. A judged query that a run lacks counts 0 and is
    counted as `missing`; queries without judgements do not count and are `unjudged`. The interval
    of a measure is in `MEASURE_low` and `MEASURE_high`. With `per_query`: one record for each run
    and judged query. `qrels` is a file, or `self`: the one relevant document of a query is that
    with its own id, as in code search; then the judged queries are the run's, or those of the
    records in the files `queries`. `gains`, a preset or `LABEL=VALUE,…`, says what the qrels'
    labels are worth to nDCG; to the other measures a document with a gain above 0 is relevant;
    `binary` makes every relevance above 0 the same.
    With `compare_with`, more such runs: one record for each run, each of these and each measure,
    with paired tests. With `by`: one record for each run and value of that field, which the files
    `by_records` have for queries or for the documents that answer them; and with `by_mean` one for
    each run, the mean over these values, equally weighted. `passages` are records of what the runs
    rank, where the judgements are of the documents that contain them.
    """
    names = _known(measures)
    if gains is not None and qrels == "self":
        raise UserError("--gains and --qrels self exclude each other", "leave one out", status=2)
    if by_mean and not by:
        raise UserError("--mean is over the values of --by", "add --by FIELD", status=2)
    if bool(by) != bool(by_records) or per_query + bool(by) + bool(compare_with) > 1:
        raise UserError(
            "--by FIELD goes with --by-records FILE, and not with --per-query or --compare",
            "add the one, or leave the others out",
            status=2,
        )
    against = _others(runs, compare_with or {})
    parts = Passages(passages) if passages else None
    judgements = Judgements(qrels, queries, gains, parts)
    others = {name: _evaluated(path, judgements, names) for name, path in against.items()}
    values = read_values(by_records, by) if by else {}
    for run_name, path in runs.items():
        evaluation = _evaluated(path, judgements, names)
        if per_query:
            yield from _per_query(run_name, evaluation)
        elif by:
            yield from _by_group(run_name, evaluation, by, values, seed, mean=by_mean)
        elif others:
            for other_name, other in others.items():
                if _same(path, against[other_name]):
                    continue
                yield from _compared(run_name, evaluation, other_name, other, seed)
        else:
            yield {"run": run_name, **_summary(evaluation, seed)}


def _known(measures: Sequence[str]) -> list[str]:
    """The measures, each once; an unknown one is refused before anything is read."""
    names = list(dict.fromkeys(measures))
    if not names:
        raise UserError("--measures names none", "for example nDCG@10 R@100", status=2)
    for name in names:
        measure(name)
    return names


def _others(runs: Mapping[str, str], others: Mapping[str, str]) -> Mapping[str, str]:
    """The runs to compare with; a run is not compared with itself."""
    pairs = [(one, other) for one in runs.values() for other in others.values()]
    same = [one for one, other in pairs if _same(one, other)]
    if same and len(same) == len(pairs):
        raise UserError(f"--compare {same[0]} is the run itself", "name another run", status=2)
    for path in same:
        say(f"{shown(path)} is not compared with itself")
    return others


def _same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _evaluated(path: str, judgements: Judgements, measures: Sequence[str]) -> Evaluation:
    run = read_run(path)
    try:
        return evaluate(*judgements.of(run), measures)
    except UserError as error:
        raise error.at(shown(path)) from None


def _summary(evaluation: Evaluation, seed: int, parts: Sequence[Evaluation] = ()) -> Record:
    """Counts, means and intervals; with `parts`, the mean over these, equally weighted."""
    means, low, high = macro([part.values for part in parts or [evaluation]], seed)
    record: Record = {
        "queries": len(evaluation.query_ids),
        "missing": evaluation.missing,
        "unjudged": evaluation.unjudged,
    }
    for column, name in enumerate(evaluation.names):
        record[name] = float(means[column])
        record[f"{name}_low"] = float(low[column])
        record[f"{name}_high"] = float(high[column])
    return record


def _by_group(
    run: str, evaluation: Evaluation, field: str, values: FieldValues, seed: int, *, mean: bool
) -> Iterator[Record]:
    groups = grouped(evaluation.query_ids, evaluation.qrels, values)
    if set(groups) == {NONE}:
        raise UserError(
            "--by-records has neither the queries nor the documents that answer them",
            "give records with the ids of queries or documents",
        )
    parts = {
        group: evaluation.part([place for place, name in enumerate(groups) if name == group])
        for group in order(groups)
    }
    if mean:
        yield {"run": run, field: len(parts), **_summary(evaluation, seed, list(parts.values()))}
        return
    for group, part in parts.items():
        yield {"run": run, field: group, **_summary(part, seed)}


def _compared(
    run: str, evaluation: Evaluation, other_name: str, other: Evaluation, seed: int
) -> Iterator[Record]:
    """Paired tests over the queries that are judged for both."""
    place = {query_id: row for row, query_id in enumerate(other.query_ids)}
    both = [row for row, query_id in enumerate(evaluation.query_ids) if query_id in place]
    theirs = [place[evaluation.query_ids[row]] for row in both]
    if not both:
        raise UserError(
            f"{run} and {other_name} have no judged query in common",
            "compare runs of the same queries",
        )
    for column, name in enumerate(evaluation.names):
        ours_values = evaluation.values[both, column]
        their_values = other.values[theirs, column]
        result = compare(ours_values, their_values, seed)
        yield {
            "run": run,
            "against": other_name,
            "measure": name,
            "queries": len(both),
            "value": float(ours_values.mean()),
            "against_value": float(their_values.mean()),
            "difference": result.difference,
            "difference_low": result.low,
            "difference_high": result.high,
            "p_randomization": result.p_randomization,
            "p_t": result.p_t,
            "wins": result.wins,
            "ties": result.ties,
            "losses": result.losses,
        }


def _per_query(run: str, evaluation: Evaluation) -> Iterator[Record]:
    for query_id, values in zip(evaluation.query_ids, evaluation.values.tolist(), strict=True):
        yield {"run": run, "query_id": query_id, **dict(zip(evaluation.names, values, strict=True))}


def names(runs: Sequence[str] | None) -> dict[str, str]:
    """The names to print for run files: without folders and endings, if they stay distinct.

    >>> names(["runs/bm25.jsonl.gz", "runs/santa.trec"])
    {'bm25': 'runs/bm25.jsonl.gz', 'santa': 'runs/santa.trec'}
    """
    paths = list(runs or ["-"])
    short = ["run" if path == "-" else Path(path).name.partition(".")[0] for path in paths]
    unclear = len(set(short)) < len(short)
    return dict(zip(paths if unclear else short, paths, strict=True))
