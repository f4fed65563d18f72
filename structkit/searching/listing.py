"""Hits as a list for people: document, place and best lines, for a terminal.

Tests: tests/searching/test_questions.py.
"""

import io
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from rich.console import Console
from rich.style import Style
from rich.text import Text

from structkit.progress import STYLES, colored, printable
from structkit.records.jsonl import Record, Records
from structkit.records.output import Output
from structkit.searching.lines import Line, best_rows
from structkit.searching.words import folded_words, occurrences

MIN_LIST_COLUMNS = 40
RANK_COLUMNS = 4  # columns of a rank, and of the margin under it
MAX_LISTED_NAMES = 3


def write_answers(
    run: Iterable[Record], questions: Sequence[str], files: Iterable[str] = (), rows: int = 3
) -> None:
    """Write a run as a list, with some lines of each hit: of its record in files, or its own."""
    hits = list(run)
    ids = {hit["doc_id"] for hit in hits}
    again = [name for name in files if os.path.isfile(name)]  # that can be read again
    every = Records.read(again) if again else ()
    documents = {record["id"]: record for record in every if record["id"] in ids}
    numbered = {str(number): text for number, text in enumerate(questions, 1)}
    width = shutil.get_terminal_size().columns
    with Output(kept=STYLES) as output:
        output.write(f"{listing(hits, numbered, documents, width, rows)}\n".encode())


def listing(
    run: Iterable[Record],
    questions: Mapping[str, str],
    documents: Mapping[str, Record],
    width: int,
    rows: int = 3,
) -> str:
    """Return run records as a list: rank, place and score, and under them the best lines.

    `questions` are texts by query id, `documents` records by id; a missing one is replaced by the
    hit. At most `rows` lines of each are shown.
    """
    width = max(width, MIN_LIST_COLUMNS)
    shown = io.StringIO()
    console = Console(
        file=shown, force_terminal=True, width=width, highlight=False, no_color=not colored()
    )
    hits_of: dict[str, list[Record]] = {query_id: [] for query_id in questions}
    for hit in run:
        hits_of[hit["query_id"]].append(hit)
    for query_id, question in questions.items():
        if len(questions) > 1:
            console.print(Text(printable(question), "bold underline"), end="\n\n")
        if not hits_of[query_id]:
            console.print("nothing was found", end="\n\n")
        for hit in hits_of[query_id]:
            document = documents.get(hit["doc_id"]) or hit.get("best", hit)
            best, around = (
                best_rows(document, question, n, width - RANK_COLUMNS - 2) for n in (1, rows)
            )
            lines = [*_heading(hit, document, question, best, width), *_excerpt(around, width)]
            if also := hit.get("also_in"):
                more = f" and {len(also) - 1} more" if len(also) > 1 else ""
                line = f"{' ' * RANK_COLUMNS}also in {printable(also[0])}{more}"
                lines.append(Text(line, "dim"))
            for each in lines:
                console.print(each, no_wrap=True, overflow="ellipsis")
            console.print()
    return shown.getvalue().rstrip("\n")


def _heading(
    hit: Record, document: Record, question: str, best: Sequence[Line], width: int
) -> Iterator[Text]:
    """Yield rank, place and label, with the score at the right; a long label on its own line.

    A label that is still too long loses its beginning: the end of a name is specific.
    """
    score, rank = f" {hit['score']:.3f}", f"{hit['rank']:>{RANK_COLUMNS - 2}}  "
    place, label = _location(hit, document, best), printable(_document_label(document, question))
    room = width - len(rank) - len(score)
    head = Text.assemble((rank, "bold"), _end_of_text(place, room))
    beside = bool(label) and len(place) + 2 + len(label) <= room
    if beside:
        head.append(f"  {label}", "dim")
    head.truncate(width - len(score), pad=True)
    yield head.append(score, "dim")
    if label and not beside:
        yield Text(" " * RANK_COLUMNS).append(
            _end_of_text(Text(label, "dim"), width - RANK_COLUMNS)
        )


def _end_of_text(text: Text, width: int) -> Text:
    """Return a text, or as much of its end as fits."""
    return text if len(text) <= width else Text("…", text.style).append(text[1 - width :])


def _location(hit: Record, document: Record, best: Sequence[Line]) -> Text:
    path = document.get("path")
    if not isinstance(path, str):
        return Text(printable(hit["doc_id"]), "bold cyan")
    asked = next((row.number for row in best if row.spans and row.number), None)
    lines = document.get("lines")
    first = asked or (lines[0] if isinstance(lines, list) and lines else None)
    style = Style(bold=True, color="cyan", link=_link(path, document.get("anchor")))
    return Text(printable(path) + (f":{first}" if first else ""), style)


def _link(path: str, anchor: object) -> str | None:
    """Return the address that a terminal opens for a path: the section, if it has an anchor."""
    if not os.path.exists(path):
        return None
    address = Path(os.path.abspath(path)).as_uri()
    place = f"#{quote(anchor)}" if isinstance(anchor, str) else ""
    return address.replace("file://", f"file://{os.uname().nodename}", 1) + place


def _document_label(document: Record, question: str) -> str:
    """Return a document's label: the symbol around its line, its headings, or its names."""
    if headings := document.get("headings"):
        return " > ".join(map(str, headings))
    if "line" in document:  # an answer of `ask`
        return str(document.get("calls") or document.get("symbol") or "")
    terms = frozenset(folded_words(question))
    names = [str(name) for name in document.get("names") or []]
    names.sort(key=lambda name: not occurrences(name, terms))  # those that are asked for first
    defined = ", ".join(names[:MAX_LISTED_NAMES]) + (", …" if len(names) > MAX_LISTED_NAMES else "")
    scope = document.get("scope") or document.get("name") or ""
    return ": ".join(part for part in (str(scope), defined) if part)


def _excerpt(best: Sequence[Line], width: int) -> Iterable[Text]:
    digits = max((len(str(row.number)) for row in best if row.number), default=0)
    before = None
    for row in best:
        line = Text(" " * RANK_COLUMNS)
        if digits:  # a folded line has its number once
            number = "" if row.number in (None, before) else str(row.number)
            line.append(f"{number:>{digits}}  ", "dim")
        before = row.number
        yield line.append(_mark_words(row, width - len(line)))


def _mark_words(row: Line, width: int) -> Text:
    """Return a line with the asked words marked; of a long line the part with the first of them."""
    text = Text(printable(row.text))
    if len(text) == len(row.text):  # otherwise escapes have moved the places
        for start, end in row.spans:
            text.stylize("bold yellow", start, end)
    if row.spans and row.spans[0][1] > width - 1:
        at = max(0, row.spans[0][0] - width // 3)
        return Text("…") + text[at:]
    return text
