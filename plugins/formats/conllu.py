"""CoNLL-U: sentences with ten columns per word, as a list for each column."""

from __future__ import annotations

import re

from structkit import plugin
from structkit.errors import MEND, UserError
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record

COLUMNS = "word_ids words lemmas upos xpos feats heads deprels deps misc".split()
NAMED = {"sent_id": "id", "text": "text"}  # comments with fields of their own
BREAK = re.compile(r"\s*[\r\n]\s*")
ID = re.compile(r"[1-9][0-9]*(-[1-9][0-9]*)?|[0-9]+\.[1-9][0-9]*")


class Format(plugin.Format):
    """Sentences."""

    def parts(self, split: str) -> Parts:
        files = (f"{split}.conllu", f"*-{split}.conllu", "*.conllu")
        return {"sentences": Part(files, read_sentence, write_sentence, "paragraphs", as_is=True)}


def read_sentence(row: Fields) -> Record:
    """Return a sentence: `id`, `text` and other comments, and a list for each used column.

    `word_ids` are there if they are not 1, 2, 3 …: for multiword tokens and empty nodes.
    """
    record: Record = {}
    comments: list[str] = []
    cells: list[list[str]] = []
    for number, line in enumerate(row["lines"], 1):
        line = line.rstrip("\r")
        if line.startswith("#"):
            comments.append(line[1:].strip())
        else:
            cells.append(checked(line.split("\t"), number))
    if not cells:
        raise UserError("the sentence has comments but no words", "leave it out")
    for name, field in NAMED.items():
        if value := next(filter(None, (value_of(each, name) for each in comments)), None):
            record[field] = value
    if others := _other_comments(comments):
        record["comments"] = others
    numbers = [str(number) for number in range(1, len(cells) + 1)]
    for name, column in zip(COLUMNS, map(list, zip(*cells, strict=True)), strict=True):
        usual = numbers if name == "word_ids" else ["_"] * len(cells)
        if name == "words" or column != usual:
            record[name] = column
    return record


def value_of(comment: str, name: str) -> str:
    """Return the value of a comment `name = value`; empty for others."""
    start, equals, value = comment.partition("=")
    return value.strip() if equals and start.strip() == name else ""


def _other_comments(comments: list[str]) -> list[str]:
    """Return the comments after leading id and text, or all if those come later."""
    rest = list(comments)
    for name in NAMED:
        if rest and value_of(rest[0], name):
            del rest[0]
    return comments if any(value_of(each, name) for each in rest for name in NAMED) else rest


def checked(cells: list[str], number: int) -> list[str]:
    """Return the ten cells of a word. Errors: `UserError` with its line in the sentence."""
    if len(cells) != len(COLUMNS):
        problem = f"a line of the sentence has {len(cells)} columns, not {len(COLUMNS)}"
        remedy = "put tabs between ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
        raise UserError(problem, remedy).at("", number)
    if not ID.fullmatch(cells[0]):
        problem = f'the ID of a word is "{cells[0]}"'
        raise UserError(problem, "write for example 1, 1-2 or 1.1").at("", number)
    return cells


def write_sentence(record: Fields) -> Row:
    """Return a sentence."""
    comments = record.pop_texts("comments")
    start = 0
    for name, field in NAMED.items():
        value = record.pop_field(field, default=None)
        if value is not None:
            places = (at for at, each in enumerate(comments) if value_of(each, name))
            at = next(places, None)
            if at is None:  # it comes before all others
                at, start = start, start + 1
                comments.insert(at, "")
            comments[at] = f"{name} = {value}"
    lines = [f"# {BREAK.sub(' ', comment).strip()}" for comment in comments]
    words = record.pop_field("words", kind=list)
    record["words"] = words
    columns = [record.pop_texts(name) for name in COLUMNS]
    columns[0] = columns[0] or [str(number) for number in range(1, len(words) + 1)]
    for name, column in zip(COLUMNS, columns, strict=True):
        if column and len(column) != len(words):
            raise UserError(f'field "{name}" has {len(column)} items for {len(words)} words', MEND)
        for cell in column:
            if not cell or "\t" in cell or "\n" in cell or "\r" in cell:
                raise UserError(f'field "{name}" holds {cell!r}, which a column cannot', MEND)
    filled = [column or ["_"] * len(words) for column in columns]
    return {"lines": lines + ["\t".join(cells) for cells in zip(*filled, strict=True)]}
