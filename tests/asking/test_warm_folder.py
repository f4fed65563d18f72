"""What a process keeps between questions: answers are those of no memory, at most a second old."""

import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

import orjson
import pytest
from hostile.good import zipped

import structkit
from structkit.asking import cache as caches
from structkit.asking.folder import CLOCK_TICK_NS, MAX_QUICK_SECONDS, MAX_WALK_SHARE, STATE
from structkit.learning.encoding import encoding as encodings

ROUNDS = "def rounds(number):\n    '''How a number is rounded.'''\n    return number\n"
QUESTION = "rounded number"


def answering(found):
    """The paths of answers with a word of the question; few passages say little about chance."""
    return [each["path"] for each in found if "round" in (each.get("code") or each["text"])]


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """A folder for each test, made so long ago that their times are trusted."""
    trees = [tmp_path_factory.mktemp("folder") / "tree" for _ in range(30)]
    for tree in trees:
        (tree / "in").mkdir(parents=True)
        (tree / "in/rounds.py").write_text(ROUNDS)
        (tree / "notes.md").write_text("# Notes\n\nTea is hot.\n")
        (tree / ".gitignore").write_text("*.log\n")
        (tree / ".git/info").mkdir(parents=True)
    time.sleep(1.1 * CLOCK_TICK_NS / 1e9)
    return trees


@pytest.fixture
def tree(trees):
    """A folder that no other test changes."""
    return trees.pop()


@pytest.fixture
def paths(tmp_path):
    """What answers now: over the memory and over the cache alone, which is what it is without."""

    def paths(tree):
        looks = [memory[STATE].until for memory in caches._memories.values() if STATE in memory]
        time.sleep(max(0.0, max(looks, default=0.0) - time.monotonic()))  # a slow one is kept
        copied = Path(mkdtemp(dir=tmp_path), "cache")  # of which nothing is in memory
        if (tmp_path / "cache").exists():
            shutil.copytree(tmp_path / "cache", copied)
        warm, kept, cold = (
            list(structkit.ask(tree, [QUESTION], **kept))
            for kept in ({"cache": tmp_path / "cache"}, {"cache": copied}, {"no_cache": True})
        )
        assert cold == warm
        assert cold == kept
        return [path.removeprefix(f"{tree}/") for path in answering(warm)]

    return paths


def state_in(cache):
    (memory,) = (each for place, each in caches._memories.items() if cache in place.parents)
    return memory[STATE]


def write(name, text=ROUNDS):
    return lambda tree: (tree / name).write_text(text)


def moved(tree):
    tree.rename(tree.with_name("other"))
    shutil.copytree(tree.with_name("other"), tree)
    (tree / "in/rounds.py").unlink()


def edited_in_place(tree):
    """Another content of the same size, at the same time, in the same file."""
    path = tree / "in/rounds.py"
    before = path.stat()
    with path.open("r+") as handle:
        handle.write(ROUNDS.replace("round", "dnuor"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(tree):
    write("new", ROUNDS.replace("round", "dnuor"))(tree)
    os.utime(tree / "new", ns=(0, (tree / "in/rounds.py").stat().st_mtime_ns))
    (tree / "new").rename(tree / "in/rounds.py")


CHANGES = {
    "edited-in-place": (edited_in_place, None),
    "replaced": (replaced, None),
    "touched": (lambda tree: (tree / "in/rounds.py").touch(), ["in/rounds.py"]),
    "changed": (write("notes.md", "# Numbers\n\nHow a number is rounded.\n"), ["notes.md"]),
    "added": (write("in/more.py", ROUNDS.replace("rounds", "up")), ["in/more.py"]),
    "deleted": (lambda tree: (tree / "in/rounds.py").unlink(), None),
    "emptied": (write("in/rounds.py", ""), None),
    "ignored": (write(".gitignore", "in/\n"), None),
    "ignored-inside": (write("in/.ignore", "*.py\n"), None),
    "excluded": (write(".git/info/exclude", "rounds.py\n"), None),
    "folder-added": (
        lambda tree: ((tree / "x").mkdir(), write("x/rounds.py", ROUNDS + ROUNDS)(tree)),
        ["x/rounds.py"],
    ),
    "folder-renamed": (lambda tree: (tree / "in").rename(tree / "out"), ["out/rounds.py"]),
    "moved": (moved, None),
    "linked": (
        lambda tree: (
            (tree / "in").rename(tree.parent / "in"),
            (tree / "in").symlink_to(tree.parent / "in"),
        ),
        None,
    ),
    "unreadable": (lambda tree: (tree / "in/rounds.py").write_bytes(b"\0"), None),
}


LONG = {"emptied", "excluded", "folder-renamed", "linked", "unreadable"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(*each, id=name, marks=[pytest.mark.long] * (name in LONG))
        for name, each in CHANGES.items()
    ],
)
def test_the_next_answer_follows_a_change(tree, paths, tmp_path, change, expected):
    for _ in range(2):
        found = answering(structkit.ask(tree, [QUESTION], cache=tmp_path / "cache"))
        assert [f"{tree}/in/rounds.py"] == found
    assert state_in(tmp_path / "cache").snapshot
    change(tree)
    found = paths(tree)
    assert "in/rounds.py" not in found if expected is None else {*expected} <= {*found}


def test_a_look_at_a_folder_is_kept_for_the_next_process(tree, tmp_path):
    strange = tree / os.fsdecode(b"in/caf\xe9.py")
    strange.write_text(ROUNDS + "# number\n")
    os.utime(tree / "in", (1, 1))
    time.sleep(1.1 * CLOCK_TICK_NS / 1e9)

    def found(cache):
        return list(structkit.ask(tree, [QUESTION], cache=cache))

    first = found(tmp_path / "cache")
    assert {"rounds.py", "caf\\xe9.py"} == {Path(path).name for path in answering(first)}
    shutil.copytree(tmp_path / "cache", tmp_path / "other")
    assert first == found(tmp_path / "other")
    before, look = (state_in(tmp_path / name).snapshot for name in ("cache", "other"))
    assert all(each.status for each in before.sources)  # by a walk
    assert not any(each.status for each in look.sources)
    assert [(each.path, each.file, each.root) for each in before.sources] == [
        (each.path, each.file, each.root) for each in look.sources
    ]
    assert before.states == look.states
    assert look.is_current
    strange.unlink()
    assert not look.is_current


def test_an_archive_is_read_again_when_it_changes(tree, paths):
    archive = tree / "in.zip"

    def pack(text):
        archive.write_bytes(zipped({"a.py": text}))

    pack(ROUNDS)
    time.sleep(1.1 * CLOCK_TICK_NS / 1e9)
    assert ["a.py"] == paths(archive)
    assert ["a.py"] == paths(archive)
    pack("def tea(cup):\n    return cup\n")
    assert [] == paths(archive)
    pack(ROUNDS + ROUNDS)
    assert ["a.py"] == paths(archive)


def test_ignore_files_outside_count(tree, paths):
    assert ["rounds.py"] == paths(tree / "in")
    (tree / ".gitignore").write_text("rounds.py\n")
    with pytest.raises(structkit.UserError, match="holds no searchable text"):
        paths(tree / "in")


def test_no_answer_is_older_than_a_second(tree, tmp_path):
    for number in range(3_000):  # that it takes time to look at
        (tree / "large" / str(number)).mkdir(parents=True)

    def found():
        return answering(structkit.ask(tree, [QUESTION], cache=tmp_path / "cache"))

    asked = time.monotonic()
    assert [str(tree / "in/rounds.py")] == found()
    assert asked + MAX_QUICK_SECONDS / MAX_WALK_SHARE < state_in(tmp_path / "cache").until
    (tree / "in/rounds.py").unlink()
    (tree / "up.py").write_text(ROUNDS)
    changed = time.monotonic()
    while found() != [str(tree / "up.py")]:
        assert time.monotonic() < changed + 1


def test_folders_in_turn_keep_their_answers(tree, paths, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    (other / "in/rounds.py").rename(other / "number.py")
    for _ in range(2):
        assert ["in/rounds.py"] == paths(tree)
        assert ["number.py"] == paths(other)
    (other / "number.py").rename(other / "digit.py")
    assert [["in/rounds.py"], ["digit.py"]] == [paths(tree), paths(other)]


def test_another_process_may_change_the_cache(tree, paths, tmp_path):
    assert ["in/rounds.py"] == paths(tree)
    (tree / "in/rounds.py").rename(tree / "up.py")
    if (child := os.fork()) == 0:
        os._exit(int(["up.py"] != paths(tree)))
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ["up.py"] == paths(tree)
    shutil.rmtree(tmp_path / "cache")
    assert ["up.py"] == paths(tree)


def test_threads_ask_at_the_same_time(tree, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    start = threading.Barrier(4)

    def answers(asked):
        start.wait()
        return [
            answering(structkit.ask(asked, [QUESTION], cache=tmp_path / "cache")) for _ in range(3)
        ]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(answers, [tree, other, tree, other]))
    one, two = str(tree / "in/rounds.py"), str(other / "in/rounds.py")
    assert 2 * [3 * [[one]], 3 * [[two]]] == found


def test_memory_of_many_caches_is_bounded(tree, paths, tmp_path):
    for number in range(caches.MAX_MEMORIES):
        with caches.open_store(tmp_path / f"{number}.sqlite") as store:
            store.memory["number"] = number
    kept = [memory["number"] for memory in caches._memories.values() if "number" in memory]
    assert [*range(caches.MAX_MEMORIES)] == kept
    assert ["in/rounds.py"] == paths(tree)
    assert caches.MAX_MEMORIES == len(caches._memories)
    assert len(encodings._idle) <= encodings.MAX_IDLE_ENCODINGS


def test_records_that_are_ready_are_bounded(tmp_path):
    numbers = map(str, range(caches.MAX_READY_FILES + 1))
    files = [caches.IndexedFile(number, f"hash {number}", 1) for number in numbers]
    with caches.open_store(tmp_path / "a.sqlite") as store:
        with store.changing():
            for each in files:
                record = {"id": each.path, "path": each.path}
                store.put(caches.File(each.path, "", each.hash, 1), orjson.dumps(record))
        for each in (*files, files[0]):
            assert [{"id": each.path, "path": each.path}] == store.records(each, [0])
            assert len(store.memory[caches.RECORDS]) <= caches.MAX_READY_FILES


def test_a_model_that_changed_is_read_again(tree, tmp_path):
    shutil.copytree(encodings.model_folder("builtin"), tmp_path / "table")

    def hash_of_model():
        kept = {"cache": tmp_path / "cache", "model": tmp_path / "table"}
        assert 1 == len(answering(structkit.ask(tree, [QUESTION], **kept)))
        return list(encodings._idle.values())[-1].model_sha256

    before = hash_of_model()
    assert before == hash_of_model()
    weights = tmp_path / "table/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")  # a scale
    assert before != hash_of_model()
