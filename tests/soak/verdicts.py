"""What a command must never do, whatever it is given."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from .spoilers import Case

Outcome = subprocess.CompletedProcess[str]
MESSAGE = "structkit: "
LONGEST = 2000  # characters of a message
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]")
# sessions that make a record of each record
ONE_FOR_ONE = {
    *("mask code", "mask products", "mask nltk", "html pages", "html markdown", "trees builtin"),
    *("trees pairs", "trees ast", "trees dom", "trees brackets", "trees own"),
    *("encode santa", "encode self", "encode pairs", "encode words"),
}
REJECTS = "rejects.jsonl"
CACHE = "cache"  # of `ask`, for the next question: a database, whole at any time
State = dict[str, str]


def state(folder: Path) -> State:
    """Every file in a folder, and a hash of what is in it; links and folders by kind."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_file():
            found[name] = sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def verdicts(case: Case, outcome: Outcome, before: State, folder: Path) -> Iterator[str]:
    """What is wrong with an outcome, in words."""
    if "Traceback (most recent call last)" in outcome.stderr or outcome.returncode not in (0, 1, 2):
        yield f"ends with {last(outcome.stderr)!r} (status {outcome.returncode})"
        return
    yield from messages(case, outcome)
    yield from changes(case, outcome, before, state(folder))
    yield from halves(case, outcome, before, folder)
    yield from uncounted(case, outcome, folder)


def last(stderr: str) -> str:
    """The last line on stderr."""
    return (stderr.strip().splitlines() or [""])[-1][:300]


def messages(case: Case, outcome: Outcome) -> Iterator[str]:
    """One line for an error, that names what is wrong and what helps."""
    lines = [line for line in outcome.stderr.split("\n") if line]
    for line in lines:
        if CONTROL.search(line):
            yield f"sends control characters to the terminal: {line!r:.300}"
        if len(line) > LONGEST:
            yield f"has a message of {len(line):,} characters: {line[:100]} …"
    own = [line for line in lines if line.startswith(MESSAGE)]
    if outcome.returncode == 0:
        foreign = [line for line in lines if line not in own]
        if foreign and case.session.command[0] != "train":  # which prints its losses there
            yield f"says a library's words: {foreign[0]:.300}"
        return
    if not own or lines[-1] != own[-1]:
        yield f"does not end with a message of its own: {last(outcome.stderr)!r}"
        return
    said = own[-1]
    if not re.search(r"; \S", said):
        yield f"names no remedy: {said:.300}"
    if case.names and not any(name in said for name in case.names):
        yield f"does not name {' or '.join(case.names[:2])}: {said:.300}"


def changes(case: Case, outcome: Outcome, before: State, after: State) -> Iterator[str]:
    """No input changes; what fails leaves nothing, what ends well no partial file."""
    for name, content in before.items():
        replaced = outcome.returncode == 0 and name in resumed(case, before)
        if after.get(name) != content and not replaced:
            yield f"changes its input {name}"
    for name in sorted(set(after) - set(before)):
        top = name.partition("/")[0]
        # an index is complete before queries are read
        whole = top == CACHE or top == "out" and "--save-index" in case.session.arguments
        if outcome.returncode != 0 and not whole:
            yield f"leaves {name} though it failed"
        elif name.endswith((".partial", ".new", ".tmp")):
            yield f"leaves {name}"


def resumed(case: Case, before: State) -> set[str]:
    """The files of an output that the session goes on with; made anew, where they are no such."""
    arguments = case.session.arguments
    stem = arguments[-1].partition(".")[0] if "--resume" in arguments else None
    return {name for name in before if name.partition(".")[0] == stem}


def uncounted(case: Case, outcome: Outcome, folder: Path) -> Iterator[str]:
    """What is skipped is among the rejects."""
    if case.skip and outcome.returncode == 0 and case.session.name in ONE_FOR_ONE:
        # a line with nothing in it is no record
        source = case.place.partition(" ")[0]
        counts = {name: len(lines(folder / name)) for name in (source, "out.jsonl", REJECTS)}
        if counts[source] != counts["out.jsonl"] + counts[REJECTS]:
            yield f"loses records: {counts}"


def lines(path: Path) -> list[bytes]:
    """The lines of a file with something in them; none, where it is not there."""
    return (
        [line for line in path.read_bytes().split(b"\n") if line.strip()] if path.exists() else []
    )


def halves(case: Case, outcome: Outcome, before: State, folder: Path) -> Iterator[str]:
    """Every output in JSONL is whole lines of JSON, and its numbers are numbers."""
    outputs = {"stdout": outcome.stdout.encode()}
    for name in set(state(folder)) - set(before):
        path = folder / name
        table = "--to" in case.session.arguments
        if path.is_file() and name.endswith((".jsonl", ".jsonl.gz")) and not table:
            data = path.read_bytes()
            outputs[name] = gzip.decompress(data) if name.endswith(".gz") else data
    for name, data in outputs.items():
        if name == "stdout" and not data.startswith(b"{"):
            continue  # a table or TREC's columns
        if not data.endswith(b"\n") and data:
            yield f"writes half a line to {name}"
        try:
            records = [json.loads(line) for line in data.splitlines()]
        except ValueError as error:
            yield f"writes what is no JSON to {name}: {error}"
            continue
        scored = case.session.command[0] in ("search", "fuse", "rerank")  # others pass it through
        for record in records:
            yield from numbers(name, record, scored)


def numbers(name: str, record: Any, scored: bool) -> Iterator[str]:
    """Embeddings and scores hold numbers."""
    if not isinstance(record, dict):
        yield f"writes {record!r:.50} to {name}"
        return
    for field, value in record.items():
        is_embedding = isinstance(value, list) and field.endswith("embedding")
        if (is_embedding and None in value) or (scored and value is None and field == "score"):
            yield f"writes null in {field} to {name}"
            return
