"""A release as it would be uploaded, and what is looked at before.

    python3 -m tests.release                        # make dist: wheel and sdist of HEAD, in dist/
    python3 -m tests.release python3.11 python3.12  # make release-check: installed and tested too

Needs no package: the tools go into an environment of their own, so that what they need is none of
what development needs. The list of packages is CycloneDX, by CycloneDX's own tool: one of ours
would be one more format to keep right.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT, WORK, DIST = Path.cwd(), Path("build/release").absolute(), Path("dist").absolute()
TOOLS = ("build", "cyclonedx-bom", "twine")
LARGEST = {".whl": 15_000_000, ".tar.gz": 20_000_000}  # bytes
# what building adds to the files of the repository
MADE = re.compile(r"PKG-INFO|setup\.cfg|structkit_retrieval\.egg-info/.*")
ABOUT = re.compile(
    r"structkit_retrieval-[\d.]+\.dist-info/"
    r"(METADATA|WHEEL|RECORD|entry_points\.txt|top_level\.txt|licenses/(LICENSE|NOTICE))"
)
CODE = re.compile(r".*\.pyi?|.*/(py\.typed|README\.md|LICENSE\.txt)")
SESSION = re.compile(r"^```console[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)


def sources(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files that a wheel has of those of the repository: each with its name there."""
    for file in files:
        top, _, rest = file.partition("/")
        if top in ("structkit", "plugins"):
            yield file, f"structkit_plugins/{rest}" if top == "plugins" else file
        elif rest.startswith("man/") and top == "docs":
            yield file, f"share/man/man1/{rest.removeprefix('man/')}"


def complaints(files: set[str], sdist: Path, wheel: Path, notice: str) -> Iterator[str]:
    """What is wrong with two archives that were made of the files of the repository."""
    for path in (sdist, wheel):
        [most] = (size for end, size in LARGEST.items() if path.name.endswith(end))
        if path.stat().st_size > most:
            yield f"{path.name} has {path.stat().st_size:,} bytes, more than {most:,}"
    with tarfile.open(sdist) as packed:
        members = {each.name.partition("/")[2] for each in packed if each.isfile()}
    members = {name for name in members if not MADE.fullmatch(name)}
    with zipfile.ZipFile(wheel) as zipped:
        inside = {re.sub(r"^[^/]*\.data/data/", "", name) for name in zipped.namelist()}
    about = {name for name in inside if ABOUT.fullmatch(name)}
    expected = {name for _, name in sources(files)}
    for archive, found, wanted in (("sdist", members, files), ("wheel", inside - about, expected)):
        yield from (f"the {archive} lacks {name}" for name in sorted(wanted - found))
        yield from (f"{name} should not be in the {archive}" for name in sorted(found - wanted))
    for word in ("LICENSE", "NOTICE"):
        if not any(name.endswith(f"/licenses/{word}") for name in about):
            yield f"the wheel lacks {word}"
    told = notice.splitlines()
    for name in sorted(expected):
        if not CODE.fullmatch(name) and not name.startswith("share/man/") and name not in told:
            yield f"NOTICE does not say whose {name} is"


def walk(readme: str) -> str:
    """The commands of README's sessions, as a script that ends at the first that fails."""
    blocks = "\n".join(SESSION.findall(readme))
    return "\n".join(["set -euxo pipefail", *COMMAND.findall(blocks), "structkit --version"])


def run(*words: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """What a program prints; its errors too, and the end of all, if it fails."""
    env = {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=env | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{done.stdout[-8000:]}\nFAILED: {' '.join(map(str, words))[:300]}")
    return done.stdout


def run_outside(script: str, programs: Path) -> None:
    """Run a script in a folder with the fixtures: files in build/ of the clone are ignored."""
    with tempfile.TemporaryDirectory() as outside:
        shutil.copytree(WORK / "source/fixtures", Path(outside, "fixtures"))
        own = {"XDG_CACHE_HOME": outside, "XDG_DATA_HOME": outside}
        path = f"{programs}:{os.environ['PATH']}"
        run("bash", "-c", script, cwd=Path(outside), PATH=path, **own)


def say(what: str, since: float) -> None:
    print(f"ok  {what}  ({time.monotonic() - since:.0f} s)", flush=True)


def environment(python: str, folder: Path, *packages: str | Path, **variables: str) -> Path:
    """The folder with the programs of a new environment that has these packages."""
    run(python, "-m", "venv", "--clear", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--no-compile", *packages, **variables)
    return folder / "bin"


def mebibytes(folder: Path) -> int:
    """The size of a folder."""
    return int(run("du", "-sm", folder).split()[0])


def distribution() -> tuple[Path, Path]:
    """The sdist of HEAD and the wheel that is made of it, in dist/; what is wrong is an error."""
    start = time.monotonic()
    if not Path(".git").exists():
        sys.exit("a release is made of a clone: here is no .git")
    if changed := run("git", "status", "--porcelain"):
        print(f"HEAD is looked at, not what has changed since:\n{changed}", flush=True)
    shutil.rmtree(WORK, ignore_errors=True)
    source = WORK / "source"
    source.mkdir(parents=True)
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("structkit_retrieval-*"):
        old.unlink()
    run("git", "archive", "--output", WORK / "head.tar", "HEAD")
    shutil.unpack_archive(WORK / "head.tar", source)  # tarfile's filters are newer than 3.11.0
    shutil.copytree("docs/man", source / "docs/man")  # made, and not in the repository
    files = {str(each.relative_to(source)) for each in source.rglob("*") if each.is_file()}
    tools = environment(sys.executable, WORK / "tools", "-c", "constraints.txt", *TOOLS)
    run(tools / "python", "-m", "build", "--outdir", DIST, source)
    [sdist], [wheel] = (DIST.glob(f"structkit_retrieval-*{end}") for end in (".tar.gz", ".whl"))
    run(tools / "twine", "check", "--strict", sdist, wheel)
    if wrong := list(complaints(files, sdist, wheel, (source / "NOTICE").read_text("utf-8"))):
        sys.exit("\n".join(["FAILED: contents", *wrong]))
    sizes = ", ".join(f"{each.name} {each.stat().st_size / 1e6:.1f} MB" for each in (sdist, wheel))
    say(f"dist/: {sizes}; metadata, contents, NOTICE", start)
    return sdist, wheel


def installed(name: str, python: str, wheel: Path) -> Path:
    """The programs of an empty environment with the wheel, in which README was walked through."""
    start = time.monotonic()
    programs = environment(python, WORK / name, f"{wheel}[train]")
    run(programs / "python", "-m", "pip", "check")
    size = mebibytes(programs.parent)
    say(f"{name}: the wheel with the extra train, pip check; {size:,} MiB", start)
    start = time.monotonic()
    run_outside(walk((WORK / "source/README.md").read_text("utf-8")), programs)
    say(f"{name}: README's sessions, outside of the clone", start)
    return programs


def listed(programs: Path, wheel: Path) -> None:
    """Write the packages of an environment as dist/*.cdx.json; each that we need is among them."""
    start = time.monotonic()
    path = wheel.with_name(f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json")
    settings = WORK / "source/pyproject.toml"
    words = ("--pyproject", settings, "--mc-type", "application", "--output-reproducible")
    tool = WORK / "tools/bin/cyclonedx-py"
    run(tool, "environment", *words, "--output-file", path, programs / "python")
    parts = [each["name"] for each in json.loads(path.read_bytes())["components"]]
    plain = {re.sub("[-_.]+", "-", name).lower() for name in parts}
    needs = tomllib.loads(settings.read_text("utf-8"))["project"]["dependencies"]
    names = (re.match(r"[\w.-]+", each)[0] for each in needs)
    if lacks := {re.sub("[-_.]+", "-", name).lower() for name in names} - plain:
        sys.exit(f"FAILED: {path.name} lacks {lacks}")
    say(f"{path.name}: {len(parts)} packages", start)


def light(python: str, wheel: Path) -> None:
    """Without extras: no torch, and a question is answered."""
    start = time.monotonic()
    programs = environment(python, WORK / "light", wheel)
    if "\ntorch " in run(programs / "python", "-m", "pip", "list"):
        sys.exit("FAILED: the light installation has torch")
    run(programs / "python", "-m", "pip", "check")
    run_outside(
        "structkit ask fixtures/collect/src 'how is the area of a circle computed'", programs
    )
    say(f"without extras: no torch, ask answers; {mebibytes(programs.parent)} MiB", start)


def tested(name: str, python: str, sdist: Path) -> None:
    """`make test` of the unpacked sdist, outside of the clone, with an environment of its own."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as outside:
        shutil.unpack_archive(sdist, outside)
        [source] = Path(outside).iterdir()
        told = run("make", "test", f"PYTHON={python}", cwd=source)
    say(f"{name}: make test of the sdist: {re.findall('.* passed.*', told)[-1]}", start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pythons", nargs="*", help="interpreters to look at it with")
    parser.add_argument("--tested", help="those that run its tests, between blanks (default: all)")
    given = parser.parse_args()
    sdist, wheel = distribution()
    versions = {}
    for name in given.pythons:
        command = [name, "-c", "import sys; print(sys.version.split()[0])"]
        if (
            shutil.which(name)
            and not (done := subprocess.run(command, capture_output=True)).returncode
        ):
            versions[name] = done.stdout.decode().strip()
    for count, name in enumerate(versions):
        version = versions[name]
        programs = installed(version, name, wheel)
        if not count:
            listed(programs, wheel)
            light(name, wheel)
        if given.tested is None or name in given.tested.split():
            tested(version, name, sdist)
        shutil.rmtree(WORK / version, ignore_errors=True)
    if absent := [name for name in given.pythons if name not in versions]:
        sys.exit(f"NOT RUN: no interpreter {', '.join(absent)}; PYTHONS='…' names others")


if __name__ == "__main__":
    main()
