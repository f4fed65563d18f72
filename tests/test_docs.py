"""The pages of docs/: what they show is what happens."""

import shutil
import site
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from documents import FENCE, run_page

GUIDE = Path("docs/guide")
PACK, PLUGINS = GUIDE / "plugins.md", sorted(GUIDE.glob("plugin-*.md"))
ENGINES = Path("docs/guide/scale.md")  # its sections need tools: tests/records/test_scale_out.py
OTHERS = sorted(set(Path("docs").rglob("*.md")) - {PACK, ENGINES, *PLUGINS})
OFFLINE = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
# one page of each kind
QUICK = {Path("docs/guide/pipes.md"), Path("docs/guide/plugin-format.md")}


def quick_first(pages):
    """The pages as long tests, except the quick ones and those without a session."""
    for page in pages:
        runs = FENCE.search(page.read_text("utf-8"))
        long = runs and page not in QUICK
        marks = [pytest.mark.long] if long else []
        if page.stem == "plugin-language" and not find_spec("tree_sitter_julia"):
            marks.append(pytest.mark.skip("needs tree-sitter-julia"))
        yield pytest.param(page, marks=marks)


def test_the_pages_stay_short():
    pages = [Path("README.md"), *Path("docs").rglob("*.md")]
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 20_000


@pytest.mark.parametrize("page", list(quick_first(OTHERS)), ids=str)
def test_a_page_can_be_followed(page, tmp_path):
    shutil.copytree("fixtures", tmp_path / "fixtures")
    run_page(page, tmp_path)


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """A folder with an empty pack, and the Python of an environment that has it."""
    folder = tmp_path_factory.mktemp("plugins")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    [packages] = (folder / "venv").glob("lib/*/site-packages")
    lines = [f"import site; site.addsitedir({path!r})" for path in site.getsitepackages()]
    (packages / "outer.pth").write_text("\n".join(lines))
    python = str(folder / "venv/bin/python")
    run_page(PACK, folder, PYTHON=python, OUTER=sys.executable, **OFFLINE)
    return folder, python


@pytest.mark.parametrize("page", list(quick_first(PLUGINS)), ids=str)
def test_what_a_page_plugs_in_works(page, pack):
    folder, python = pack
    run_page(page, folder, PYTHON=python)
