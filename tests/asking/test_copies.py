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


SESSIONS = "# Sessions\n\n" + " ".join(
    f"A session of the {kind} store lives for an hour and is renewed when it is used."
    for kind in "file memory network table client".split()
)


@pytest.mark.parametrize(
    "folder",
    [
        "docs_v1",
        "versioned_docs/version-1.x",
        "docs/v1",
        "docs/0.9",
        "docs/v1beta1",
        "release-1_28/docs",
        "docs/archive/1.0.0-rc.1",
    ],
)
@pytest.mark.parametrize("current", ["docs", "docs/v2", "docs-2.0", "docs/latest", "docs/develop"])
def test_the_current_page_leads_and_names_the_old_ones(tmp_path, folder, current):
    old = SESSIONS.replace("is renewed", "will be renewed", 1)
    write_files(tmp_path, {f"{folder}/a.md": old, f"{current}/a.md": SESSIONS, "b.py": "x = 1"})
    options = {"kind": "docs", "no_model": True, "no_cache": True}
    (answer,) = structkit.ask(tmp_path, "how long does a session live", **options)
    assert (str(tmp_path / current / "a.md"), [str(tmp_path / folder / "a.md")]) == (
        answer["path"],
        answer["also_in"],
    )


@pytest.mark.parametrize(
    ("word", "other"),
    [("an hour", "2 hours"), ("the file", "the file_store"), ("is used", "isUsed")],
)
def test_prose_with_other_numbers_or_names_is_no_copy(tmp_path, word, other):
    old = SESSIONS.replace(word, other, 1)
    write_files(tmp_path, {"docs/v1/a.md": old, "docs/a.md": SESSIONS, "b.py": "x = 1"})
    found = structkit.ask(tmp_path, "session store", kind="all", no_model=True, no_cache=True)
    paths = [each["path"].removeprefix(f"{tmp_path}/") for each in found]
    assert ["docs/a.md", "docs/v1/a.md"] == paths


def test_a_part_of_a_page_is_no_copy(tmp_path):
    part = "# Sessions\n\nA session of the store lives for an hour. It is renewed by each use."
    more = " Tea is warm and green. Cups are small or large, and pots hold more of them than one."
    write_files(tmp_path, {"a.md": part, "b.md": part + more, "c.py": "x = 1"})
    found = structkit.ask(tmp_path, "session store", no_model=True, no_cache=True)
    assert 2 == len(list(found))
