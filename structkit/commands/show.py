"""Show a record to a person: entities, elements, trees, hits."""

from __future__ import annotations

import io
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from rich.console import Console
from rich.text import Text

from structkit.errors import UserError
from structkit.progress import colored, printable
from structkit.records.jsonl import Record, Records
from structkit.records.output import Output
from structkit.records.stream import InputOptions, OutputOptions
from structkit.settings import Command, setting
from structkit.structure.html.elements import outline
from structkit.structure.sentinels import SENTINEL

COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
LONGEST = 300  # characters of a field that is not drawn

Part = tuple[set[str], Text]  # the fields that it shows


@dataclass(frozen=True, kw_only=True)
class Settings(InputOptions):
    """Show a record as its fields ask for: code with its entities, HTML as a tree with its masked
    elements, parse trees, a hit with its place and its lines.

    A terminal gets colors, a pipe plain text.
    """

    number: int = setting(1, "Show this many records.", short="-n", low=1)


def show(settings: Settings, *, width: int | None = None, colors: bool = False) -> str:
    """What the records of files hold, as text: see `draw_records`."""
    records = Records.read(settings.files)
    try:
        some = islice(records, settings.number)
        return draw_records(some, width=width, colors=colors)
    except UserError as error:
        raise records.place(error) if records.count else error from None


def draw_records(
    records: Iterable[Record], *, width: int | None = None, colors: bool = False
) -> str:
    """What each record holds, as text: drawn where its fields have a structure, otherwise named.

    Lines are not cut or folded without a `width`. Errors: `UserError` where there is no record, and
    for what cannot be drawn.
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
        for line in _record(record, width or 80):
            console.print(line, no_wrap=True, overflow="ellipsis" if width else "ignore")
    if not shown.tell():
        raise UserError("there is no record to show", "name a file that has some")
    return shown.getvalue().rstrip("\n") + "\n"


def _record(record: Record, width: int) -> Iterator[Text]:
    yield Text(printable(str(record.get("id") or record.get("query_id") or "")), "bold")
    drawn = {"id"}
    for shows in SHOWS:
        for fields, text in shows(record, width):
            drawn |= fields
            yield Text()
            yield from text.split("\n")
    left = {name: value for name, value in record.items() if name not in drawn}
    if left:
        yield Text()
    for name, value in left.items():
        yield Text.assemble((f"{name}: ", "dim"), _plain(value))
    yield Text()


def _plain(value: object) -> str:
    """A value on one line; of a list of numbers, how many there are."""
    if isinstance(value, list) and value and all(type(each) in (int, float) for each in value):
        if len(value) > 8:
            length = math.sqrt(sum(each * each for each in value))
            return f"{len(value)} numbers, length {length:.3f}"
    text = printable(" ".join(value.split()) if isinstance(value, str) else str(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _masked(record: Record, width: int) -> Iterator[Part]:
    """Text with sentinels: the entities in their places, each entity in one color."""
    masked, entities = record.get("masked"), record.get("entities")
    if not isinstance(masked, str) or not isinstance(entities, list):
        return
    text, last = Text(), 0
    for match in SENTINEL.finditer(masked):
        number = int(match[1])
        if number >= len(entities):
            raise UserError(
                f'"masked" has {match[0]}, but there is no such entity', "mask it again"
            )
        text.append(_visible(masked[last : match.start()]))
        text.append(f"⟦{_visible(str(entities[number]))}⟧", f"bold {COLORS[number % len(COLORS)]}")
        last = match.end()
    text.append(_visible(masked[last:]))
    same = {name for name, value in record.items() if value == _unmasked(masked, entities)}
    yield {"masked", "entities", "target", *same}, text


def _unmasked(masked: str, entities: list[object]) -> str:
    return SENTINEL.sub(lambda match: str(entities[int(match[1])]), masked)


def _visible(text: str) -> str:
    """A text with its lines, its other control characters escaped."""
    return "\n".join(map(printable, text.expandtabs(4).split("\n")))


def _html(record: Record, width: int) -> Iterator[Part]:
    """The elements of an HTML document; those that were masked are marked."""
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


def _trees(record: Record, width: int) -> Iterator[Part]:
    """Each tree in brackets."""
    from structkit.structure.trees.brackets import read
    from structkit.structure.trees.drawing import lines

    for name, value in record.items():
        if isinstance(value, str) and (name == "tree" or name.endswith("_tree")):
            drawn = map(printable, lines(read(value)))
            yield {name}, Text.assemble((f"{name}\n", "dim"), "\n".join(drawn))


def _hit(record: Record, width: int) -> Iterator[Part]:
    """A hit: its rank, place, score, and the lines that answer."""
    if not {"query_id", "doc_id", "score", "rank"} <= record.keys():
        return
    from structkit.searching.listing import listing

    question = record.get("query")
    asked = question if isinstance(question, str) else ""
    drawn = listing([record], {record["query_id"]: asked}, {record["doc_id"]: record}, width)
    fields = {"query_id", "doc_id", "score", "rank", "best", "path", "lines", "code", "text"}
    yield fields, Text.from_ansi(drawn)


SHOWS: tuple[Callable[[Record, int], Iterator[Part]], ...] = (_hit, _masked, _html, _trees)


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
