"""The table of benchmarks: what it says, where it goes, and what counts as a fall."""

import pytest

from tests.benchmarks import table
from tests.benchmarks.rows import ROWS, Row, tell

FAST = Row("encode / peer", [2.0, 3.0, 2.5], 2.0, more=True)
SLOW = Row("command / loop", [1.5], 1.25)
PEAK = Row("peak", [2.7], None, " GB")
COSINE = Row("cosine", [0.99996, 0.99998], 0.99999, "", more=True, digits=4)
HERE = {"processor": "P", "flags": ["avx2"], "cores": 2, "versions": {"numpy": "2"}}


def test_a_row_is_told_and_kept(capsys):
    tell("encode / peer", FAST.values, 2.0, more=True, note="why")
    assert "2.50x  (2.00 … 3.00)  target 2x  ok  why" in capsys.readouterr().out
    assert FAST == ROWS.pop()


def test_what_is_missed_is_said():
    assert "target 1.25x  MISSED" in str(SLOW) and "target" not in str(PEAK)
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


@pytest.mark.parametrize(
    ("before", "now", "more", "fell"),
    [(3.0, 1.9, True, True), (3.0, 2.1, True, False), (3.0, 9.0, True, False)]
    + [(1.2, 1.9, False, True), (1.2, 1.7, False, False), (1.2, 0.2, False, False)],
)
def test_a_fall_is_more_than_a_third(before, now, more, fell):
    rows = [Row("a", [value], None, more=more) for value in (now, before)]
    found = table.fallen(rows[:1], [*rows[1:], Row("gone", [1.0], None)])
    assert bool(found) == fell
    assert not fell or found == [f"a: {before:.2f}x before, now {now:.2f}x"]
    assert [] == table.fallen([Row("new", [1.0], None)], rows[1:])


def test_rows_of_other_benchmarks_stay_on_the_same_machine(tmp_path, monkeypatch):
    file = tmp_path / "benchmarks.json"
    table.write(file, {"encode": [FAST], "santa": [PEAK, COSINE]})
    table.write(file, {"encode": [SLOW]})
    here, benchmarks = table.read(file)
    assert {"encode": [SLOW], "santa": [PEAK, COSINE]} == benchmarks
    assert {"processor", "flags", "cores", "python", "versions"} == set(here)
    monkeypatch.setattr(table, "machine", lambda: {**here, "processor": "another"})
    table.write(file, {"encode": [FAST]})
    assert {"encode": [FAST]} == table.read(file)[1]


def test_the_table_goes_between_the_marks(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("no marks")
    document = tmp_path / "docs" / "results.md"
    document.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    assert [document] == table.marked(tmp_path)
    text = table.replaced(document.read_text(), "new")
    assert f"before\n{table.BEGIN}\nnew\n{table.END}\nafter\n" == text
    assert text == table.replaced(text, "new")
