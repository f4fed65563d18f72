"""docs/guide/scale.md: each engine that is installed gives the bytes of one process."""

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from documents import run_page

PAGE = Path("docs/guide/scale.md")
START, *REST = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
SECTIONS = {part.partition("\n")[0]: part for part in REST if "```console" in part}
INSTALLED = {
    "GNU parallel": bool(shutil.which("parallel")),
    "Slurm": True,  # a loop stands for its array
    "make": bool(shutil.which("make")),
    "Large corpora": True,
    "Spark": bool(find_spec("pyspark") and shutil.which("java")),
}


LONG = [pytest.param(name, marks=pytest.mark.long) for name in SECTIONS if name != "make"]


@pytest.mark.parametrize("engine", ["make", *LONG])
def test_an_engine_gives_the_bytes_of_one_process(engine, tmp_path):
    if not INSTALLED[engine]:
        pytest.skip(f"{engine} is not installed")
    shutil.copytree("fixtures/code", tmp_path / "fixtures/code")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("structkit", "-m structkit"), ("python3", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    page = tmp_path / "page.md"
    page.write_text(START + SECTIONS[engine])
    quiet = {"PARALLEL_HOME": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    quiet |= {"HOME": str(tmp_path), "SHELL": "/bin/sh"}  # it complains if one is missing
    quiet |= {"MAKEFLAGS": "", "MAKELEVEL": "0"}  # whoever runs the tests may be make
    quiet["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")  # pyspark may be there
    (tmp_path / "will-cite").touch()  # parallel asks for it once, at a terminal
    run_page(page, tmp_path, PATH=f"{programs}:{os.environ['PATH']}", **quiet)


def test_each_section_is_followed():
    assert INSTALLED.keys() == SECTIONS.keys()
