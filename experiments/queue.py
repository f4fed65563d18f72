"""The queue of experiments: `make -C experiments queue` runs its next missing seed, and the next.

    python -m experiments.queue run --data FOLDER
    python -m experiments.queue state
    python -m experiments.queue gather NAME --data FOLDER

experiments/queue.yaml has the entries in order. `run` takes one seed after the other on one
core and stops at none that fails. When a seed is finished, its values of each query are in
experiments/queued/NAME@SEED.values.jsonl.gz, with NAME@SEED.json beside them: commit both. What is
in that folder is not run again, so a new clone continues with the next missing seed; in the same
clone, trainings that were interrupted continue from their checkpoints. `state` prints the list and
writes it to experiments/queued/README.md. `gather` makes experiments/reports/NAME.json of finished
seeds, as the list says.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml

from experiments.kept import Record, by_run, keep, kept, pair_values, suite_results
from experiments.pooling import pooled
from experiments.quarter import EXPERIMENTS, within
from experiments.report import REPORTS, losses, of_seeds, of_sets, sha256
from experiments.report import state as state_hypotheses
from structkit.commands.score.table import score_table
from structkit.scoring.suite import MEAN_OF_TASKS, TaskResults, compare_models, summary
from tests.jsonl import read

LIST = Path("experiments/queue.yaml")
FOLDER = Path("experiments/queued")
PAGE = FOLDER / "README.md"
RUNS = Path("runs/queue")  # what the queue makes and does not commit
DAY_SECONDS = 24 * 3600
HEAD = """# The queue

`make -C experiments queue DATA=FOLDER` runs what is missing here, from the top, on one core at the
lowest priority. [queue.yaml](../queue.yaml) has the commands, and the hypotheses, which were stated
before the runs. `make -C experiments queue-state` writes this page.

"""


@dataclass(frozen=True)
class Entry:
    """An experiment of the queue; queue.yaml explains the fields."""

    name: str
    question: str
    stated: str
    hours: float
    seeds: Sequence[int]
    variables: Mapping[str, str]
    first: Sequence[str] = ()
    pairs: Sequence[str] = ()
    values: Sequence[str] = ()
    folder: str = ""
    trainings: str = ""
    keep: Sequence[str] = ()

    def files(self, seed: int) -> list[Path]:
        """Return the files of a seed that `make` writes and whose values are kept."""
        if self.pairs:
            return [Path(self.folder, f"{name}@{seed}.jsonl") for name in self.pairs]
        return [Path(self.folder, name) for name in self.values]

    def table(self, seed: int) -> Path:
        """Return where a finished seed is kept."""
        return FOLDER / f"{self.name}@{seed}.json"


def entries() -> list[Entry]:
    """Return the entries of the list, in order."""
    return [Entry(**each) for each in content()["entries"]]


def content() -> Any:
    return yaml.safe_load(LIST.read_text("utf-8"))


def missing(entry: Entry) -> list[int]:
    """Return the seeds of an entry that are not finished."""
    return [seed for seed in entry.seeds if not entry.table(seed).exists()]


def run(data: str, limit: int | None = None) -> None:
    """Run every missing seed, in order; after `limit` seeds, stop."""
    RUNS.mkdir(parents=True, exist_ok=True)
    if hasattr(os, "sched_setaffinity"):  # all that it starts shares one core
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with (RUNS / "running").open("a+") as running:
        try:
            fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("the queue runs here already: make -C experiments queue-state")
        outdate_data()
        failed: list[str] = []
        finished = 0
        # the list is read again after each seed, so that one can add to it meanwhile
        while finished != limit and (task := following(failed)):
            entry, seed = task
            running.truncate(0)
            running.write(f"{entry.name}@{seed}")
            running.flush()
            if run_seed(entry, seed, data, running.fileno()):
                finished += 1
            else:
                failed.append(f"{entry.name}@{seed}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; logs are in {RUNS}")


def outdate_data() -> None:
    """Give what earlier runs made a time after that of all data, in the same order.

    `make` would train again if somebody put the same data there once more, and a finished model is
    never replaced.
    """
    paths = sorted(RUNS.rglob("*"), key=lambda path: path.lstat().st_mtime_ns)
    now = time.time_ns()
    for place, path in enumerate(paths):
        os.utime(path, ns=(now, now + place), follow_symlinks=False)


def following(failed: Sequence[str] = ()) -> tuple[Entry, int] | None:
    """Return the next missing seed and its entry, without those that failed; None at the end."""
    for entry in entries():
        for seed in missing(entry):
            if f"{entry.name}@{seed}" not in failed:
                return entry, seed
    return None


def run_seed(entry: Entry, seed: int, data: str, lock: int) -> bool:
    """Run a seed and keep its values; return whether it succeeded.

    What runs holds the lock, too: if the queue is killed, no other starts beside it.
    """
    restored = list(restore())
    words = [f"{name}={value}".format(seed=seed) for name, value in entry.variables.items()]
    old = [word for path in restored for word in ("-o", path)]
    goals = [str(path) for path in entry.files(seed)]
    command = ["make", "--no-print-directory", EXPERIMENTS, f"DATA={data}", *content()["defaults"]]
    log, started = RUNS / f"{entry.name}@{seed}.log", time.monotonic()
    print(f"{entry.name}@{seed}: started", flush=True)
    spent = RUNS / f"{entry.name}@{seed}.minutes"  # of earlier runs, which were stopped
    before = float(spent.read_text("utf-8")) if spent.exists() else 0.0
    try:
        with log.open("ab") as output:
            words = [*command, *old, *words, *entry.first, *goals]
            status = within(words, 365 * DAY_SECONDS, output, [lock])
    finally:
        minutes = before + (time.monotonic() - started) / 60
        spent.write_text(f"{minutes}", "utf-8")
    if status:
        print(f"{entry.name}@{seed}: failed with status {status}, see {log}", flush=True)
        return False
    finish(entry, seed, minutes)
    print(f"{entry.name}@{seed}: finished in {minutes:.0f} minutes", flush=True)
    return True


def restore() -> Iterator[str]:
    """Write the files that finished seeds kept, where they are missing, and yield their names."""
    for path in sorted(FOLDER.glob("*@*.json")):
        for name, text in orjson.loads(path.read_bytes())["files"].items():
            if not Path(name).exists():
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_text(text, "utf-8")
            yield name


def finish(entry: Entry, seed: int, minutes: float) -> None:
    """Keep the values of a seed, its trainings and its small files; the last file completes it."""
    sets: dict[str, list[Record]] = {}
    for path in entry.files(seed):
        of_path = (
            {path.stem.removeprefix("values-"): read(path)} if entry.values else pair_values(path)
        )
        for name, rows in of_path.items():
            sets.setdefault(name, []).extend(rows)
    target = entry.table(seed)
    keep(sets, target)
    finished = {
        "entry": entry.name,
        "seed": seed,
        "date": f"{date.today()}",
        "minutes": round(minutes),
        "trainings": [*trainings(entry, seed)],
        "files": {name: Path(name).read_text("utf-8") for name in entry.keep},
    }
    partial = target.with_suffix(".partial")
    partial.write_bytes(orjson.dumps(finished, option=orjson.OPT_INDENT_2))
    partial.replace(target)
    PAGE.write_text(page(), "utf-8")


def trainings(entry: Entry, seed: int) -> Iterator[Record]:
    """Yield the steps, seconds and losses of a seed's trainings."""
    pattern = entry.trainings.format(seed=seed)
    for path in sorted(Path().glob(pattern)) if pattern else ():
        if path.stat().st_size:
            [trained] = read(path)
            model = path.name.removesuffix(".seen").removesuffix(".trained.jsonl")
            kept = {name: trained[name] for name in ("records", "steps", "seconds")}
            yield {"model": model, **kept, **losses(trained)}


def state(running: str = "") -> list[Record]:
    """Return what is done of each entry, and what is left; `running` is NAME@SEED."""
    rows: list[Record] = []
    following = "next"
    for entry in entries():
        left = missing(entry)
        done = [
            orjson.loads(entry.table(seed).read_bytes()) for seed in entry.seeds if seed not in left
        ]
        became = "begun" if done else ""
        if not left:
            became = "done"
        elif running.partition("@")[0] == entry.name:
            became = f"seed {running.partition('@')[2]} runs"
        elif not running and following:
            became, following = following, ""
        hours = entry.hours * len(left) / len(entry.seeds)
        rows.append(
            {
                "entry": entry.name,
                "question": entry.question,
                "seeds": " ".join(map(str, entry.seeds)),
                "missing": " ".join(map(str, left)),
                "hours left": f"{hours:.1f}" if left else "",
                "hours taken": f"{sum(each['minutes'] for each in done) / 60:.1f}" if done else "",
                "state": became,
            }
        )
    return rows


def running_seed() -> str:
    """Return NAME@SEED of what runs in this clone; empty if nothing does."""
    path = RUNS / "running"
    if not path.exists():
        return ""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read()
    return ""


def gather(name: str, data: Path) -> None:
    """Write a report of finished seeds, and the values of each query beside it."""
    asked = content()["reports"][name]
    target = REPORTS / f"{name}.json"
    by_name = {entry.name: entry for entry in entries()}
    tables = [
        by_name[entry].table(seed)
        for entry in asked["entries"]
        for seed in by_name[entry].seeds
        if by_name[entry].table(seed).exists()
    ]
    earlier = [REPORTS / f"{other}.json" for other in asked.get("earlier", [])]
    sets: dict[str, list[Record]] = {}
    for table in [*earlier, *tables]:
        for of_set, rows in kept(table).items():
            if of_set not in asked.get("sets", [of_set]):
                continue
            known = by_run(sets.get(of_set, ()))  # what no seed changes is in every table
            sets.setdefault(of_set, []).extend(row for row in rows if row["run"] not in known)
    keep(sets, target)
    finished = [orjson.loads(path.read_bytes()) for path in tables]
    seeds = {run.partition("@")[2] for rows in sets.values() for run in by_run(rows)} - {""}
    files = [path for pattern in asked["data"] for path in sorted(data.glob(pattern))]
    pools = [pool.split() for pool in asked.get("pools", [])]
    suite = any("rank" in rows[0] for rows in sets.values())
    if suite:
        rows, comparisons = suite_tables(sets, asked["against"])
    else:
        rows, comparisons = of_sets(sets, asked["against"], pools=pools)
        comparisons += [each for pool in pools for each in pooled(comparisons, *pool)]
    hypotheses = state_hypotheses(comparisons, asked["stated"])
    if lacking := [each for each in asked["stated"] if each not in hypotheses]:
        sys.exit(f"{LIST}: {name}: the report has no comparison {', '.join(lacking)}")
    report = {
        "title": asked["title"],
        "command": "make -C experiments queue",
        "seeds": sorted(seeds, key=int),
        "data": {f"{path.parent.name}/{path.name}": sha256(path) for path in files},
        "hypotheses": hypotheses,
        "rows": rows,
        "comparisons": comparisons,
        "trainings": [training for each in finished for training in each["trainings"]],
    }
    target.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def suite_tables(
    sets: Mapping[str, Sequence[Record]], against: Sequence[str]
) -> tuple[list[Record], list[Record]]:
    """Return the rows of a suite, and the comparisons of its systems by the Score."""
    results: dict[str, dict[str, TaskResults]] = {}  # by system and seed
    for run in by_run(next(iter(sets.values()))):
        system, _, seed = run.partition("@")
        results.setdefault(system, {})[seed] = suite_results(sets, run)
    rows, comparisons = [], []
    for system, of_seed in results.items():
        scores = np.array([found[MEAN_OF_TASKS][0] for found in of_seed.values()])
        row = summary(system, [*of_seed.values()])
        rows.append(
            {"system": row.pop("run"), **row, **of_seeds(MEAN_OF_TASKS, [*of_seed], scores)}
        )
        for other in (each for each in against if each != system):
            names = {"system": system, "against": other}
            found = compare_models(names, [*of_seed.values()], [*results[other].values()])
            comparisons += [each for each in found if each["task"] == MEAN_OF_TASKS]
    return rows, comparisons


def page() -> str:
    """Return the page of the queue, which is the same whether it runs or not."""
    return HEAD + score_table(state(), markdown=True) + "\n"


def main() -> None:
    """Run the queue, or print its state."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = parser.add_subparsers(required=True, dest="part")
    running = parts.add_parser("run")
    running.add_argument("--data", required=True)
    running.add_argument("--limit", type=int)
    parts.add_parser("state")
    gathering = parts.add_parser("gather")
    gathering.add_argument("name")
    gathering.add_argument("--data", required=True, type=Path)
    asked = parser.parse_args()
    if asked.part == "run":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)
        try:
            run(asked.data, asked.limit)
        except KeyboardInterrupt:
            sys.exit("stopped: the next run continues from the last checkpoint")
    elif asked.part == "gather":
        gather(asked.name, asked.data)
    else:
        PAGE.write_text(page(), "utf-8")
        print(score_table(state(running_seed())))


if __name__ == "__main__":
    main()
