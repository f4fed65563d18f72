"""Ctrl-C comes after some time, wherever encoding and searching then are; a test runs this."""

import gc
import os
import signal
import tempfile
from contextlib import redirect_stderr, suppress
from io import StringIO

import numpy as np

import structkit
from structkit.learning.encoding.encoding import WINDOW_RECORDS

come = []  # where no exception can be raised, it is only printed


def interrupt(number, frame):
    come.append(number)
    raise KeyboardInterrupt


def until_ctrl_c(seconds, work):
    come.clear()
    with suppress(KeyboardInterrupt), redirect_stderr(StringIO()):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while not come:
            work()


def main():
    signal.signal(signal.SIGALRM, interrupt)
    model, texts = structkit.load("builtin"), ["hot tea and ice", "slow boats"]
    expected = model.encode(texts)
    many = [f"{text} {number}" for number in range(WINDOW_RECORDS) for text in texts]
    rows = [{"text": each} for each in many]

    def search():
        list(structkit.search(rows, query=texts, method="bm25"))

    search()  # an import is Python's to end well
    for wait in (0.001, 0.004, 0.016, 0.064):
        until_ctrl_c(wait, lambda: model.encode(many, as_="query", length=1))
        np.testing.assert_array_equal(expected, model.encode(texts))
        until_ctrl_c(wait, search)
        gc.collect()  # of a generator that was stopped before it began
        assert [] == os.listdir(tempfile.gettempdir())


if __name__ == "__main__":
    main()
