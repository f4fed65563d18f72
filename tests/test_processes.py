"""Work in a child: its result, its errors, and what ends it."""

import ast
import gc
import math
import os
import pickle
import platform
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.spawn import get_preparation_data

import pytest
from conftest import environment

from structkit.processes import Child, cores, cpu_quota, in_child, without_script
from structkit.records.workers import Pool
from tests.jsonl import write_files


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


QUOTAS = {
    "none": ({}, "0::/", math.inf),
    "unlimited": ({"cpu.max": "max 100000"}, "0::/", math.inf),
    "of-a-container": ({"cpu.max": "150000 100000"}, "0::/", 1.5),
    "of-a-group-around": (
        {"a/cpu.max": "50000 100000", "a/b/cpu.max": "300000 100000"},
        "0::/a/b",
        0.5,
    ),
}


@pytest.mark.parametrize(("files", "own", "expected"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_of_processor_time_counts(tmp_path, files, own, expected):
    write_files(tmp_path, {**files, "own": own})
    assert expected == cpu_quota(str(tmp_path), str(tmp_path / "own"))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others return it or not")
def test_freed_memory_goes_back_to_the_system():
    program = """
import sys
from pathlib import Path
from structkit.processes import return_freed

def held():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) >> 10

def touched():
    return bytearray(b"x") * (8 << 20)

if sys.argv[1] == "return":
    return_freed(4 << 20)
for _ in range(3):  # glibc learns from a block's end that such blocks come and go
    bytearray(b"x") * (9 << 20)
before = held()
blocks = [touched() for _ in range(20)]
del blocks[:-1]
print(held() - before)
"""
    kept, returned = (
        int(subprocess.check_output([sys.executable, "-c", program, each], env=environment()))
        for each in ("keep", "return")
    )
    assert kept > 100
    assert returned < 20


def test_a_child_that_works_is_ended_at_once(tmp_path):
    def work(_):
        (tmp_path / "works").touch()
        time.sleep(60)

    child = Child(work)
    with closing(child), ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(child.result, None)
        while not (tmp_path / "works").exists():
            time.sleep(0.01)
        start = time.monotonic()
        child.close()
        assert waiting.result(10) is None
    assert time.monotonic() - start < 10


def test_a_spawned_process_does_not_run_the_script_again():
    script = sys.modules["__main__"]
    with without_script():
        assert not {"init_main_from_path", "init_main_from_name"} & {*get_preparation_data("child")}
    assert script is sys.modules["__main__"]


THREADS = """
import sys
from structkit.records.workers import Pool
from tests.jsonl import write_files

def threads(_):
    import os, numpy, threadpoolctl
    found = {each["internal_api"]: each["num_threads"] for each in threadpoolctl.threadpool_info()}
    if "torch" in sys.modules:
        import torch
        found["torch"] = torch.get_num_threads()
    return {**found, "rayon": os.environ.get("RAYON_NUM_THREADS")}

print(*Pool(int(sys.argv[1]), threads).results(iter("ab")), sep="\\n")
"""


def threads(workers, start="", **given):
    """How many threads each library of each worker computes with."""
    names = ("OMP", "OPENBLAS", "MKL", "RAYON")
    unset = {f"{name}_NUM_THREADS": None for name in names}
    variables = {
        name: value for name, value in (environment() | unset | given).items() if value is not None
    }
    done = subprocess.run(
        [sys.executable, "-c", start + THREADS, str(workers)],
        env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


TORCH = "import torch; torch.ones(999, 999).exp()"
ASKED = min(2, cores())  # of more, OpenBLAS starts no more than there are processors
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("workers", "start", "given", "expected"),
    [
        (2, "", {}, {"openblas": 1, "rayon": "1"}),
        (2, "import numpy", {}, {"openblas": 1, "rayon": "1"}),
        pytest.param(2, "import torch", {}, {"openblas": 1, "torch": 1, "rayon": "1"}, marks=LONG),
        pytest.param(2, TORCH, {}, {"openblas": 1, "torch": 1, "rayon": "1"}, marks=LONG),
        # those that the user wants stay
        (2, "", {"OMP": ASKED, "RAYON": 7}, {"openblas": ASKED, "rayon": "7"}),
        (2, "import numpy", {"OPENBLAS": ASKED}, {"openblas": ASKED}),
        pytest.param(2, "import torch", {"MKL": cores()}, {"torch": cores()}, marks=LONG),
        # a process that works alone keeps its threads
        (1, "import numpy", {}, {"rayon": None}),
    ],
)
def test_one_of_several_processes_computes_with_one_thread(workers, start, given, expected):
    for found in threads(workers, start, **{f"{k}_NUM_THREADS": str(v) for k, v in given.items()}):
        assert expected.items() <= found.items()
