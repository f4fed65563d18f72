"""The programs of examples/ run, on the fixtures."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

EXAMPLES = {
    "search_folder": (["collect/src"], ["how is the area of a circle computed"], 3),
    "santa": (["code/train.jsonl", "code/test.jsonl"], ["1"], 3),
    "seal": (["pages/train.jsonl", "pages/test.jsonl"], ["2"], 43),
    "strae": (["sentences/train.jsonl", "sentences/pairs.jsonl"], ["1"], 2),
}


def test_all_are_run():
    assert set(EXAMPLES) == {path.stem for path in Path("examples").glob("*.py")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_from_its_own_words(name, tmp_path):
    files, more, lines = EXAMPLES[name]
    script = Path("examples", f"{name}.py").absolute()
    given = [str(Path("fixtures", file).absolute()) for file in files]
    done = subprocess.run(
        [sys.executable, str(script), *given, *more],
        cwd=tmp_path,
        env=environment(OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    assert lines == len(done.stdout.splitlines()), done.stdout
    assert all(re.search(r"\d", line) for line in done.stdout.splitlines())
    assert f"python examples/{name}.py" in script.read_text("utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_without_arguments_prints_its_usage_and_imports_little(name, tmp_path):
    # what costs seconds is imported only by what uses it
    script = Path("examples", f"{name}.py").absolute()
    for heavy in ("torch", "numpy"):
        (tmp_path / f"{heavy}.py").write_text("raise ImportError('not needed for a usage')")
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment(PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
    )
    assert (1, "") == (done.returncode, done.stdout)
    assert f"\npython examples/{name}.py " in done.stderr and "Error" not in done.stderr
