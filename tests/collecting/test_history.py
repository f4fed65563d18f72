"""The functions that commits changed, beside git's own account."""

import os
import time
from pathlib import Path

import orjson
import pytest

import structkit
from structkit.errors import UserError
from tests.jsonl import write_files
from tests.repositories import git

ONE = "def area(r):\n    return 3 * r * r\n\n\ndef side(a):\n    return a\n"
TWO = ONE.replace("3 *", "3.14 *")


class Repository:
    """A repository in a folder, without the user's settings."""

    def __init__(self, folder, *options):
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *words):
        return git(self.folder, *words).decode().strip()

    def commit(self, message, files=()):
        write_files(self.folder, dict(files))
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "project")


def pairs(repository, below="", **settings):
    found = structkit.collect(
        [str(repository.folder / below)], unit="commit", workers=1, **settings
    )
    return [(each["query"], each["name"]) for each in found]


def test_each_function_that_a_commit_changed_is_a_pair(repository):
    repository.commit("Add shapes", {"src/shapes.py": ONE, "logo.bin": b"\0\1\2"})
    last = repository.commit("Be exact\n\nThree is not enough: π.", {"src/shapes.py": TWO})
    every = list(structkit.collect([str(repository.folder)], unit="commit", workers=1))
    assert ["area", "area", "side"] == [each["name"] for each in every]
    first = every[0]
    path = str(repository.folder / "src/shapes.py")
    assert f"{last[:12]}:{path}#area" == first["id"]
    assert ("Be exact\n\nThree is not enough: π.", last) == (first["query"], first["commit"])
    assert TWO.partition("\n\n\n")[0] == first["positive"].rstrip("\n")
    assert {"path": path, "language": "python", "lines": [1, 2]}.items() <= first.items()
    assert "code" not in first


def test_renames_and_merges_and_other_files(repository):
    test = "def test_area():\n    pass\n"
    repository.commit("Add shapes", {"a.py": ONE, "tests/test_a.py": test})
    repository.git("mv", "a.py", "b.py")
    repository.commit("Rename it")
    repository.git("checkout", "-q", "-b", "other")
    repository.commit("Be exact", {"b.py": TWO})
    repository.git("checkout", "-q", "main")
    repository.commit("Say it", {"notes.md": "# Area\n"})
    repository.git("merge", "-q", "--no-ff", "-m", "Merge it", "other")
    assert [("Be exact", "area"), ("Add shapes", "area"), ("Add shapes", "side")] == pairs(
        repository, glob=["!tests/"]
    )
    assert [("Add shapes", "test_area")] == pairs(repository, glob=["tests/"])
    assert [("Add shapes", "test_area")] == pairs(repository, "tests")  # a folder in a repository


@pytest.mark.parametrize("how", ["bare", "worktree", "borrowing"])
def test_other_forms_of_repositories(repository, how, tmp_path):
    repository.commit("Add shapes", {"a.py": ONE})
    repository.commit("Be exact", {"a.py": TWO})
    source, place = f"file://{repository.folder}", str(tmp_path / how)
    commands = {
        "bare": ["clone", "-q", "--bare", source, place],
        "worktree": ["worktree", "add", "-q", "--detach", place],
        "borrowing": ["clone", "-q", "--shared", source, place],
    }
    repository.git(*commands[how])
    found = [(e["query"], e["name"]) for e in structkit.collect([place], unit="commit", workers=1)]
    assert ("Be exact", "area") == found[0]
    assert 3 == len(found)


def test_messages_and_files_in_other_encodings(repository):
    repository.git("config", "i18n.commitEncoding", "ISO-8859-1")
    (repository.folder / "message").write_bytes("Fläche\n".encode("latin-1"))
    (repository.folder / "ä b.py").write_bytes(b"# coding: latin-1\ndef f():\n    return '\xe4'\n")
    repository.git("add", "ä b.py")
    repository.git("commit", "-q", "-F", "message")
    (found,) = structkit.collect([str(repository.folder)], unit="commit", workers=1)
    assert "Fläche" == found["query"]
    assert found["path"].endswith("ä b.py")
    assert "'ä'" in found["positive"]


def test_nothing_that_a_repository_configures_is_run(repository, tmp_path):
    repository.commit("Add shapes", {"a.py": ONE})
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    (repository.folder / ".gitattributes").write_text("*.py diff=x filter=x\n")
    repository.commit("Be exact", {"a.py": TWO})
    for name in (
        "core.pager core.fsmonitor core.sshCommand diff.external diff.x.command diff.x.textconv "
        "filter.x.smudge filter.x.clean gpg.program pager.log core.alternateRefsCommand"
    ).split():
        repository.git("config", name, str(program))
    for name in "log.showSignature diff.noprefix diff.relative log.follow".split():
        repository.git("config", name, "true")
    assert ("Be exact", "area") in pairs(repository)
    assert not ran.exists()


def test_a_change_everywhere_is_left_out_and_counted(repository, here):
    many = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(51))
    repository.commit("Add shapes", {"a.py": ONE})
    repository.commit("Change all", {"b.py": many})
    done = here("collect", str(repository.folder), "--unit", "commit")
    assert 2 == len(done.stdout.splitlines())
    assert b"changes more than 50 functions" in done.stderr


def test_the_records_do_not_depend_on_workers_and_shards(repository, here):
    repository.commit("Add shapes", {"a.py": ONE})
    repository.commit("Be exact", {"a.py": TWO})
    collect = ["collect", str(repository.folder), "--unit", "commit"]
    whole = here(*collect, "--workers", "1").stdout.splitlines()
    assert whole == here(*collect, "--workers", "2").stdout.splitlines()
    parts = [here(*collect, "--shard", f"{number}/2").stdout.splitlines() for number in (0, 1)]
    assert sorted(whole) == sorted([*parts[0], *parts[1]])
    assert 3 == len({orjson.loads(line)["id"] for line in whole})


def test_what_has_no_history_says_so(tmp_path, repository, here):
    (tmp_path / "plain").mkdir()
    (tmp_path / "a.py").write_text(ONE)
    for name in ("project", "plain", "a.py"):
        with pytest.raises(UserError, match="has no history"):
            list(structkit.collect([str(tmp_path / name)], unit="commit"))
    for wrong in (["gone"], ["--records", "a.py"]):
        done = here("collect", "--unit", "commit", *wrong)
        assert done.stderr.count(b"\n") == 1 and done.returncode in (1, 2)


SETTINGS = (
    "log.showRoot=false diff.renameLimit=1 diff.renames=false diff.orderFile=order "
    "log.mailmap=true log.follow=true log.showSignature=true diff.ignoreSubmodules=none "
    "diff.noPrefix=true diff.relative=true format.pretty=oneline i18n.logOutputEncoding=UTF-16 "
    "core.abbrev=4 core.quotePath=true core.attributesFile=attributes "
    "log.diffMerges=off core.commitGraph=true diff.algorithm=patience log.date=raw"
).split()


@pytest.mark.parametrize("place", ["local", "global"])
def test_no_setting_of_git_changes_the_records(repository, place, monkeypatch, tmp_path):
    before = "\n".join(f"def a{number}():\n    return {number}\n" for number in range(20))
    repository.commit("Add shapes", {"a.py": ONE, "b.py": before})
    repository.commit("Be exact", {"a.py": TWO})
    for old, new, end in (("a.py", "c.py", "# one\n"), ("b.py", "d.py", "# two\n")):
        repository.git("mv", old, new)
        with (repository.folder / new).open("a") as file:
            file.write(end)
    first = repository.commit("Rename both")
    whole = list(structkit.collect([str(repository.folder)], unit="commit", workers=1))
    assert 23 == len(whole)
    (repository.folder / "order").write_text("d.py\nc.py\n")
    (repository.folder / "attributes").write_text("*.py -diff\n")
    (repository.folder / ".mailmap").write_text("y <y> x <x>\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for setting in SETTINGS:
        file = [] if place == "local" else ["-f", str(tmp_path / ".gitconfig")]
        repository.git("config", *file, *setting.split("="))
    repository.git("replace", first, "HEAD~2")
    (repository.folder / ".git/info/grafts").write_text(f"{first}\n")
    assert whole == list(structkit.collect([str(repository.folder)], unit="commit", workers=1))


def test_the_first_commit_of_a_shallow_clone_is_no_change(repository, here, tmp_path):
    for text, message in ((ONE, "Add shapes"), (TWO, "Be exact"), (TWO + ONE, "Say it twice")):
        repository.commit(message, {"a.py": text})
    for depth, names in ((1, []), (2, ["area~2"])):
        place = str(tmp_path / f"depth{depth}")
        repository.git("clone", "-q", f"--depth={depth}", f"file://{repository.folder}", place)
        done = here("collect", place, "--unit", "commit")
        found = [orjson.loads(line)["id"].partition("#")[2] for line in done.stdout.splitlines()]
        assert (names, 0) == (found, done.returncode)
        assert b"1 x the beginning of a shallow clone" in done.stderr


@pytest.mark.parametrize("how", ["missing", "cut", "other"])
def test_a_damaged_blob_is_an_error(repository, here, how):
    repository.commit("Add shapes", {"a.py": ONE})
    text = TWO + "".join(f"# {n * 7919}\n" for n in range(5_000))
    repository.commit("Be exact", {"a.py": text})
    number = repository.git("rev-parse", "HEAD:a.py")
    blob = repository.folder / ".git/objects" / number[:2] / number[2:]
    data = blob.read_bytes()
    blob.unlink()
    if how != "missing":
        blob.write_bytes(data[: len(data) // 2] if how == "cut" else b"x")
    collect = ["collect", str(repository.folder), "--unit", "commit"]
    done = here(*collect)
    assert (2, 0) == (len(done.stdout.splitlines()), done.returncode)
    assert b"1 x has damaged or missing objects" in done.stderr
    done = here(*collect, "--on-error", "fail")
    assert (b"", 1) == (done.stdout, done.returncode)
    assert number.encode() in done.stderr


def test_a_clone_without_files_is_an_error(repository, here, tmp_path):
    repository.commit("Add shapes", {"a.py": ONE})
    repository.git("config", "uploadpack.allowFilter", "true")
    place = str(tmp_path / "partial")
    filtered = ["--no-checkout", "--filter=blob:none", f"file://{repository.folder}", place]
    repository.git("clone", "-q", *filtered)
    done = here("collect", place, "--unit", "commit")
    assert (b"", 1) == (done.stdout, done.returncode)
    assert b"clone it without a filter" in done.stderr


def test_a_shallow_clone_of_the_whole_history_is_whole(repository, here, tmp_path):
    for text, message in ((ONE, "Add shapes"), (TWO, "Be exact")):
        repository.commit(message, {"a.py": text})
    whole = here("collect", str(repository.folder), "--unit", "commit").stdout
    for depth in (2, 3):
        place = str(tmp_path / f"depth{depth}")
        repository.git("clone", "-q", f"--depth={depth}", f"file://{repository.folder}", place)
        root = repository.git("rev-list", "--max-parents=0", "HEAD").strip()
        Path(place, ".git/shallow").write_text(f"{root}\n")  # as some versions of git write it
        done = here("collect", place, "--unit", "commit")
        assert (whole.count(b"\n"), b"") == (done.stdout.count(b"\n"), done.stderr)


PIPES = (".gitattributes", ".git/info/attributes", ".git/info/grafts", ".git/shallow")
PIPES += (".git/objects/pack/pack-1.idx", ".git/HEAD", ".git/config", ".git/packed-refs")
PIPES += (".git/refs/heads/other", ".git/commondir", ".git/config.worktree", ".git/refs/heads/main")
PIPES += ("included", ".git/logs/HEAD", ".git/objects/info/alternates", ".git/index")


@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_in_a_repository_is_not_waited_for(repository, name):
    repository.commit("Add shapes", {"a.py": ONE})
    repository.git("config", "include.path", "../included")
    (repository.folder / name).unlink(missing_ok=True)
    os.mkfifo(repository.folder / name)
    start = time.monotonic()
    try:
        assert 2 == len(pairs(repository))
    except UserError as error:
        said = "no git repository" if name == ".git/HEAD" else "not a regular file"
        assert said in str(error)
    assert time.monotonic() - start < 8


@pytest.mark.parametrize("name", ["two\nlines", "end\n", "\n", " ", "-x", "\udcff", "$(a)"])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_any_name_of_a_repository(name, form, tmp_path):
    other = Repository(tmp_path / name, f"--object-format={form}")
    other.commit("Add shapes", {"HEAD": "", f"{name}/a.py": ONE})
    assert 2 == len(pairs(other)) == len(pairs(other, name))
