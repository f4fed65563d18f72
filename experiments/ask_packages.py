"""The packages whose code and manuals the bundled table reads: downloaded, and unpacked.

    python -m experiments.ask_packages PACKAGES.tsv FOLDER

FOLDER gets a folder for each package, without tests, vendored copies and generated files.
`pip`, `npm` and `apt-get source` download; versions that are gone are named.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

COMMANDS = {
    "pypi": "pip download --quiet --no-deps --only-binary :all: {}=={}",
    "npm": "npm pack --silent {}@{}",
    "deb": "apt-get source --quiet --download-only {}={}",
}
# large ones: the parts that are read
PARTS = {
    "golang-1.19": "src/",
    "rustc": "library/|compiler/",
    "mono": "mcs/class/",
    "tomcat9": "java/",
}
ENDINGS = frozenset(
    "py js mjs jsx ts tsx go java rb php rs c h cc cpp cxx hpp hh cs kt scala swift lua ex exs"
    " md rst".split()
)
# copies of other projects, among them those of our questions; tests, generated files, notes
LEFT = re.compile(
    r"(^|/)(_?vendor(ed)?|third_?party|3rdparty|external|extern|deps|node_modules|bundled|tests?"
    r"|__tests__|testing|testdata|specs?|fixtures?|benchmarks?|bench|examples?|samples?|locale"
    r"|licenses|uv|requests|flask|click|guzzle|nlohmann|gson|rack|express|zod|axum|xarray|seaborn"
    r"|pytest|sphinx|json\.hpp|libuv|cjson)(/|$)"
    r"|\.min\.|_pb2|\.d\.ts$|(^|/)(change|history|news|licen|copying)",
    re.IGNORECASE,
)
LARGEST, MOST = 400_000, 16_000_000  # bytes of a file, and of a package


def files(archive: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Yield the path, the size and a reader of each file in an archive."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for each in opened.infolist():
                yield each.filename, each.file_size, partial(opened.read, each)
    else:
        with tarfile.open(archive) as packed:
            for entry in packed:
                if entry.isfile() and (content := packed.extractfile(entry)):
                    yield entry.name, entry.size, content.read


def unpack(archives: Sequence[Path], folder: Path, part: str) -> None:
    """Write the files that are read: code and prose, but no tests and copies, and none elsewhere.

    >>> given = ("a.py", "tests/b.py", "_vendor/c.py", "d.min.js", "e.png", "../../f.py")
    >>> with TemporaryDirectory() as box:
    ...     with zipfile.ZipFile(f"{box}/p.whl", "w") as wheel:
    ...         for name in given:
    ...             wheel.writestr(f"p/{name}", "x")
    ...     unpack([Path(box, "p.whl")], Path(box, "p"), "")
    ...     sorted(each.name for each in Path(box, "p").rglob("*.*"))
    ['a.py']
    """
    left = MOST
    for path, size, content in (each for archive in archives for each in files(archive)):
        inside = path.partition("/")[2] or path
        wanted = path.rpartition(".")[2].lower() in ENDINGS and not LEFT.search(inside)
        place = (folder / path).resolve()
        if wanted and re.search(part, inside[:40]) and size < min(LARGEST, left):
            if place.is_relative_to(folder.resolve()):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content())
                left -= size


def download(row: dict[str, str], into: Path) -> str:
    """Fill the folder of a package, and return a line where it cannot be downloaded."""
    registry, name = row["registry"], row["name"]
    folder = into / f"{registry}-{name.replace('/', '+')}"
    if folder.exists():
        return ""
    with TemporaryDirectory(dir=into) as box:
        command = COMMANDS[registry].format(name, row["version"]).split()
        if subprocess.run(command, cwd=box, check=False, stdout=subprocess.DEVNULL).returncode:
            return f"cannot be downloaded: {registry} {name} {row['version']}"
        names = "*.orig*[!c]" if registry == "deb" else "*"  # no signature, .asc
        archives, made = sorted(Path(box).glob(names)), Path(box, "made")
        made.mkdir()
        unpack(archives, made, PARTS.get(name, ""))
        made.rename(folder)  # whole or not at all
    return ""


def main(words: Sequence[str] | None = None) -> None:
    """Fill the folder of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(words)
    with given.packages.open(encoding="utf-8") as lines, ThreadPoolExecutor(8) as pool:
        given.folder.mkdir(parents=True, exist_ok=True)
        rows = list(csv.DictReader(lines, delimiter="\t"))
        for line in pool.map(partial(download, into=given.folder), rows):
            if line:
                print(line, flush=True)


if __name__ == "__main__":
    main()
