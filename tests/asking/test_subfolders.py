"""A folder in one that was read is asked by the cache of that one, with its own answers."""

import os
import subprocess

import pytest

from structkit import ask
from structkit.asking.cache import folder_within, open_store
from tests.jsonl import write_files

QUESTION = "where are retries counted, and how long is the wait?"
FILES = {
    "app.py": "def app():\n    '''Count retries, and wait.'''\n",
    "src.py": "def wait_in_src():\n    '''Retries wait.'''\n",
    "src/net/retry.py": "def retry(count):\n    '''Count retries.'''\n    return count + 1\n",
    "src/net/tests/test_wait.py": "def test_wait():\n    assert 1 == wait(retries)\n",
    "src/net/wait.py": "def wait(seconds):\n    '''How long a wait is.'''\n    sleep(seconds)\n",
    "src/notes.md": "# Notes\n\nWe wait.\n\n## Retries\n\nThey are counted from one.\n",
    "src/page.html": "<h1>Manual</h1><p>Retries.<h2>Waiting</h2><p>A wait is long.",
    "srcs/wait.py": "def wait(retries):\n    '''Wait for other retries.'''\n",
    "zoo.py": "def zoo():\n    '''The wait at the zoo: retries.'''\n",
}


@pytest.fixture
def folder(tmp_path):
    return write_files(tmp_path / "project", FILES)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def asked(folder, cache, **options):
    return list(ask(str(folder), [QUESTION], cache=str(cache), **options))


def caches(cache):
    return [os.path.relpath(each["folder"], cache.parent) for each in ask(cache=cache, list=True)]


def unscored(records):
    """Answers without what depends on other passages: their order and scores."""
    left_out = ("score", "rank")
    plain = ({k: v for k, v in each.items() if k not in left_out} for each in records)
    return sorted(plain, key=lambda each: each["doc_id"])


def same(folder, cache, **options):
    """The answers over the caches, which are those of the folder read alone."""
    expected = unscored(ask(str(folder), [QUESTION], no_cache=True, **options))
    assert expected == unscored(asked(folder, cache, **options))
    return expected


@pytest.mark.parametrize(
    ("inner", "options"),
    [
        ("src", {}),
        ("src/net", {"no_model": True}),
        *(
            pytest.param(inner, options, marks=pytest.mark.long)
            for inner in ("src", "src/net", "src/net/tests", "srcs")
            for options in ({}, {"no_model": True})
        ),
    ],
)
def test_a_subfolder_is_asked_by_the_cache_around_it(folder, cache, capsys, inner, options):
    asked(folder, cache, **options)
    capsys.readouterr()
    asked(folder / inner, cache, **options)
    assert "" == capsys.readouterr().err  # nothing is read
    assert same(folder / inner, cache, **options)
    assert "structkit: read" not in capsys.readouterr().err.partition("no_cache")[2]
    assert ["project"] == caches(cache)


def test_it_is_found_by_any_name(folder, cache, tmp_path, monkeypatch):
    asked(folder, cache)
    (tmp_path / "link").symlink_to(folder / "src")
    monkeypatch.chdir(folder / "src/net/tests")
    assert ["../retry.py", "../wait.py"] == [
        path for each in same("..", cache) if "tests" not in (path := each["path"])
    ]
    assert {f"{tmp_path}/link/notes.md"} < {each["path"] for each in same(tmp_path / "link", cache)}
    monkeypatch.chdir(folder / "src")
    assert {"net/retry.py", "notes.md"} < {each["path"] for each in same(".", cache)}
    assert ["project"] == caches(cache)


def test_the_nearest_of_nested_caches_is_used(folder, cache):
    asked(folder / "src/net", cache)  # before the others
    asked(folder / "src", cache)
    asked(folder, cache)
    same(folder / "src/net", cache)
    same(folder / "src/net/tests", cache)
    assert {"project", "project/src", "project/src/net"} == {*caches(cache)}
    (folder / "src/net/wait.py").unlink()
    for inner in ("src/net/tests", "src/net", "src", ""):
        same(folder / inner, cache)


def test_files_that_changed_are_read_again(folder, cache):
    asked(folder, cache)
    (folder / "src/net/retry.py").write_text("def again():\n    '''Wait for retries.'''\n")
    (folder / "src/net/wait.py").unlink()
    (folder / "src/added.py").write_text("def added():\n    '''Retries that wait.'''\n")
    (folder / "app.py").write_text("def elsewhere():\n    '''Wait.'''\n")
    assert {"again", "added"} < {name for e in same(folder / "src", cache) for name in names(e)}
    assert {"again", "elsewhere"} < {name for each in same(folder, cache) for name in names(each)}
    assert ["project"] == caches(cache)
    with open_store(next(cache.glob("*.sqlite"))) as store:
        assert {*FILES, "src/added.py"} - {"src/net/wait.py"} == {*store.files()}


def names(answer):
    return answer.get("names", [])


def test_what_was_not_read_there_is_read_itself(folder, cache):
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    (folder / ".gitignore").write_text("/src/net/\n")
    (folder / ".hidden").mkdir()
    (folder / ".hidden/wait.py").write_text(FILES["src/net/wait.py"])
    asked(folder, cache)
    for inner in ("src/net", ".hidden"):
        assert same(folder / inner, cache)
    assert {"project", "project/src/net", "project/.hidden"} == {*caches(cache)}


def test_rules_around_a_folder_count_as_ever(folder, cache):
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    (folder / ".gitignore").write_text("tests/\n*.html\n")
    asked(folder, cache)
    assert {"retry.py", "wait.py", "notes.md"} == {
        os.path.basename(each["path"]) for each in same(folder / "src", cache)
    }
    (folder / ".gitignore").write_text("*.md\n")
    assert "notes.md" not in {os.path.basename(e["path"]) for e in same(folder / "src", cache)}
    same(folder, cache)


def test_patterns_match_below_the_subfolder(folder, cache):
    asked(folder, cache)
    assert {"retry.py", "wait.py"} == {
        os.path.basename(each["path"]) for each in same(folder / "src", cache, glob=["/net/*.py"])
    }
    assert [] == same(folder / "src", cache, glob=["src/**"])


def test_similar_passages_are_of_the_subfolder(folder, cache):
    asked(folder, cache)
    like = f"{folder}/src/net/wait.py:1"
    found = list(ask(str(folder / "src"), like=like, cache=str(cache)))
    assert found and all(each["path"].startswith(f"{folder}/src/") for each in found)
    assert ["project"] == caches(cache)


@pytest.mark.parametrize("how", ["damaged", "read-only"])
def test_a_cache_around_it_that_cannot_be_used(folder, cache, capsys, how):
    asked(folder, cache)
    (place,) = cache.glob("*.sqlite")
    if how == "damaged":
        place.write_bytes(b"no database at all" * 1000)
    elif os.geteuid() == 0:
        pytest.skip("root may write all")
    else:
        place.chmod(0o400)
    same(folder / "src", cache)
    assert "nothing is kept" not in capsys.readouterr().err
    assert 2 == len([*cache.glob("*.sqlite")])


def test_other_settings_have_another_cache(folder, cache):
    asked(folder, cache)
    asked(folder / "src", cache, no_ignore=True)
    assert 2 == len(caches(cache))


def test_a_file_and_a_sibling_have_their_own(folder, cache):
    asked(folder / "src", cache)
    same(folder / "srcs", cache)
    same(folder / "src/notes.md", cache)
    assert {"project/src", "project/srcs", "project/src/notes.md"} == {*caches(cache)}


def test_names_that_are_no_text(folder, cache):
    (folder / "src").rename(os.fsdecode(os.fsencode(folder) + b"/caf\xe9"))
    asked(folder, cache)
    assert same(os.fsdecode(os.fsencode(folder) + b"/caf\xe9"), cache)
    assert 1 == len(caches(cache))


@pytest.mark.parametrize(
    ("outer", "inner", "below"),
    [("/", "/", ""), ("/", "/a/b", "a/b/"), ("/a", "/a/b", "b/"), ("/a/b", "/a/b", "")],
)
def test_the_path_of_a_folder_in_another(outer, inner, below):
    assert below == folder_within(outer, inner)


def test_a_model_reads_the_subfolder_alone(folder, cache, capsys):
    asked(folder, cache, no_model=True)
    asked(folder / "src", cache)
    with open_store(next(cache.glob("*.sqlite"))) as store:
        files = store.part("large embedded")
    assert b"src/net/wait.py" in files and b"app.py" not in files
    same(folder, cache)
    same(folder / "src", cache)
