"""Stages of records (structkit/records/jsonl.py): rejected records restart nothing."""

import json
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from structkit import UserError, pair
from structkit.command import Command
from structkit.records.jsonl import Stage
from structkit.records.stream import PARALLEL_BYTES, WorkerOptions, run_stage
from structkit.settings import make

LONG = "x" * 90_000  # a worker gets about three records at a time
# of lines: g is a good record, b one that the stage rejects, o no JSON, - an empty line
PATTERNS = ["ogggb", "gbbgoog", "bo", "b-g-o-g", "gggg", "ggggggbgggogg"]


@dataclass(frozen=True)
class Settings:
    """No settings."""


def fits(record):
    """The record, unless it is a bad one."""
    if record["kind"] == "b":
        raise UserError("the record is bad", "leave it out")
    return record


def counted(records):
    for number, record in enumerate(records):
        yield {**record, "number": number}


def counts_each(settings):
    numbers = count()
    return Stage(lambda record: {**fits(record), "number": next(numbers)})


def counts_what_it_yields(settings):
    numbers = count()

    def each(record):
        yield {**fits(record), "number": next(numbers)}

    return Stage(each)


def counts_in_batches(settings):
    numbers = count()

    def each(records):
        for record in records:
            try:
                yield {**fits(record), "number": next(numbers)}
            except UserError as error:
                yield error

    return Stage(each, batch=3)


def counts_then(settings):
    return Stage(fits, counted)


def counts_after_batches(settings):
    def each(records):
        for record in records:
            yield (
                record if record["kind"] == "g" else UserError("the record is bad", "leave it out")
            )

    return Stage(each, counted, batch=2)


def lines_of(pattern, text=LONG):
    texts = {"o": "oops", "-": ""}
    rows = (
        json.dumps({"id": str(place), "kind": kind, "text": text})
        for place, kind in enumerate(pattern, 1)
    )
    return "".join(texts.get(kind, row) + "\n" for kind, row in zip(pattern, rows, strict=True))


def through(opened, pattern, text=LONG, **options):
    """Return what a command with this stage writes of some lines."""
    Path("in.jsonl").write_text(lines_of(pattern, text))
    command = Command(opened, Settings, also=(WorkerOptions,), stage=opened)
    given = {"files": ("in.jsonl",), "output": "out.jsonl", **options}
    run_stage(command, Settings(), make(WorkerOptions, given))
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


ANYWHERE = [counts_then, counts_after_batches]
HERE = [counts_each, counts_what_it_yields, counts_in_batches]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    ("opened", "workers"),
    [*((each, 1) for each in HERE + ANYWHERE), *((each, 2) for each in ANYWHERE), (counts_then, 0)],
)
def test_a_rejected_record_restarts_nothing(opened, workers, pattern):
    text = "a" * PARALLEL_BYTES if workers == 0 else LONG  # with so much, 0 workers are several
    skip = {"on_error": "skip", "rejects": "bad.jsonl", "workers": workers}
    found = through(opened, pattern, text, **skip)
    good = [str(place) for place, kind in enumerate(pattern, 1) if kind == "g"]
    assert [*zip(good, range(len(good)), strict=True)] == [
        (each["id"], each["number"]) for each in found
    ]
    rejected = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
    reasons = {"b": "the record is bad; leave it out", "o": "the line is not JSON"}
    bad = [(place, reasons[kind]) for place, kind in enumerate(pattern, 1) if kind in "bo"]
    assert bad == [(each["line"], each["reason"].partition(" (")[0]) for each in rejected]


@pytest.mark.parametrize("opened", [*HERE, *ANYWHERE])
@pytest.mark.parametrize(("pattern", "line"), [("ggbgg", 3), ("oggb", 1), ("gggob", 4)])
def test_without_skipping_the_first_bad_record_ends_the_command(opened, pattern, line):
    with pytest.raises(UserError, match=f"^in.jsonl:{line}: the "):
        through(opened, pattern)
    assert ["in.jsonl"] == [path.name for path in Path().iterdir()]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_then_raises_ends_the_command(workers):
    def then(records):
        for number, record in enumerate(records):
            if number == 2:
                raise UserError("there are three", "leave one out")
            yield record

    with pytest.raises(UserError, match="^there are three; leave one out$"):
        through(
            lambda _: Stage(fits, then),
            "gobggg",
            on_error="skip",
            rejects="bad.jsonl",
            workers=workers,
        )
    assert ["in.jsonl"] == [path.name for path in Path().iterdir()]


@pytest.mark.parametrize("workers", [1, 2])
def test_then_may_end_before_the_records_do(workers):
    def then(records):
        yield next(iter(records))

    assert ["1"] == [
        each["id"] for each in through(lambda _: Stage(fits, then), "gggggb", workers=workers)
    ]


def test_results_before_an_error_of_the_same_record_stay():
    def each(record):
        yield {**record, "kind": "first"}
        yield fits(record)

    found = through(lambda _: Stage(each), "gbg", on_error="skip")
    assert [("1", "first"), ("1", "g"), ("2", "first"), ("3", "first"), ("3", "g")] == [
        (made["id"], made["kind"]) for made in found
    ]


def test_repeated_texts_are_known_after_a_bad_line(run):
    good = {"docstring": "Add two numbers.", "code": "def add(a, b): return a + b"}
    lines = [{"id": "1", **good}, {"id": "2"}, {"id": "3", **good}]
    Path("in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for workers in (1, 2):
        flags = ("--dedupe", "--on-error", "skip", "--workers", workers)
        done = run("pair", *flags, "in.jsonl")
        assert ["1"] == [json.loads(line)["id"] for line in done.stdout.splitlines()]
    with pytest.raises(UserError, match="^records:2: the record is not code"):
        list(pair(lines, dedupe=True))
