"""The pages of docs/: what they show is what happens."""

import shutil
from pathlib import Path

import pytest
from documents import run_page

PAGES = sorted(Path("docs").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_can_be_followed(page, tmp_path):
    shutil.copytree("fixtures", tmp_path / "fixtures")
    run_page(page, tmp_path)
