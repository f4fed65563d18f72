"""The table of benchmarks: what it says, where it goes, and what counts as a fall."""

from typing import Any

from tests.benchmarks import table
from tests.benchmarks.core_share import counted
from tests.benchmarks.table import ROWS, Row, tell

FAST = Row("encode / peer", [2.0, 3.0, 2.5], 2.0, more=True, limits=[0.7, 0.5, 0.6], least=0.8)
SLOW = Row("command / loop", [1.5], 1.25, limits=[0.6])
PEAK = Row("peak", [2.7], None, " GB")
COSINE = Row("cosine", [0.99996, 0.99998], 0.99999, "", more=True, digits=4)
HERE = {"processor": "P", "flags": ["avx2"], "cores": 2, "versions": {"numpy": "2"}}


def test_a_row_is_told_and_kept(capsys):
    more: dict[str, Any] = {"more": True, "limits": FAST.limits, "least": 0.8}
    tell("encode / peer", FAST.values, 2.0, **more, note="why")
    expected = "2.50x (2.00 … 3.00)  0.60, missed of the limit  ≥ 2x; ≥ 0.8 of the limit  why"
    assert expected in capsys.readouterr().out
    assert FAST == ROWS.pop()


def test_the_table_has_the_processors_side_by_side_and_says_what_is_missed():
    expected = [
        "| measured, beside what | `p-avx2` | of the limit | `q` | of the limit | target |",
        "|---|---:|---:|---:|---:|---:|",
        "| encode / peer | 2.50x (2.00 … 3.00) | 0.60, missed |  |  | ≥ 2x; ≥ 0.8 of the limit |",
        "| command / loop | 1.50x, missed | 0.60 | 1.00x |  | ≤ 1.25x |",
        "| peak | 2.70 GB |  |  |  |  |",
        "| cosine | 1.0000 (1.0000 … 1.0000), missed |  |  |  | ≥ 0.99999 |",
        "",
        "`p-avx2`: P (avx2), 2 cores, one thread; numpy 2.",
        "",
        "`q`: P, 2 cores, one thread; numpy 2.",
    ]
    other = {**HERE, "flags": []}, [Row("command / loop", [1.0], 1.25)]
    found = {table.file_of(HERE).stem: (HERE, [FAST, SLOW, PEAK, COSINE]), "q": other}
    assert expected == table.markdown(found).split("\n")


def test_a_fall_is_more_than_a_third():
    before = [Row("speed", [3.0], None, more=True), Row("cost", [1.2], None, more=False)]
    for speed, cost, fallen in ((1.9, 1.9, 2), (2.1, 1.7, 0), (9.0, 0.2, 0)):
        now = [Row("speed", [speed], None, more=True), Row("cost", [cost], None)]
        found = table.fallen([*now, Row("new", [1.0], None)], [*before, Row("gone", [1.0], None)])
        assert fallen == len(found), (speed, cost)
    assert ["cost: 1.20x before, now 1.90x"] == table.fallen([Row("cost", [1.9], None)], before)


def test_rows_of_other_benchmarks_stay(tmp_path):
    file = tmp_path / "benchmarks" / "p.json"
    table.write(file, {"encode": [FAST], "santa": [PEAK, COSINE]})
    table.write(file, {"encode": [SLOW]})
    assert {"encode": [SLOW], "santa": [PEAK, COSINE]} == table.read(file)[1]


def test_the_table_goes_where_the_marks_are(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("no marks")
    document = tmp_path / "docs" / "results.md"
    document.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert [document] == table.marked(tmp_path)


def test_core_is_told_from_plumbing(tmp_path):
    (tmp_path / "tea.py").write_text(
        '"""Tea."""\nimport math\n\nclass Cup:\n    size: int  # of it\n\n'
        "    def fill(self, water):\n        if water < 0:\n            raise ValueError(water)\n"
        "        return math.floor(water)\n"
    )
    # plumbing: the import, the field, the check of two lines
    expected = {"lines": 10, "core": 3, "plumbing": 4}
    assert expected == counted(tmp_path / "tea.py", tmp_path)
