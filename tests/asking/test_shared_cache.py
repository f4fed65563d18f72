"""A cache of several processes: those that ask at once, killed ones, and those of long ago."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import environment

from structkit.asking.cache import locked, try_lock
from tests.asking.folders import answers, asked, command, edit, folder_in, ids, same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_in(tmp_path)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_caches_that_were_not_used_for_long_go(folder: Path, cache: Path) -> None:
    same(folder, cache)
    same(folder / "net", cache)
    old, young = sorted(cache.glob("*.lock"))
    os.utime(old, (time.time() - 100 * 24 * 3600,) * 2)
    same(folder / "notes.md", cache)
    assert not old.exists() and not old.with_suffix(".sqlite").exists()
    assert young.exists() and young.with_suffix(".sqlite").exists()
    assert 4 == len(list(cache.iterdir()))


def test_a_lock_that_was_removed_is_none(cache: Path) -> None:
    cache.mkdir()
    path = cache / "x.lock"
    with locked(path):
        path.unlink()
        with locked(path):
            assert try_lock(path) is None


def grow(folder: Path, count: int) -> None:
    """Files enough to be read for a while."""
    for number in range(count):
        lines = (f"def wait_{number}_{line}():\n    return retries[{line}]\n" for line in range(40))
        (folder / f"grown_{number}.py").write_text("\n".join(lines))


def test_two_at_once(folder: Path, cache: Path) -> None:
    grow(folder, 60)
    both = [
        subprocess.Popen(command(folder, cache), env=environment(), stdout=-1, stderr=-1)
        for _ in range(2)
    ]
    results = [each.communicate(timeout=60) for each in both]
    assert [0, 0] == [each.returncode for each in both]
    expected = [hit["doc_id"] for hit in answers(folder, None)]
    assert [expected, expected] == [ids(stdout) for stdout, _ in results]
    assert 1 == sum(stderr.count(b"structkit: read ") for _, stderr in results)
    same(folder, cache)


# `make soak` kills more often
KILLS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "random" else 3


@pytest.mark.long
@pytest.mark.hypothesis
def test_a_killed_process_leaves_a_cache_that_is_right(folder: Path, cache: Path) -> None:
    grow(folder, 150)
    start = time.monotonic()
    assert 0 == asked(folder, cache).returncode
    whole = time.monotonic() - start
    rng = random.Random(0)
    for kill in range(KILLS):
        for path in cache.iterdir():
            if kill % 2:  # from nothing; else from a cache of some other files
                path.unlink()
        grow(folder, 150 + kill)
        edit(folder)
        with subprocess.Popen(
            command(folder, cache), env=environment(), stdout=-3, stderr=-3, start_new_session=True
        ) as program:
            time.sleep(rng.uniform(0.1, 1) * whole)
            os.killpg(program.pid, rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT)))
        done = asked(folder, cache)
        assert 0 == done.returncode
        assert b"damaged" not in done.stderr
        assert [hit["doc_id"] for hit in answers(folder, None)] == ids(done.stdout)
        same(folder, cache)
