"""What type checkers see: the committed stub is what is generated, and it refuses what is wrong."""

import re

from conftest import python

import structkit
from structkit.api.stubs import PATH, stub

RIGHT = """
import structkit

made = structkit.mask_entities([{"id": "1", "code": "x"}], mask_ratio=0.5)
next(made)["masked"]
structkit.collect("src", unit="function")
structkit.pair(queries=[{"id": "q"}], qrels="qrels.jsonl", corpus=[{"id": "d"}])
structkit.train("santa", [], output="x", temperature=0.1)
"""
WRONG = [
    'structkit.train("santa", [], outptu="x")',
    'structkit.train("santta")',
    'structkit.train("strae", [], mask_ratio=0.5)',
    'structkit.mask_entities([], strategy="entitty")',
    "structkit.mask_entities([], mask_rate=0.5)",
    'structkit.select([], where="a=1")',
    "structkit.fuse()",
]


def test_the_stub_is_made_of_the_settings_and_has_each_function(golden):
    golden(PATH, stub())
    named = re.findall(r"^def (\w+)|^from .* import (\w+) as", stub(), re.M)
    assert set(structkit.__all__) == {first or second for first, second in named}


def test_wrong_calls_are_refused(tmp_path):
    snippet = tmp_path / "snippet.py"
    snippet.write_text(RIGHT + "\n".join(WRONG))
    # the stub alone: what it imports would take a minute
    flags = ("--strict", "--follow-imports=skip", "--cache-dir", tmp_path / "cache")
    done = python("-m", "mypy", *flags, PATH, snippet)
    found = {int(line) for line in re.findall(r"snippet.py:(\d+): error", done.stdout)}
    first = len(RIGHT.splitlines()) + 1
    assert found == set(range(first, first + len(WRONG))), done.stdout + done.stderr
