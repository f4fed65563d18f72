"""CoNLL-U: sentences with ten columns per word, as a list for each column."""

from __future__ import annotations

import re

from structkit import plugin
from structkit.errors import MEND, UserError
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record

COLUMNS = "word_ids words lemmas upos xpos feats heads deprels deps misc".split()
ID = re.compile(r"[1-9][0-9]*(-[1-9][0-9]*)?|[0-9]+\.[1-9][0-9]*")


class Format(plugin.Format):
    """Sentences."""

    def parts(self, split: str) -> Parts:
        files = (f"{split}.conllu", f"*-{split}.conllu", "*.conllu")
        return {"sentences": Part(files, read_sentence, write_sentence, "paragraphs", as_is=True)}


def read_sentence(row: Fields) -> Record:
    """A sentence: `id`, `text` and other comments, and a list for each column that is used.

    `word_ids` are there if they are not 1, 2, 3 …: for multiword tokens and empty nodes.
    """
    record: Record = {}
    comments: list[str] = []
    cells: list[list[str]] = []
    for line in row["lines"]:
        line = line.rstrip("\r")
        if line.startswith("#"):
            name, equals, value = line[1:].partition("=")
            known = {"sent_id": "id", "text": "text"}.get(name.strip()) if equals else None
            if known and known not in record and value.strip():
                record[known] = value.strip()
            else:
                comments.append(line[1:].strip())
        else:
            cells.append(checked(line.split("\t")))
    if not cells:
        raise UserError("the sentence has comments but no words", "leave it out")
    if comments:
        record["comments"] = comments
    numbers = [str(number) for number in range(1, len(cells) + 1)]
    for name, column in zip(COLUMNS, map(list, zip(*cells, strict=True)), strict=True):
        usual = numbers if name == "word_ids" else ["_"] * len(cells)
        if name == "words" or column != usual:
            record[name] = column
    return record


def checked(cells: list[str]) -> list[str]:
    """The ten cells of a word."""
    if len(cells) != len(COLUMNS):
        raise UserError(
            f"a line of the sentence has {len(cells)} columns, not {len(COLUMNS)}",
            "put tabs between ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC",
        )
    if not ID.fullmatch(cells[0]):
        raise UserError(f'the ID of a word is "{cells[0]}"', "write for example 1, 1-2 or 1.1")
    return cells


def on_a_line(text: str) -> str:
    """The text without line breaks."""
    return re.sub(r"\s*[\r\n]\s*", " ", text).strip()


def write_sentence(record: Fields) -> Row:
    """A sentence."""
    lines = []
    identifier = record.take("id", default=None)
    text = record.take("text", default=None)
    if identifier is not None:
        lines.append(f"# sent_id = {identifier}")
    if text is not None:
        lines.append(f"# text = {on_a_line(text)}")
    lines += [f"# {on_a_line(comment)}" for comment in record.take_texts("comments")]
    words = record.take("words", kind=list)
    record["words"] = words
    columns = [record.take_texts(name) for name in COLUMNS]
    columns[0] = columns[0] or [str(number) for number in range(1, len(words) + 1)]
    for name, column in zip(COLUMNS, columns, strict=True):
        if column and len(column) != len(words):
            raise UserError(f'field "{name}" has {len(column)} items for {len(words)} words', MEND)
        for cell in column:
            if not cell or "\t" in cell or "\n" in cell or "\r" in cell:
                raise UserError(f'field "{name}" holds {cell!r}, which a column cannot', MEND)
    filled = [column or ["_"] * len(words) for column in columns]
    return {"lines": lines + ["\t".join(cells) for cells in zip(*filled, strict=True)]}
