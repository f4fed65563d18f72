"""The rows of benchmarks: what stays, and what counts as a fall; test_site.py has their table."""

from tests.benchmarks import table
from tests.benchmarks.table import Row

FAST = Row("encode / peer", [2.0, 3.0, 2.5], 2.0, more=True, limits=[0.7, 0.5, 0.6], least=0.8)
SLOW = Row("command / loop", [1.5], 1.25, limits=[0.6])
PEAK = Row("peak", [2.7], None, " GB")
COSINE = Row("cosine", [0.99996, 0.99998], 0.99999, "", more=True, digits=4)


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
