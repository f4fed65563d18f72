"""The papers' own data at public addresses: downloads go on where they stopped, and are checked."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError

from experiments.data.exact import Order, Record, lines
from experiments.data.git import Missing
from structkit.progress import Position, progress
from structkit.records.output import whole_file

BLOCK = 1 << 20  # bytes
TRAIN = "codesearchnet/python/final/jsonl/train"
PARTIAL = 206  # the status of an answer that goes on in the middle of a file
TRIES = 3  # of a download, each from where the one before stopped
PAUSE_SECONDS = 1.0  # between two tries


def downloads(order: Order) -> Iterator[tuple[str, None]]:
    """Download files; of an archive, unpack what is below a folder, and delete it."""
    for source in order.set["files"]:
        place = order.folder / source["name"]
        if "below" not in source:
            download(source, place)
            yield source["name"], None
            continue
        mark = order.folder / f".{source['name']}"  # the names of what was unpacked
        unpacked_before = mark.read_text("utf-8").splitlines() if mark.exists() else []
        if not unpacked_before or not all(
            (order.folder / name).exists() for name in unpacked_before
        ):
            download(source, place)
            mark.write_text("\n".join(unpacked(place, order.folder, source["below"])), "utf-8")
            place.unlink()
        for name in mark.read_text("utf-8").splitlines():
            yield name, None


def download(source: Record, place: Path) -> None:
    """Bring a file here, unless it is; what an earlier try left is continued.

    Errors: an existing file that is not the pinned one; an address that fails in every try.
    """
    if place.exists():
        if (found := sha256_of(place)) != source["sha256"]:
            raise Missing(
                f"{place}: its sha256 is {found}, not {source['sha256']}; it is damaged or another "
                "file: move it away and run the command again"
            )
        return
    part = place.with_name(f"{place.name}.part")
    for left in reversed(range(TRIES)):
        problem, hopeless = continue_download(source, part)
        if not problem:
            break
        if hopeless or not left:
            raise Missing(
                f"{source['address']}: {problem}; run the command again, which goes on from here, "
                f"or put the file at {place}"
            )
        print(f"{source['address']}: {problem}; trying again", file=sys.stderr)
        time.sleep(PAUSE_SECONDS)
    check(source, part)
    os.replace(part, place)


def continue_download(source: Record, part: Path) -> tuple[str, bool]:
    """Bring the rest of a file; return what went wrong, and whether trying again is hopeless."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(source["address"], headers={"Range": f"bytes={have}-"})
    try:
        if have < source["bytes"]:
            with urllib.request.urlopen(request, timeout=60) as answer:
                # a server that knows no ranges sends everything again
                with part.open("ab" if answer.status == PARTIAL else "wb") as file:
                    receive(answer, file, source)
    except (OSError, HTTPException) as error:
        refused = isinstance(error, HTTPError) and error.code in range(400, 500)
        return f"{error}" or type(error).__name__, refused
    if part.stat().st_size < source["bytes"]:
        return "the connection ended early", False
    return "", False


def receive(answer: IO[bytes], file: IO[bytes], source: Record) -> None:
    """Write what comes, and show how much of the file is here."""
    size = source["bytes"]
    with progress(source["name"], lambda: Position(file.tell() // BLOCK, file.tell(), size)):
        while block := answer.read(BLOCK):
            file.write(block)


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(source: Record, part: Path) -> None:
    """Refuse a file that is not the one that was pinned."""
    found = sha256_of(part)
    if found != source["sha256"]:
        part.unlink()
        raise Missing(
            f"{source['address']}: its sha256 is {found}, not {source['sha256']}; it is another "
            "file than was pinned, and was deleted"
        )


def unpacked(archive: Path, folder: Path, below: str) -> Iterator[str]:
    """Unpack the members below a folder of an archive, each whole."""
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            if name.startswith(below) and not name.endswith("/"):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                with packed.open(name) as member, whole_file(folder / name) as file:
                    shutil.copyfileobj(member, file, BLOCK)
                yield name


def advtest(order: Order) -> Iterator[tuple[str, bytes]]:
    """Yield AdvTest: its archive has addresses of CodeSearchNet's functions, and renamed code."""
    source = order.set["source"]
    repository = order.repository(source)
    archive = io.BytesIO(repository.read(source["revision"], source["file"]))
    with zipfile.ZipFile(archive) as packed:
        inside = {name.rpartition("/")[2]: packed.read(name) for name in packed.namelist()}
    files = sorted((order.data / TRAIN).glob("*.jsonl.gz"))
    if not files:
        raise Missing(f"missing {order.data / TRAIN}; run make data SET=codesearchnet first")
    number = 0
    for part in ("train", "valid", "test"):
        asked = inside[f"{part}.txt"].decode().split()
        places = {url: place for place, url in enumerate(asked, number)}
        rows = dict[int, bytes]()
        renamed = [io.BytesIO(inside["test_code.jsonl"])]
        for file in map(gzip.open, files) if part == "train" else renamed:
            for line in file:
                if (place := places.get(json.loads(line)["url"])) is not None:
                    rows[place] = line.rstrip().removesuffix(b"}") + b', "idx": %d}\n' % place
        if lacking := len(places) - len(rows):
            raise Missing(f"{order.data / TRAIN}: {lacking} functions of AdvTest are not in it")
        number += len(asked)
        if part != "valid":
            yield f"{part}.jsonl", b"".join(rows[place] for place in sorted(rows))


def similarity(order: Order) -> Iterator[tuple[str, bytes]]:
    """Yield pairs of words or sentences with a score, or with a label, from tables."""
    for source in order.set["sources"]:
        repository = order.repository(source)
        for name, path in source["tables"].items():
            text = repository.read(source["revision"], path).decode()
            file = io.StringIO(text)
            if path.endswith(".csv"):
                rows = csv.reader(file)
            else:
                rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            table = list(rows)[source["header"] :]
            pairs = (pair(f"{name}-{place:05}", row, source) for place, row in enumerate(table))
            yield f"{name}.jsonl.gz", lines(pairs)


def pair(name: str, row: list[str], source: Record) -> Record:
    """Return a row of a table as a record."""
    first, second, value = (row[column] for column in source["columns"])
    about = {"id": name, "text_a": first, "text_b": second}
    if source["value"] == "score":
        return {**about, "score": float(value)}
    return {**about, "label": int(value in {"1", "entailment"})}
