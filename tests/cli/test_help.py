"""Every --help, as a golden, fixtures/help/COMMAND.txt, without what only the work imports."""

import re
from pathlib import Path

import pytest
from imported import imported_by_each
from soak.sessions import found, known

from structkit.registry import names

FLAGS = 182  # distinct ones, of all commands together
PAGES = [["structkit"], ["plot"], ["train"], *known()]


@pytest.fixture(scope="module")
def helps(tmp_path_factory):
    """The heavy packages that each page imports, and its text."""
    lines = [[*(word for word in page if word != "structkit"), "--help"] for page in PAGES]
    found = imported_by_each(tmp_path_factory.mktemp("help"), *lines)
    return dict(zip(map("-".join, PAGES), found, strict=True))


@pytest.mark.parametrize("page", PAGES, ids="-".join)
def test_help(page, golden, helps):
    heavy, told = helps["-".join(page)]
    golden(Path(f"fixtures/help/{'-'.join(page)}.txt"), told.decode())
    # a plan of steps shuffles with it
    assert heavy <= ({"numpy"} if page[0] == "train" and page[1:] else set())


def test_each_golden_file_is_the_help_of_a_command():
    pages = {f"{'-'.join(page)}.txt" for page in PAGES}
    assert pages == {path.name for path in Path("fixtures/help").iterdir()}


def test_the_number_of_flags_only_falls():
    pages = [path.read_text("utf-8") for path in Path("fixtures/help").glob("*.txt")]
    flags = re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", "\n".join(pages), re.MULTILINE)
    assert len({*flags}) <= FLAGS


def test_the_table_of_common_flags_is_exact():
    # of methods, one for all
    methods = [("train", name) for name in names("method") if name != "santa"]
    every = {
        " ".join(words).removesuffix(" santa"): found(words)
        for words in known()
        if words not in methods
    }
    flags = {
        name: {flag for each in command.params for flag in each.opts}
        for name, command in every.items()
    }
    rows = re.findall(
        r"^\| (`-.*?) \| [^|]* \| (.*) \|$", Path("docs/guide/pipes.md").read_text("utf-8"), re.M
    )
    assert len(rows) == 6
    for shown, those in rows:
        named = set(re.findall("`(.*?)`", those))
        told = set(every) - named if those.startswith("all") else named
        for flag in re.findall(r"`(-\S+?)[ `]", shown):
            assert {name for name in every if flag in flags[name]} == told, flag
