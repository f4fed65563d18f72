"""However a run of collect ends, its output is whole or what it was before."""

import os
import resource

import pytest


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


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("name", "limit"),
    [("out.jsonl", 4096), ("out.jsonl", 1 << 17), ("out.jsonl.gz", 1 << 14)],
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
    assert f"structkit: {name}: cannot be written: File too large; give -o a place" in line
    assert before == files(project.parent)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_is_one_line(project, run, workers):
    with open("/dev/full", "wb") as full:
        done = run("collect", "project", "--workers", workers, stdout=full)
    [line] = done.stderr.decode().splitlines()
    problem = "No space left on device; give -o a place that exists, has room and may be written"
    assert f"structkit: stdout: cannot be written: {problem}" == line
    assert 1 == done.returncode
