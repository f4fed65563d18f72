"""Notebooks: their cells, as nbformat writes them, without outputs; lines are those of the file."""

import json

import nbformat
import pytest
from nbformat import v3, v4

from structkit.collecting.kinds import content_kind
from structkit.collecting.units import Units
from structkit.errors import UserError
from tests.jsonl import read


def notebook():
    """A notebook with each kind of cell."""
    code = v4.new_code_cell(
        "%matplotlib inline\ndef brew(tea):\n    '''Brew tea.'''\n    return tea"
    )
    code.outputs = [v4.new_output("stream", text='"source": ["# Heading of an output"]\nbrew')]
    other = v4.new_code_cell("%%bash\ndef brew() { echo; }")
    timed = v4.new_code_cell("%%time\ndef pour(cup):\n    !ls\n    return cup\npour?")
    fenced = v4.new_code_cell('text = """\n```\n"""')
    cells = [
        v4.new_raw_cell("---\ntitle: Guide\n---"),
        v4.new_markdown_cell("# Tea\n\nGreen **tea** is hot.\n"),
        v4.new_raw_cell("---\ntitle: No\n---\n# No"),
        code,
        v4.new_markdown_cell("## Cups\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
        *(other, timed, fenced, v4.new_code_cell(""), v4.new_markdown_cell("Last words.")),
    ]
    kernel = {"language": "python", "name": "python3", "display_name": "Python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def records(text, unit):
    return list(Units(unit=unit).records("a.ipynb", text, content_kind("a.ipynb", text)))


@pytest.fixture(scope="module")
def text():
    return nbformat.writes(notebook())


def test_a_page_is_all_cells_without_outputs(text):
    [page] = records(text, "page")
    assert "Guide" == page["title"]
    assert ["Tea", "Cups"] == page["headings"]
    assert "```python\n%matplotlib inline\ndef brew(tea):" in page["text"]
    assert "```bash\n%%bash\n" in page["text"]
    assert '````python\ntext = """\n```\n"""\n````' in page["text"]
    assert "```\n---\ntitle: No\n---\n# No\n```" in page["text"]
    assert "output" not in page["text"]
    assert "notebook" == page["language"]


def test_sections_rows_and_sentences(text):
    assert ["tea", "cups"] == [each["id"].partition("#")[2] for each in records(text, "section")]
    assert [["Tea", "Cups"]] == [each["headings"] for each in records(text, "row")]
    found = [each["text"] for each in records(text, "sentence")]
    assert ["Tea", "Green tea is hot.", "Cups", "a", "b", "1", "2", "Last words."] == found


def test_functions_are_those_in_the_language_of_the_kernel(text):
    brew, pour = records(text, "function")
    assert ("python", "brew", "Brew tea.") == (brew["language"], brew["name"], brew["docstring"])
    assert "def pour(cup):\n\n    return cup" == pour["code"]


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("ascii", [True, False])
def test_lines_are_those_of_the_file(indent, split, ascii):
    data = notebook()
    data.cells[1].source = "# Tee für Gäste\n\nGrün."
    text = nbformat.writes(data, split_lines=split)
    text = json.dumps(json.loads(text), indent=indent, ensure_ascii=ascii)
    file = text.split("\n")
    for unit in ("function", "section", "sentence"):
        for record in records(text, unit):
            first, last = record["lines"]
            words = (record.get("code") or record["text"]).strip().split("\n")
            assert json.dumps(words[0], ensure_ascii=ascii)[1:-1].strip("#| ") in file[first - 1]
            if unit == "function":
                assert json.dumps(words[-1], ensure_ascii=ascii)[1:-1] in file[last - 1]
    for record in records(text, "chunk"):
        assert "a.ipynb#L{}-{}".format(*record["lines"]) == record["id"].partition("~")[0]


def test_format_3():
    cells = [
        v3.new_heading_cell("Tea", level=2),
        v3.new_code_cell("def brew():\n    return 1", language="python"),
        v3.new_text_cell("markdown", "Green."),
    ]
    sheet = v3.new_worksheet(cells=cells)
    text = v3.writes_json(v3.new_notebook(worksheets=[sheet]))
    [section] = records(text, "section")
    assert "## Tea\n\n```python\ndef brew():\n    return 1\n```\n\nGreen." == section["text"]
    assert ["brew"] == [each["name"] for each in records(text, "function")]


def test_a_kernel_without_a_plugin():
    cells = [v4.new_code_cell("f <- function(x) x")]
    text = nbformat.writes(v4.new_notebook(cells=cells, metadata={"language_info": {"name": "R"}}))
    assert "```r\nf <- function(x) x\n```" == records(text, "page")[0]["text"]
    assert [] == records(text, "function")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "1", "{}", '{"cells": 1}', '{"cells": [{}]}', '{"cells": [1]}', "[" * 100_000]
    + ['{"cells": [{"cell_type": "code", "source": [1]}]}', '{"metadata": 1, "cells": []}'],
)
def test_a_damaged_notebook(text):
    with pytest.raises(UserError, match=r"is no notebook \(.*\); open it in Jupyter and save"):
        records(text, "page")


def of_cells(*cells, **metadata):
    """A notebook of JSON that nbformat would refuse."""
    written = [{"metadata": {}, "cell_type": "markdown", **cell} for cell in cells]
    return json.dumps({"cells": written, "metadata": metadata, "nbformat": 4})


@pytest.mark.parametrize(
    ("source", "right"),
    [
        (["# Tea\n", "cut \ud83d"], "# Tea\ncut \ufffd"),
        ("\udc00 low, whole \U0001f375", "\ufffd low, whole \U0001f375"),
        ("a\r\nb\rc", "a\nb\nc"),
        ([], None),
    ],
)
def test_what_is_no_text_in_a_cell(source, right):
    found = records(of_cells({"source": source}), "page")
    assert ([right] if right else []) == [page["text"] for page in found]
    assert all(page["text"].encode() for page in found)


@pytest.mark.parametrize(
    ("level", "right"),
    [("1e400", 1), ("-1e400", 1), ("NaN", 1), ("1e20", 1), ("-3", 1), ("null", 1), ('"2"', 1)],
)
def test_levels_of_headings(level, right):
    cell = f'{{"cell_type": "heading", "level": {level}, "source": "Tea"}}'
    [page] = records(f'{{"worksheets": [{{"cells": [{cell}]}}]}}', "page")
    assert "#" * right + " Tea" == page["text"]


@pytest.mark.parametrize(
    ("name", "right"), [("py\nthon", "py thon"), ("a```b", "ab"), ("\ud83d", "\ufffd"), ("C", "c")]
)
def test_names_of_languages(name, right):
    text = of_cells({"cell_type": "code", "source": "x"}, language_info={"name": name})
    assert f"```{right}\nx\n```" == records(text, "page")[0]["text"]


def test_lines_where_others_hold_the_same_text():
    """Keys of the same name in outputs and metadata, and equal cells."""
    other = {"source": ["x = 1"], "input": 1}
    cells = [
        {"metadata": other, "outputs": [{"data": {"application/json": other}}], "source": ["# A"]},
        {"metadata": {"source": '"source": "# B"'}, "source": ["# B\n", "b"]},
        {"source": ["# B\n", "b"]},
    ]
    text = json.dumps(json.loads(of_cells(*cells)), indent=1)
    file = text.split("\n")
    found = [each["lines"] for each in records(text, "section")]
    assert ['"# A"', '"# B\\n",', '"# B\\n",'] == [file[first - 1].strip() for first, _ in found]
    assert 3 == len({first for first, _ in found})


def test_a_key_that_is_escaped_keeps_its_text():
    text = of_cells({"source": "# A"}, {"source": "# B"}).replace("source", "so\\u0075rce", 1)
    assert ["# A", "# B"] == [each["text"] for each in records(text, "section")]


def test_notebooks_in_a_folder(tmp_path, here, text):
    (tmp_path / "a.ipynb").write_text(text)
    (tmp_path / "b.ipynb").write_text("{}")
    (tmp_path / "c.ipynb").write_text(nbformat.writes(v4.new_notebook()))
    done = here("collect", ".")
    assert ["a.ipynb"] == [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert b"1 x is no notebook; 1 x without pages" in done.stderr
    [found, *_] = read(here("ask", ".", "how to pour into a cup").stdout)
    assert "a.ipynb" == found["path"]
