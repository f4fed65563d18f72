"""What can be spoiled: a field or a line of records, and files wherever they stand."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from structkit.records.stream import ErrorOptions

from .sessions import Session, found


@dataclass
class Scene:
    """A session's command line and the folder with its input, about to be spoiled."""

    folder: Path
    arguments: list[str]
    stdin: Path | None


@dataclass(frozen=True)
class Case:
    """A session with one thing spoiled; an error is to name one of `names`."""

    session: Session
    place: str
    how: str
    spoil: Callable[[Scene], None] = field(repr=False)
    names: tuple[str, ...] = ()
    skip: bool = False  # with `--on-error skip`

    def __str__(self) -> str:
        skipping = " (skip)" if self.skip else ""
        return f"{self.session.name}{skipping} | {self.place} | {self.how}"


def cases(session: Session) -> Iterator[Case]:
    """All cases of a session; the first one spoils nothing."""
    yield Case(session, "nothing", "good", lambda scene: None)
    yield from record_cases(session)
    yield from file_cases(session)


# the name of a spoiled value, and its JSON
VALUES = {
    "null": "null",
    "true": "true",
    "negative": "-1",
    "fraction": "0.5",
    "beyond a float": "1e400",
    "beyond 64 bits": "9" * 30,
    "NaN": "NaN",
    "empty": '""',
    "blank": r'" \t\n "',
    "word": '"x"',
    "list": "[]",
    "list of null": "[null]",
    "list of a list": '[["x"]]',
    "object": "{}",
    "nested 5,000 deep": "[" * 5000 + "]" * 5000,
    "lone surrogate": r'"a \ud800 b"',
    "control characters": r'"a\u0000b\u001b[31mc\u0007\u2028\u0085d"',
    "sentinel": '"the <extra_id_0> house"',
    "brackets": '"(((a b) c"',
    "broken markup": '"<div><p>a</div></b>&#0;&nope;<![CDATA[<!--"',
    "deep markup": '"' + "<div>" * 2000 + 'a"',
    "deep brackets": '"' + "(X " * 5000 + "a" + ")" * 5000 + '"',
    "20,000 words": '"' + "word " * 20_000 + '"',
    "one word of 200,000": '"' + "x" * 200_000 + '"',
    "emoji": '"👩‍👩‍👧 \\u202e e\\u0301"',
}
LINES: dict[str, Callable[[bytes], bytes]] = {
    "no JSON": lambda line: b"def f(): pass\n",
    "array": lambda line: b"[" + line.strip() + b"]\n",
    "empty object": lambda line: b"{}\n",
    "blank": lambda line: b" \t\n",
    "cut": lambda line: line[: len(line) // 2] + b"\n",
    "not UTF-8": lambda line: line.replace(b'"', b'"\xe9', 5),
    "NUL": lambda line: b"\0\0\0\n",
    "nested 5,000 deep": lambda line: b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n",
    "a field of 5,000 letters": lambda line: b'{"' + b"long" * 1250 + b'":1,' + line.lstrip()[1:],
    "control characters in a name": lambda line: b'{"a\\u001b[31m\\u0000":1,' + line.lstrip()[1:],
}
SKIPPING = ("--on-error", "skip", "--rejects", "rejects.jsonl")


def record_cases(session: Session) -> Iterator[Case]:
    """Each field of the second line spoiled in each way, and the line; with skip as well."""
    kinds = getattr(found(session.command), "settings", ())
    skips = any(issubclass(kind, ErrorOptions) for kind in kinds)
    for file in session.files():
        data = (session.store / file).read_bytes()
        if not (file.endswith(".jsonl") or (data.startswith(b'{"') and b'\n{"' in data)):
            continue
        for skip in (False, True) if skips and "--on-error" not in session.arguments else (False,):
            for place, how, line in spoiled(data.splitlines(keepends=True)):
                spoil = partial(replace_line, file=file, line=line, skip=skip)
                # an id that columns cannot hold is seen where the run is written
                names = ("stdin" if file == session.stdin else file, 'id "', "id '", "in the run")
                # what is left out may be missed elsewhere
                yield Case(session, f"{file} {place}", how, spoil, () if skip else names, skip)


def spoiled(lines: list[bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Place, name and bytes of each spoiled second line (of one line: the first)."""
    if not lines:
        return
    line = lines[min(1, len(lines) - 1)]
    record = json.loads(line)
    for name, change in LINES.items():
        yield "line", name, change(line)
    for each, value in record.items():
        place, first = f"field {each}", json.loads(lines[0]).get(each)
        rest = {key: value for key, value in record.items() if key != each}
        yield place, "gone", dumped(rest)
        yield place, "of the first line", dumped({**rest, each: first})
        yield place, "upper case", dumped({**rest, each.upper(): value})
        for name, text in VALUES.items():
            yield place, name, dumped({**record, each: "@"}).replace(b'"@"', text.encode())
        if isinstance(value, list):
            yield place, "an item less", dumped({**record, each: value[:-1]})
            yield place, "an item more", dumped({**record, each: [*value, *value[-1:]]})
            for name in ("null", "NaN", "beyond a float", "word", "list", "true"):
                changed = dumped({**record, each: ["@", *value[1:]]})
                item = changed.replace(b'"@"', VALUES[name].encode())
                yield place, f"first item {name}", item


def dumped(record: dict[str, Any]) -> bytes:
    """The line of a record."""
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def replace_line(scene: Scene, *, file: str, line: bytes, skip: bool) -> None:
    """Write another second line (of one line: the first)."""
    path = scene.folder / file
    lines = path.read_bytes().splitlines(keepends=True)
    lines[min(1, len(lines) - 1)] = line
    path.write_bytes(b"".join(lines))
    scene.arguments += SKIPPING if skip else ()


NOISE = random.Random(0).randbytes(3000)
CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in the middle": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "gzip": gzip.compress,
    "gzip, cut": lambda data: gzip.compress(data)[:-9],
    "bzip2": bz2.compress,
    "noise": lambda data: NOISE,
    "a page": lambda data: b"<!DOCTYPE html><html><body>404 Not Found</body></html>\n",
    "UTF-16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "Latin-1": lambda data: data.replace(b"e", b"\xe9"),
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "no line breaks": lambda data: data.replace(b"\n", b" "),
    "one line of 20 MB": lambda data: b"x" * 20_000_000,
    "array": lambda data: b"[1]",
}


def file_cases(session: Session) -> Iterator[Case]:
    """Each file of the input spoiled, gone, a folder, or a link to nowhere."""
    for file in session.files():
        names = named(session, file)
        for how, change in CONTENTS.items():
            yield Case(session, file, how, partial(rewrite, file=file, change=change), names)
        for by in ("gone", "its folder gone", "a folder", "a link to itself"):
            if file != session.stdin or "gone" in by:  # else no program starts
                yield Case(session, file, by, partial(replaced, file=file, by=by), names)


def named(session: Session, file: str) -> tuple[str, ...]:
    """What an error about a file may name: the file, what it belongs to, stdin."""
    if file == session.stdin:  # a list of paths: each is named for itself
        return () if "-" in session.arguments else ("stdin",)
    path = Path(file)
    folders = [str(each) for each in path.parents][:-1]
    whole = ["the model", "the corpus"] if folders or path.suffix == ".npy" else []
    whole += ['id "'] if path.name.endswith(".ids.txt") else []  # one that an output cannot hold
    return (path.name, file, f"{path.name.partition('.')[0]}.npy", *folders, *whole)


def rewrite(scene: Scene, *, file: str, change: Callable[[bytes], bytes]) -> None:
    path = scene.folder / file
    path.write_bytes(change(path.read_bytes()))


def replaced(scene: Scene, *, file: str, by: str) -> None:
    """Take a file away, or the topmost folder that holds it; put a folder or a link there."""
    path, top = scene.folder / file, scene.folder / Path(file).parts[0]
    if by == "its folder gone" and top.is_dir():
        shutil.rmtree(top)
    else:
        path.unlink()
    if by == "a folder":
        path.mkdir()
    elif by == "a link to itself":
        os.symlink(path.name, path)
    elif scene.stdin == path:
        scene.stdin = None
