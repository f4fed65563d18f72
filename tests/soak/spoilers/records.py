"""Records spoiled: one field of the second line of a JSONL file, or the line itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..cases import Case, Scene
from ..sessions import Session
from .flags import flags

# the name of a spoiled value, and its JSON
VALUES = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "negative": "-1",
    "fraction": "0.5",
    "beyond a float": "1e400",
    "beyond 64 bits": "9" * 30,
    "NaN": "NaN",
    "infinity": "-Infinity",
    "empty": '""',
    "blank": r'" \t\n "',
    "word": '"x"',
    "number in a string": '"nan"',
    "list": "[]",
    "list of null": "[null]",
    "list of numbers": "[1, 2]",
    "list of a list": '[["x"]]',
    "object": "{}",
    "object of a list": '{"a": [1]}',
    "nested 5,000 deep": "[" * 5000 + "]" * 5000,
    "lone surrogate": r'"a \ud800 b"',
    "control characters": r'"a\u0000b\u001b[31mc\u0007\u2028\u0085d"',
    "sentinel": '"the <extra_id_0> house"',
    "sentinel 99": '"<extra_id_99>"',
    "brackets": '"(((a b) c"',
    "closing brackets": '"a) b))"',
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
    "string": lambda line: b'"x"\n',
    "number": lambda line: b"7\n",
    "empty object": lambda line: b"{}\n",
    "blank": lambda line: b" \t\n",
    "cut": lambda line: line[: len(line) // 2] + b"\n",
    "not UTF-8": lambda line: line.replace(b'"', b'"\xe9', 5),
    "NUL": lambda line: b"\0\0\0\n",
    "two on a line": lambda line: line.strip() + line,
    "twice": lambda line: line + line,
    "comma behind": lambda line: line.strip() + b",\n",
    "nested 5,000 deep": lambda line: b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n",
    "another field of 5,000 letters": lambda line: (
        b'{"' + b"long" * 1250 + b'":1,' + line.lstrip()[1:]
    ),
    "control characters in a name": lambda line: b'{"a\\u001b[31m\\u0000":1,' + line.lstrip()[1:],
}
SKIPPING = ("--on-error", "skip", "--rejects", "rejects.jsonl")


def record_cases(session: Session) -> Iterator[Case]:
    """Each field of the second line spoiled in each way, and the line; with skip as well."""
    for file in session.files():
        data = (session.store / file).read_bytes()
        if not (file.endswith(".jsonl") or (data.startswith(b'{"') and b'\n{"' in data)):
            continue
        lines = data.splitlines(keepends=True)
        for skip in (False, True) if skips(session) else (False,):
            for place, how, line in spoiled(lines) if lines else ():
                spoil = partial(replace_line, file=file, line=line, skip=skip)
                shown = "stdin" if file == session.stdin else file
                # an id that columns cannot hold is seen where the run is written
                names = (shown, 'id "', "id '") if place == "field id" else (shown,)
                names += ("in the run",) if place in ("field doc_id", "field query_id") else ()
                names = () if skip else names  # it is left out, and may be missed elsewhere
                yield Case(session, f"{file} {place}", how, spoil, names, skip=skip)


def skips(session: Session) -> bool:
    """Whether the command knows --on-error, and the line does not say it."""
    known = any(flag.name == "on_error" for flag in flags(session.command))
    return known and "--on-error" not in session.arguments


def spoiled(lines: list[bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Place, name and bytes of each spoiled second line (of one line: the first)."""
    number = min(1, len(lines) - 1)
    record = json.loads(lines[number])
    for name, change in LINES.items():
        yield "line", name, change(lines[number])
    for field in record:
        place = f"field {field}"
        rest = {key: value for key, value in record.items() if key != field}
        yield place, "gone", dumped(rest)
        yield place, "of the first line", dumped({**rest, field: json.loads(lines[0]).get(field)})
        yield place, "twice", dumped(record)[:-2] + b', "%s": null}\n' % field.encode()
        yield place, "upper case", dumped({**rest, field.upper(): record[field]})
        for name, value in VALUES.items():
            yield place, name, dumped({**record, field: "@"}).replace(b'"@"', value.encode())
        if isinstance(record[field], list):
            yield from lists(place, field, record)


def lists(place: str, field: str, record: dict[str, Any]) -> Iterator[tuple[str, str, bytes]]:
    """A field that is a list: shorter, longer, and one spoiled item."""
    items = record[field]
    yield place, "an item less", dumped({**record, field: items[:-1]})
    yield place, "an item more", dumped({**record, field: [*items, *items[-1:]]})
    for name in ("null", "NaN", "beyond a float", "word", "list", "true", "lone surrogate"):
        line = dumped({**record, field: ["@", *items[1:]]})
        yield place, f"first item {name}", line.replace(b'"@"', VALUES[name].encode())


def dumped(record: dict[str, Any]) -> bytes:
    """The line of a record."""
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def replace_line(scene: Scene, *, file: str, line: bytes, skip: bool) -> None:
    """Write another second line (of one line: the first)."""
    path = scene.folder / file
    lines = path.read_bytes().splitlines(keepends=True)
    lines[min(1, len(lines) - 1)] = line
    path.write_bytes(b"".join(lines))
    if skip:
        scene.arguments += SKIPPING
