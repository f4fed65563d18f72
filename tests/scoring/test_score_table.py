"""Tables of scores on a terminal: no number is broken, whatever the width."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from structkit.commands.score.table import table
from tests.conftest import PROGRAM, environment

WIDTHS = (60, 73, 80, 97, 120, 160, 200)
NUMBER = re.compile(r"-?[0-9]+\.[0-9]{3}")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two runs of 12 queries, one with a long name, one of them better."""
    folder = tmp_path_factory.mktemp("tables")
    names = ("first", "a_run_with_a_name_that_is_rather_long_for_a_terminal")
    for place, name in enumerate(names):
        with open(folder / f"{name}.jsonl", "w") as handle:
            for query in range(12):
                for rank in range(1, 4):
                    hit = query if rank == 1 + place else 100 + rank
                    row = {"query_id": f"q{query}", "doc_id": f"q{hit}", "score": -rank}
                    handle.write(json.dumps(row) + "\n")
    return folder, [f"{name}.jsonl" for name in names]


def shown(folder, arguments, width):
    """What a command writes on a terminal of that width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    env = environment()
    del env["COLUMNS"]
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdout=follower, stdin=subprocess.DEVNULL, cwd=folder, env=env
    )
    os.close(follower)
    found = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # the terminal is closed
            break
        if not piece:
            break
        found += piece
    os.close(leader)
    assert 0 == process.wait(60)
    return found.decode().replace("\r\n", "\n")


def as_wrapped(text, width):
    """The lines as a terminal shows them."""
    lines = text.rstrip("\n").split("\n")
    return [line[at : at + width] for line in lines for at in range(0, max(1, len(line)), width)]


@pytest.mark.parametrize("markdown", [[], ["--markdown"]], ids=["plain", "markdown"])
def test_no_number_is_broken_on_a_terminal(files, markdown):
    folder, runs = files
    arguments = ["score", "--qrels", "self", *markdown, *runs]
    narrow, wide = (shown(folder, arguments, width) for width in (60, 200))
    numbers = sorted(NUMBER.findall(wide))
    assert 2 * 6 * 3 == len(numbers)
    assert numbers == sorted(NUMBER.findall("\n".join(as_wrapped(narrow, 60))))
    assert wide == "\n".join(as_wrapped(wide, 200)) + "\n"


@pytest.mark.parametrize("markdown", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_width(width, markdown):
    compared = {
        "run": "santa-with-a-long-name", "against": "bm25-with-stemming", "measure": "nDCG@10",
        "queries": 1234, "value": 0.1234, "against_value": 0.2345, "difference": -0.1111,
        "difference_low": -0.2, "difference_high": 0.1, "p_randomization": 0.00099, "p_t": 0.0011,
        "wins": 1, "ties": 2, "losses": 3,
    }  # fmt: skip
    text = table([compared] * 2, markdown, width)
    assert all(len(line) <= width for line in text.split("\n"))
    numbers = NUMBER.findall(text)
    assert sorted(["-0.111", "-0.200", "0.100", "0.123", "0.234", "<0.001"[1:], "0.001"] * 2) == (
        sorted(numbers)
    )
    assert 2 == text.count("<0.001")


def test_a_run_is_not_compared_with_itself(run, files, tmp_path):
    folder, runs = files
    os.symlink(folder / runs[0], tmp_path / "link.jsonl")
    first, second = (folder / name for name in runs)
    score = ["score", "--qrels", "self", "--measures", "RR"]
    for path in (first, "link.jsonl"):
        done = run(*score, first, "--compare", path)
        assert 2 == done.returncode
        assert b"is the run itself; name another run" in done.stderr
    done = run(*score, first, second, "--compare", first)
    assert 0 == done.returncode
    [record] = map(json.loads, done.stdout.splitlines())
    assert ("first", runs[1][:-6]) == (record["against"], record["run"])


def test_names_mean_nothing_in_markdown():
    shown = table([{"run": "a|b\n<img src=x>.jsonl", "type=[x](y)": "`c`", "RR": 0.5}], True)
    assert 3 == len(shown.splitlines())
    assert r"| a\|b &lt;img src=x&gt;.jsonl | \`c\`" in shown and r"type=\[x\](y)" in shown
    assert "a|b\n<i>" in table([{"run": "a|b\n<i>", "RR": 0.5}])
