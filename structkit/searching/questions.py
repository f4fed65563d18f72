"""Questions on the command line, and their answers: a list on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import orjson

from structkit.errors import UserError, flag
from structkit.records.jsonl import Record, Records
from structkit.records.lines import Block
from structkit.records.table import write_drawn
from structkit.searching.words import words


def asked(questions: Sequence[str], files: Sequence[str], *, texts: bool) -> Records:
    """Questions as records with their numbers as ids; without any, the records of files.

    `texts` tells whether they are searched as texts, or encoded.
    """
    if not questions and not files:
        remedy = f"give {flag('query')} or {flag('queries')}"
        raise UserError("there are no queries", remedy, status=2)
    if not questions:
        return Records.read(files)
    if not texts:
        remedy = f"name one, or search with {flag('method', 'bm25')}"
        problem = f"{flag('query')} needs {flag('model')}, which encodes it"
        raise UserError(problem, remedy, status=2)
    for question in questions:
        if not words(question, stopwords=False):
            problem = f"{flag('query', repr(question))} holds no word"
            raise UserError(problem, "write a question", status=2)
    lines = [orjson.dumps({"query": unicode(question)}) + b"\n" for question in questions]
    return Records(Block(flag("query"), 0, 0, b"".join(lines)))


def unicode(text: str) -> str:
    """A text of the command line; bytes that are not UTF-8 are replaced."""
    return os.fsencode(text).decode("utf-8", "replace")


def listed(questions: Sequence[str], output: str, format: str | None) -> bool:
    """Whether the answers are a list for a person at a terminal."""
    return bool(questions) and output == "-" and format is None and os.isatty(1)


Documents = Callable[[list[Record]], Mapping[str, Record]]


def write_answers(
    run: Iterable[Record], questions: Sequence[str], documents: Documents, rows: int = 3
) -> None:
    """Write a run as a list, with some lines of the records that `documents` has of the hits."""

    def draw(hits: list[Record], width: int | None) -> str:
        from structkit.searching.listing import listing  # imports rich, which only a terminal needs

        numbered = {str(number): unicode(text) for number, text in enumerate(questions, 1)}
        return listing(hits, numbered, documents(hits), width, rows)

    write_drawn(run, "-", draw)


def found_in(files: Sequence[str]) -> Documents:
    """The records of hits, from files that can be read again."""

    def records(hits: list[Record]) -> dict[str, Record]:
        wanted = {hit["doc_id"] for hit in hits}
        again = [name for name in files if os.path.isfile(name)]
        every = Records.read(again) if again else ()
        return {record["id"]: record for record in every if record["id"] in wanted}

    return records


def carried(hits: list[Record]) -> dict[str, Record]:
    """The records of hits that carry all their fields."""
    return {hit["doc_id"]: hit for hit in hits}
