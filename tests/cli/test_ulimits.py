"""What the system does not give, files or memory, is one clear line and never a traceback."""

import resource
import threading

import pytest

from structkit.records.workers import Pool
from tests.jsonl import write


@pytest.fixture
def codes(tmp_path):
    write(tmp_path / "codes.jsonl", *({"id": str(n), "code": f"a = {n}"} for n in range(50)))
    return ["mask-entities", "--language", "python", "--workers", "2", "codes.jsonl", "-o", "o"]


def limited(name, value):
    return lambda: resource.setrlimit(getattr(resource, name), (value, value))


def test_too_few_files_are_one_line(run, codes, tmp_path):
    done = run(*codes, preexec_fn=limited("RLIMIT_NOFILE", 8))
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("structkit: too many open files or processes; raise ulimit -n and -u")
    assert 1 == done.returncode and ["codes.jsonl"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("megabytes", [36, 50, 60])
def test_too_little_memory_is_no_traceback(run, codes, megabytes):
    limit = limited("RLIMIT_AS", megabytes << 20)
    done = run(*codes, preexec_fn=limit, env={"OPENBLAS_NUM_THREADS": "1"})
    told = done.stderr.decode()
    assert "Traceback" not in told and len(told.splitlines()) == (done.returncode != 0)


def test_a_pool_that_has_no_threads_says_so(monkeypatch):
    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        list(Pool(1, abs).results(iter([-1, -2])))
