"""An output is whole or what it was before, and stays the kind of file that it is."""

import hashlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

from tests.cli.complaints import GOOD, complaint


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("count", [1, 20_000], ids=["at-the-end", "on-the-way"])
def test_a_full_disk(run, count):
    to_stdout = run("pair", "--query", "id", input=GOOD * count, stdout=open("/dev/full", "wb"))
    problem = "No space left on device; give -o a place that exists, has room and may be written"
    assert f"stdout: cannot be written: {problem}" == complaint(to_stdout)
    to_file = run("pair", "--query", "id", "-o", "/dev/full", input=GOOD * count)
    assert f"/dev/full: cannot be written: {problem}" == complaint(to_file)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_file_that_cannot_grow_leaves_the_old_one(run, tmp_path, name):
    (tmp_path / name).write_bytes(b"old")
    # ids that do not compress; a measurement of coverage writes a file below the limit
    ids = (hashlib.sha256(bytes([number >> 8, number & 255])).hexdigest() for number in range(9999))
    done = run(
        "pair",
        *("--query", "id", "-o", name),
        input="".join(f'{{"id":"{each}","language":"python","code":"x"}}\n' for each in ids),
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18)),
    )
    assert f"{name}: cannot be written: File too large; {MAKE}" == complaint(done)
    assert [name] == os.listdir(tmp_path)
    assert b"old" == (tmp_path / name).read_bytes()


MAKE = "give -o a place that exists, has room and may be written"
OUTPUTS = {
    "folder": ("there", "is the name of a folder; give -o the name of a file"),
    "folder-to-be": ("new/", "is the name of a folder; give -o the name of a file"),
    "file-as-folder": ("in.jsonl/.", "is the name of a folder; give -o the name of a file"),
    "in-missing": ("no/out.jsonl", f"cannot be written: No such file or directory; {MAKE}"),
}


@pytest.mark.parametrize("name, problem", OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_that_cannot_be_made(run, tmp_path, name, problem):
    (tmp_path / "in.jsonl").write_bytes(GOOD)
    (tmp_path / "there").mkdir()
    assert f"{name}: {problem}" == complaint(run("mask-entities", "in.jsonl", "-o", name))
    assert ["in.jsonl", "there"] == sorted(os.listdir(tmp_path))


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_the_mode_of_a_file(run, tmp_path, name):
    output = tmp_path / name

    def written():
        before = os.umask(7)
        done = run("pair", "--query", "id", "-o", name, input=GOOD)
        os.umask(before)
        assert 0 == done.returncode
        return output.stat().st_mode & 0o777

    assert 0o660 == written()
    output.chmod(0o604)
    assert 0o604 == written()


def test_what_dead_processes_left_goes(run, tmp_path):
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = [f".out.jsonl.{dead.pid}.partial", f".out.jsonl.{os.getpid()}.partial"]
    others = [f".other.jsonl.{dead.pid}.partial", ".out.jsonl.x.partial", "out.jsonl.1.partial"]
    for name in (*left, *others):
        (tmp_path / name).write_bytes(b"half")
    assert 0 == run("pair", "--query", "id", "-o", "out.jsonl", input=GOOD).returncode
    assert sorted([*others, left[1], "out.jsonl"]) == sorted(os.listdir(tmp_path))


def test_a_closed_stdout_is_no_error_where_the_output_is_a_file(run, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "tea"}\n')
    closed = {"stdout": None, "preexec_fn": lambda: os.close(1)}
    done = run("encode", "-m", "builtin", "a.jsonl", "-o", "b.npy", **closed)
    assert 0 == done.returncode, done.stderr
    assert "a\n" == (tmp_path / "b.ids.txt").read_text()
    assert 1 == run("plugins", **closed).returncode  # what was asked for is lost


@pytest.mark.long
def test_torch_leaves_nothing_among_temporary_files(tmp_path):
    for name in ("temporary", "cache"):
        (tmp_path / name).mkdir()
    places = {"TMPDIR": str(tmp_path / "temporary"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    given = {key: value for key, value in os.environ.items() if key != "TORCHINDUCTOR_CACHE_DIR"}
    program = "from structkit.cli.main import prepare_libraries\nprepare_libraries()\n"
    program += "import torch._dynamo.package"
    subprocess.run([sys.executable, "-c", program], env=given | places, check=True)
    assert [] == os.listdir(tmp_path / "temporary")
    assert ["torch"] == os.listdir(tmp_path / "cache" / "structkit")


NAMES = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link", "-"]


@pytest.mark.parametrize("name", [*NAMES, "/dev/stderr"])
def test_other_names_of_stdout_keep_what_is_written_around(run, tmp_path, name):
    (tmp_path / "link").symlink_to("/dev/stdout")
    device = os.readlink("/dev/stdout")
    stream = "stderr" if name == "/dev/stderr" else "stdout"
    with open(tmp_path / "all", "wb") as file:
        file.write(b"before\n")
        file.flush()
        done = run("pair", "--query", "id", "-o", name, "-q", input=GOOD, **{stream: file})
        assert 0 == done.returncode
        file.seek(0, os.SEEK_END)
        file.write(b"after\n")
    pairs = run("pair", "--query", "id", input=GOOD).stdout
    assert pairs
    assert b"before\n" + pairs + b"after\n" == (tmp_path / "all").read_bytes()
    piped = run("pair", "--query", "id", "-o", name, "-q", input=GOOD)
    assert pairs == getattr(piped, stream)
    assert device == os.readlink("/dev/stdout")


def test_a_deleted_current_folder_is_one_line(run, tmp_path):
    (tmp_path / "in.jsonl").write_bytes(GOOD)
    here = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m structkit"
    for words in ("pair a.jsonl", "score a.jsonl --qrels self", "ask . word", "select a -o b"):
        done = subprocess.run(
            f"{here} {words}", shell=True, cwd=tmp_path, capture_output=True, env=environment()
        )
        assert "the current folder is gone; change to one that exists" == complaint(done)
    whole = subprocess.run(
        f"{here} pair --query id {tmp_path}/in.jsonl",
        **{"shell": True, "cwd": tmp_path, "capture_output": True, "env": environment()},
    )
    assert 0 == whole.returncode, whole.stderr
