"""An installation without torch and transformers: what works, and what says that it cannot."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

pytestmark = pytest.mark.long
LEFT_OUT = re.compile(r"(torch|transformers|sentence_transformers)\b|(?!__editable__).*\.pth$")
WORKS = Path(__file__).with_name("light.txt").read_text("utf-8").splitlines()
NEEDS = [
    "train santa test.jsonl -o model",
    "train fasttext test.jsonl -o model",
    "encode -m minilm test.jsonl --as document",
    "ask {fixtures}/collect/src circle -m minilm --no-cache",
]
CALLS = ("encode(['tea'], model='minilm')", "load('minilm')", "train('santa', 'x', output='y')")
SAID = r"this needs the package (torch|transformers) of the extra train; pip install .*"


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    """Runs structkit in an environment with all that this one has, but for what trains."""
    folder = tmp_path_factory.mktemp("light")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    [packages] = (folder / "venv").glob("lib/*/site-packages")
    for place in (Path(each) for each in sys.path if each.endswith("site-packages")):
        for each in place.iterdir():
            if not LEFT_OUT.match(each.name) and not (packages / each.name).exists():
                (packages / each.name).symlink_to(each)
    fixtures = Path("fixtures").absolute()

    def run(words, *program):
        command = [folder / "venv/bin/python", *(program or ("-m", "structkit")), *words.split()]
        command = [str(word).format(fixtures=fixtures) for word in command]
        # a cache of its own: others may have exported a model that works without torch
        own = environment(XDG_CACHE_HOME=str(folder / "cache"))
        return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True)

    return run


def test_all_but_training_and_encoders_of_torch_works_and_the_rest_says_so(light):
    for words in WORKS:
        done = light(words)
        assert 0 == done.returncode, f"{words}\n{done.stderr}"
    for words in NEEDS:
        done = light(words)
        assert (1, "") == (done.returncode, done.stdout)
        assert re.fullmatch(f"structkit: {SAID}", done.stderr.splitlines()[-1]), done.stderr
    for call in CALLS:
        told = light("", "-c", f"import structkit; list(structkit.{call})").stderr
        assert re.fullmatch(f"structkit.extras.MissingPackage: {SAID}", told.splitlines()[-1]), told
        assert "During handling" not in told
