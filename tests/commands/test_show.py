"""show: masked texts, elements of HTML, trees and hits, as a person sees them."""

import json
from pathlib import Path

import pytest
from terminals import plain, seen

from structkit import html_variants, mask_entities
from structkit.cli.main import app
from structkit.commands.show import draw_records
from structkit.errors import UserError
from structkit.structure.html.elements import outline, tokens_of
from tests.jsonl import read as read_records


def test_a_masked_text_is_the_text_with_its_entities_marked():
    for record in mask_entities(read_records(Path("fixtures/code/test.jsonl"))):
        shown = draw_records([record])
        assert record["code"].expandtabs(4) in shown.replace("⟦", "").replace("⟧", "") + "\n"
        assert all(f"⟦{entity}⟧" in shown for entity in record["entities"])
        assert "<extra_id" not in shown and "\x1b" not in shown


def test_a_sentinel_without_its_entity_is_told():
    with pytest.raises(UserError, match="masked.*<extra_id_3>"):
        draw_records([{"id": "1", "masked": "a <extra_id_3>", "entities": ["b"]}])


def test_the_masked_elements_of_a_page_are_marked():
    for record in html_variants(read_records(Path("fixtures/pages/test.jsonl"))):
        tags = [each for each in tokens_of(record["tagged"]) if each.startswith("<")]
        left = [each for each in tokens_of(record["masked"]) if each.startswith("<")]
        entries = outline(record["tagged"], record["masked"])
        assert (len(tags) - len(left)) / 2 == sum(each.masked for each in entries) > 0
        assert draw_records([record]).count("⟦masked⟧") == sum(each.masked for each in entries)
        assert [each.text for each in entries if each.is_tag] == [
            tag for tag in tags if not tag.startswith("</")
        ]


def test_of_equal_elements_the_masked_one_is_marked():
    tagged = "<ul><li>a</li><li>a</li><li>b</li></ul>"
    marked = [each.masked for each in outline(tagged, "<ul><li>a</li>a<li>b</li></ul>")]
    assert [False, False, False, True, False, False, False] == marked


HIT = {"query_id": "1", "doc_id": "a.py#f", "score": 1.5, "rank": 1, "query": "add numbers"}
HIT |= {"path": "a.py", "lines": [7, 8], "code": "def add(a, b):\n    return a + b"}


def test_a_hit_has_its_place_and_its_lines():
    shown = draw_records([HIT])
    assert " 1  a.py:7" in shown and "1.500" in shown
    assert "7  def add(a, b):" in shown and "\x1b" not in shown


def test_other_fields_are_named():
    record = {"id": "e", "embedding": [0.6, 0.8] + [0.0] * 10, "note": "x\x1b[31m", "n": 3}
    assert "e\n\nembedding: 12 numbers, length 1.000\nnote: x\\x1b[31m\nn: 3\n" == draw_records(
        [record]
    )


@pytest.mark.parametrize("width", [80, 120, None])
def test_records_of_the_commands_look_as_before(width, golden):
    shown = draw_records(read_records(Path("fixtures/show/records.jsonl")), width=width)
    golden(Path(f"fixtures/show/{width or 'pipe'}.txt"), shown)


def test_no_field_is_said_twice():
    code = "def add(left, right):\n    return left + right  # as people do"
    record = {"code": code, "positive": code, "negatives": [code], "scope": "", "n_low": 1}
    lines = ["code:", *(f"  {line}" for line in code.split("\n")), "positive: as code"]
    assert [*lines, "negatives: as code", "scope:", "n_low: 1"] == draw_records(
        [record]
    ).splitlines()
    parsed = {"text": "a  b", "tree": "(S (A a) (B b))", "other": "a c"}
    drawn = ["text: a  b", "S", "├─ A a", "└─ B b", "", "other: a c"]
    assert drawn == draw_records([parsed]).splitlines()


def test_of_much_text_the_first_lines_are_shown():
    text = "\n".join(map(str, range(50)))
    assert "19\n  … 30 more lines\n" in draw_records([{"text": text}])
    tree = {"text": text, "tree": "(S (A a) (B b))"}
    assert "2\n  … 47 more lines\n" in draw_records([tree])


@pytest.mark.parametrize("width", [60, 100])
def test_lines_fit_the_terminal(width):
    pages = list(html_variants(read_records(Path("fixtures/pages/test.jsonl"))[:3]))
    shown = plain(draw_records([*pages, HIT], width=width, colors=True))
    assert max(map(len, shown.splitlines())) <= width


def test_a_terminal_gets_colors_unless_they_are_not_wanted(tmp_path):
    record = {"id": "1", "masked": "a <extra_id_0>", "entities": ["b"]}
    (tmp_path / "in.jsonl").write_text(json.dumps(record))
    assert "\x1b[1;36m⟦b⟧" in seen(tmp_path, "show", "in.jsonl")
    assert "\x1b[1;36m⟦b⟧" in seen(tmp_path, "show", "in.jsonl", NO_COLOR="")
    for none in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[" not in seen(tmp_path, "show", "in.jsonl", **none)


def test_the_first_records_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text("".join(f'{{"id":"r{each}","n":{each}}}\n' for each in range(9)))
    app(["show", "in.jsonl", "-n", "2", "-o", "out.txt"], standalone_mode=False)
    assert 2 == Path("out.txt").read_text("utf-8").count("n: ")
    Path("in.jsonl").write_text("")
    with pytest.raises(UserError, match="no record to show"):
        app(["show", "in.jsonl"], standalone_mode=False)


def test_what_cannot_be_drawn_has_its_place(run, tmp_path):
    (tmp_path / "trees.jsonl").write_text(
        '{"id": "1", "tree": "(A a)"}\n{"id": "2", "tree": "(A"}\n'
    )
    done = run("show", "trees.jsonl", "-n", "2")
    assert b"structkit: trees.jsonl:2: 1 bracket is not closed; fix the brackets\n" == done.stderr
