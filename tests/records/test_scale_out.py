"""docs/guide/scale.md: each engine gives the bytes of one process.

`make test-engines` installs Spark and Ray; where they are missing, their tests fail.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from documents import run_page

PAGE = Path("docs/guide/scale.md")
START, *REST = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
SECTIONS = {part.partition("\n")[0]: part for part in REST if "```console" in part}
INSTALLED = {
    "GNU parallel": bool(shutil.which("parallel")),
    "Slurm": True,  # a loop stands for its array
    "Large corpora": True,
}
ENGINES = ("Spark", "Ray")


@pytest.fixture
def follow(tmp_path):
    """Follow the page's start and a section, in which programs are called by their names."""
    shutil.copytree("fixtures/code", tmp_path / "fixtures/code")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("structkit", "-m structkit"), ("python3", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    quiet = {"PARALLEL_HOME": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    quiet |= {"HOME": str(tmp_path), "SHELL": "/bin/sh"}  # it complains if one is missing
    quiet["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")  # pyspark may be there
    quiet |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    (tmp_path / "will-cite").touch()  # parallel asks for it once, at a terminal

    def run(section):
        (tmp_path / "page.md").write_text(START + section)
        run_page(tmp_path / "page.md", tmp_path, PATH=f"{programs}:{os.environ['PATH']}", **quiet)

    return run


@pytest.mark.long
@pytest.mark.parametrize("engine", INSTALLED)
def test_an_engine_gives_the_bytes_of_one_process(engine, follow):
    if not INSTALLED[engine]:
        pytest.skip(f"{engine} is not installed")
    follow(SECTIONS[engine])


# the first worker is killed: with Spark after some of its output
SPARK_DIES = r"""
```console
$ mv bin/structkit bin/whole
$ echo '#!/bin/sh' > bin/structkit; chmod +x bin/structkit
$ echo 'mkdir died 2> /dev/null || exec whole "$@"' >> bin/structkit
$ echo 'whole "$@" | head -n 3; kill -9 $$' >> bin/structkit
```
"""
RAY_DIES = """
    import os
    if not os.path.exists("{0}"):
        os.mkdir("{0}")
        os.kill(os.getpid(), 9)
"""
BAD = """
```console
$ echo '{"id":"bad"}' >> records.jsonl
$ python3 NAME 2>&1; echo status $?
…field "code" is missing; …SAID…status 1
```
"""


@pytest.mark.engines
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_worker_changes_no_byte(engine, follow, tmp_path):
    section = SECTIONS[engine]
    if engine == "Spark":
        section = section.replace("local[2]", "local[2, 3]")
        section = section.replace("```console", f"{SPARK_DIES}\n```console", 1)
    else:
        dies = RAY_DIES.format(tmp_path / "died")
        section = section.replace("def mask(batch):", f"def mask(batch):{dies}")
    follow(section)
    assert (tmp_path / "died").is_dir()


@pytest.mark.engines
@pytest.mark.parametrize("engine", ENGINES)
def test_an_invalid_record_ends_the_job_and_is_shown(engine, follow, tmp_path):
    stage = SECTIONS[engine].partition("```console")[0]
    name, said = ("stage.py", "exited") if engine == "Spark" else ("stage_ray.py", "ray.exceptions")
    follow(stage + BAD.replace("NAME", name).replace("SAID", said))
    assert not (tmp_path / "spark/_SUCCESS").exists()


def test_each_section_is_followed():
    assert {*INSTALLED, *ENGINES} == SECTIONS.keys()
