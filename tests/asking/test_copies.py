"""The same text in several files takes one place among the answers."""

import pytest

import structkit
from tests.jsonl import write_files

PROSE = "Warm the pot before you steep the tea. Three minutes are enough for leaves that are small."
CODE = "def steep(tea, leaves):\n    return pour(tea, leaves)\n"


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"a.html": f"<h1>Tea</h1><p>{PROSE}", "a.txt": f"Tea\n\n{PROSE}\n"}, 1),
        ({"a.md": f"# Tea\n\n{PROSE}\n", "b.md": f"# Tea\n\n{PROSE.replace('pot', '*pot*')}\n"}, 1),
        ({"a.py": CODE, "copy.py": CODE.replace("    ", "\t")}, 1),
        ({"a.py": CODE, "b.py": CODE.replace("return", "await")}, 2),
        (
            {"a.txt": PROSE, "b.txt": "The tea is steeped in a kettle, where leaves swim."},
            2,
        ),
    ],
)
def test_a_copy_takes_no_place_of_its_own(tmp_path, files, places):
    write_files(tmp_path, files)
    answers = structkit.ask(tmp_path, "how to steep tea leaves", no_model=True, no_cache=True)
    assert places == len({answer["path"] for answer in answers})


@pytest.mark.parametrize(
    ("paths", "best", "others"),
    [
        (("listings/ch01/steep.py", "src/steep.py"), "src/steep.py", ["listings/ch01/steep.py"]),
        (("src/steep.py", "src/steep_all.py"), "src/steep.py", ["src/steep_all.py"]),
        (("vendor/steep.py", "src/tea/steep.py"), "src/tea/steep.py", ["vendor/steep.py"]),
        (("b/a.py", "a/a.py", "c.py"), "c.py", ["a/a.py", "b/a.py"]),
        (("z/tea.md", "tea.md"), "tea.md", ["z/tea.md"]),
    ],
)
def test_of_equal_texts_the_shortest_path_answers_and_names_the_others(
    tmp_path, paths, best, others
):
    page = f"# Tea\n\n{PROSE}\n"
    write_files(tmp_path, {path: page if path.endswith(".md") else CODE for path in paths})
    answers = structkit.ask(tmp_path, "steep tea leaves", no_model=True, no_cache=True)
    found = [(answer["path"], answer.get("also_in")) for answer in answers]
    assert [(str(tmp_path / best), [str(tmp_path / other) for other in others])] == found


def test_equal_functions_of_one_file_are_no_copies(tmp_path):
    (tmp_path / "a.py").write_text("\n\n".join(["# " + "steep tea\n# " * 60 + "\n" + CODE] * 3))
    answers = list(structkit.ask(tmp_path, "steep tea leaves", no_model=True, no_cache=True))
    assert len(answers) > 1 and not any("also_in" in answer for answer in answers)
