"""The site of docs/: it builds, its links lead somewhere, its numbers are those of the results."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import environment

RESULTS = Path("docs/results.md").read_text("utf-8")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
MEASURED = re.compile(r"(?<![\w.])\d+\.\d{3}\b")


def test_it_can_be_built_without_a_broken_link(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    quiet = environment(NO_MKDOCS_2_WARNING="1")
    done = subprocess.run(command, capture_output=True, text=True, env=quiet)
    assert 0 == done.returncode, done.stdout + done.stderr
    for name, word in (
        ("commands", "--mask-ratio"),
        ("methods", "--temperature"),
        ("plugins", "right-branching"),
        ("python", "mask_entities"),
    ):
        assert word in (tmp_path / "reference" / name / "index.html").read_text("utf-8")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_of_a_page_lead_somewhere(page):
    links = [link for link in LINK.findall(Path(page).read_text("utf-8")) if "://" not in link]
    assert [] == [link for link in links if not Path(link).exists()]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_a_page_asks_for_the_python_of_the_package(page):
    wanted = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    told = re.findall(r"Python (.*?) is all you need", Path(page).read_text("utf-8"))
    assert [wanted.removeprefix(">=") + " or newer"] == told


def test_each_recipe_is_told():
    told = re.findall(r"^## (.+)$", Path("docs/recipes.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(path.stem for path in Path("recipes").glob("*.mk")) == sorted(told)


FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
OTHERS = {"--editable", "--dry-run"}  # of pip and make


FOREIGN = Path("docs/scale-out.md")  # most of its flags are those of parallel, Slurm and split
PAGES = sorted({Path("README.md"), *Path("docs").rglob("*.md")} - {FOREIGN})


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_flags_that_a_page_names_exist(page):
    pages = [path.read_text("utf-8") for path in Path("fixtures/help").glob("*.txt")]
    known = set(FLAG.findall("\n".join(pages)))
    text = re.sub("`python -m [^`]*`", "", page.read_text("utf-8"))  # benchmarks
    assert set() == set(FLAG.findall(text)) - known - OTHERS


@pytest.mark.parametrize("page", sorted(Path("docs/explanation").glob("*.md")), ids=str)
def test_numbers_of_an_explanation_are_those_of_the_results(page):
    numbers = MEASURED.findall(page.read_text("utf-8"))
    assert [] == [number for number in numbers if number not in RESULTS]
