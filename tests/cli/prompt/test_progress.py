"""Progress and colors: only where a person sees them, and as the environment says."""

import io
import re
import sys
import time
from itertools import count

import pytest

from structkit.progress import Position, colored, progress


class Terminal(io.StringIO):
    """What a person would see on stderr."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("variables", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR": "0"}, True, False),
        ({"CLICOLOR": "1"}, False, False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colors_are_as_the_environment_says(variables, terminal, expected, monkeypatch):
    for name in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("os.isatty", lambda stream: terminal)
    assert expected == colored()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_progress_is_one_line_with_rate_and_time_left(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    done = count(10)
    with progress("encode", lambda: Position(123_456, next(done), 20, "loss 0.12")):
        time.sleep(1.2)
    drawn = re.split(r"[\r\n]|\x1b\[(?:1A|2K)", terminal.getvalue())
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in drawn]
    full = [line for line in lines if "123,456 records" in line]
    assert full and max(map(len, lines)) <= columns
    assert terminal.getvalue().count("\x1b[1A") == 1  # back over one line, at the end
    elapsed, left = (" elapsed,", " left") if columns >= 80 else ("", "")
    assert re.search(rf"/s .*\d:\d\d:\d\d{elapsed} \d:\d\d:\d\d{left}$", full[-1])
    assert any(re.search("[━╸-]{4}", line) for line in full) == (columns > 80)


def test_a_pipe_gets_no_progress(monkeypatch):
    monkeypatch.setattr(sys, "stderr", pipe := io.StringIO())
    with progress("encode", lambda: Position(1)):
        time.sleep(0.3)
    assert "" == pipe.getvalue()
