"""Answers after any sequence of edits are those of a folder that is read anew."""

import random

import pytest

from structkit import ask
from structkit.asking.cache import (
    SEGMENT_NAMES,
    IndexedFile,
    Segment,
    open_store,
    passage_numbers,
)
from structkit.searching.bm25 import POSTINGS_ARRAYS

WORDS = "retry wait count pool close open read write max_size HTTPClient".split()
QUESTIONS = ["where are retries counted", "close the pool", "maxSize", "zzyx qqwv"]
FILES = 40


def text(rng):
    """A function or two of random words."""
    parts = []
    for _ in range(rng.randint(1, 2)):
        name, *body = rng.choices(WORDS, k=rng.randint(2, 12))
        parts.append(f"def {name}():\n    '''{' '.join(body).capitalize()}.'''\n")
    return "\n\n".join(parts) + "x = 1\n" * rng.randint(0, 60)


def change(rng, folder):
    """One edit of a file: it is added, changed, removed, renamed, emptied, touched, or a copy."""
    files = sorted(each for each in folder.rglob("*.py"))
    one, new = rng.choice(files), folder / rng.choice("abc") / f"{rng.randrange(10**6)}.py"
    new.parent.mkdir(exist_ok=True)
    kind = rng.choice(["added", "changed", "removed", "renamed", "emptied", "touched", "copied"])
    if kind in ("added", "copied"):
        new.write_text(text(rng) if kind == "added" else one.read_text())
    elif kind == "renamed":
        one.rename(new)
    elif kind == "removed":
        one.unlink()
    elif kind == "touched":
        one.touch()
    else:
        one.write_text(text(rng) if kind == "changed" else "")


@pytest.fixture
def folder(tmp_path):
    rng = random.Random(0)
    for number in range(FILES):
        path = tmp_path / "tree" / rng.choice("abc") / f"{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(rng))
    return tmp_path / "tree"


def answers(folder, **kept):
    return list(ask(str(folder), QUESTIONS, **kept))


def large(cache):
    """What the cache has of the files that are in its large segment."""
    (place,) = cache.glob("*.sqlite")
    with open_store(place) as store:
        words = store.parts(("files", "words", *POSTINGS_ARRAYS), f"words {SEGMENT_NAMES[0]}")
        rows = store.parts(("files", "codes", "scales"), f"rows {SEGMENT_NAMES[0]}")
    assert words and rows
    return words, rows


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_an_updated_cache_answers_as_a_new_one(folder, tmp_path, seed):
    rng, cache = random.Random(seed), tmp_path / "cache"
    answers(folder, cache=cache)
    before, same = large(cache), []
    for size in (0, 1, 1, 2, 0, 3, 1, 12, 1, 2):
        for _ in range(size):
            change(rng, folder)
        assert answers(folder, no_cache=True) == answers(folder, cache=cache)
        same.append(before == (before := large(cache)))
    assert all(same[:3]) and not all(same)  # updates of what changed, and of all


def test_a_small_update_leaves_the_large_segment(folder, tmp_path):
    answers(folder, cache=tmp_path)
    before = large(tmp_path)
    (folder / "a/new.py").write_text("def added():\n    '''Counted retries.'''\n")
    assert f"{folder}/a/new.py" in {each["path"] for each in answers(folder, cache=tmp_path)}
    assert before == large(tmp_path)


def test_a_file_is_taken_from_the_first_segment_that_has_it():
    one, other, new = (IndexedFile(name, "", size) for name, size in (("a", 2), ("b", 1), ("c", 3)))
    found = passage_numbers([new, other], [Segment([one, other], "x"), Segment([other, new], "y")])
    assert [("x", [-1, -1, 3]), ("y", [-1, 0, 1, 2])] == [(of, at.tolist()) for of, at in found]
