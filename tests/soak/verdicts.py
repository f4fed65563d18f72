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
        if path.is_symlink():
            kept = f"link to {path.readlink()}"
        else:
            kept = sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = kept
    return found


def verdicts(case: Case, outcome: Outcome, before: State, folder: Path) -> Iterator[str]:
    """What is wrong with an outcome, in words."""
    if "Traceback (most recent call last)" in outcome.stderr or outcome.returncode not in (0, 1, 2):
        yield f"ends with {outcome.stderr[-300:]!r} (status {outcome.returncode})"
        return
    yield from messages(case, outcome)
    yield from changes(case, outcome, before, state(folder))
    yield from halves(case, outcome, before, folder)
    # what is skipped is among the rejects; a line with nothing in it is no record
    if case.skip and outcome.returncode == 0 and case.session.name in ONE_FOR_ONE:
        counts = [
            sum(map(bool, map(bytes.strip, (folder / name).read_bytes().split(b"\n"))))
            for name in (case.place.partition(" ")[0], "out.jsonl", REJECTS)
            if (folder / name).exists()
        ]
        if counts[0] != sum(counts[1:]):
            yield f"loses records: {counts}"


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
    elif not own or lines[-1] != own[-1]:
        yield f"does not end with a message of its own: {outcome.stderr[-300:]!r}"
    elif not re.search(r"; \S", own[-1]):
        yield f"names no remedy: {own[-1]:.300}"
    elif case.names and not any(name in own[-1] for name in case.names):
        yield f"does not name {' or '.join(case.names[:2])}: {own[-1]:.300}"


def changes(case: Case, outcome: Outcome, before: State, after: State) -> Iterator[str]:
    """No input changes; what fails leaves nothing, what ends well no partial file."""
    arguments = case.session.arguments
    for name, content in before.items():
        if after.get(name) != content:
            yield f"changes its input {name}"
    for name in sorted(after.keys() - before.keys()):
        top = name.partition("/")[0]
        # an index is complete before queries are read
        whole = top == CACHE or top == "out" and "--save-index" in arguments
        if outcome.returncode != 0 and not whole:
            yield f"leaves {name} though it failed"
        elif name.endswith((".partial", ".new", ".tmp")):
            yield f"leaves {name}"


def halves(case: Case, outcome: Outcome, before: State, folder: Path) -> Iterator[str]:
    """Every output in JSONL is whole lines of JSON, and its numbers are numbers."""
    outputs = {"stdout": outcome.stdout.encode()} if outcome.stdout.startswith("{") else {}
    for name in state(folder).keys() - before.keys():
        path = folder / name
        table = "--to" in case.session.arguments
        if path.is_file() and name.endswith((".jsonl", ".jsonl.gz")) and not table:
            data = path.read_bytes()
            outputs[name] = gzip.decompress(data) if name.endswith(".gz") else data
    scored = case.session.command[0] in ("search", "fuse", "rerank")  # others pass it through
    for name, data in outputs.items():
        if not data.endswith(b"\n") and data:
            yield f"writes half a line to {name}"
        try:
            records = [json.loads(line) for line in data.splitlines()]
        except ValueError as error:
            yield f"writes what is no JSON to {name}: {error}"
        else:
            yield from (
                f"writes {wrong} to {name}" for each in records if (wrong := odd(each, scored))
            )


def odd(record: Any, scored: bool) -> str:
    """What is wrong with a record: embeddings and scores hold numbers."""
    if not isinstance(record, dict):
        return f"{record!r:.50}"
    for field, value in record.items():
        embedding = isinstance(value, list) and field.endswith("embedding")
        if (embedding and None in value) or (scored and value is None and field == "score"):
            return f"null in {field}"
    return ""
