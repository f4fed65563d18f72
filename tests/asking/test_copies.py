"""The same text in several files takes one place among the answers."""

import pytest

import structkit

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
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    answers = structkit.ask(tmp_path, "how to steep tea leaves", no_model=True, no_cache=True)
    assert places == len({answer["path"] for answer in answers})
