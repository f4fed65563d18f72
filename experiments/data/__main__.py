"""`make data`: bring sets of data here, each from a public address at a pinned revision.

    python -m experiments.data SET … --to data [--mirror FOLDER] [--sets FILE]

Says first what a set is, its license, and what it costs. A set that is here is left as it is, but a
file of it that changed is named and made again. The same command goes on where it stopped. MIRROR
has copies of repositories, as OWNER/NAME.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from experiments.data import downloads, exact
from experiments.data.exact import Order, Record
from experiments.data.git import Missing
from structkit.progress import waiting
from structkit.records.output import whole_file

SETS = Path(__file__).with_name("sets.yaml")
MARK = ".fetched"  # the digest of what was pinned, then the sha256 and name of each file
# the names of files, with their content, if it is not written yet
Made = Callable[[Order], Iterator[tuple[str, bytes]] | Iterator[tuple[str, None]]]
MADE: dict[str, Made] = {
    "repositories": exact.repositories,
    "checkouts": exact.checkouts,
    "pages": exact.pages,
    "localization": exact.localization,
    "cosqa": exact.cosqa,
    "downloads": downloads.downloads,
    "advtest": downloads.advtest,
    "similarity": downloads.similarity,
}


def packed(name: str, content: bytes) -> bytes:
    """Return the bytes of a file as its name says; the same ones at any time."""
    if name.endswith(".xz"):
        return lzma.compress(content, preset=9 | lzma.PRESET_EXTREME * name.endswith(".tar.xz"))
    if not name.endswith(".gz"):
        return content
    file = io.BytesIO()
    # gzip.compress names the system in the file
    with gzip.GzipFile("", "wb", mtime=0, fileobj=file) as written:
        written.write(content)
    return file.getvalue()


def pinned(order: Order) -> str:
    """Return a digest of what `sets.yaml` pins of a set."""
    return hashlib.sha256(json.dumps(order.set, sort_keys=True).encode()).hexdigest()


def complete(order: Order) -> bool:
    """Tell whether a set is here as it is pinned, with all its files."""
    return written(order)[:1] == [pinned(order)] and not damaged(order)


def written(order: Order) -> list[str]:
    """Return the lines of a set's mark; none if it was not finished."""
    mark = order.folder / MARK
    return mark.read_text("utf-8").splitlines() if mark.exists() else []


def damaged(order: Order) -> list[str]:
    """Return the names of a finished set's files that are missing, or are not what was written."""
    wrong = []
    for line in written(order)[1:]:
        digest, _, name = line.partition(" ")
        path = order.folder / name
        if not path.exists() or downloads.sha256_of(path) != digest:
            wrong.append(name)
    return wrong


def fetch(order: Order) -> None:
    """Write the files of a set, each whole, and compare them with their sums."""
    if "by hand" in order.set:
        raise Missing(order.set["by hand"])
    order.folder.mkdir(parents=True, exist_ok=True)
    sums, names = order.set.get("sha256", {}), []
    for name, content in MADE[order.set["made"]](order):
        names.append(name)
        if content is None:
            continue
        found = hashlib.sha256(content).hexdigest()
        if sums.get(name, found) != found:
            raise Missing(
                f"{order.folder / name}: its sha256 would be {found}, not {sums[name]}; the source "
                "is not what was pinned; the file was not written"
            )
        with whole_file(order.folder / name) as file:
            file.write(packed(name, content))
    sums_of_files = [f"{downloads.sha256_of(order.folder / name)} {name}" for name in names]
    (order.folder / MARK).write_text("\n".join([pinned(order), *sums_of_files]) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make data SET=…", description="Bring data here.")
    parser.add_argument("names", nargs="*", metavar="SET")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--mirror", type=Path, metavar="FOLDER", help="copies of repositories")
    parser.add_argument("--sets", type=Path, default=SETS, metavar="FILE", help="what sets are")
    options = parser.parse_intermixed_args()
    sets: dict[str, Record] = yaml.safe_load(options.sets.read_text("utf-8"))
    names = options.names or [name for name, each in sets.items() if each.get("usual")]
    if unknown := [name for name in names if name not in sets]:
        sys.exit(f"unknown set {unknown[0]!r}; available: {', '.join(sorted(sets))}")
    orders = [
        Order(name, sets[name], options.sets.parent, options.to, options.mirror) for name in names
    ]
    wanted = [order for order in orders if not complete(order)]
    for order in orders:
        about = order.set
        here = "" if order in wanted else " It is here."
        print(f"{order.name}: {about['what']}. License: {about['license']}. {about['cost']}.{here}")
    failed = False
    for order in wanted:
        if wrong := damaged(order):
            print(f"{order.name}: damaged: {', '.join(wrong)}; made again", file=sys.stderr)
            for name in wrong:
                (order.folder / name).unlink(missing_ok=True)
        try:
            with waiting(f"fetching {order.name}"):
                fetch(order)
            print(f"{order.name}: written to {order.folder}")
        except Missing as error:
            failed = True
            print(f"{order.name}: {error}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
