"""One stage on engines that run it: the same records, the same bytes, at what cost.

    python -m experiments.engines [--data FOLDER] [--python PYTHON] [--count 100000]

`mask-entities` over code, once with each engine that is installed: one process, --workers 2, GNU
parallel, Spark's rdd.pipe, Ray's map_batches. FOLDER is that of the real functions; without it,
records are made of the fixtures. PYTHON is one that has pyspark and ray. Prints a Markdown table;
other bytes than those of one process are an error.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path

import orjson

from structkit.records.jsonl import Records
from tests.benchmarks.commands import functions
from tests.benchmarks.processes import STRUCTKIT, measured
from tests.benchmarks.table import machine

STAGE = [*STRUCTKIT, "mask-entities", "-q", "--on-error", "skip", "--workers", "1"]
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
RAY = """
import sys
import orjson, ray, structkit
source, target = sys.argv[1:]
ray.data.DataContext.get_current().execution_options.preserve_order = True
def mask(batch):
    records = structkit.mask_entities(map(orjson.loads, batch["text"]), on_error="skip")
    return {"text": [orjson.dumps(record).decode() for record in records]}
lines = ray.data.read_text(source, override_num_blocks=8).map_batches(mask)
with open(target, "w") as file:
    file.writelines(row["text"] + "\\n" for row in lines.iter_rows())
"""


def engines(source: Path, folder: Path, python: str | None) -> Iterator[tuple[str, list[str]]]:
    """The engines that are installed: their names and commands, which write to stdout."""
    yield "one process", [*STAGE, str(source)]
    yield "`--workers 2`", [*STAGE, str(source), "--workers", "2"]
    if shutil.which("parallel"):
        cut = "--pipe-part --block 10M --jobs 2 -k --halt now,fail=1 --will-cite -a".split()
        yield "GNU parallel, blocks of 10 MB", ["parallel", *cut, str(source), *STAGE]
    if python:  # they write files of their own
        command = [python, "-c", SPARK, " ".join(STAGE), str(source), str(folder / "spark")]
        yield "Spark, `rdd.pipe` in local[2]", command
        yield "Ray, `map_batches`", [python, "-c", RAY, str(source), str(folder / "ray")]


def records(data: Path | None, count: int) -> Iterator[bytes]:
    """So many records, each with an id of its own."""
    files = sorted(map(str, data.glob("train*"))) if data else []
    known = cycle(list(Records.read(files))) if data else functions()
    for number, record in enumerate(islice(known, count)):
        yield orjson.dumps({**record, "id": f"r{number}"}) + b"\n"


def sha256(files: Iterable[Path]) -> str:
    """The hash of what an engine wrote, its files one after the other."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--python", help="one that has pyspark and ray")
    parser.add_argument("--count", type=int, default=100_000)
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, output = folder / "records.jsonl", folder / "output.jsonl"
        with source.open("wb") as handle:
            handle.writelines(records(args.data, args.count))
        size = source.stat().st_size / 1e6
        here = f"{machine()['processor']}, {os.cpu_count()} cores"
        print(f"{args.count:,} records, {size:,.0f} MB; {here}\n")
        print("| engine | seconds | records/s | CPU seconds | memory | bytes |")
        print("|---|---:|---:|---:|---:|---|", flush=True)
        expected = ""
        for engine, command in engines(source, folder, args.python):
            cost = measured(command, target=output, environment={"OMP_NUM_THREADS": "1"})
            own = (
                [folder / "ray"]
                if engine.startswith("Ray")
                else sorted(folder.glob("spark/part-*"))
            )
            found = sha256([file for file in own if file.exists()] or [output])
            expected = expected or found
            print(
                f"| {engine} | {cost.seconds:.1f} | {args.count / cost.seconds:,.0f} | "
                f"{cost.cpu:.1f} | {cost.peak / 2**20:,.0f} MiB | "
                f"{'the same' if found == expected else 'OTHERS'} |",
                flush=True,
            )
            if found != expected:
                raise SystemExit(f"{engine} wrote other bytes than one process")


if __name__ == "__main__":
    main()
