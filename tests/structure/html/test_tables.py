"""Tables: what their rows say, whatever is wrong with them."""

import pytest

from structkit.collecting.kinds import content_kind
from structkit.collecting.pages import HtmlPage
from structkit.collecting.units import Units
from structkit.structure.html.tables import MAX_DOWNWARD_CELLS, MAX_REPEATED_CHARACTERS

HEADED = "<tr><th>Year<th>Winner"


def texts(html):
    return [record["text"] for _, record in HtmlPage(html).rows()]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (f"{HEADED}<tr><td>1999<td>Ann", ["Year: 1999; Winner: Ann"]),
        # without headers: a table for the layout
        ("<tr><td>1999<td>Ann", ["1999; Ann"]),
        ("<tr><th>Year<td>1999<tr><th>Winner<td>Ann", ["Year; 1999", "Winner; Ann"]),
        # headers of several rows and columns
        (
            "<tr><th rowspan=2>Year<th colspan=2>Sold<tr><th>green<th>black<tr><td>1<td>2<td>3",
            ["Year: 1; Sold green: 2; Sold black: 3"],
        ),
        (
            "<thead><tr><td>Year<td>Winner</thead><tr><td>1<td>Ann<tfoot><tr><td>2<td>Bo",
            ["Year: 1; Winner: Ann", "Year: 2; Winner: Bo"],
        ),
        # cells of several rows and columns
        (
            f'{HEADED}<th>Age<tr><td ROWSPAN="2">1<td colspan=2>Ann<tr><td>Bo<td>7',
            ["Year: 1; Winner: Ann", "Year: 1; Winner: Bo; Age: 7"],
        ),
        # 0 rows are all of the group, and no cell is in two groups
        (
            f"{HEADED}<tr><td rowspan=0>1<td>Ann<tr><td>Bo<tbody><tr><td>2<td>Cy",
            ["Year: 1; Winner: Ann", "Year: 1; Winner: Bo", "Year: 2; Winner: Cy"],
        ),
        (
            f"<thead>{HEADED}</thead><tr><td title=' rowspan=3' rowspan=9>1<td>Ann</tr>"
            "<tfoot><tr><td>2<td>Bo",
            ["Year: 1; Winner: Ann", "Year: 2; Winner: Bo"],
        ),
        (f"{HEADED}<tr><td><td>Ann<tr><td> <td>", ["Winner: Ann"]),
        ("<tr><th>Year<th>1999", ["Year; 1999"]),
        ("<form><tr><td><b>a</b>b<p>c</form>", ["ab c"]),
        ("<tr><td>a<script>b</script><td colspan=x>&lt;", ["a; <"]),
        ("<tr>", []),
        ("", []),
    ],
)
def test_a_row_is_read_with_the_labels_of_its_columns(rows, expected):
    assert expected == texts(f"<table>{rows}</table>")


def test_a_table_in_a_cell_has_rows_of_its_own():
    page = f"<table><tr><td>before<table>{HEADED}<tr><td>1<td>Ann</table>after</table>"
    assert ["before after", "Year: 1; Winner: Ann"] == texts(page)


@pytest.mark.parametrize("deep", [500, pytest.param(5_000, marks=pytest.mark.long)])
def test_tables_are_read_at_any_depth(deep):
    found = texts("<table><tr><td>" * deep + "a" + "</table>" * deep)
    assert ["a"] == found


def test_what_rows_repeat_is_bounded():
    large = "word " * 1_000
    cells = f"<td rowspan=9>{large}" * 50
    first, second = texts(f"<table><tr><th>{large}<th>b<tr>{cells}<tr><td>a</table>")
    assert len(first) > 50 * len(large)
    assert len(second) < (MAX_DOWNWARD_CELLS + 1) * 2 * MAX_REPEATED_CHARACTERS


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        (
            "a.html",
            "<h1>Tea</h1>\n<h2>Cups</h2><table><caption>Sold</caption>\n"
            "<tr><th colspan=2>All</th></tr>\n<tr><th>Year</th><th>N</th></tr>\n"
            "<tr><td>1</td><td>2</td></tr></table>",
            {"id": "a.html#t1r3", "xpath": "/html/body/table/tr[3]", "lines": [5, 5]},
        ),
        (
            "a.md",
            "# Tea\n## Cups\nSold All\n\n| Year | *N* |\n|--|--|\n| 1 | 2 |\n",
            {"id": "a.md#t1r2", "lines": [7, 7]},
        ),
    ],
)
def test_a_row_has_its_place_headings_and_caption(path, text, place):
    [row] = Units(unit="row").records(path, text, content_kind(path, text))
    caption = "Sold All\n" if path == "a.html" else ""
    assert place.items() <= row.items()
    assert (["Tea", "Cups"], "Tea") == (row["headings"], row["title"])
    assert f"Tea > Cups\n{caption}Year: 1; N: 2" == row["text"]
