"""doctor and --version: what is installed, and remedies that name what helps."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from conftest import status_of
from imported import imported
from terminals import seen

import structkit
from structkit.commands.doctor import arithmetic, version
from structkit.extras import EXTRAS
from structkit.version import __version__


@pytest.fixture
def findings(monkeypatch, tmp_path):
    """What is found, by part, with a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return lambda: {each["part"]: each for each in structkit.doctor()}


def test_each_extra_for_users_has_a_use_and_its_pip_command(findings):
    extras = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    packages = {
        extra: tuple(re.match(r"[^<>=; ]+", each)[0] for each in needed)
        for extra, needed in extras["optional-dependencies"].items()
        if extra not in {"dev", "bench", "docs"}
    }
    assert {extra: needed for extra, (needed, _) in EXTRAS.items()} == packages
    found = findings()
    for extra, (needed, _) in EXTRAS.items():
        there = all(version(each.partition("[")[0]) for each in needed)
        assert there == (not found[f"extra {extra}"]["remedy"])
        assert there or found[f"extra {extra}"]["remedy"].startswith(f"pip install {needed[0]}")


def installed(folder, **versions):
    """Write the metadata of packages, as pip does."""
    for name, number in versions.items():
        (folder / f"{name}-{number}.dist-info").mkdir()
        metadata = folder / f"{name}-{number}.dist-info" / "METADATA"
        metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")


def test_an_unused_gpu_is_told(findings, monkeypatch, tmp_path):
    installed(tmp_path, torch="2.9.0+cpu")
    monkeypatch.syspath_prepend(tmp_path)
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'H100, 81559 MiB'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = findings()
    assert ("slow", "H100, 81559 MiB") == (found["GPU"]["state"], found["GPU"]["found"])
    assert "CUDA" in found["GPU"]["remedy"]
    installed(tmp_path, torch="2.9.0+cu130")
    shutil.rmtree(tmp_path / "torch-2.9.0+cpu.dist-info")
    assert ("ok", "") == tuple(findings()["GPU"][name] for name in ("state", "remedy"))
    program.write_text("#!/bin/sh\nexit 9\n")  # no GPU, whatever torch is there
    assert findings()["GPU"]["found"].startswith("none: ")
    installed(tmp_path, torch="2.9.0+cpu")
    assert findings()["GPU"]["found"].startswith("none: ")


def test_strict_fails_where_something_is_missing(monkeypatch, tmp_path, capfd):
    told = {each["part"]: each["found"] for each in structkit.doctor()}
    gone = [part for part, found in told.items() if not found]
    assert bool(gone) == bool(status_of("doctor", "--strict"))
    expected = f"structkit: missing: {', '.join(gone)}; install them as their remedies say\n"
    assert (expected if gone else "") == capfd.readouterr().err
    names = {re.match(r"[\w-]+", name)[0] for needed, _ in EXTRAS.values() for name in needed}
    installed(tmp_path, **{name: "1.0" for name in names if not version(name)})
    monkeypatch.syspath_prepend(tmp_path)
    assert not status_of("doctor", "--strict")
    assert "" == capfd.readouterr().err


def test_a_pipe_gets_records_without_a_heavy_import():
    heavy, told = imported("doctor")
    assert set() == heavy
    records = [json.loads(line) for line in told.splitlines()]
    assert all({"part", "state", "found", "remedy"} == record.keys() for record in records)
    assert {"ok", "missing", "slow", "differs", "gone"} >= {record["state"] for record in records}
    assert all(record["found"] or record["remedy"] for record in records)


@pytest.mark.parametrize("columns", [60, 500])
def test_a_terminal_gets_a_table_that_fits(columns, tmp_path):
    lines = seen(tmp_path, "doctor", columns=columns).splitlines()
    assert ["state", "part", "found"] == lines[0].split()
    whole = max(map(len, " ".join(lines).split()))  # a path to copy
    assert all(len(line) <= max(columns, lines[0].index("found") + whole) for line in lines)
    assert any(line.startswith(" " * lines[0].index("found")) for line in lines) == (columns < 80)


def test_the_version_is_told_without_a_heavy_import():
    assert (set(), f"structkit {__version__}\n".encode()) == imported("--version")


def test_nothing_advises_the_package_of_another_project():
    """`structkit` on PyPI is not ours."""
    kinds = {".py", ".md", ".txt", ".toml", ".mk", ".1", ".cff", ".jsonl"}
    folders = ("structkit", "plugins", "docs", "recipes", "fixtures/help")
    files = [path for each in folders for path in Path(each).rglob("*")]
    advised = re.compile(r"pip3? install[^`\n]*?[ '\"]structkit\b(?![-/])|\bstructkit\[[a-z]")
    told = {
        str(path): found[0]
        for path in [*files, *Path().glob("*.*"), *Path(".github").glob("*.md")]
        if path.suffix in kinds and path.is_file()
        if (found := advised.search(path.read_text("utf-8")))
    }
    assert {} == told


def test_it_says_which_way_this_machine_computes(monkeypatch):
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    found = arithmetic("AuthenticAMD", "")
    assert "ok" == found["state"] and "AuthenticAMD: MKL_CBWR COMPATIBLE" in found["found"]
    assert "oneDNN" in found["found"]
    found = arithmetic("AuthenticAMD", "MKL_CBWR is AVX2; leave it unset")
    assert ("differs", "leave it unset") == (found["state"], found["remedy"])
