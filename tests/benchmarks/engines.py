"""One stage on engines that run it: the same records, the same bytes, at what cost.

    python -m tests.benchmarks.engines [--data FOLDER] [--spark PYTHON] [--count 100000]

`mask-entities` over code, once with each engine that is installed: one process, --workers 2, GNU
parallel, Spark's rdd.pipe, Ray. FOLDER is that of the real functions; without it, records are made
of the fixtures. PYTHON is one that has pyspark. Prints a Markdown table; other bytes than those of
one process are an error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

from structkit.records.jsonl import Records
from tests.benchmarks.processes import Cost, measured
from tests.benchmarks.records import STRUCTKIT, longer
from tests.benchmarks.table import machine

STAGE = [*STRUCTKIT, "mask-entities", "-q", "--on-error", "skip"]
RAY = ["--ray", "local", "--workers", "2"]
SPARK = """
import os, sys
from pyspark import SparkConf, SparkContext
command, source, target = sys.argv[1:]
local = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}
context = SparkContext("local[2]", "mask", conf=SparkConf().setAll(local.items()))
context.setLogLevel("OFF")
records = context.textFile(source, minPartitions=4)
records.pipe(command, env=dict(os.environ), checkCode=True).saveAsTextFile(target)
"""


@dataclass(frozen=True)
class Engine:
    """A way to run the stage: its command writes to stdout, or to files in `written`."""

    name: str
    command: list[str]
    written: Path | None = None


def engines(source: Path, folder: Path, spark: str | None) -> Iterator[Engine]:
    """Those that are installed."""
    yield Engine("one process", [*STAGE, str(source)])
    yield Engine("`--workers 2`", [*STAGE, str(source), "--workers", "2"])
    if shutil.which("parallel"):
        cut = "--pipe-part --block 10M --jobs 2 -k --halt now,fail=1 --will-cite -a".split()
        yield Engine("GNU parallel, blocks of 10 MB", ["parallel", *cut, str(source), *STAGE])
    if find_spec("ray"):
        yield Engine("Ray, `--ray local --workers 2`", [*STAGE, str(source), *RAY])
    if spark:
        target = folder / "spark"
        command = [spark, "-c", SPARK, " ".join(STAGE), str(source), str(target)]
        yield Engine("Spark, `rdd.pipe` in local[2]", command, target)


def records(data: Path | None, count: int) -> Iterable[str]:
    """So many records, each with an id of its own."""
    if data is None:
        rows = Path("fixtures/code/train.jsonl").read_text().splitlines()
        lines: Iterable[str] = (longer(rows, at) for at in range(count))
    else:
        known = [json.dumps(each) for each in Records.read(sorted(map(str, data.glob("train*"))))]
        lines = islice(cycle(known), count)
    for number, line in enumerate(lines):
        yield json.dumps({**json.loads(line), "id": f"r{number}"})


def sha256(engine: Engine, output: Path) -> str:
    """The hash of what an engine wrote, its files one after the other."""
    files = sorted(engine.written.glob("part-*")) if engine.written else [output]
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def run(engine: Engine, output: Path) -> Cost:
    with output.open("wb") as stdout:
        return measured(
            engine.command, stdout=stdout, stderr=subprocess.DEVNULL, environment=ENVIRONMENT
        )


ENVIRONMENT = {"OMP_NUM_THREADS": "1"}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--spark", help="a Python that has pyspark")
    parser.add_argument("--count", type=int, default=100_000)
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, output = folder / "records.jsonl", folder / "output.jsonl"
        with source.open("w") as handle:
            handle.writelines(f"{line}\n" for line in records(args.data, args.count))
        size = source.stat().st_size
        here = machine()
        print(f"{args.count:,} records, {size / 1e6:,.0f} MB; {here['processor']}, ", end="")
        print(f"{os.cpu_count()} cores\n")
        print("| engine | seconds | records/s | CPU seconds | memory | bytes |")
        print("|---|---:|---:|---:|---:|---|", flush=True)
        expected = ""
        for engine in engines(source, folder, args.spark):
            cost = run(engine, output)
            found = sha256(engine, output)
            expected = expected or found
            print(
                f"| {engine.name} | {cost.seconds:.1f} | {args.count / cost.seconds:,.0f} | "
                f"{cost.cpu:.1f} | {cost.peak / 2**20:,.0f} MiB | "
                f"{'the same' if found == expected else 'OTHERS'} |",
                flush=True,
            )
            if found != expected:
                raise SystemExit(f"{engine.name} wrote other bytes than one process")


if __name__ == "__main__":
    main(sys.argv[1:])
