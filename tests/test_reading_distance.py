"""How many of our files a command runs: what a reader would have to open. The bounds only fall."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment, python

# the program, and the files of ours in which functions ran. What runs while a module is imported
# (class bodies, declarations of settings) does not count: it would measure when it is imported.
TRACED = """
import inspect, sys, threading
from pathlib import Path

import structkit, structkit_plugins

HOMES = [str(Path(home).resolve()) for home in (*structkit.__path__, *structkit_plugins.__path__)]
files = set()

def note(frame, event, argument):
    code = frame.f_code
    if event != "call" or code.co_filename in files or not code.co_flags & inspect.CO_OPTIMIZED:
        return
    if any(code.co_filename.startswith(f"{home}/") for home in HOMES) and not imports(frame):
        files.add(code.co_filename)

def imports(frame):
    while frame := frame.f_back:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
            return True
    return False

from structkit.cli.main import main
sys.argv[0] = "structkit"
threading.setprofile(note)
sys.setprofile(note)
try:
    main()
except SystemExit as ended:
    status = ended.code
finally:
    sys.setprofile(None)
print(*sorted(files), sep="\\n", file=sys.stderr)
sys.exit(status)
"""
# since 2026-11-27 the command line, not an import, sets what libraries read, and `ask` has kinds of
# files, a module of their own; since 2026-11-28 `ask` names sections as readers do, and `score`
# checks its streams and tells ids with NUL apart; since 2026-11-29 all models write modules.json in
# one place, and `score` leaves out documents as `search` does
BOUNDS = {
    "train santa": 29,
    "ask": 45,
    "encode": 27,
    "search -m": 31,
    "mask-entities": 15,
    "score": 17,
}


LINES = {
    "train santa": "train santa train.jsonl --size tiny --vocabulary-size 400 --max-steps 2",
    "ask": "ask src circle",
    "encode": "encode -m seal train.jsonl",
    "search -m": "search functions.npy -m seal --queries train.jsonl",
    "mask-entities": "mask-entities train.jsonl",
    "score": "score run.jsonl --qrels self",
}
STORE = """
structkit pair code.jsonl | structkit mask-entities -o train.jsonl
structkit train contrastive train.jsonl -o seal --size tiny --vocabulary-size 400 --max-steps 0 -q
structkit encode -m seal train.jsonl -o functions.npy -q
structkit search train.jsonl --method bm25 --queries train.jsonl -o run.jsonl
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """What the six commands read: functions, training records, a model, embeddings, a run."""
    folder = tmp_path_factory.mktemp("store")
    shutil.copy("fixtures/code/test.jsonl", folder / "code.jsonl")
    shutil.copytree("fixtures/collect/src", folder / "src")
    shell = 'structkit() { "$PYTHON" -m structkit "$@"; }\n' + STORE
    variables = environment(PYTHON=sys.executable, OMP_NUM_THREADS="1")
    subprocess.run(["bash", "-euo", "pipefail", "-c", shell], cwd=folder, env=variables, check=True)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("name", BOUNDS)
def test_a_command_runs_few_of_our_files(name, store):
    done = python("-c", TRACED, *LINES[name].split(), cwd=store, OMP_NUM_THREADS="1")
    assert 0 == done.returncode, done.stderr
    files = [line for line in done.stderr.splitlines() if line.endswith(".py")]
    assert 5 < len(files) <= BOUNDS[name], "\n".join([f"{len(files)} files run", *files])
    if name == "train santa":
        walked = [str(path.resolve()) for path in walk()]
        assert 10 == len(walked) and {*walked} <= {*files}


def walk():
    """The files that CONTRIBUTING reads from a flag of `train santa` to its loss, in order."""
    text = Path(".github/CONTRIBUTING.md").read_text("utf-8").partition("read ten files")[2]
    return [Path(name) for name in re.findall(r"^\d+\. `(\S+\.py)`", text, re.MULTILINE)]
