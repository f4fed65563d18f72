"""A release: what is in its archives, and what is said of it in several places."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from docs import manual
from structkit.extras import EXTRAS
from structkit.version import __version__
from tests import release

BACKEND = (
    "import sys, setuptools.build_meta as made; print(getattr(made, sys.argv[1])(sys.argv[2]))"
)


def build(hook, source, folder):
    """What the build backend makes in a folder: an archive, or metadata."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", BACKEND, hook, str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True)
    return folder / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The files of the repository, the sdist that is made of a copy, and the wheel of that."""
    if not Path(".git").exists():
        pytest.skip("an sdist is made of a clone")
    folder = tmp_path_factory.mktemp("release")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    files = {name for name in listed.splitlines() if Path(name).exists()}
    for name in files:
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, folder / "copy" / name)
    manual.write(folder / "copy/docs/man")
    files |= {f"docs/man/{page.name}" for page in (folder / "copy/docs/man").iterdir()}
    sdist = build("build_sdist", folder / "copy", folder / "dist")
    shutil.unpack_archive(sdist, folder)
    source = folder / sdist.name.removesuffix(".tar.gz")
    return files, sdist, build("build_wheel", source, folder / "dist"), source


@pytest.mark.long
def test_archives_hold_what_they_should_and_nothing_else(archives, tmp_path):
    files, sdist, wheel, source = archives
    notice = (source / "NOTICE").read_text("utf-8")
    assert [] == list(release.complaints(files, sdist, wheel, notice))
    assert ["NOTICE does not say whose structkit/learning/builtin/model.safetensors is"] == list(
        release.complaints(files, sdist, wheel, notice.replace("builtin/model", ""))
    )
    more, less = {*files, "structkit/tea.py"}, files - {"Makefile"}
    lacks = [f"the {archive} lacks structkit/tea.py" for archive in ("sdist", "wheel")]
    assert lacks == list(release.complaints(more, sdist, wheel, notice))
    assert ["Makefile should not be in the sdist"] == list(
        release.complaints(less, sdist, wheel, notice)
    )
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    command = [sys.executable, "-m", "structkit", "plugins"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path)
    assert b'"pack":"structkit_plugins"' in done.stdout


@pytest.mark.long
def test_a_stranger_asks_without_torch_in_less_than_half_a_gigabyte(archives, tmp_path):
    _, _, wheel, source = archives
    programs = release.environment(
        sys.executable, tmp_path / "venv", "-c", source / "constraints.txt", wheel
    )
    assert not [*(tmp_path / "venv").glob("lib/*/site-packages/torch")]
    assert release.mebibytes(tmp_path / "venv") < 500
    (tmp_path / "area.py").write_text("def area(radius):\n    return 3.14 * radius**2\n")

    def said(*words):
        done = subprocess.run(
            [programs / "structkit", *words], cwd=tmp_path, capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    status, answers, _ = said("ask", "area.py", "how is the area of a circle computed")
    assert (0, "area.py") == (status, json.loads(answers.splitlines()[0])["path"])
    status, _, problem = said("train", "santa", "area.py", "-o", "model")
    remedy = f"pip install {' '.join(EXTRAS['train'])}"
    assert f"structkit: this needs the package torch of the extra train; {remedy}\n" == problem


def test_readme_is_walked_through():
    walked = release.walk(Path("README.md").read_text("utf-8")).splitlines()
    assert ["set -euxo pipefail", "structkit --version"] == [walked[0], walked[-1]]
    commands = {line.split()[1] for line in walked if line.startswith("structkit ")}
    assert {"ask", "pair", "train", "encode", "search", "score"} <= commands
    assert "--learning-rate 3e-3 --epochs 10" in "\n".join(walked)  # a command of several lines


def test_version_and_date_are_told_alike():
    said = Path("CHANGELOG.md").read_text("utf-8")
    version, date = re.findall(r"^## (\S+) - (\S+)$", said, re.MULTILINE)[0]
    citation = Path("CITATION.cff").read_text("utf-8")
    assert re.findall("^version: (.*)\ndate-released: (.*)$", citation, re.M) == [(version, date)]
    assert __version__ == version
    [name] = re.findall('^name = "(.*?)"', Path("pyproject.toml").read_text("utf-8"), re.M)
    assert f"distribution {name})" in citation
