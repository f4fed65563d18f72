"""Show records in readable form: entities, elements, trees, hits."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from rich.console import Console
from rich.text import Text

from structkit.command import Command
from structkit.errors import UserError
from structkit.progress import colored, printable
from structkit.records.fields import is_tree
from structkit.records.jsonl import Record, Records
from structkit.records.output import Output
from structkit.records.stream import InputOptions, OutputOptions
from structkit.settings import setting
from structkit.structure.html.elements import outline
from structkit.structure.sentinels import SENTINEL, unmask

COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
LONGEST = 300  # characters of a line of a field that is not drawn
ROWS, FEW = 20, 3  # of such a field, and of one beside a drawing
NAMED = 40  # characters of a text that is named when it comes again
HIT = {"query_id", "doc_id", "score", "rank"}
OF_A_HIT = set(
    "best path line quote symbol symbol_lines lines code text scope name names headings".split()
)

Part = tuple[set[str], Text]  # the fields that it shows


@dataclass(frozen=True, kw_only=True)
class Settings(InputOptions):
    """Show records by their fields: code with its entities, HTML as a tree with its masked
    elements, parse trees, a hit with its place and its lines.

    A terminal gets colors, a pipe plain text.
    """

    number: int = setting(1, "Number of records to show.", short="-n", low=1)


def show(settings: Settings, *, width: int | None = None, colors: bool = False) -> str:
    """Return the records of files as text."""
    records = Records.read(settings.files)
    try:
        some = islice(records, settings.number)
        return draw_records(some, width=width, colors=colors)
    except UserError as error:
        raise records.place(error) if records.count else error from None


def draw_records(
    records: Iterable[Record], *, width: int | None = None, colors: bool = False
) -> str:
    """Return records as text: drawn if their fields have a structure, otherwise field by field.

    Lines are not cut or folded without a `width`. Errors: `UserError` for no records, and for a
    record that cannot be drawn.
    """
    shown = io.StringIO()
    console = Console(
        file=shown,
        width=width or 10_000,
        force_terminal=colors,
        color_system="standard" if colors else None,
        highlight=False,
    )
    for record in records:
        for line in _record(record, console, width):
            console.print(line, no_wrap=True, overflow="ellipsis" if width else "ignore")
    if not shown.tell():
        raise UserError("there is no record to show", "name a file that has some")
    return shown.getvalue().rstrip("\n") + "\n"


def _record(record: Record, console: Console, width: int | None) -> Iterator[Text]:
    drawn, title = _title(record)
    if title:
        yield from _folded(title, console, width)
        yield Text()
    parts = [part for shows in SHOWS for part in shows(record, width)]
    for fields, text in parts:
        drawn |= fields
        yield from _folded(text, console, width)
        yield Text()
    left = {name: value for name, value in record.items() if name not in drawn}
    for text in _fields(left, FEW if parts else ROWS):
        yield from _folded(text, console, width)
    if left:
        yield Text()


def _title(record: Record) -> Part:
    """Return the title of a record: its id, or the question of a hit."""
    if HIT <= record.keys() and isinstance(record.get("query"), str):
        asked = Text.assemble(
            (_line(record["query"]), "bold"), (f"  {_line(record['query_id'])}", "dim")
        )
        return {"id", "query", "query_id"}, asked
    name = next((each for each in ("id", "query_id") if record.get(each)), "id")
    return {name}, Text(_line(record.get(name) or ""), "bold")


def _folded(text: Text, console: Console, width: int | None) -> Iterator[Text]:
    """Yield the lines of a text; a long line continues below, indented further."""
    for line in text.split("\n", allow_blank=True):
        hang = min(len(line.plain) - len(line.plain.lstrip()) + 2, (width or 0) // 2)
        drawn = line.plain.lstrip()[:1] in (*"├└│",)  # a branch is cut instead
        if not width or line.cell_len <= width or drawn:
            yield line
            continue
        first, *rest = line.wrap(console, width - hang, overflow="fold")
        yield first
        yield from (Text(" " * hang) + each for each in rest)


def _fields(left: Record, most: int) -> Iterator[Text]:
    """Yield fields by name, each with at most `most` lines, and each long text once."""
    known: dict[str, str] = {}
    for name, value in left.items():
        if isinstance(value, list) and len(value) == 1:
            [value] = value
        lines = _lines(value)
        if isinstance(value, str) and len(value) > NAMED:
            before = known.setdefault(value, name)
            lines = lines if before == name else [f"as {before}"]
        if len(lines) == 1:
            yield Text.assemble((f"{printable(name)}:", "dim"), f" {lines[0]}".rstrip())
            continue
        if more := len(lines[most:]):
            lines = [*lines[:most], f"… {more} more line{'s' * (more > 1)}"]
        yield Text.assemble(
            (f"{printable(name)}:", "dim"), *(f"\n  {line}".rstrip(" ") for line in lines)
        )


def _lines(value: object) -> list[str]:
    """Return the lines of a value; of a long list of numbers, its length."""
    if isinstance(value, str):
        return [_line(line) for line in value.expandtabs(4).strip("\n").split("\n")]
    if isinstance(value, dict) and not _flat(value):
        return [f"{_line(name)}: {_line(each)}" for name, each in value.items()]
    if not isinstance(value, list):
        return [_line(value)]
    if len(value) > 8 and all(type(each) in (int, float) for each in value):
        length = math.sqrt(sum(each * each for each in value))
        return [f"{len(value)} numbers, length {length:.3f}"]
    if any(isinstance(each, str) and " " in each for each in value):
        texts = (_lines(each) if isinstance(each, str) else [_line(each)] for each in value)
        return [
            f"{' ' if place else '-'} {line}" for some in texts for place, line in enumerate(some)
        ]
    return [_line(", ".join(map(_line, value)))]


def _flat(value: Record) -> bool:
    return not any(isinstance(each, list | dict) for each in value.values())


def _line(value: object) -> str:
    """Return a value on one line."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict) and _flat(value):
        value = ", ".join(f"{name} {_line(each)}" for name, each in value.items())
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\n" in text:
        text = " ".join(text.split())
    return printable(text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} …")


def _masked(record: Record, width: int | None) -> Iterator[Part]:
    """Return text with its entities instead of sentinels, each in one color."""
    masked, entities = record.get("masked"), record.get("entities")
    if not isinstance(masked, str) or not isinstance(entities, list):
        return
    text, last = Text(), 0
    for match in SENTINEL.finditer(masked):
        number = int(match[1])
        if number >= len(entities):
            problem = f'"masked" has {match[0]}, but there is no such entity'
            raise UserError(problem, "mask it again")
        text.append(_visible(masked[last : match.start()]))
        text.append(f"⟦{_visible(str(entities[number]))}⟧", f"bold {COLORS[number % len(COLORS)]}")
        last = match.end()
    text.append(_visible(masked[last:].rstrip("\n")))
    plain = unmask(masked, [*map(str, entities)])
    same = {name for name, value in record.items() if value == plain}
    yield {"masked", "entities", "target", *same}, text


def _visible(text: str) -> str:
    """Return a text with its lines, and other control characters escaped."""
    return "\n".join(map(printable, text.expandtabs(4).split("\n")))


def _html(record: Record, width: int | None) -> Iterator[Part]:
    """Yield the elements of an HTML document, with the masked ones marked."""
    from structkit.structure.trees.drawing import branches

    tagged, masked = record.get("tagged"), record.get("masked")
    if not isinstance(tagged, str):
        return
    entries = outline(tagged, masked if isinstance(masked, str) else "")
    drawn = branches([each.depth + 1 for each in entries])
    text = Text()
    for branch, entry in zip(drawn, entries, strict=True):
        text.append(branch, "dim")
        style = "bold red" if entry.masked else "cyan" if entry.is_tag else ""
        text.append(printable(entry.text), style)
        text.append("  ⟦masked⟧\n" if entry.masked else "\n", style)
    text.rstrip()
    yield {"tagged", "masked", "untagged", "html"}, text


def _trees(record: Record, width: int | None) -> Iterator[Part]:
    """Yield each tree in brackets."""
    from structkit.structure.trees.brackets import read
    from structkit.structure.trees.drawing import lines

    for name, value in record.items():
        if isinstance(value, str) and is_tree(name):
            tree = read(value)
            same = [each for each in record if _letters(record[each]) == _letters(*tree.words)]
            above = [*_fields({each: record[each] for each in same[:1]} or {name: ""}, ROWS)]
            drawn = map(Text, map(printable, lines(tree)))
            yield {name, *same}, Text("\n").join([*above, *drawn])


def _letters(*texts: object) -> str:
    return "".join("".join(text.split()) for text in texts if isinstance(text, str))


def _hit(record: Record, width: int | None) -> Iterator[Part]:
    """Yield a hit: its rank, place, score, and the lines that answer."""
    if not record.keys() >= HIT:
        return
    from structkit.searching.listing import listing

    question, best = record.get("query"), record.get("best")
    asked = question if isinstance(question, str) else ""
    known = {record["doc_id"]: record} if {"path", "code", "text"} & record.keys() else {}
    drawn = Text.from_ansi(listing([record], {record["query_id"]: asked}, known, width, ROWS))
    named = best if isinstance(best, dict) else {}
    if place := [
        f"{_line(name)} {_line(named[name])}" for name in named if name not in ("id", "text")
    ]:
        drawn.append(f"\n    {', '.join(place)}", "dim")
    yield HIT | OF_A_HIT, drawn


SHOWS: tuple[Callable[[Record, int | None], Iterator[Part]], ...] = (_hit, _masked, _html, _trees)


def _main(settings: Settings, options: OutputOptions) -> None:
    there = options.output == "-"
    width = shutil.get_terminal_size().columns if there and os.isatty(1) else None
    text = show(settings, width=width, colors=there and colored())
    with Output(options.output) as output:
        output.write(text.encode())


COMMAND = Command(
    show,
    Settings,
    _main,
    also=(OutputOptions,),
    reads="`masked` and `entities`; `tagged` and `masked`; `tree`, `FIELD_tree`; `query_id`, "
    "`doc_id`, `score`, `rank`; any others by name",
    examples="""
structkit mask-entities functions.jsonl | structkit show
structkit html-variants pages.jsonl | structkit show -n 2
structkit parse-trees --parser ast functions.jsonl | structkit show
""",
)
