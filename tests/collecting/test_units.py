"""Units: goldens of each for every language, and what holds for any text."""

import re
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.collecting.chunks import cut_lines
from structkit.collecting.kinds import EXTENSIONS_WITHOUT_PLUGIN, content_kind
from structkit.collecting.units import UNIT_READERS, Collector, Units
from structkit.collecting.walking import LeftOut, Source
from structkit.registry import load, plugins
from structkit.structure.sentences import sentences
from tests.structure.code.sources import EXTRA, cases

FOLDER = Path("fixtures/collect")
FILES = sorted(path for part in ("src", "docs") for path in (FOLDER / part).iterdir())
CODE = [path for path in FILES if path.parent.name == "src"]


def records(path, **flags):
    text = path.read_text("utf-8")
    kind = content_kind(path.name, text)
    return list(Units(**flags).records(path.name, text, kind))


@pytest.mark.parametrize("unit", sorted(UNIT_READERS))
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_golden(path, unit, golden):
    found = records(path, unit=unit, chunk_chars=150)
    if not found:
        return
    lines = b"".join(orjson.dumps(record) + b"\n" for record in found).decode()
    golden(FOLDER / unit / f"{path.name}.jsonl", lines)


def test_every_language_with_trees_has_a_golden():
    """But for those of the extra `languages`, whose functions are in fixtures/languages."""
    of_code = [each for each in plugins() if each.kind == "language" and each.name not in EXTRA]
    outlined = {plugin.name for plugin in of_code if plugin.load().outline}
    shown = {record["language"] for path in CODE for record in records(path, unit="function")}
    assert outlined == shown
    assert len(outlined) == 11


BODY = "".join(f"    x({number});\n" for number in range(9))


@pytest.mark.parametrize(("language", "text", "said"), cases("led"))
def test_what_is_said_about_a_definition_stays_with_its_first_line(language, text, said):
    row = text.partition("BODY")[0].count("\n") - 1
    text = text.replace("BODY\n", BODY) + "\n"
    root = load("language", language).outline.parse(text, text.encode()).tree.root_node
    pieces = cut_lines(text.split("\n"), root, 50)
    assert len(pieces) > 1
    [piece] = [piece for piece in pieces if piece[0] <= row < piece[1]]
    assert piece[0] <= row - int(said) + 1


@given(st.text(st.sampled_from("ab .!?\n-1\"'A"), max_size=200))
def test_sentences_stand_in_order_and_lose_no_word(text):
    spans = list(sentences(text))
    assert spans == sorted(spans)
    ends, starts = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    left = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    assert not any(sign.isalnum() for piece in left for sign in piece)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("See e.g. Al et al. (20). It is 2.5 m.", ["See e.g. Al et al. (20).", "It is 2.5 m."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("这是。那是！", ["这是。", "那是！"]),
        ("a\nb\n\nc", ["a\nb", "c"]),
        ("* * *", []),
        ("W.R. Grace and Rep. Hill met. He left.", ["W.R. Grace and Rep. Hill met.", "He left."]),
        ("No. It is in sec. 4, no. 5.", ["No.", "It is in sec. 4, no. 5."]),
        ("The cat sat. On Sat. Jan. 2 it went.", ["The cat sat.", "On Sat. Jan. 2 it went."]),
        ("It was art. He saw P. Klee.", ["It was art.", "He saw P. Klee."]),
    ],
)
def test_where_sentences_end(text, expected):
    assert expected == [text[start:end] for start, end in sentences(text)]


def test_a_function_keeps_its_id_when_others_move():
    text = (FOLDER / "src/shapes.py").read_text()
    kind = content_kind("shapes.py", "")
    units = Units(unit="function")
    before = {each["id"]: each["hash"] for each in units.records("a.py", text, kind)}
    moved = text.replace("\n@cache", "\n\ndef other():\n    pass\n\n\n@cache")
    after = {each["id"]: each["hash"] for each in units.records("a.py", moved, kind)}
    assert before.items() < after.items()


@pytest.mark.parametrize(("path", "text", "language"), cases("kinds"))
def test_languages_by_extension_name_and_text(path, text, language):
    assert language == content_kind(path, text).language


def test_no_extension_names_two_languages():
    lines = EXTENSIONS_WITHOUT_PLUGIN.strip().split("\n")
    endings = [ending for line in lines for ending in line.partition(": ")[2].split()]
    for plugin in plugins():
        if plugin.kind == "language":
            endings += plugin.signs.extensions
    assert len(endings) == len(set(endings))


def test_an_exception_that_no_reader_foresees_leaves_out_its_file():
    """A field that JSON cannot hold: it has come from Python, beside a text that can be read."""
    odd = Source("a.md", data=b"# Tea", record={"id": "1", "other": object()})
    done = Collector(Units())([odd, Source("b.md", data=b"# Cup"), LeftOut("c", "a link", "")])
    assert ["b.md"] == [orjson.loads(line)["path"] for line in done.output.splitlines()]
    fault, skipped = done.left_out
    assert ("a.md", True) == (fault.path, fault.fault)
    assert re.match(r"cannot be read: unexpected \w+Error in \w+\.py:\d+: \S", fault.problem)
    assert ("c", False) == (skipped.path, skipped.fault)
