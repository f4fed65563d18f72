"""Tables with delimiters: cells as Python's csv module has them, however a row is read."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.formats.rows import DelimitedRows, delimited_output

CELLS = st.text(st.sampled_from('a é"\t,\r\0\u2028'), max_size=4)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=4)


def read(path, delimiter):
    return [[row["x"], row["y"]] for row in DelimitedRows([str(path)], delimiter, nulls=True)]


@pytest.mark.parametrize("delimiter", ["\t", ","])
@given(rows=ROWS)
def test_rows_are_read_as_by_csv(delimiter, rows):
    with TemporaryDirectory() as folder:
        path = Path(folder, "table")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
            writer.writerows([["x", "y"], *rows])
        assert [[cell or None for cell in row] for row in rows] == read(path, delimiter)


@pytest.mark.parametrize("delimiter", ["\t", ","])
@given(rows=st.lists(st.lists(CELLS | st.none(), min_size=2, max_size=2), min_size=1, max_size=4))
def test_rows_are_written_for_csv_and_come_back(delimiter, rows):
    with TemporaryDirectory() as folder:
        path = Path(folder, "table")
        with delimited_output(str(path), delimiter, ("x", "y")) as output:
            for row in rows:
                output.add(dict(zip("xy", row, strict=True)))
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.reader(file, delimiter=delimiter, strict=True))[1:]
        assert [[cell or "" for cell in row] for row in rows] == found
        assert rows == read(path, delimiter)


def test_a_broken_quote_costs_its_line(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b'x\ty\na\t"b\nc\td\n"e\nf"\tg\n')
    rows, found = DelimitedRows([str(path)], "\t"), []
    while len(found) < 3:
        try:
            found += [next(iter(rows))]
        except Exception as error:
            found.append(str(rows.place(error))[: len(f"{path}:2: the row's quotes")])
    assert [f"{path}:2: the row's quotes", {"x": "c", "y": "d"}, {"x": "e\nf", "y": "g"}] == found
