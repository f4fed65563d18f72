"""Files that change between listing and opening, and arguments that are no files."""

import os
import shutil
import socket

import pytest

from structkit.collecting.units import Collector, Units
from structkit.collecting.walking import Source, Walk, WalkOptions
from tests.jsonl import read, write_files

SECRET = "secret = 1\n"


@pytest.fixture
def tree(tmp_path):
    """A folder, and one outside it with the same names."""
    paths = ("a/one.py", "b/deep/two.py", "c.py")
    write_files(tmp_path / "outside", dict.fromkeys(paths, SECRET))
    return write_files(tmp_path / "tree", dict.fromkeys(paths, "x = 1\n"))


def as_fifo(path):
    path.unlink()
    os.mkfifo(path)


def as_link(path):
    outside = path.parent / os.path.relpath(str(path).replace("/tree/", "/outside/"), path.parent)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(outside)


def as_device(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def as_socket(path):
    path.unlink()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # a long name is not allowed


def as_folder(path):
    path.unlink()
    path.mkdir()


FILES = [as_fifo, as_link, as_device, as_socket, as_folder]
CHANGES = [("c.py", each) for each in FILES] + [("b/deep/two.py", each) for each in FILES]
CHANGES += [("a", as_link), ("b", as_link), ("b/deep", as_link), ("b/deep", shutil.rmtree)]


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_a_file_that_changes_after_it_was_listed(name, change, tree):
    found = list(Walk(WalkOptions()).sources([str(tree)]))
    assert [True] * 3 == [isinstance(each, Source) for each in found]
    change(tree / name)
    done = Collector(Units("file"))(found)
    [left] = done.left_out
    assert left.path.startswith(str(tree / name))
    assert left.fault
    reasons = ("not a regular file", "cannot be read: No such file or directory")
    assert left.problem in reasons
    assert [b"x = 1\n".decode()] * 2 == [each["code"] for each in read(done.output)]


@pytest.mark.parametrize("name", ["b", "b/deep"])
def test_a_folder_that_becomes_a_link_while_it_is_walked(name, tree):
    walk = Walk(WalkOptions()).sources([str(tree)])
    first = next(walk)
    assert first.path.endswith("a/one.py")
    as_link(tree / name)
    rest = list(walk)
    assert not [each for each in rest if "outside" in os.path.realpath(getattr(each, "file", ""))]
    done = Collector(Units("file"))([first, *rest])
    assert SECRET.encode() not in done.output
    assert 2 == done.records
    assert [f"{tree}/{name}"] == [os.path.normpath(each.path) for each in done.left_out]


def test_a_file_that_is_replaced_by_another_is_read(tree):
    found = list(Walk(WalkOptions()).sources([str(tree)]))
    (tree / "new").write_text("y = 2\n")
    (tree / "new").replace(tree / "c.py")
    done = Collector(Units("file"))(found)
    assert ["x = 1\n", "x = 1\n", "y = 2\n"] == [each["code"] for each in read(done.output)]


def test_ask_follows_no_link_either(tree, tmp_path, run, monkeypatch):
    from structkit.asking.cache import SharedCaches, Target
    from structkit.asking.folder import FileChanges, _read_files

    changes = FileChanges.of(Target.of(str(tree)), Walk(WalkOptions()), {})
    as_link(tree / "c.py")
    as_fifo(tree / "a/one.py")
    [read_files] = _read_files(changes, 1000, None, SharedCaches(None))
    assert ["b/deep/two.py"] == [file.path for file, _ in read_files.files]
    assert ["a/one.py", "c.py"] == sorted(each.file for each in changes.faults + read_files.faults)


@pytest.mark.parametrize("command", ["collect", "ask"])
def test_a_named_socket_or_device_is_one_line(command, tmp_path, run):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(tmp_path / "socket"))
    for name in ("socket", "/dev/zero", "/dev/tty"):
        words = [command, name, *(["x", "--no-cache", "--no-model"] if command == "ask" else [])]
        done = run(*words)
        told = done.stderr.decode()
        assert b"" == done.stdout
        assert "not a regular file" in told
        assert "Traceback" not in told


@pytest.mark.parametrize("command", ["mask-entities", "score --qrels", "convert", "html-variants"])
def test_a_socket_as_input_is_one_line(command, tmp_path, run):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(tmp_path / "socket"))
    done = run(*command.split(), "socket")
    [told] = done.stderr.decode().splitlines()
    assert told.startswith("structkit: socket: cannot be read: ")
    assert 1 == done.returncode


def test_links_and_pipes_that_are_named_are_read(tree, run):
    (tree.parent / "link.py").symlink_to(tree / "c.py")
    (tree.parent / "folder").symlink_to(tree)
    assert ["x = 1\n"] == [
        each["code"] for each in read(run("collect", "link.py", "--unit=file").stdout)
    ]
    assert 3 == len(read(run("collect", "folder").stdout))
    reading, writing = os.pipe()
    os.write(writing, b"x = 1\n")
    os.close(writing)
    done = run("collect", f"/dev/fd/{reading}", "--unit", "file", pass_fds=[reading])
    assert ["x = 1\n"] == [each["text"] for each in read(done.stdout)]
