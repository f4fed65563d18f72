"""Progress as a person sees it."""

import io
import re
import sys
import threading

import pytest

from structkit.progress import Position, progress, say


class Terminal(io.StringIO):
    """What a person would see on stderr."""

    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [40, 120])
def test_progress_is_one_line_with_rate_and_time_left(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    seen = threading.Event()

    def look():
        seen.set()
        return Position(123_456, 5, 20, "loss 0.12")

    with progress("encode", look):
        seen.wait(60)
        say("a message")
    lines = re.split(r"\r\x1b\[K|\n", terminal.getvalue())
    whole = "encode: 123,456 records, N/s, N:N:N elapsed, N %, N:N:N left, loss 0.12"
    whole = whole.replace("N", "[0-9,]+")
    assert re.fullmatch(whole if columns > 80 else r"encode: 123,456 records, .{14}", lines[1])
    assert "structkit: a message" in lines and lines[-1] == ""
