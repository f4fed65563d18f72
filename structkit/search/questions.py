"""Questions that are asked on the command line, and their answers: a list on a terminal."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence

import orjson

from structkit.errors import UserError
from structkit.records.jsonl import Record, Records
from structkit.records.lines import Block
from structkit.records.table import write_drawn
from structkit.search.words import words

FLAG = "--query"


def asked(questions: Sequence[str], files: Sequence[str], *, texts: bool) -> Records:
    """Questions as records with their numbers as ids, or where there are none those of files.

    `texts` tells whether they are searched as texts, or encoded.
    """
    if not questions:
        return Records.read(files)
    if files:
        raise UserError(f"{FLAG} and --queries are both given", "leave one out", status=2)
    if not texts:
        remedy = "name one, or search with --method bm25"
        raise UserError(f"{FLAG} needs --model, which encodes it", remedy, status=2)
    for question in questions:
        if not words(question, stopwords=False):
            raise UserError(f"{FLAG} {question!r} holds no word", "ask for one", status=2)
    lines = [orjson.dumps({"query": unicode(question)}) + b"\n" for question in questions]
    return Records(Block(FLAG, 0, 0, b"".join(lines)))


def unicode(text: str) -> str:
    """A text of the command line; bytes that are no UTF-8 are replaced."""
    return os.fsencode(text).decode("utf-8", "replace")


def listed(questions: Sequence[str], output: str, format: str | None) -> bool:
    """Whether the answers are a list for a person at a terminal."""
    return bool(questions) and output == "-" and format is None and os.isatty(1)


def write_answers(run: Iterable[Record], questions: Sequence[str], texts: Sequence[str]) -> None:
    """Write a run as a list, with what files of records say of the documents."""

    def draw(hits: list[Record], width: int | None) -> str:
        from structkit.search.listing import listing  # with rich, which only a terminal pays for

        documents = records_of(texts, {hit["doc_id"] for hit in hits})
        numbered = {str(number): unicode(text) for number, text in enumerate(questions, 1)}
        return listing(hits, numbered, documents, width)

    write_drawn(run, "-", draw)


def records_of(files: Sequence[str], wanted: Collection[str]) -> dict[str, Record]:
    """The records with these ids, of files that can be read once more."""
    again = [name for name in files if os.path.isfile(name)]
    records = Records.read(again) if again else ()
    return {record["id"]: record for record in records if record["id"] in wanted}
