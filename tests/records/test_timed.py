"""--record-timeout: what stops, ends or fills a process is rejected, and all else is there once."""

import os
import signal
import subprocess
import time

import orjson
import pytest
from conftest import PROGRAM, environment
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit.errors import UserError
from structkit.records.jsonl import several
from structkit.records.stream import Stream

KILLS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "random" else 4
SECONDS = 5  # on a busy machine any record may take one


def command(records):
    """One record after the other, or some that do not come to an end."""
    for record in records:
        yield made(record)


def by_steps(records):
    """The same, several at a time."""
    return several(records, lambda some: map(made, some))


def made(record):
    how = record.get("how")
    if how == "hangs":
        while True:
            time.sleep(60)
    if how == "loops":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        sum(range(10**12))  # in C: no signal handler of Python's runs
    if how == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exits":
        os._exit(0)
    if how == "fills":
        raise MemoryError
    if how == "wrong":
        raise UserError("is wrong", "leave it out")
    return {**record, "made": len(record["id"])}


def written(folder, hows):
    """A file with a record for each way to end, plain ones between them, and blank lines."""
    lines = []
    for number, how in enumerate(hows):
        lines.append({"id": f"{number}", "how": how, "text": "x" * 20_000})
    path = folder / "in.jsonl"
    path.write_bytes(
        b"".join(orjson.dumps(line) + b"\n" + b"\n" * (n % 2) for n, line in enumerate(lines))
    )
    return path


def through(folder, hows, *, workers, run=command, on_error="skip", seconds=SECONDS):
    rejects = str(folder / "rejects.jsonl") if on_error == "skip" else None
    Stream(
        files=[str(written(folder, hows))],
        output=str(folder / "out.jsonl"),
        on_error=on_error,
        rejects=rejects,
        workers=workers,
        record_timeout=seconds,
    ).run(run)
    lines = [
        path.read_bytes().splitlines() for path in (folder / "out.jsonl", folder / "rejects.jsonl")
    ]
    return tuple([orjson.loads(line) for line in some] for some in lines)


@pytest.mark.parametrize(("run", "workers"), [(command, 3), (by_steps, 1)])
def test_the_bad_are_rejected_and_the_others_there_once_in_order(tmp_path, run, workers):
    hows = [None] * 60
    hows[3], hows[4], hows[20], hows[41], hows[59], hows[42] = (
        "dies",
        "hangs",
        "fills",
        "exits",
        "dies",
        "wrong",
    )
    made, rejected = through(tmp_path, hows, workers=workers, run=run)
    assert [str(n) for n, how in enumerate(hows) if how is None] == [each["id"] for each in made]
    assert [str(n) for n, how in enumerate(hows) if how] == [
        each["record"]["id"] for each in rejected
    ]
    assert [n + n // 2 + 1 for n, how in enumerate(hows) if how] == [
        each["line"] for each in rejected
    ]
    reasons = [each["reason"].partition(";")[0] for each in rejected]
    died, long = "ends its process, or fills the memory", "takes longer than 5 s"
    assert [died, long, "needs more memory than there is", died, "is wrong", died] == reasons


@pytest.mark.parametrize("how", [pytest.param("loops", marks=pytest.mark.long), "dies", "fills"])
def test_without_skip_the_first_bad_record_is_told_with_its_line(tmp_path, how):
    with pytest.raises(
        UserError, match=r"in.jsonl:5: (takes|ends|needs) .*; .*leave the record out"
    ):
        through(tmp_path, [None] * 3 + [how, None, how], workers=2, on_error="fail")
    assert ["in.jsonl"] == [path.name for path in tmp_path.iterdir()]


@settings(max_examples=KILLS)
@given(
    st.lists(st.sampled_from([None, None, None, "dies", "exits", "fills", "wrong"]), max_size=90),
    st.integers(1, 3),
)
def test_nothing_is_lost_or_doubled(tmp_path_factory, hows, workers):
    made, rejected = through(tmp_path_factory.mktemp("t"), hows, workers=workers)
    assert [str(n) for n, how in enumerate(hows) if how is None] == [each["id"] for each in made]
    assert [str(n) for n, how in enumerate(hows) if how] == [
        each["record"]["id"] for each in rejected
    ]


def test_a_limit_changes_no_byte_and_leaves_no_process(tmp_path):
    code = [
        {"id": f"{n}", "language": "python", "code": f"def f{n}(a):\n  return a\n" * 40}
        for n in range(900)
    ]
    source = b"".join(orjson.dumps(each) + b"\n" for each in code)
    command = [*PROGRAM, "mask-entities"]
    plain, limited = (
        subprocess.run([*command, *flags], input=source, capture_output=True, env=environment())
        for flags in ([], ["--record-timeout", "100"])
    )
    assert (0, b"") == (limited.returncode, limited.stderr)
    assert plain.stdout == limited.stdout
