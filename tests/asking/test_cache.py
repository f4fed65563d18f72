"""The laws of the cache: whatever happens to files or to it, answers are those of no cache."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from structkit.asking.cache import Store, grammars
from structkit.asking.folder import FileChanges, Target
from structkit.collecting.walking import Walk
from tests.asking.folders import FILES, answers, asked, edit, folder_in, ids, same, settle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_in(tmp_path)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def edit_in_place(folder: Path) -> None:
    """Another content of the same size, at the same time, in the same file."""
    path = folder / "net/wait.py"
    before = path.stat()
    with path.open("r+") as handle:
        handle.write(FILES["net/wait.py"].replace("wait", "tiaw"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(folder: Path) -> None:
    (folder / "new").write_text(FILES["net/wait.py"].replace("wait", "tiaw"))
    os.utime(folder / "new", ns=(0, (folder / "net/wait.py").stat().st_mtime_ns))
    (folder / "new").rename(folder / "net/wait.py")


def rename_folder(folder: Path) -> None:
    (folder / "net").rename(folder / "network")


def swap(folder: Path) -> None:
    (folder / "net/retry.py").rename(folder / "x")
    (folder / "net/wait.py").rename(folder / "net/retry.py")
    (folder / "x").rename(folder / "net/wait.py")


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": edit,
    "edited-in-place": edit_in_place,
    "replaced": replace,
    "added": lambda folder: (folder / "a.go").write_text("// Wait counts retries.\nfunc Wait() {}"),
    "deleted": lambda folder: (folder / "net/retry.py").unlink(),
    "emptied": lambda folder: (folder / "net/retry.py").write_text(""),
    "made-binary": lambda folder: (folder / "net/retry.py").write_bytes(b"retries\0"),
    "renamed": lambda folder: (folder / "notes.md").rename(folder / "retries.md"),
    "folder-renamed": rename_folder,
    "swapped": swap,
    "touched": lambda folder: (folder / "notes.md").touch(),
    "ignored": lambda folder: (folder / ".gitignore").write_text("*.py\n"),
    "linked": lambda folder: (folder / "link.py").symlink_to(folder / "net/wait.py"),
    "filled": lambda folder: (folder / "empty.txt").write_text("Retries wait."),
    "nothing": lambda folder: None,
}


@pytest.mark.parametrize("settled", [True, False], ids=["old", "young"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_answers_follow_the_files(
    folder: Path, cache: Path, change: Callable[[Path], object], settled: bool
) -> None:
    if settled:
        settle(folder)
    before = same(folder, cache)
    change(folder)
    after = same(folder, cache)
    unseen = (CHANGES["touched"], CHANGES["linked"], CHANGES["nothing"])
    assert (before == after) == (change in unseen)


def pending(folder: Path, cache: Path) -> list[str]:
    """The files that would be read again."""
    (place,) = cache.glob("*.sqlite")
    with Store(place) as store:
        found = FileChanges.of(Target.of(str(folder)), Walk(), store.files())
    return [source.path for source, _ in found.pending]


def test_only_what_changed_is_read_again(folder: Path, cache: Path) -> None:
    settle(folder)
    time.sleep(2.1)  # what a file system that counts in seconds may not tell apart
    same(folder, cache)
    assert [] == pending(folder, cache)
    edit(folder)
    (folder / "notes.md").touch()
    assert ["net/retry.py", "notes.md"] == pending(folder, cache)
    same(folder, cache)
    time.sleep(2.1)
    same(folder, cache)
    assert [] == pending(folder, cache)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read_is_told_each_time(
    folder: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same(folder, cache)
    (folder / "notes.md").chmod(0)
    for _ in range(2):
        same(folder, cache)
        assert "notes.md: cannot be read: Permission denied; make it" in capsys.readouterr().err
    (folder / "notes.md").chmod(0o600)
    same(folder, cache)
    assert "notes.md" not in capsys.readouterr().err


AGAIN = ("read ", "searched by words alone; ")


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_cache_is_made_anew(
    folder: Path, cache: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    expected = same(folder, cache)
    (place,) = cache.glob("*.sqlite")
    data = bytearray(place.read_bytes())
    rng = random.Random(seed)
    how = seed % 3
    if how == 0:
        del data[rng.randrange(1, len(data)) :]
    elif how == 1:
        for _ in range(20):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    else:
        first = rng.randrange(len(data))
        data[first : first + 4096] = rng.randbytes(len(data[first : first + 4096]))
    place.write_bytes(data)
    capsys.readouterr()
    assert expected == answers(folder, cache)
    told = capsys.readouterr().err
    assert expected == answers(folder, cache)
    assert "" == capsys.readouterr().err
    known = (f"structkit: the cache {place} is damaged (", *map("structkit: {}".format, AGAIN))
    assert all(line.startswith(known) for line in told.splitlines()), told


def test_damage_is_told(folder: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same(folder, cache)
    (place,) = cache.glob("*.sqlite")
    place.write_bytes(b"no database at all" * 1000)
    capsys.readouterr()
    answers(folder, cache)
    told = capsys.readouterr().err
    assert f"structkit: the cache {place} is damaged (file is not a database); it is built" in told


@pytest.mark.parametrize("how", ["a-file", "read-only", "full"])
def test_where_nothing_can_be_kept(folder: Path, tmp_path: Path, how: str) -> None:
    cache = tmp_path / "cache"
    limit = None
    if how == "a-file":
        cache.write_text("")
    elif how == "read-only":
        cache = Path("/proc/structkit")
    else:
        limit = 8192
    done = asked(folder, cache, limit=limit)
    assert 0 == done.returncode, done.stderr
    assert [hit["doc_id"] for hit in answers(folder, None)] == ids(done.stdout)
    assert f"structkit: nothing is kept in {cache}: ".encode() in done.stderr
    assert 1 == done.stderr.count(b"nothing is kept")
    if limit:  # and with room again it works
        assert b"nothing is kept" not in asked(folder, cache).stderr
        same(folder, cache)


def test_another_version_of_a_grammar_is_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    language = tmp_path / "toy.py"
    language.write_text("import tree_sitter_toy\n")
    assert ["tree_sitter"] == list(grammars([language]))  # it is not installed
    package = tmp_path / "tree_sitter_toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    before = grammars([language])
    assert ["tree_sitter", "tree_sitter_toy"] == list(before)
    assert before == grammars([language])
    os.utime(package / "__init__.py", (1, 1))
    assert before != grammars([language])


@pytest.mark.parametrize("before", [None, 0o644])
def test_the_cache_is_its_users_alone(tmp_path: Path, before: int | None) -> None:
    place = tmp_path / "a.sqlite"
    if before:
        with Store(place):
            place.chmod(before)
    with Store(place):
        assert 0o600 == place.stat().st_mode & 0o777


def test_the_cache_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic links"), Store(tmp_path / "a.sqlite"):
        pass
    assert ["a.sqlite"] == os.listdir(tmp_path)
