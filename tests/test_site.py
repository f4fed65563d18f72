"""The site of docs/: it builds, its links lead somewhere, its numbers are those of the results."""

import re
from functools import cache
from pathlib import Path

import pytest
from conftest import python

from tests.benchmarks import table

RESULTS = {
    page: Path(page).read_text("utf-8")
    for page in ("docs/results.md", "experiments/results.md", str(table.PAGE))
}
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
DATE = re.compile(r"[Mm]easured\s+20\d\d-\d\d-\d\d")
EXPERIMENTS = Path("experiments/recipes.md")
KEPT = re.compile(r"`((?:tests/benchmarks|experiments/reports)/[\w/-]+\.(?:json|md))`")
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.M | re.DOTALL)
# tables that other tests make again
WRITTEN = re.compile(r"<!-- (written|bench).*?<!-- (until|/bench).*?-->", re.DOTALL)
SECTIONS = {
    f"{page} {title}": text
    for page, content in RESULTS.items()
    for title, text in SECTION.findall(WRITTEN.sub("", content))
    if re.search(r"\d\.\d", CODE.sub("", text))
}


@pytest.mark.long
def test_the_site_builds_with_its_reference_and_no_broken_link(tmp_path):
    words = ("-m", "mkdocs", "build", "-f", ".github/mkdocs.yml", "--strict")
    variables = {"NO_MKDOCS_2_WARNING": "1", "REPOSITORY": "https://example.org/tea"}
    done = python(*words, "-d", tmp_path / "site", **variables)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert 'href="https://example.org/tea"' in (tmp_path / "site/index.html").read_text("utf-8")
    for name, word in (
        ("mask-entities", "--mask-ratio"),
        ("pair", "functions.jsonl:2: the record is not code"),
        ("train-santa", "--temperature"),
        ("built-in", "right-branching"),
        ("python", "mask_entities"),
    ):
        assert word in (tmp_path / "site/reference" / name / "index.html").read_text("utf-8")


@pytest.mark.long
def test_figures_are_drawn_of_what_recipes_wrote(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    done = python("-m", "docs.figures", tmp_path)
    assert 0 == done.returncode, done.stderr
    kept = {path.name: path.read_text("utf-8") for path in Path("docs/figures").iterdir()}
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    changed = [name for name in sorted({*kept, *drawn}) if kept.get(name) != drawn.get(name)]
    assert [] == changed, "python -m docs.figures draws them again"


OF_GITHUB = ".github/CONTRIBUTING.md", ".github/RELEASING.md"


@pytest.mark.parametrize("page", ["README.md", *OF_GITHUB, *RESULTS])
def test_links_of_a_page_lead_somewhere(page):
    """mkdocs checks the links of docs/."""
    links = [link for link in LINK.findall(Path(page).read_text("utf-8")) if "://" not in link]
    assert [] == [link for link in links if not (Path(page).parent / link).exists()]


@pytest.mark.parametrize("page", [Path("docs/recipes.md"), EXPERIMENTS], ids=str)
def test_each_recipe_has_a_section(page):
    sections = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.MULTILINE)
    recipes = (page.parent if page == EXPERIMENTS else Path("recipes")).glob("*.mk")
    assert sorted(path.stem for path in recipes) == sorted(sections)


FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
# of pip, make, Claude Code, gh, hf and Docker
OTHERS = {"--editable", "--dry-run", "--extra-index-url", "--scope", "--json"}
OTHERS |= {"--build-arg", "--rm"}
FOREIGN = Path("docs/guide/scale.md")  # most of its flags are those of parallel, Slurm and split
PAGES = {Path("README.md"), EXPERIMENTS, *map(Path, RESULTS), *Path("docs").rglob("*.md")}
PAGES -= {FOREIGN}


def test_flags_that_a_page_names_exist():
    pages = [path.read_text("utf-8") for path in Path("fixtures/help").glob("*.txt")]
    known = {*FLAG.findall("\n".join(pages)), *OTHERS}
    benchmarks = re.compile(r"`python -m [^`]*`|^python -m .*", re.M)
    texts = {page: benchmarks.sub("", page.read_text("utf-8")) for page in PAGES}
    unknown = {page: {*FLAG.findall(text)} - known for page, text in texts.items()}
    assert {} == {page: flags for page, flags in unknown.items() if flags}


def unfounded(text, number):
    """The parts of a text, but those with a date, where such a number is in no file it names."""
    kept = "".join(Path(file).read_text("utf-8") for file in KEPT.findall(text))
    values = [float(each) for each in re.findall(r"\d+\.\d+", kept)]
    rounded = cache(lambda digits: {f"{value:.{digits}f}" for value in values})
    for part in re.split(r"\n\n(?!\|)|\n(?=- )", CODE.sub("", text)):
        for found in [] if DATE.search(part) else number.findall(part):
            if found not in rounded(len(found.partition(".")[2])):
                yield part


@pytest.mark.parametrize("section", SECTIONS)
def test_numbers_of_the_results_are_in_a_file_or_have_their_date(section):
    """A date is that of its paragraph and table; of the whole section, if this names no file."""
    text = SECTIONS[section]
    if not KEPT.search(text):
        assert DATE.search(text)
    else:
        assert [] == list(unfounded(text, re.compile(r"(?<![\w.])\d+\.\d+")))


def test_numbers_of_a_page_are_those_of_a_file_or_of_the_results_or_have_their_date():
    times = re.compile(r"(?<![\w.])\d+\.\d{3}\b|\b\d+(?:\.\d+)?(?= times\b)")
    known = {*re.findall(r"\d+\.\d+", "".join(RESULTS.values()))}
    derived = Path("docs/explanation/claims.md")  # tests/experiments/test_claims.py
    for page in {*Path("docs").glob("[eg]*/*.md")} - {derived}:
        for part in unfounded(page.read_text("utf-8"), times):
            assert {*times.findall(part)} <= known, (page, part)


def test_the_table_of_benchmarks_is_that_of_their_files():
    page = RESULTS[str(table.PAGE)]
    assert table.replaced(page, table.written()) == page, "run make bench-readme"
