"""However a run of collect ends, its output is whole or what it was before."""

import os
import resource
import subprocess
import sys

import pytest
from conftest import environment

# `make soak` kills more often
KILLS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "random" else 6
# what a run writes, and again after kills; nothing of a killed one goes on
KILLED = """
import os, random, signal, sys, time
from contextlib import suppress
from structkit.commands.collect import Options, Settings, write

def run(name, unit="chunk"):
    settings = Settings(paths=("project",), unit=unit, workers=int(sys.argv[1]))
    write(settings, Options(output=f"{name}.jsonl", rejects=f"{name}.rejects.jsonl"))

def content(name):
    with open(name, "rb") as file:
        return file.read()

def ended(group):
    for _ in range(1000):
        with suppress(ProcessLookupError):
            os.killpg(group, 0)
            time.sleep(0.01)
            continue
        return
    raise AssertionError("a process goes on")

run("old", "file")
start = time.monotonic()
run("whole")
whole = time.monotonic() - start
for part in ("jsonl", "rejects.jsonl"):
    os.rename(f"old.{part}", f"killed.{part}")
old, new = content("killed.jsonl"), content("whole.jsonl")
assert old != new
draw, killed = random.Random(0), 0
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        os.setsid()
        run("killed")
        os._exit(0)
    time.sleep(draw.uniform(0, whole))
    os.kill(child, signal.SIGKILL)  # the one that writes, and no other
    killed += os.waitpid(child, 0)[1] == signal.SIGKILL
    ended(child)
    assert content("killed.jsonl") in (old, new)
run("killed")
print(killed)
"""


@pytest.fixture
def project(tmp_path):
    """A folder that is read in several batches."""
    folder = tmp_path / "project"
    folder.mkdir()
    for number in range(600):
        functions = (f"def f{line}(a):\n    return {line} * a\n" for line in range(8))
        (folder / f"{number}.py").write_text("\n".join(functions))
    (folder / "a.bin").write_bytes(b"\0")
    return folder


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.long
@pytest.mark.hypothesis
@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_at_random_moments(project, tmp_path, workers):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, workers, str(KILLS)],
        cwd=tmp_path,
        env=environment(PYTHONPATH=os.getcwd()),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert 0 == done.returncode, done.stderr
    assert int(done.stdout) >= KILLS // 2, "hardly a run was killed"
    found = files(tmp_path)
    for ending in ("jsonl", "rejects.jsonl"):
        assert found.pop(f"whole.{ending}") == found.pop(f"killed.{ending}"), ending
    assert {} == found


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("out.jsonl", 4096),
        ("out.jsonl", 1 << 17),
        ("out.jsonl.gz", 4096),
        ("out.jsonl.gz", 1 << 14),
    ],
)
def test_a_full_disk_leaves_the_old_output(project, run, name, limit, workers):
    before = {name: b"old", "rejects.jsonl": b"old"}
    for old, content in before.items():
        (project.parent / old).write_bytes(content)
    done = run(
        *("collect", "project", "--unit", "function", "--workers", workers),
        *("-o", name, "--rejects", "rejects.jsonl"),
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    [line] = done.stderr.decode().splitlines()
    assert 1 == done.returncode
    assert f"structkit: {name}: cannot be written: File too large; choose another name" in line
    assert before == files(project.parent)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_is_one_line(project, run, workers):
    with open("/dev/full", "wb") as full:
        done = run("collect", "project", "--workers", workers, stdout=full)
    [line] = done.stderr.decode().splitlines()
    problem = "No space left on device; make room, or choose another disk with -o"
    assert f"structkit: stdout: cannot be written: {problem}" == line
    assert 1 == done.returncode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_really_full(project, run, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "x", disk]).returncode:
        pytest.skip("this system mounts nothing")
    try:
        done = run("collect", "project", "--unit", "function", "-o", "disk/out.jsonl")
        assert 1 == done.returncode
        [line] = done.stderr.decode().splitlines()
        assert "disk/out.jsonl: cannot be written: No space left on device; make room" in line
        assert [] == os.listdir(disk)
    finally:
        subprocess.run(["umount", disk], check=True)
