"""Manual pages: one for each command, with all that its --help has, which troff reads."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import completed

from docs import manual

PAGES = dict(manual.pages())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_what_the_help_has(name):
    page = PAGES[name].replace("\\-", "-").replace("\\&", "")
    told = Path(f"fixtures/help/{name.removeprefix('structkit-')}.txt").read_text("utf-8")
    for flag in re.findall(r"(?<=[ ,/])--[a-z0-9-]+(?=[ ,])", told.partition("Options:")[2]):
        assert flag in page
    for line in told.partition("Examples:\n")[2].splitlines():
        assert line.strip().replace("\\", "\\e") in page


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_troff_reads_them_without_a_warning(tmp_path):
    manual.write(tmp_path)
    paths = sorted(map(str, tmp_path.iterdir()))
    done = completed(["groff", *"-man -Tutf8 -K utf8 -ww -rLL=200n".split(), *paths], check=True)
    assert "" == done.stderr.decode()
    assert 2 * len(paths) <= done.stdout.count(b"STRUCTKIT")  # at the head of each page
