"""The laws of the cache: whatever happens to files or to it, answers are those of no cache."""

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from conftest import PROGRAM, WARM, environment

from structkit import ask
from structkit.asking.cache import Target, _memories, open_store
from structkit.asking.folder import TASK_BYTES, FileChanges, _reading_tasks, counted_bytes
from structkit.collecting import units
from structkit.collecting.walking import Source, Walk, WalkOptions
from tests.jsonl import write_files

QUESTION = "where are retries counted, and how long is the wait?"
FILES = {
    "net/retry.py": "def retry(count):\n    '''Count retries.'''\n    return count + 1\n",
    "net/wait.py": "def wait(seconds):\n    '''How long a wait is.'''\n    sleep(seconds)\n",
    "notes.md": "# Notes\n\nWe wait.\n\n## Retries\n\nThey are counted from one.\n",
    "page.html": "<h1>Manual</h1><p>Retries.<h2>Waiting</h2><p>A wait is long.",
    "data.bin": "\0\1",
    "empty.txt": "",
}


@pytest.fixture
def folder(tmp_path):
    return write_files(tmp_path / "project", FILES)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def answers(folder, cache):
    kept = {"no_cache": True} if cache is None else {"cache": str(cache)}
    return list(ask(folder, [QUESTION], **kept))


def same(folder, cache):
    """The answers over a cache, which are those over none."""
    expected = answers(folder, None)
    assert expected == answers(folder, cache)
    return expected


def edit(folder):
    (folder / "net/retry.py").write_text(FILES["net/retry.py"].replace("Count", "Wait for"))


def ids(output):
    return [json.loads(line)["doc_id"] for line in output.splitlines()]


def words(folder, cache):
    return ["ask", str(folder), QUESTION, "--cache", str(cache)]


def test_a_folder_inside_another_answers_the_same_before_and_after_that(folder, cache):
    inner = folder / "net"
    before = same(inner, cache)
    same(folder, cache)
    assert before == same(inner, cache)
    edit(folder)
    assert same(inner, cache) != before and same(folder, cache)
    assert 2 == len([*cache.glob("*.sqlite")])


def pending(folder, cache):
    """The files that would be read again."""
    (place,) = cache.glob("*.sqlite")
    with open_store(place) as store:
        found = FileChanges.of(Target.of(str(folder)), Walk(WalkOptions()), store.files())
    return [source.path for source, _ in found.pending]


def test_only_what_changed_is_read_again(folder, cache):
    same(folder, cache)
    assert [] == pending(folder, cache)
    edit(folder)
    (folder / "notes.md").touch()
    assert ["net/retry.py", "notes.md"] == pending(folder, cache)
    same(folder, cache)
    assert [] == pending(folder, cache)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read_is_told_each_time(folder, cache, capsys):
    same(folder, cache)
    (folder / "notes.md").chmod(0)
    for _ in range(2):
        same(folder, cache)
        assert "notes.md: cannot be read: Permission denied; check" in capsys.readouterr().err
    (folder / "notes.md").chmod(0o600)
    same(folder, cache)
    assert "notes.md" not in capsys.readouterr().err


def rewrite(place, statement):
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(statement)


UPDATES = [
    "UPDATE {} SET data = x'00'",
    "UPDATE {} SET data = NULL",
    "UPDATE {} SET data = 1000000000000",
    "UPDATE {0} SET data = (SELECT data FROM {0} LIMIT 1)",
    "UPDATE {} SET name = name || 'x'",
    "DELETE FROM {}",
    "ALTER TABLE {} RENAME COLUMN data TO other",
]
RANDOM = random.Random(0)
# a share of the file, and the bytes there
FLIPS = [(RANDOM.random(), RANDOM.randbytes(RANDOM.choice((1, 500)))) for _ in range(6)]
DAMAGES = [
    *(each.format(table) for each in UPDATES for table in ("files", "records", "parts")),
    *FLIPS,
    b"",
    b"no database at all" * 1000,
]


@pytest.mark.parametrize(
    "damage", [DAMAGES[:8], DAMAGES[8:21], [*DAMAGES[21:], "-journal", "-wal"]]
)
def test_a_damaged_cache_is_told_and_made_anew(folder, cache, capsys, damage):
    same(folder, cache)
    edit(folder)
    expected = same(folder, cache)
    (place,) = cache.glob("*.sqlite")
    whole = place.read_bytes()
    for each in damage:
        place.write_bytes(whole)
        if isinstance(each, tuple):
            share, changed = each
            at = int(share * len(whole))
            place.write_bytes(whole[:at] + changed + whole[at + len(changed) :])
        elif isinstance(each, bytes):
            place.write_bytes(each)
        elif each.startswith("-"):
            Path(f"{place}{each}").write_bytes(RANDOM.randbytes(20_000))
        else:
            rewrite(place, each)
        _memories.clear()
        capsys.readouterr()
        assert expected == answers(folder, cache), each
        told = capsys.readouterr().err.splitlines()
        damaged = f"structkit: {place} is damaged: all files are read anew"
        assert [line for line in told if not line.startswith("structkit: read ")] in ([damaged], [])
        _memories.clear()
        assert (expected, "") == (answers(folder, cache), capsys.readouterr().err), each


def little():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


@pytest.mark.parametrize("how", ["a-file", "read-only", "full"])
def test_where_nothing_can_be_kept(run, folder, tmp_path, how):
    cache, options = tmp_path / "cache", {}
    if how == "a-file":
        cache.write_text("")
    elif how == "read-only":
        cache = Path("/proc/structkit")
    else:  # nothing of ours is compiled
        options = {"env": {"PYTHONDONTWRITEBYTECODE": "1"}, "preexec_fn": little}
    done = run(*words(folder, cache), **options)
    assert 0 == done.returncode, done.stderr
    assert [hit["doc_id"] for hit in answers(folder, None)] == ids(done.stdout)
    assert f"structkit: nothing is kept in {cache}".encode() in done.stderr
    assert 1 == done.stderr.count(b"nothing is kept")
    if options:  # and with room again it works
        assert b"nothing is kept" not in run(*words(folder, cache)).stderr
        same(folder, cache)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_cache_of_another_user_in_a_shared_folder_is_not_used(folder, cache, capsys):
    same(folder, cache)
    (place,) = cache.glob("*.sqlite")
    os.chown(place, 65534, 65534)
    cache.chmod(0o777)
    assert same(folder, cache)
    told = f"nothing is kept in {place}: it belongs to another user; remove it"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("before", [None, 0o644])
def test_the_cache_is_its_users_alone(tmp_path, before):
    place = tmp_path / "a.sqlite"
    if before:
        with open_store(place):
            place.chmod(before)
    with open_store(place):
        assert 0o600 == place.stat().st_mode & 0o777
    (tmp_path / "b.sqlite").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic links"), open_store(tmp_path / "b.sqlite"):
        pass
    assert {"a.sqlite", "b.sqlite"} == {*os.listdir(tmp_path)}


def test_caches_that_were_not_used_for_long_go(folder, cache):
    same(folder / "net", cache)
    same(folder, cache)
    old, young = cache.glob("*.sqlite")
    os.utime(old, (time.time() - 100 * 24 * 3600,) * 2)
    same(folder / "notes.md", cache)
    assert not old.exists() and young.exists()
    assert 2 == len(list(cache.iterdir()))


def grow(folder, count):
    """Files enough to be read for a while."""
    for number in range(count):
        lines = (f"def wait_{number}_{line}():\n    return retries[{line}]\n" for line in range(40))
        (folder / f"grown_{number}.py").write_text("\n".join(lines))


# a process that keeps each batch, and ends after so many
KILLED = """
import os, signal, sys
from structkit import ask
from structkit.asking import cache, folder
folder.COMMIT_SECONDS, folder.MIN_PARALLEL_BYTES, folder.TASK_FILES = 0, 1 << 40, 2
commit, left = cache.Store.commit, int(sys.argv[3])
def counted(store):
    global left
    commit(store)
    left -= 1
    if not left:
        os.kill(os.getpid(), int(sys.argv[4]))
cache.Store.commit = counted
list(ask(sys.argv[1], ["retries"], cache=sys.argv[2]))
"""


def kept_files(cache):
    (place,) = cache.glob("*.sqlite")
    with open_store(place) as store:
        return store.files()


def test_a_killed_first_read_goes_on_where_it_was(folder, cache):
    grow(folder, 30)
    undisturbed = answers(folder, None)
    for number in range(1, 11):
        how = (signal.SIGKILL, signal.SIGINT)[number % 2]
        program = [sys.executable, "-c", KILLED, str(folder), str(cache), str(number), str(how)]
        assert subprocess.run(program, stderr=-3, env=environment(), check=False).returncode
        known = kept_files(cache)
        assert 2 * number <= len(known) < 36
        found = pending(folder, cache)
        assert not {*known} & {*found}
        if number % 5 == 0:  # and it is right in the end
            assert undisturbed == answers(folder, cache)
            _memories.clear()
            assert undisturbed == answers(folder, cache)
            assert 36 == len(kept_files(cache))
        for each in cache.iterdir():
            each.unlink()
        _memories.clear()


def test_what_was_read_in_another_place_is_not_read_again(folder, cache, monkeypatch):
    grow(folder, 20)
    same(folder, cache)
    parsed = []
    collect = units.Collector.__call__
    monkeypatch.setattr(
        units.Collector,
        "__call__",
        lambda self, found: parsed.extend(found) or collect(self, found),
    )
    clone = Path(shutil.copytree(folder, folder.parent / "clone"))
    edit(clone)
    (clone / "notes.md").rename(clone / "net/notes.md")
    (clone / "grown_1.py").rename(clone / "grown_1.js")  # its name decides how it is read
    for place, expected in [
        (clone, {"net/retry.py", "grown_1.js", "data.bin", "empty.txt"}),
        (clone / "net", set()),
        (folder / "net", set()),
    ]:
        parsed.clear()
        found = answers(place, cache)
        assert expected == {each.path for each in parsed}
        assert found == answers(place, None)
    place = next(each for each in cache.glob("*.sqlite"))
    rewrite(place, "UPDATE records SET data = x'00'")  # its own question says that it is damaged
    other = Path(shutil.copytree(folder, folder.parent / "other"))
    assert same(other, cache)


@pytest.mark.parametrize("pictures", [0, 15])
def test_the_first_tenth_of_the_bytes_takes_a_tenth_of_the_work(pictures):
    """What a file costs grows with its bytes, whatever their order; large ones may cost nothing."""
    sizes = [50 + n % 900 * (1 + n // 400) for n in range(4000)]  # folders of small files first
    pending = []
    for number, size in enumerate([*sizes, *[2 << 20] * pictures]):
        status = os.stat_result((0o100644, 0, 0, 1, 0, 0, size, 0, 0, 0))
        pending.append((Source(f"{number:05}.py", "x", status=status), ""))
    tasks = [[source for source, _ in task] for task in _reading_tasks(pending)]
    costs = [sum(1000 + each.size % (2 << 20) for each in task) for task in tasks]
    done = [sum(map(counted_bytes, task)) for task in tasks]
    tenth = next(n for n in range(len(done)) if sum(done[:n]) >= sum(done) / 10)
    estimate = sum(costs[:tenth]) * sum(done) / sum(done[:tenth])
    assert 1 / 1.5 < estimate / sum(costs) < 1.5
    assert 4000 + pictures == sum(map(len, tasks))
    assert len(tasks) > 8 * 8  # as many as 8 processes share


def test_large_files_are_read_early():
    sizes = [3_000_000, 600_000, *[TASK_BYTES] * 100]
    pending = [
        (Source(str(size), "x", status=os.stat_result((0,) * 6 + (size, 0, 0, 0))), "")
        for size in sizes
    ]
    order = [source.size for [(source, _)] in _reading_tasks(pending)]
    assert order.index(3_000_000) < 20 and order.index(600_000) < 60


def test_two_at_once(folder, cache):
    grow(folder, 60)
    both = [
        subprocess.Popen([*WARM, *words(folder, cache)], env=environment(), stdout=-1, stderr=-1)
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
def test_a_killed_process_leaves_a_cache_that_is_right(run, folder, cache):
    grow(folder, 150)
    start = time.monotonic()
    assert 0 == run(*words(folder, cache), cold=True).returncode
    whole = time.monotonic() - start
    rng = random.Random(0)
    for kill in range(KILLS):
        for path in cache.iterdir():
            if kill % 2:  # from nothing; else from a cache of some other files
                path.unlink()
        grow(folder, 150 + kill)
        edit(folder)
        with subprocess.Popen(
            [*PROGRAM, *words(folder, cache)],
            env=environment(),
            stdout=-3,
            stderr=-3,
            start_new_session=True,
        ) as program:
            time.sleep(rng.uniform(0.1, 1) * whole)
            os.killpg(program.pid, rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT)))
        done = run(*words(folder, cache))
        assert 0 == done.returncode
        assert b"damaged" not in done.stderr
        assert [hit["doc_id"] for hit in answers(folder, None)] == ids(done.stdout)
        same(folder, cache)
