"""REPORT.md: the questions that recipes answer, each from reports/NAME.json and reports/NAME.md.

    python -m experiments.report gather VALUES --title … --command … -o FILE.json
    python -m experiments.report show experiments/reports/NAME.json
    python -m experiments.report runs experiments/reports/NAME.json
    python -m experiments.report write
    python -m experiments.report check experiments/reports/NAME.json REBUILT.json

`gather` reads what `structkit score --per-query` wrote: runs whose names differ only after an `@`
are one system, trained with several seeds. Of several files, each values-SET.jsonl, the first
measure on each set is told, or with --every each as SET/MEASURE; --pool NAME SET… has what the sets
say together. With --suite it reads
what `structkit score --task suite` wrote, and with --compare. A recipe states its hypotheses before
the run (--stated SYSTEM:AGAINST or SYSTEM:AGAINST:SET): their p-values are corrected for their
number (Holm 1979), those of all other pairs are not, and stay in the JSON. The values of each query
are written beside the table, as NAME.values.jsonl.gz, so that a table can go on elsewhere: with
--kept FILE.json its runs are in the new table too; `runs` prints those of trained models.
`show` prints a table with its words, `write` makes experiments/REPORT.md, the index of all; NAME.md
beside the numbers answers the question in its first paragraph, and says in words what they mean.
`check` compares the rows that were built again with the intervals of the committed ones.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from experiments.kept import Record, by_run, join, keep, kept, name_of
from experiments.pooling import pooled
from structkit.commands.score.table import score_table, table_lines
from structkit.scoring.measures import Values, compare_values, interval
from tests.jsonl import read as records

TESTED = ("difference", "difference_low", "difference_high", "p_randomization")
ENDS = ("_low", "_high", "_deviation", "_seeds")  # of a measure, in a row
P_VALUES = ("p_randomization", "p_bootstrap", "p_t")
REPORTS, REPORT = Path("experiments/reports"), Path("experiments/REPORT.md")
SENTENCES = ("STS 12", "STS 16", "STS B", "SICK R")  # tasks whose mean is printed too
HEAD = """# Report

Each entry shows the stated hypotheses of one question: differences with 95 % intervals and p-values
of paired randomization tests, Holm-corrected. Intervals hold queries and, where languages are
pooled, languages; [claims](../docs/explanation/claims.md) add seeds. Titles link to methods,
*Numbers* to all systems. The hypotheses of code-batches, code-unlabelled, code-weights, seal-parts,
seal-power, seal-tables, strae-models, strae-pairs, strae-paraphrases, strae-scale, strae-tuned,
table-alignment and, for pretraining, products were stated before the runs, the others afterwards.
So were two of code-weights, about original-0.
"""


class Systems:
    """The measures of every system on the same queries, by seed."""

    def __init__(self, scored: Sequence[Record]) -> None:
        self.measures = [name for name in scored[0] if name not in ("run", "query_id")]
        of_run: dict[str, dict[str, list[float]]] = {}
        for record in scored:
            values = [record[name] for name in self.measures]
            of_run.setdefault(record["run"], {})[record["query_id"]] = values
        queries = next(iter(of_run.values()))
        self.queries = len(queries)
        self.seeds: dict[str, list[str]] = {}
        self.values: dict[str, Values] = {}  # (seeds, queries, measures) each
        for run, of_query in of_run.items():
            if of_query.keys() != queries.keys():
                sys.exit(f"{run} was scored on other queries: score all runs at once")
            system, _, seed = name_of(run).partition("@")
            self.seeds.setdefault(system, []).append(seed)
            rows = np.array([[of_query[query] for query in queries]])
            known = self.values.get(system, rows[:0])
            self.values[system] = np.concatenate([known, rows])

    def rows(self) -> list[Record]:
        """Each system's means and intervals, and their deviations over the seeds, if several."""
        several = max(map(len, self.seeds.values())) > 1
        return [self._row(system, several=several) for system in self.values]

    def _row(self, system: str, *, several: bool) -> Record:
        values = self.values[system]
        low, high = interval(values.mean(axis=0))
        row: Record = {"system": system, "seeds": len(values), "queries": self.queries}
        for column, name in enumerate(self.measures):
            row[name] = float(values[:, :, column].mean())
            row |= {f"{name}_low": float(low[column]), f"{name}_high": float(high[column])}
            if self.seeds[system] != [""]:
                means = values[:, :, column].mean(axis=1)  # (seeds,)
                row |= of_seeds(name, self.seeds[system], means)
        if several:
            row["between seeds"] = row.get(f"{self.measures[0]}_deviation", "")
        return row

    def comparisons(self, against: Sequence[str], column: int = 0) -> list[Record]:
        """Paired tests of a measure, of every system with some of them; not corrected."""
        found: list[Record] = []
        for other in against:
            for system in self.values:
                if system == other or (system in against and self._before(system, other, against)):
                    continue
                theirs, ours = (
                    self.values[name].mean(axis=0)[:, column] for name in (other, system)
                )
                names = {"system": system, "against": other, "measure": self.measures[column]}
                result = compare_values(ours, theirs)
                found.append(names | {name: result[name] for name in TESTED})
        return found

    @staticmethod
    def _before(system: str, other: str, against: Sequence[str]) -> bool:
        """Whether the pair was compared already, the other way round."""
        return list(against).index(system) < list(against).index(other)


def of_seeds(name: str, seeds: Sequence[str], means: Values) -> Record:
    """Return the columns of a measure's values by seed, and their deviation.

    >>> of_seeds("RR", ["0", "1"], np.array([0.2, 0.4]))
    {'RR_seeds': {'0': 0.2, '1': 0.4}, 'RR_deviation': 0.14142135623730953}
    """
    found: Record = {f"{name}_seeds": dict(zip(seeds, means.tolist(), strict=True))}
    if len(means) > 1:
        found[f"{name}_deviation"] = float(means.std(ddof=1))
    return found


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected for their number.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = highest
    return corrected


def state(comparisons: Sequence[Record], stated: Sequence[str]) -> list[str]:
    """Correct the p-values of what a recipe states; its hypotheses that are in the table.

    >>> pair = {"system": "seal", "p_randomization": 0.02}
    >>> pairs = [pair | {"against": each} for each in ("raw", "bm25")]
    >>> state(pairs, ["seal:raw", "mcls:raw"]), [each.get("p_holm") for each in pairs]
    (['seal:raw'], [0.02, None])
    """
    known = [
        (hypothesis, each)
        for hypothesis in stated
        for each in comparisons
        if hypothesis in (name := f"{each['system']}:{each['against']}", f"{name}:{measured(each)}")
    ]
    values = [next(each[name] for name in P_VALUES if name in each) for _, each in known]
    for (_, each), corrected in zip(known, holm(values), strict=True):
        each["p_holm"] = corrected
    return list(dict.fromkeys(hypothesis for hypothesis, _ in known))


def measured(comparison: Record) -> str:
    """The measure, set of queries or task that is compared on."""
    return str(comparison.get("measure", comparison.get("task")))


def of_sets(
    sets: Mapping[str, Sequence[Record]],
    against: Sequence[str],
    *,
    every: bool = False,
    pools: Sequence[Sequence[str]] = (),
) -> tuple[list[Record], list[Record]]:
    """Rows and comparisons of the first measure, or `every` one, on several sets of queries.

    A pool is its name and those of its sets: a row has the deviation of their mean over seeds.
    """
    rows: dict[str, Record] = {}
    compared: list[Record] = []
    means: dict[str, dict[str, Values]] = {}  # (seeds,) each, by set and system
    seeds: dict[str, list[str]] = {}  # by system
    for name, scored in sets.items():
        systems = Systems(scored)
        seeds |= systems.seeds
        means[name] = {each: found[:, :, 0].mean(axis=1) for each, found in systems.values.items()}
        for column, measure in enumerate(systems.measures if every else systems.measures[:1]):
            told = f"{name}/{measure}" if every else name
            for each in systems.rows():
                own = {key: each[key] for key in ("system", "seeds")}
                ends = [end for end in ("", *ENDS) if f"{measure}{end}" in each]
                own |= {f"{told}{end}": each[f"{measure}{end}"] for end in ends}
                rows[each["system"]] = rows.get(each["system"], {}) | own
            found = {"measure": told, "queries": systems.queries}
            compared += [each | found for each in systems.comparisons(against, column)]
    for system, row in rows.items():
        if seeds[system] != [""]:
            for name, *parts in pools:
                pool = np.mean([means[part][system] for part in parts if part in means], axis=0)
                row |= of_seeds(name, seeds[system], pool)
    return list(rows.values()), compared


def sha256(path: Path) -> str:
    """The hash of a file's content; a gzipped one's is that of what it holds."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def gather(args: argparse.Namespace) -> None:
    """Write the JSON of a table."""
    told = "*.seen" if args.suite else "*.trained.jsonl"
    # a training that is not finished has written nothing
    trained = [path for path in sorted(args.folder.glob(told)) if path.stat().st_size]
    models = [path.name.removesuffix(told[1:]) for path in trained]
    before: Record = orjson.loads(args.kept.read_bytes()) if args.kept else {}
    data = {f"{path.parent.name}/{path.name}": sha256(path) for path in args.data}
    if before.get("data", data) != data:
        sys.exit(f"{args.kept} was made of other data")
    sets = {path.stem.removeprefix("values-"): records(path) for path in args.values}
    if args.suite:
        rows, comparisons = suite_rows([each for scored in sets.values() for each in scored])
    else:
        sets = join(sets, args.kept) if args.kept else sets
        keep(sets, args.output)
        if len(sets) > 1:
            rows, comparisons = of_sets(sets, args.against, every=args.every, pools=args.pool)
        else:
            systems = Systems(*sets.values())
            rows, comparisons = systems.rows(), systems.comparisons(args.against)
    comparisons += [each for pool in args.pool for each in pooled(comparisons, *pool)]
    new = [
        {
            "model": model,
            **{name: records(path)[0][name] for name in ("records", "steps", "seconds")},
            **losses(records(path)[0]),
        }
        for model, path in zip(models, trained, strict=True)
    ]
    old = [each for each in before.get("trainings", []) if each["model"] not in models]
    trainings = sorted(old + new, key=lambda each: each["model"])
    seeds = {each["model"].partition("@")[2] for each in trainings}
    content: Record = {
        "title": args.title,
        "command": args.command,
        "seeds": sorted(seeds - {""}),
        "data": data,
        "hypotheses": state(comparisons, args.stated),
        "rows": rows,
        "comparisons": comparisons,
    }
    if args.corpus:
        add_costs(content["rows"], args.folder, len(records(args.corpus)))
    content["trainings"] = trainings
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    args.output.write_bytes(orjson.dumps(content, option=options))


def losses(trained: Mapping[str, Any]) -> Record:
    """The losses of a training's first and last steps, where it took any.

    >>> losses({"losses": {"loss": {"first": 7.0, "last": 6.5, "mean": 6.7}}})
    {'losses': {'loss': [7.0, 6.5]}}
    >>> losses({"losses": {}})
    {}
    """
    found = {
        name: [each["first"], each["last"]] for name, each in trained.get("losses", {}).items()
    }
    return {"losses": found} if found else {}


def suite_rows(scored: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """The rows of a suite, and its comparisons by the Score alone."""
    named = [{"system": each.pop("run"), **each} for each in scored]
    for row in (each for each in named if SENTENCES[0] in each):
        row["sentences"] = sum(row[task] for task in SENTENCES) / len(SENTENCES)
    return (
        [each for each in named if "task" not in each],
        [each for each in named if each.get("task") == "Score"],
    )


def add_costs(rows: Sequence[Record], folder: Path, pages: int) -> None:
    """Bytes a page of the vectors that a system searches, and CPU seconds of making them."""
    vectors = sorted(folder.glob("*.npy"), reverse=True)
    known = {path.stem.partition("@")[0]: path for path in vectors}
    for row in rows:
        path = known.get(row["system"])
        row["bytes a page"] = round(path.stat().st_size / pages) if path else ""
        seconds = path.with_suffix(".seconds") if path else None
        row["CPU seconds"] = records(seconds)[0]["cpu"] if seconds and seconds.exists() else ""


def section(name: str, content: Mapping[str, Any], words: str) -> str:
    """All that is known of one table."""
    stated = [each for each in content["comparisons"] if "p_holm" in each]
    others = len(content["comparisons"]) - len(stated)
    seeds = f"Seeds {', '.join(content['seeds'])}. " if content["seeds"] else ""
    trainings = duration(content.get("trainings", []))
    suite = any("Score" in row for row in content["rows"])
    parts = [
        f"## {content['title']}",
        words.strip(),
        score_table([main_values(row, suite=suite) for row in content["rows"]], markdown=True),
        f"Stated hypotheses, corrected for {len(stated)}:" if stated else "",
        score_table([tested(each) for each in stated], markdown=True),
        f"```sh\n{content['command']}\n```",
        f"{seeds}{trainings}All values with their intervals, the hashes of the data and {others} "
        f"other pairs, uncorrected, are in [{name}.json](reports/{name}.json).",
    ]
    return "\n\n".join(part for part in parts if part)


def tested(comparison: Record) -> Record:
    """The columns of a stated hypothesis."""
    names = ("system", "against", "measure", "task", *TESTED, *P_VALUES, "p_holm")
    return {name: comparison[name] for name in names if name in comparison}


def duration(trainings: Sequence[Record]) -> str:
    """How many trainings there were, and how long they took.

    >>> duration([{"records": 8, "seconds": 1.5}, {"records": 5216, "seconds": 9.6}])
    '2 trainings, each of 8 to 5,216 records in 2 to 10 s. '
    """
    if not trainings:
        return ""
    ends = []
    for name in ("records", "seconds"):
        values = [round(each[name]) for each in trainings]
        ends.append(" to ".join(f"{each:,}" for each in sorted({min(values), max(values)})))
    some = f"{len(trainings)} trainings, each" if len(trainings) > 1 else "One training,"
    return f"{some} of {ends[0]} records in {ends[1]} s. "


def main_values(row: Record, *, suite: bool = False) -> Record:
    """Of one set of queries the first measure; of a suite the Score, the others without intervals.

    >>> main_values({"system": "a", "queries": 2, "RR": 0.5, "RR_low": 0.1, "R": 0.7, "R_low": 0.2})
    {'system': 'a', 'queries': 2, 'RR': 0.5, 'RR_low': 0.1}
    >>> main_values({"system": "a", "STS": 30.04, "STS_low": 20.0, "Score": 30.0}, suite=True)
    {'system': 'a', 'STS': '30.0', 'Score': 30.0}
    """
    measures = [name for name in row if f"{name}_low" in row]
    if suite:
        single = {name for name in (*measures, "sentences") if name in row and name != "Score"}
        shown = {name: f"{round(row[name], 1) + 0:.1f}" for name in single}
    else:
        single, shown = {*(measures[1:] if "queries" in row else ())}, {}
    ends = {f"{name}{end}" for name in single for end in ENDS}
    if not suite:  # printed as `between seeds`
        ends |= {name for name in row if name.endswith(ENDS[2:])}
    left = row.keys() - ends - (single - shown.keys())
    return {name: shown.get(name, value) for name, value in row.items() if name in left}


def entry(name: str, content: Mapping[str, Any], words: str) -> str:
    """The part of experiments/REPORT.md about one question: answer, hypotheses and files."""
    answer = " ".join(words.strip().partition("\n\n")[0].split())
    stated = [each for each in content["comparisons"] if "p_holm" in each]
    heading = f"## [{content['title']}](reports/{name}.md)"
    paragraph = f"{answer} [Numbers](reports/{name}.json)."
    return "\n\n".join([heading, paragraph, hypotheses(stated)])


def hypotheses(stated: Sequence[Record]) -> str:
    """A table of corrected comparisons: a row for each pair of systems, a column for what on.

    >>> ends = {"difference": 0.1, "difference_low": 0.05, "difference_high": 0.15}
    >>> pair = {"system": "sda", "against": "bm25", **ends, "p_holm": 0.02}
    >>> pairs = [pair | {"measure": each} for each in ("go", "php")]
    >>> print(hypotheses(pairs[:1]))
    | system | against | go                           |
    | ------ | ------- | ---------------------------- |
    | sda    | bm25    | 0.100 [0.050, 0.150] p 0.020 |
    >>> len(hypotheses(pairs).splitlines())
    3
    """
    columns = ["system", "against", *dict.fromkeys(map(measured, stated))]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for each in stated:
        pair = each["system"], each["against"]
        row = rows.setdefault(pair, dict(zip(columns, pair, strict=False)))
        digits = 1 if "task" in each else 3  # a suite counts to 100
        mean, low, high = (f"{each[f'difference{end}']:.{digits}f}" for end in ("", *ENDS[:2]))
        p = "< 0.001" if each["p_holm"] < 0.001 else f"{each['p_holm']:.3f}"
        row[measured(each)] = f"{mean} [{low}, {high}] p {p}"
    table = [columns, *([row.get(name, "") for name in columns] for row in rows.values())]
    return "\n".join(table_lines(table, [False] * len(columns), markdown=True))


def report(folder: Path = REPORTS) -> str:
    """experiments/REPORT.md as the files of a folder give it."""
    parts = [HEAD.strip()]
    for path in sorted(folder.glob("*.json")):
        words = path.with_suffix(".md").read_text("utf-8")
        parts.append(entry(path.stem, orjson.loads(path.read_bytes()), words))
    return "\n\n".join(parts) + "\n"


def from_mean(measure: str, before: Record, row: Record) -> float:
    """How far the mean over the row's seeds can be from that over all that were before.

    Of n numbers with the standard deviation s, the mean of m is at most s √((n - 1)(n - m) / nm)
    from that of all. Source: Samuelson, How deviant can you be?, 1968, for m = 1.

    >>> from_mean("STS", {"seeds": 3, "STS_deviation": 3.0}, {"seeds": 1})  # of 0, 0, √27: 2 √3
    3.4641016151377544
    """
    every, some = before["seeds"], row["seeds"]
    if some >= every or f"{measure}_deviation" not in before:
        return 0.0
    deviation: float = before[f"{measure}_deviation"]
    return deviation * math.sqrt((every - 1) * (every - some) / (every * some))


def outside(committed: Record, rebuilt: Record) -> list[str]:
    """What was built again and is not in the committed table, or not in its interval there.

    That is of the mean over all seeds: with fewer, it is wider by how far these can be from it.
    """
    known = {row["system"]: row for row in committed["rows"]}
    wrong = []
    for row in rebuilt["rows"]:
        name, before = row["system"], known.get(row["system"])
        if before is None:
            wrong.append(f"{name} is not in the table")
            continue
        for measure in (each for each in row if f"{each}_low" in row and f"{each}_low" in before):
            wider = from_mean(measure, before, row)
            low, high = before[f"{measure}_low"] - wider, before[f"{measure}_high"] + wider
            if not low <= row[measure] <= high:
                wrong.append(
                    f"{name}: {measure} {row[measure]:.3f} is not in [{low:.3f}, {high:.3f}]"
                )
    return wrong


def main() -> None:
    """Gather, write or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = parser.add_subparsers(required=True, dest="part")
    gathering = parts.add_parser("gather")
    gathering.add_argument("values", nargs="+", type=Path)
    gathering.add_argument("--title", required=True)
    gathering.add_argument("--command", required=True)
    gathering.add_argument("--suite", action="store_true")
    gathering.add_argument("--every", action="store_true")
    gathering.add_argument("--against", nargs="*", default=[])
    gathering.add_argument("--stated", nargs="*", default=[])
    gathering.add_argument("--pool", nargs="+", action="append", default=[])
    gathering.add_argument("--data", nargs="*", type=Path, default=[])
    gathering.add_argument("--folder", type=Path, required=True)
    gathering.add_argument("--corpus", type=Path)
    gathering.add_argument("--kept", type=Path)
    gathering.add_argument("-o", dest="output", type=Path, required=True)
    parts.add_parser("write")
    for part in ("show", "runs"):
        parts.add_parser(part).add_argument("file", type=Path)
    checking = parts.add_parser("check")
    checking.add_argument("committed", type=Path)
    checking.add_argument("rebuilt", type=Path)
    args = parser.parse_args()
    if args.part == "gather":
        gather(args)
    elif args.part == "write":
        REPORT.write_text(report(), "utf-8")
    elif args.part == "runs":
        runs = [set(by_run(scored)) for scored in kept(args.file).values()]
        print(*sorted(run for run in set.intersection(*runs) if "@" in run))
    elif args.part == "show":
        words = args.file.with_suffix(".md")
        told = words.read_text("utf-8") if words.exists() else ""
        print(section(args.file.stem, orjson.loads(args.file.read_bytes()), told))
    else:
        both = [orjson.loads(path.read_bytes()) for path in (args.committed, args.rebuilt)]
        if wrong := outside(*both):
            sys.exit("\n".join(wrong))
        count = len(both[1]["rows"])
        print(f"{args.committed.stem}: {count} rows built again, all within the intervals")


if __name__ == "__main__":
    main()
