"""Record-wise commands and start-up, over the least that any program would have to do.

A command also checks of each record its length, that it is an object, its id, its depth, and that
none of its numbers was rounded: what this takes in the bare loop is in the second row.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.benchmarks.pairs import PYTHON, Comparison, report

LOOP = """
import sys, orjson
read = open(0, "rb", buffering=1 << 20, closefd=False)
write = open(1, "wb", buffering=1 << 20, closefd=False).write
{setup}
for line in read:
    record = orjson.loads(line)
    {work}
    write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
"""
CHECKS = """
flat = frozenset((float, list, dict)).isdisjoint
def check(line, record):
    if len(line) > 64_000_000 or type(record) is not dict or not flat(map(type, record.values())):
        raise SystemExit("to be looked at")
    if type(record.get("id")) is not str:
        raise SystemExit("to be named")
"""
PARSE_SETUP = (
    "import tree_sitter, tree_sitter_python\n"
    "parse = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language())).parse"
)
# a command that does nothing: what is left is reading, checking, errors and writing
NOTHING = """
from structkit.records.stream import Stream
def nothing(records):
    for record in records:
        yield record
Stream().run(nothing)
"""
STRUCTKIT = [PYTHON, "-m", "structkit"]


def main() -> None:
    """Run all comparisons on our fixtures, repeated to a size where start-up does not count."""
    rows = Path("fixtures/code/train.jsonl").read_text().splitlines()
    loop = [PYTHON, "-c", LOOP.format(setup="", work="pass")]
    checks = [PYTHON, "-c", LOOP.format(setup=CHECKS, work="check(line, record)")]
    parse = [PYTHON, "-c", LOOP.format(setup=PARSE_SETUP, work='parse(record["code"].encode())')]
    mask = [*STRUCTKIT, "mask-entities", "-q"]
    with tempfile.TemporaryDirectory() as folder:
        # 1.1 kB a record, as real functions with their documentation are
        flat, code = Path(folder, "flat.jsonl"), Path(folder, "code.jsonl")
        flat.write_text("".join(f"{padded(row)}\n" for row in rows * 400))
        code.write_text("".join(f"{longer(rows, at)}\n" for at in range(len(rows) * 20)))
        report(
            [
                Comparison(
                    "records through a command / bare orjson loop",
                    [PYTHON, "-c", NOTHING],
                    loop,
                    1.25,
                    flat,
                ),
                Comparison(
                    "a bare orjson loop with a command's checks / without", checks, loop, None, flat
                ),
                Comparison(
                    "mask-entities, Python / JSONL + tree-sitter parse", mask, parse, 1.6, code
                ),
                Comparison(
                    "mask-entities --workers 2 / --workers 1",
                    [*mask, "--workers", "2"],
                    mask,
                    1.2,
                    code,
                ),
                Comparison(
                    "structkit --help / python -c pass",
                    [*STRUCTKIT, "--help"],
                    [PYTHON, "-c", "pass"],
                    8,
                ),
            ]
        )


def padded(row: str) -> str:
    """The record with 800 characters more."""
    return json.dumps({**json.loads(row), "note": "x" * 800})


def longer(rows: list[str], at: int) -> str:
    """A record with three functions: 700 bytes of code, the mean of real ones."""
    some = [json.loads(rows[(at + step) % len(rows)]) for step in (0, 7, 31)]
    return json.dumps({**some[0], "code": "\n".join(record["code"] for record in some)})


if __name__ == "__main__":
    main()
