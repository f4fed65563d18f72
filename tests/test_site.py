"""The site of docs/: it builds, its links lead somewhere, its numbers are those of the results."""

import re
import shutil
import subprocess
import tomllib
from dataclasses import replace
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from pathlib import Path
from queue import Queue
from threading import Thread
from urllib.parse import urlsplit

import orjson
import pytest
from conftest import python
from packaging.specifiers import SpecifierSet

from structkit import registry
from tests.benchmarks import table

RESULTS = Path("docs/results.md").read_text("utf-8")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
MEASURED = re.compile(r"(?<![\w.])\d+\.\d{3}\b")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
DATE = re.compile(r"[Mm]easured\s+20\d\d-\d\d-\d\d")
EXPERIMENTS = Path("experiments/recipes.md")
KEPT = re.compile(r"`((?:tests/benchmarks|experiments/reports)/[\w/-]+\.(?:json|md))`")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", RESULTS, re.M | re.DOTALL))


def test_the_reference_is_of_what_comes_with_structkit():
    from docs import reference

    found = registry.plugins()
    mine = replace(next(each for each in found if each.kind == "method"), name="tea", pack="mine")
    assert [*found] == reference.built_in((*found, mine))
    assert "santa" in reference.methods()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built without a broken link."""
    folder = tmp_path_factory.mktemp("site")
    words = ("-m", "mkdocs", "build", "-f", ".github/mkdocs.yml", "--strict", "--quiet")
    done = python(
        *words, "-d", folder, NO_MKDOCS_2_WARNING="1", REPOSITORY="https://example.org/tea"
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return folder


@pytest.mark.long
def test_pages_link_the_repository_and_the_reference_has_settings_and_examples(site):
    assert 'href="https://example.org/tea"' in (site / "index.html").read_text("utf-8")
    for name, word in (
        ("mask-entities", "--mask-ratio"),
        ("mask-entities", "The first one written"),
        ("encode", "pages.npy: 12 rows of 256 numbers, float32"),
        ("pair", "functions.jsonl:2: the record is not code"),
        ("train-santa", "64 x 160 tokens"),
        ("plot", "structkit plot ranks"),
        ("train-santa", "--temperature"),
        ("built-in", "right-branching"),
        ("python", "mask_entities"),
    ):
        assert word in (site / "reference" / name / "index.html").read_text("utf-8")


# opens pages on a phone's screen, one after the other, then types into the search of the last
VISIT = """<script>
const told = [], pages = PAGES, frame = document.createElement("iframe");
frame.style = "width: 390px; height: 800px; border: 0";
document.documentElement.append(frame);
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument.documentElement;
  if (page.scrollWidth > 390) told.push(`${frame.src} is ${page.scrollWidth} wide`);
  if (pages.length) return frame.src = pages.shift();
  const query = frame.contentDocument.querySelector(".md-search__input");
  query.focus(); query.value = "sentinels"; query.dispatchEvent(new Event("keyup"));
  const wait = setInterval(() => {
    const found = frame.contentDocument.querySelector(".md-search-result__item a");
    if (!found) return;
    clearInterval(wait);
    fetch("/", {method: "POST", body: JSON.stringify({told, found: found.href})});
  }, 100);
}, 100);
frame.src = pages.shift();
</script>"""


class Pages(SimpleHTTPRequestHandler):
    """The pages of the site; what a page reports comes into a queue."""

    told: Queue[bytes] = Queue()

    def do_POST(self):
        self.told.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.mark.long
def test_a_phone_shows_each_page_without_scrolling_sideways_and_searches(site, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("no browser: apt install chromium")
    pages = sorted(f"/{path.parent.relative_to(site)}/" for path in site.rglob("index.html"))
    (site / "visit.html").write_text(VISIT.replace("PAGES", str(pages)), "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=site)) as server,
        (tmp_path / "console").open("w+") as console,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/visit.html"
        command = [browser, *flags, f"--user-data-dir={tmp_path}/profile", address]
        with subprocess.Popen(command, stderr=console) as opened:
            seen = orjson.loads(Pages.told.get(timeout=600))
            opened.terminate()
        server.shutdown()
        console.seek(0)
        assert [] == [line for line in console if "CONSOLE" in line]
    assert [] == seen["told"]
    assert "sentinels" in (site / urlsplit(seen["found"]).path[1:] / "index.html").read_text(
        "utf-8"
    )


@pytest.mark.long
def test_figures_are_drawn_of_what_recipes_wrote(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    done = python("-m", "docs.figures", tmp_path)
    assert 0 == done.returncode, done.stderr
    kept = {path.name: path.read_text("utf-8") for path in Path("docs/figures").iterdir()}
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    changed = [name for name in sorted({*kept, *drawn}) if kept.get(name) != drawn.get(name)]
    assert [] == changed, "python -m docs.figures draws them again"


@pytest.mark.parametrize("page", ["README.md", ".github/CONTRIBUTING.md", ".github/RELEASING.md"])
def test_links_of_a_page_lead_somewhere(page):
    links = [link for link in LINK.findall(Path(page).read_text("utf-8")) if "://" not in link]
    assert [] == [link for link in links if not (Path(page).parent / link).exists()]


@pytest.mark.parametrize("page", ["README.md", ".github/CONTRIBUTING.md"])
def test_a_page_asks_for_the_python_of_the_package(page):
    wanted = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    told = re.findall(r"Python (.*?) is all you need", Path(page).read_text("utf-8"))
    assert [wanted.removeprefix(">=") + " or newer"] == told


def test_exact_versions_are_for_every_python_of_the_package():
    pins = re.findall(r"^([\w.-]+)==(\S+)", Path("constraints.txt").read_text("utf-8"), re.M)
    known = {(each.name, each.version): each.metadata for each in distributions()}
    here = {pin: known[pin]["Requires-Python"] or "" for pin in pins if pin in known}
    assert len(here) > 50
    assert [] == [pin for pin in here if not SpecifierSet(here[pin]).contains("3.11.0")]


@pytest.mark.parametrize("page", [Path("docs/recipes.md"), EXPERIMENTS], ids=str)
def test_each_recipe_has_a_section(page):
    sections = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.MULTILINE)
    recipes = (page.parent if page == EXPERIMENTS else Path("recipes")).glob("*.mk")
    assert sorted(path.stem for path in recipes) == sorted(sections)


FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
# of pip, make, Claude Code, gh, TensorBoard, hf and Docker
OTHERS = {"--editable", "--dry-run", "--extra-index-url", "--scope", "--json", "--logdir"}
OTHERS |= {"--local-dir", "--repo-type", "--revision", "--build-arg", "--rm"}


FOREIGN = Path("docs/scale-out.md")  # most of its flags are those of parallel, Slurm and split
PAGES = sorted({Path("README.md"), EXPERIMENTS, *Path("docs").rglob("*.md")} - {FOREIGN})


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_flags_that_a_page_names_exist(page):
    pages = [path.read_text("utf-8") for path in Path("fixtures/help").glob("*.txt")]
    known = set(FLAG.findall("\n".join(pages)))
    benchmarks = re.compile(r"`python -m [^`]*`|^python -m .*", re.M)
    text = benchmarks.sub("", page.read_text("utf-8"))
    assert set() == set(FLAG.findall(text)) - known - OTHERS


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


def test_the_table_of_benchmarks_is_that_of_their_files():
    assert table.replaced(RESULTS, table.written()) == RESULTS, "run make bench-readme"


@pytest.mark.parametrize("page", sorted(Path("docs").glob("[eg]*/*.md")), ids=str)
def test_numbers_of_a_page_are_those_of_a_file_or_of_the_results_or_have_their_date(page):
    times = re.compile(rf"{MEASURED.pattern}|\b\d+(?:\.\d+)?(?= times\b)")
    for part in unfounded(page.read_text("utf-8"), times):
        assert set(times.findall(part)) <= set(re.findall(r"\d+\.\d+", RESULTS)), part


@pytest.mark.parametrize("page", sorted(Path("docs").glob("scale*.md")), ids=str)
def test_tables_of_scale_are_those_of_its_files(page):
    text = page.read_text("utf-8")
    assert (files := KEPT.findall(text))
    rows = [
        line for file in files for line in Path(file).read_text("utf-8").splitlines() if "|" in line
    ]
    assert len(rows) > 5
    assert [] == [row for row in rows if row not in text.splitlines()]
