"""The table of benchmarks: what it says, where it goes, and what counts as a fall."""

from tests.benchmarks import table
from tests.benchmarks.core_share import counted
from tests.benchmarks.table import ROWS, Row, tell

FAST = Row("encode / peer", [2.0, 3.0, 2.5], 2.0, more=True)
SLOW = Row("command / loop", [1.5], 1.25)
PEAK = Row("peak", [2.7], None, " GB")
COSINE = Row("cosine", [0.99996, 0.99998], 0.99999, "", more=True, digits=4)
HERE = {"processor": "P", "flags": ["avx2"], "cores": 2, "versions": {"numpy": "2"}}


def test_a_row_is_told_and_kept(capsys):
    tell("encode / peer", FAST.values, 2.0, more=True, note="why")
    assert "2.50x  2.00 … 3.00  ≥ 2x  why" in capsys.readouterr().out
    assert FAST == ROWS.pop()


def test_the_table_says_what_is_missed():
    expected = [
        "| measured, beside what | median | lowest … highest | target |",
        "|---|---:|---:|---:|",
        "| encode / peer | 2.50x | 2.00 … 3.00 | ≥ 2x |",
        "| command / loop | 1.50x |  | ≤ 1.25x, missed |",
        "| peak | 2.70 GB |  |  |",
        "| cosine | 1.0000 | 1.0000 … 1.0000 | ≥ 0.99999, missed |",
        "",
        "P (avx2), 2 cores, one thread; numpy 2.",
    ]
    assert expected == table.markdown(HERE, [FAST, SLOW, PEAK, COSINE]).split("\n")


def test_a_fall_is_more_than_a_third():
    before = [Row("speed", [3.0], None, more=True), Row("cost", [1.2], None, more=False)]
    for speed, cost, fallen in ((1.9, 1.9, 2), (2.1, 1.7, 0), (9.0, 0.2, 0)):
        now = [Row("speed", [speed], None, more=True), Row("cost", [cost], None)]
        found = table.fallen([*now, Row("new", [1.0], None)], [*before, Row("gone", [1.0], None)])
        assert fallen == len(found), (speed, cost)
    assert ["cost: 1.20x before, now 1.90x"] == table.fallen([Row("cost", [1.9], None)], before)


def test_rows_of_other_benchmarks_stay_on_the_same_machine(tmp_path, monkeypatch):
    file = tmp_path / "benchmarks.json"
    table.write(file, {"encode": [FAST], "santa": [PEAK, COSINE]})
    table.write(file, {"encode": [SLOW]})
    here, benchmarks = table.read(file)
    assert {"encode": [SLOW], "santa": [PEAK, COSINE]} == benchmarks
    monkeypatch.setattr(table, "machine", lambda: {**here, "processor": "another"})
    table.write(file, {"encode": [FAST]})
    assert {"encode": [FAST]} == table.read(file)[1]


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
