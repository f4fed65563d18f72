"""Work in a child: its result, its errors, and what ends it."""

import os
import signal

import pytest

from structkit.children import in_child


def test_what_work_gives_comes_back_from_another_process():
    there, twice = in_child(lambda: (os.getpid(), "é" * 100_000), 5)
    assert there != os.getpid()
    assert "é" * 100_000 == twice


def test_work_that_takes_longer_gives_nothing():
    def work():
        while True:
            pass

    assert in_child(work, 0.05) is None


def test_work_whose_process_is_killed_gives_nothing():
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 5) is None


def test_what_work_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        in_child(lambda: 1 / 0, 5)
