"""The programs of docs/examples/ run, on the fixtures."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import python

EXAMPLES = {
    "search_folder": (["collect/src"], ["how is the area of a circle computed"], 3),
    "santa": (["code/train.jsonl", "code/test.jsonl"], ["1"], 3),
    "seal": (["pages/train.jsonl", "pages/test.jsonl"], ["2"], 43),
    "strae": (["sentences/train.jsonl", "sentences/pairs.jsonl"], ["1"], 2),
}
QUICK = "search_folder"


def test_all_are_run():
    assert EXAMPLES.keys() == {path.stem for path in Path("docs/examples").glob("*.py")}


LONG = [pytest.param(name, marks=pytest.mark.long) for name in EXAMPLES if name != QUICK]


@pytest.mark.parametrize("name", [QUICK, *LONG])
def test_an_example_runs_from_its_own_words(name, tmp_path):
    files, more, lines = EXAMPLES[name]
    script = Path("docs/examples", f"{name}.py").absolute()
    given = [str(Path("fixtures", file).absolute()) for file in files]
    done = python(script, *given, *more, cwd=tmp_path, OMP_NUM_THREADS="1")
    assert 0 == done.returncode, done.stderr
    assert lines == len(done.stdout.splitlines()), done.stdout
    assert all(re.search(r"\d", line) for line in done.stdout.splitlines())
    assert f"python docs/examples/{name}.py" in script.read_text("utf-8")


def test_an_example_without_arguments_says_at_once_how_it_is_called():
    bare = [sys.executable, "-I", "-S"]  # has no structkit, and nothing slow, to import
    for name in EXAMPLES:
        command = [*bare, f"docs/examples/{name}.py", "only"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (1, "") == (done.returncode, done.stdout)
        assert f"\n\npython docs/examples/{name}.py " in done.stderr
        assert "Error" not in done.stderr
