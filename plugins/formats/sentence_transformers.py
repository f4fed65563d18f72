"""sentence-transformers: training columns in order, with a label or score."""

from __future__ import annotations

from structkit import plugin
from structkit.errors import MEND, UserError, program
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record

LABELS = ("label", "labels", "score", "scores")
FILES = ("train.jsonl", "*.jsonl", "*.csv", "*.tsv", "*.parquet")


class Format(plugin.Format):
    """Training examples."""

    def parts(self, split: str) -> Parts:
        return {"examples": Part(FILES, read_example, ExampleWriter().write)}


def read_example(row: Fields) -> Record:
    """Return an example: query, positive and negatives are the columns in their order."""
    label = labels(row)
    query, positive, *negatives = texts(row)
    example: Record = {"query": query, "positive": positive}
    identity = {"id": str(row["id"])} if "id" in row else {}
    return example | ({"negatives": negatives} if negatives else {}) | label | identity


def labels(row: Fields) -> Record:
    """Take labels and scores out of a row; text, as in .csv, becomes a number."""
    labels: Record = {}
    for name in LABELS:
        value = row.pop(name, None)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise UserError(f'column "{name}" is "{value}", not a number', MEND) from None
            value = int(value) if value.is_integer() and name.startswith("label") else value
        if value is not None:
            labels[name] = value
    return labels


def texts(row: Fields) -> list[str]:
    """Return the columns with texts, in order."""
    columns = {name: value for name, value in row.items() if name != "id"}
    for name, value in columns.items():
        if not isinstance(value, str):
            raise UserError(f'column "{name}" is not text', "write strings in training columns")
    if len(columns) < 2:
        raise UserError(
            f"the row has {len(columns)} columns with texts, not 2 or more",
            "write anchor, positive and negatives",
        )
    return list(columns.values())


class ExampleWriter:
    """Writes the examples of a file: all have as many negatives as the first one."""

    def __init__(self) -> None:
        self.count = -1

    def write(self, record: Fields) -> Row:
        query, positive = record.pop_field("query"), record.pop_field("positive")
        negatives = record.pop_texts("negatives")
        if self.count < 0:
            self.count = len(negatives)
        if len(negatives) != self.count:
            raise UserError(
                f'field "negatives" has {len(negatives)} items, the first record {self.count}',
                f"make the same number for all with {program('pair', per_query=self.count)}",
            )
        numbered = {f"negative_{place}": text for place, text in enumerate(negatives, 1)}
        row = {"anchor": query, "positive": positive, **numbered}
        return row | record.move({name: name for name in LABELS})
