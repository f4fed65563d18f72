"""Work in a child: its result, its errors, and what ends it."""

import gc
import os
import pickle
import select
import signal
import sys
from contextlib import closing
from multiprocessing.spawn import get_preparation_data

import pytest

from structkit.processes import Child, in_child, without_script
from structkit.records.workers import Pool


def test_what_work_gives_comes_back_from_another_process():
    there, twice = in_child(lambda: (os.getpid(), "é" * 100_000), 5)
    assert there != os.getpid()
    assert "é" * 100_000 == twice


class ToCollect:
    """What collects it in another process than it was made in ends that."""

    def __init__(self):
        self.itself, self.process = self, os.getpid()

    def __del__(self):
        if os.getpid() != self.process:
            os._exit(1)


def collected(number):
    """A number, once all is collected that this process may collect."""
    gc.collect()
    return number


def test_what_a_process_has_not_collected_is_not_collected_by_its_children():
    gc.disable()
    try:
        ToCollect()
        assert 1 == in_child(lambda: collected(1), 5)
        assert [2] == list(Pool(1, collected).results(iter([2])))
    finally:
        gc.enable()


def test_work_that_takes_longer_gives_nothing():
    def work():
        while True:
            pass

    assert in_child(work, 0.05) is None


def test_work_whose_process_is_killed_gives_nothing():
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 5) is None


def test_work_whose_process_is_killed_while_it_tells_gives_nothing(monkeypatch):
    load = pickle.load

    def killed(results):
        select.select([results], [], [])  # it has begun, and a pipe holds less
        os.kill(pid, signal.SIGKILL)
        return load(results)

    with closing(Child(lambda size: b"x" * size or os.getpid())) as child:
        pid = child.result(0)
        monkeypatch.setattr(pickle, "load", killed)
        assert child.result(1 << 20) is None
        assert not child.lives


def test_what_work_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        in_child(lambda: 1 / 0, 5)


def test_a_child_is_the_same_until_a_task_ends_it():
    def work(number):
        if number is None:
            os.kill(os.getpid(), signal.SIGKILL)
        while number > 9:
            pass
        return os.getpid(), 1 // number

    with closing(Child(work)) as child:
        first, again = child.result(1, 5), child.result(1, 5)
        assert first == again != (os.getpid(), 1)
        with pytest.raises(ZeroDivisionError):
            child.result(0, 5)
        assert child.result(1, 5) == first
        assert child.result(None, 5) is None
        assert child.result(1, 5) != first
        assert child.result(10, 0.05) is None
        last, _ = child.result(1, 5)
    with pytest.raises(ProcessLookupError):  # it is also waited for
        os.kill(last, 0)


def test_a_spawned_process_does_not_run_the_script_again():
    script = sys.modules["__main__"]
    with without_script():
        assert not {"init_main_from_path", "init_main_from_name"} & {*get_preparation_data("child")}
    assert script is sys.modules["__main__"]
