"""Tables of scores on a terminal: no number is broken, whatever the width."""

import json
import re

import pytest

from structkit.commands.score.table import score_table
from tests.terminals import seen

NUMBER = re.compile(r"-?[0-9]+\.[0-9]{3}")
COMPARED = {
    "run": "santa-with-a-long-name", "against": "bm25-with-stemming", "measure": "nDCG@10",
    "queries": 1234, "value": 0.1234, "against_value": 0.2345, "difference": -0.1111,
    "difference_low": -0.2, "difference_high": 0.1, "p_randomization": 0.00099, "p_t": 0.0011,
    "wins": 1, "ties": 2, "losses": 3,
}  # fmt: skip


def test_a_table_is_as_wide_as_its_terminal(tmp_path):
    name = "a_run_with_a_rather_long_name.jsonl"
    hits = ({"query_id": f"q{n}", "doc_id": f"q{n % 9}", "score": 1} for n in range(12))
    (tmp_path / name).write_text("".join(f"{json.dumps(hit)}\n" for hit in hits))
    arguments = ["score", "--qrels", "self", name]
    narrow, wide = (seen(tmp_path, *arguments, columns=width) for width in (60, 200))
    assert 6 * 3 == len(NUMBER.findall(wide))
    assert sorted(NUMBER.findall(wide)) == sorted(NUMBER.findall(narrow))
    lengths = [max(map(len, text.split("\n"))) for text in (narrow, wide)]
    assert lengths[0] <= 60 < lengths[1] <= 200


@pytest.mark.parametrize("markdown", [False, True])
@pytest.mark.parametrize("width", [60, 73, 80, 97, 120, 160, 200])
def test_every_width(width, markdown):
    text = score_table([COMPARED] * 2, markdown, width)
    assert all(len(line) <= width for line in text.split("\n"))
    expected = ["-0.111", "-0.200", "0.100", "0.123", "0.234", "0.001", "0.001"] * 2
    assert sorted(expected) == sorted(NUMBER.findall(text))
    assert 2 == text.count("<0.001")


def test_the_markdown_table():
    records = [
        {"run": "bm25", "queries": 12, "RR": 0.5, "RR_low": 0.25, "RR_high": 1.0},
        {"run": "long name", "queries": 12, "RR": 0.0, "RR_low": 0.0, "RR_high": 0.0},
    ]
    assert [
        "| run       | queries | RR                   |",
        "| --------- | ------: | -------------------- |",
        "| bm25      |      12 | 0.500 [0.250, 1.000] |",
        "| long name |      12 | 0.000 [0.000, 0.000] |",
    ] == score_table(records, markdown=True).split("\n")


def test_names_mean_nothing_in_markdown():
    shown = score_table([{"run": "a|b\n<img src=x>.jsonl", "type=[x](y)": "`c`", "RR": 0.5}], True)
    assert 3 == len(shown.splitlines())
    assert r"| a\|b &lt;img src=x&gt;.jsonl | \`c\`" in shown and r"type=\[x\](y)" in shown
    assert r"a|b\n<i>" in score_table([{"run": "a|b\n<i>", "RR": 0.5}])
