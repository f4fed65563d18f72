"""The functions that commits changed, beside git's own account."""

import os
import subprocess

import orjson
import pytest

import structkit
from structkit.collecting.history import commits
from structkit.errors import UserError

ONE = "def area(r):\n    return 3 * r * r\n\n\ndef side(a):\n    return a\n"
TWO = ONE.replace("3 *", "3.14 *")


class Repository:
    """A repository in a folder, without the user's settings."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments, **environment):
        names = {
            f"GIT_{who}_{what}": "x"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        places = {"GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(self.folder)}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=os.environ | names | places | environment,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode().strip()

    def commit(self, message, **files):
        for name, text in files.items():
            place = self.folder / name.replace("__", "/").replace("_py", ".py").replace(
                "_bin", ".bin"
            )
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(text if isinstance(text, bytes) else text.encode())
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
    repository.commit("Add shapes", src__shapes_py=ONE, logo_bin=b"\0\1\2")
    last = repository.commit("Be exact\n\nThree is not enough: π.", src__shapes_py=TWO)
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
    repository.commit("Add shapes", a_py=ONE, tests__test_a_py="def test_area():\n    pass\n")
    repository.git("mv", "a.py", "b.py")
    repository.commit("Rename it")
    repository.git("checkout", "-q", "-b", "other")
    repository.commit("Be exact", b_py=TWO)
    repository.git("checkout", "-q", "main")
    repository.commit("Say it", notes_md="# Area\n")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge it", "other")
    assert [("Be exact", "area"), ("Add shapes", "area"), ("Add shapes", "side")] == pairs(
        repository, glob=["!tests/"]
    )
    assert [("Add shapes", "test_area")] == pairs(repository, glob=["tests/"])
    assert [("Add shapes", "test_area")] == pairs(repository, "tests")  # a folder in a repository


@pytest.mark.parametrize("how", ["bare", "shallow", "worktree"])
def test_other_forms_of_repositories(repository, how, tmp_path):
    repository.commit("Add shapes", a_py=ONE)
    repository.commit("Be exact", a_py=TWO)
    source, place = f"file://{repository.folder}", str(tmp_path / how)
    commands = {
        "bare": ["clone", "-q", "--bare", source, place],
        "shallow": ["clone", "-q", "--depth", "1", source, place],
        "worktree": ["worktree", "add", "-q", "--detach", place],
    }
    repository.git(*commands[how])
    found = [(e["query"], e["name"]) for e in structkit.collect([place], unit="commit", workers=1)]
    assert ("Be exact", "area") == found[0]
    assert {"bare": 3, "worktree": 3, "shallow": 2}[how] == len(found)


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
    repository.commit("Add shapes", a_py=ONE)
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    (repository.folder / ".gitattributes").write_text("*.py diff=x filter=x\n")
    repository.commit("Be exact", a_py=TWO)
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
    repository.commit("Add shapes", a_py=ONE)
    repository.commit("Change all", b_py=many)
    done = here("collect", str(repository.folder), "--unit", "commit")
    assert 2 == len(done.stdout.splitlines())
    assert b"changes more than 50 functions" in done.stderr


def test_the_records_do_not_depend_on_workers_and_shards(repository, here):
    repository.commit("Add shapes", a_py=ONE)
    repository.commit("Be exact", a_py=TWO)
    collect = ["collect", str(repository.folder), "--unit", "commit"]
    whole = here(*collect, "--workers", "1").stdout.splitlines()
    assert whole == here(*collect, "--workers", "2").stdout.splitlines()
    parts = [here(*collect, "--shard", f"{number}/2").stdout.splitlines() for number in (0, 1)]
    assert sorted(whole) == sorted([*parts[0], *parts[1]])
    assert 3 == len({orjson.loads(line)["id"] for line in whole})


def test_what_has_no_history_says_so(tmp_path, repository):
    with pytest.raises(UserError, match="has no history"):
        list(commits(str(repository.folder)))  # without a commit
    (tmp_path / "plain").mkdir()
    with pytest.raises(UserError, match="has no history"):
        list(commits(str(tmp_path / "plain")))
