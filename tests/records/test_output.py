"""Files, sets of files and folders appear whole or not at all, and no link is followed."""

import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from conftest import python

from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import EmbeddingRow
from structkit.embeddings.writing import ParquetFile, VectorFiles
from structkit.errors import UserError
from structkit.learning.training.run_folder import RunFolder
from structkit.records.output import Output, keep_together, whole_file, whole_folder, write_records
from tests.terminals import shown

OLD, NEW = ["a", "b", "c"], ["c", "d", "e"]


def vectors(path, names, *, chunks=False):
    """A set of files; each row has its id."""
    rows = [EmbeddingRow(f"{name}#0" if chunks else name, name * chunks or None) for name in names]
    numbers = np.array([[ord(name), 1] for name in names], np.float32)
    options = {"chunks": chunks, "fields": chunks, "quantize": "int8" if chunks else None}
    with VectorFiles(str(path), **options) as files:
        files.add(rows, numbers)
        files.finish({"quantize": options["quantize"]})


def read(path):
    """The documents of the files, as their rows have them too; None where they are refused."""
    try:
        found = read_embeddings([str(path)], fields=True)
    except UserError as error:
        assert error.remedy
        return None
    assert found.doc_ids == [chr(round(row[0])) for row in found.vectors[:]]
    return found.doc_ids


def killed_everywhere(work, look):
    """Run `work` in processes that are killed at its first, second, … change of a name."""
    for steps in range(1, 40):
        child = os.fork()
        if not child:
            left = steps

            def counted(change):
                def counting(*arguments, **options):
                    nonlocal left
                    left -= 1
                    if not left:
                        os._exit(9)
                    return change(*arguments, **options)

                return counting

            for name in ("replace", "unlink"):
                setattr(os, name, counted(getattr(os, name)))
            work()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9)
        look(status)
        if not status:
            return steps
    raise AssertionError("the work does not end")


@pytest.mark.parametrize(("before", "meta"), [(False, False), (False, True), (True, True)])
def test_vectors_of_a_killed_run_are_never_a_mixture(tmp_path, before, meta):
    path = tmp_path / "v.npy"
    seen = []

    def again():
        for file in tmp_path.iterdir():
            file.unlink()
        vectors(path, OLD, chunks=before)
        if not meta:
            (tmp_path / "v.meta.json").unlink()

    def look(status):
        seen.append(read(path))
        assert seen[-1] in (OLD, NEW, None)
        assert status or seen[-1] == NEW
        if status:
            vectors(path, NEW, chunks=not before)
            assert NEW == read(path)
            assert not [each.name for each in tmp_path.iterdir() if each.name.startswith(".")]
        again()

    again()
    steps = killed_everywhere(lambda: vectors(path, NEW, chunks=not before), look)
    assert steps > 8 and OLD in seen and None in seen


def test_files_of_different_runs_are_refused(tmp_path):
    vectors(tmp_path / "v.npy", OLD)
    vectors(tmp_path / "w.npy", NEW)
    shutil.copy(tmp_path / "w.npy", tmp_path / "v.npy")
    with pytest.raises(UserError, match=r"v\.npy: does not belong to .*v\.meta\.json: .*; encode"):
        read_embeddings([str(tmp_path / "v.npy")])
    shutil.copy(tmp_path / "w.meta.json", tmp_path / "v.meta.json")
    with pytest.raises(UserError, match=r"v\.ids\.txt: does not belong"):
        read_embeddings([str(tmp_path / "v.npy")])


def test_a_set_of_other_tools_is_never_a_mixture(tmp_path):
    names = [tmp_path / name for name in ("corpus.jsonl", "queries.jsonl.gz", "qrels.tsv")]

    def write(content):
        outputs = [Output(str(name)) for name in names]
        for output in outputs:
            output.write(content)
        for output in outputs:
            output.close()
        keep_together([output.whole for output in outputs])

    def look(status):
        found = [name.stat().st_mtime_ns == at for name in names if name.exists()]
        assert len(set(found)) <= 1  # all old, or all new
        again()

    def again():
        for name in names:
            name.write_bytes(b"old")
            os.utime(name, ns=(at, at))

    at = 10**18
    again()
    assert killed_everywhere(lambda: write(b"new"), look) > 6


@pytest.mark.parametrize("kind", ["folder", "run"])
def test_a_folder_that_is_replaced_is_never_a_mixture(tmp_path, kind):
    folder = tmp_path / "model"

    def write(content="new"):
        if kind == "folder":
            with whole_folder(folder) as new:
                fill(new, content)
            return
        run = RunFolder(str(folder), overwrite=True, resume=False)
        run.open({})
        with run.writing() as new:
            fill(new, content)
        run.finish()

    def fill(new, content):
        for name in ("structkit.json", "b"):
            (new / name).write_text(content)

    def look(status):
        found = [each.read_text() for each in folder.glob("*")]
        assert found in ([], ["old"] * 2, ["new"] * 2)
        with pytest.raises(ValueError, match="a mistake"), whole_folder(folder):
            raise ValueError("a mistake")
        if kind == "folder":  # what a killed process put aside comes back
            assert len(list(folder.glob("*"))) == 2
        write("old")

    write("old")
    assert killed_everywhere(write, look) >= 3
    assert ["model"] == os.listdir(tmp_path)


def test_a_checkpoint_is_replaced_whole(tmp_path):
    def write():
        with whole_file(tmp_path / "step") as file:
            file.write(b"new")

    def look(status):
        assert (tmp_path / "step").read_bytes() in (b"old", b"new")

    (tmp_path / "step").write_bytes(b"old")
    killed_everywhere(write, look)


WRITERS = {
    ".o.npy.{pid}.partial": lambda: vectors("o.npy", OLD),
    ".o.meta.json.{pid}.partial": lambda: vectors("o.npy", OLD),
    ".o.jsonl.{pid}.partial": lambda: write_records([{"id": "1"}], "o.jsonl"),
    ".o.parquet.{pid}.partial": lambda: parquet("o.parquet"),
    ".step.{pid}.partial": lambda: checkpoint("step"),
    ".o.{pid}.partial": lambda: folder("o"),
}


def parquet(path):
    with ParquetFile(path) as file:
        file.add([EmbeddingRow("a")], np.ones((1, 2), np.float32))
        file.finish({})


def checkpoint(path):
    with whole_file(Path(path)) as file:
        file.write(b"state")


def folder(path):
    with whole_folder(path) as new:
        (new / "file").write_text("content")


@pytest.mark.parametrize("kind", ["link", "hard link", "dangling", "left over"])
@pytest.mark.parametrize("name", WRITERS)
def test_no_link_is_followed(tmp_path, monkeypatch, name, kind):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    victim = tmp_path / "victim"
    if kind != "dangling":
        victim.write_bytes(b"precious")
    partial = name.format(pid=os.getpid())
    if kind == "hard link":
        os.link(victim, partial)
    elif kind == "left over":
        shutil.copy(victim, partial)
    else:
        os.symlink("../victim", partial)
    WRITERS[name]()
    assert not os.path.lexists(partial)
    assert victim.read_bytes() == b"precious" if kind != "dangling" else not victim.exists()
    assert all(not each.startswith(".") for each in os.listdir())


def long(ending, size, letter="n"):
    """A name of so many bytes."""
    name = letter * ((size - len(ending)) // len(os.fsencode(letter)))
    return name + "x" * (size - len(os.fsencode(name + ending))) + ending


LONG_WRITERS = {
    ".jsonl": lambda name: write_records([{"id": "1"}], name),
    ".jsonl.gz": lambda name: write_records([{"id": "1"}], name),
    ".parquet": parquet,
    ".npy": lambda name: vectors(name, OLD),
    "": folder,
    ".step": checkpoint,
}


@pytest.mark.parametrize("letter", ["n", "é", "語", "\udcff"])
@pytest.mark.parametrize("ending", LONG_WRITERS)
def test_every_name_that_the_system_takes_can_be_written(tmp_path, monkeypatch, ending, letter):
    monkeypatch.chdir(tmp_path)
    beside = len(".meta.json") - len(".npy") if ending == ".npy" else 0  # of a set, its longest
    for size in (241, 242, 249, 254 - beside, 255 - beside):
        LONG_WRITERS[ending](name := long(ending, size, letter))
        assert os.path.exists(name) and size == len(os.fsencode(name))
        assert ending != ".npy" or OLD == read(name)
    assert all(not each.startswith(".") for each in os.listdir())
    with pytest.raises((UserError, OSError), match="File name too long"):
        LONG_WRITERS[ending](long(ending, 256 - beside, letter))
    assert all(not each.startswith(".") for each in os.listdir())


def test_two_long_names_that_begin_alike_are_written_at_once(tmp_path):
    with ExitStack() as opened:
        for last in "ab":
            output = opened.enter_context(Output(str(tmp_path / ("n" * 254 + last))))
            output.write(last.encode())
    assert [b"a", b"b"] == [path.read_bytes() for path in sorted(tmp_path.iterdir())]


def test_what_a_killed_run_left_of_a_long_name_goes(tmp_path):
    path = tmp_path / ("n" * 255)
    if not (child := os.fork()):
        Output(str(path))
        os._exit(9)
    os.waitpid(child, 0)
    assert 1 == len(os.listdir(tmp_path))
    write_records([{"id": "1"}], str(path))
    assert [path] == list(tmp_path.iterdir())


def test_the_folder_of_a_run_is_no_link(tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "m.partial").symlink_to("victim")
    for options in ({"overwrite": True, "resume": False}, {"overwrite": False, "resume": True}):
        with pytest.raises(UserError, match="m.partial is a link; remove it"):
            RunFolder(str(tmp_path / "m"), **options)


DRAWN = """
from structkit.records.output import write_drawn

for path, always in [("-", False), ("-", True), ("some", False), ("drawn", True)]:
    write_drawn([{"a": 1}], path, lambda records, width: f"{records} in {width}", always=always)
"""


def test_a_table_is_for_a_terminal_or_whoever_asks_for_it(tmp_path):
    drawn, some = "[{'a': 1}] in None\n", '{"a":1}\n'
    assert some + drawn == python("-c", DRAWN, cwd=tmp_path).stdout
    files = [(tmp_path / name).read_text() for name in ("some", "drawn")]
    assert [some, drawn] == files
    wide = "[{'a': 1}] in 70\n"
    assert wide + wide == shown(tmp_path, [sys.executable, "-c", DRAWN], columns=70)
    assert files == [(tmp_path / name).read_text() for name in ("some", "drawn")]
