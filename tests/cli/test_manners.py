"""What every command promises: errors in one line, exit statuses, progress, memory, help."""

import os
import subprocess

import pytest
from conftest import PROGRAM, environment
from terminals import shown

from tests.benchmarks.processes import measured
from tests.cli.complaints import GOOD, complaint

LINES = {
    "no-json": (b"def f(): pass\n", "stdin:2: the line is not JSON", "one JSON object per line"),
    "cut-off": (b'{"id":"2","code":"x\n', "stdin:2: the line is not JSON", "one JSON object"),
    "array": (b'[{"id":"2"}]\n', "stdin:2: the line holds a JSON array, not an object", "jq -c"),
    "missing": (
        b'{"id":"2","language":"python","text":"x"}\n',
        'stdin:2: field "code" is missing',
        "the record has: id, language, text",
    ),
    "utf-8": (b'{"id":"2","code":"\xe9"}\n', "stdin:2: the line is not UTF-8 (byte 19)", "iconv"),
}


@pytest.mark.parametrize("line, problem, remedy", LINES.values(), ids=LINES)
def test_a_bad_line_is_one_clear_line_and_no_file(run, tmp_path, line, problem, remedy):
    done = run("mask-entities", "-o", "out.jsonl", input=GOOD + line + GOOD)
    message = complaint(done)
    assert message.startswith(problem)
    assert remedy in message
    assert b"" == done.stdout
    assert [] == os.listdir(tmp_path)


def test_a_closed_stderr_gives_nothing_to_stdout(run):
    script = 'exec "$@" 2>&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, "mask-entities"],
        input=b"",
        stdout=subprocess.PIPE,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert (0, b"") == (done.returncode, done.stdout)


def test_progress_is_for_a_terminal(run, tmp_path):
    (tmp_path / "in.jsonl").write_bytes(GOOD * 20_000)  # more than it does in 0.2 s
    command = [*PROGRAM, "mask-entities", "in.jsonl", "-o", "/dev/null"]
    told = shown(tmp_path, command, stream="stderr")
    assert "mask-entities" in told and " records, " in told
    assert told.endswith("\r\x1b[K")  # nothing of it is left
    assert "" == shown(tmp_path, [*command, "--quiet"], stream="stderr")
    assert b"" == run("mask-entities", input=GOOD * 3_000).stderr


def test_a_long_name_in_a_message_leaves_room_for_what_helps(run, tmp_path):
    (tmp_path / "in.jsonl").write_bytes(GOOD)
    field = "x" * 5_000
    done = run("select", "in.jsonl", "--in", "in.jsonl", "--on", field)
    told = done.stderr.decode()
    assert f'in.jsonl:1: field "{"x" * 100}' in told
    assert "; name the field that matches our xxx" in told
    assert "…" in told
    assert len(told) < 1_000


@pytest.mark.long
def test_memory_does_not_grow_with_the_input(tmp_path):
    line = GOOD.replace(b'"id"', b'"unused":"%s","id"' % (b"x" * 4000))
    peaks = []
    for count in (10_000, 50_000):  # 200 MB
        (tmp_path / "in.jsonl").write_bytes(line * count)
        peaks.append(measured([*PROGRAM, "mask-entities"], tmp_path / "in.jsonl").peak)
    assert 1.1 * peaks[0] > peaks[1]


@pytest.mark.parametrize("group", ["train", "plot"])
def test_a_group_alone_shows_its_help(run, group):
    done = run(group)
    assert (2, b"") == (done.returncode, done.stdout)
    assert run(group, "--help").stdout.decode().rstrip() == done.stderr.decode().rstrip()


def test_no_arguments_show_the_help(run):
    assert run("--help").stdout == run().stdout
    assert b"Usage: structkit" in run("-h").stdout
