"""Answers within a number of tokens."""

import pytest

import structkit
from structkit.asking.budget import cut, shorten

CODE = "import re\n\n\ndef steep(tea):\n    pot = warm(tea)\n    return pour(pot)\n\n\nCUPS = 3"
STEEP = {"symbol": "steep", "symbol_lines": [13, 15], "line": 14}
ROWS = {"text": "One.\nTwo.\nSix.", "lines": [1, 3]}
PAGE = {"text": "One. Two. Six.", "html": "", "lines": [4, 9]}


@pytest.mark.parametrize(
    ("answer", "size", "text", "lines"),
    [
        ({"code": CODE, "lines": [10, 18], **STEEP}, 500, CODE, [10, 18]),
        (
            {"code": CODE, "lines": [10, 18], **STEEP},
            65,
            "def steep(tea):\n    pot = warm(tea)\n    return pour(pot)",
            [13, 15],
        ),
        ({"code": CODE, "lines": [10, 18], **STEEP}, 25, "    pot = warm(tea)", [14, 14]),
        ({"code": CODE, "lines": [10, 18], **STEEP}, 7, "    pot", [14, 14]),
        ({"code": CODE, "lines": [10, 18], "line": 18}, 10, "CUPS = 3", [18, 18]),
        ({**ROWS, "line": 3, "quote": "Six."}, 9, "Two.\nSix.", [2, 3]),
        ({**PAGE, "quote": "Two."}, 6, "Two.", [4, 9]),
        ({**PAGE, "quote": "Two."}, 3, "Two", [4, 9]),
    ],
)  # fmt: skip
def test_a_passage_is_cut_to_the_lines_around_its_best_one(answer, size, text, lines):
    shown = cut(answer, size)
    assert (text, lines) == (shown.get("code", shown.get("text")), shown["lines"])
    assert len(text) <= max(size, len(text) if text == CODE else 0)


def test_answers_end_when_their_tokens_are_spent():
    answers = [{"code": CODE, "lines": [10, 18], **STEEP, "rank": rank} for rank in range(30)]
    for tokens in (10, 100, 400, 10_000):
        shortened = shorten(answers, tokens)
        shown = shortened.answers
        lines = sum(CODE.count("\n") - each["code"].count("\n") for each in shown)
        assert (30 - len(shown), lines) == (shortened.left_out, shortened.lines)
        assert sum(len(each["code"]) for each in shown) <= 4 * tokens
        assert [each["rank"] for each in shown] == list(range(len(shown)))
    assert (answers, "") == (shown, shortened.note())
    assert (
        "--tokens 60 leaves out 26 more answers and 8 lines of the passages above; raise it"
        == shorten(answers, 60).note()
    )


def test_each_question_has_its_own_tokens(tmp_path):
    (tmp_path / "a.py").write_text(CODE * 20)
    asked = ["steep tea", "warm pot"]
    options = {"no_model": True, "no_cache": True}
    whole = list(structkit.ask(tmp_path, asked, **options))
    few = list(structkit.ask(tmp_path, asked, tokens=40, **options))
    sizes = [sum(len(each["code"]) for each in few if each["query_id"] == one) for one in "12"]
    assert all(0 < size <= 160 for size in sizes) and whole[0]["doc_id"] == few[0]["doc_id"]
