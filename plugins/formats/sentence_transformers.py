"""sentence-transformers: training columns in order, with a label or score."""

from structkit import plugin
from structkit.errors import RECORD_REMEDY, UserError, program
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record

LABEL_FIELDS = ("label", "labels", "score", "scores")
TRAINING_FILES = ("train.jsonl", "*.jsonl", "*.csv", "*.tsv", "*.parquet")


class Format(plugin.Format):
    """Training examples."""

    def parts(self, split: str) -> Parts:
        read, write = ExampleReader().read, ExampleWriter().write
        return {"examples": Part(TRAINING_FILES, read, write, ordered=True)}


class ExampleReader:
    """Reads examples: query, positive and negatives are the columns in their order.

    The order is that of the first rows; a row without a text in a column moves no other one.
    """

    def __init__(self) -> None:
        self.columns: dict[str, None] = {}

    def read(self, row: Fields) -> Record:
        """Return an example with its labels and scores, as numbers, and its id."""
        labels: Record = {}
        for name in LABEL_FIELDS:
            if isinstance(row.get(name), str):
                number = row.pop_number(name)
                whole = name.startswith("label") and number.is_integer()
                labels[name] = int(number) if whole else number
            elif (value := row.pop(name, None)) is not None:
                labels[name] = value
        identity = row.pop("id", None)
        if not self.columns or not row.keys() <= self.columns.keys():
            self._add(row)
        query, positive, *others = map(row.get, self.columns)
        for name, value in row.items():
            if type(value) is not str and value is not None:
                raise UserError(f'column "{name}" is not text', "write strings in training columns")
        first, second, *_ = self.columns
        if query is None or positive is None or second.startswith("negative"):
            name, role = (first, "query") if query is None else (second, "positive")
            raise UserError(f'the {role} is missing (column "{name}")', RECORD_REMEDY)
        example: Record = {"query": query, "positive": positive}
        if negatives := [text for text in others if text is not None]:
            example["negatives"] = negatives
        return example | labels | ({} if identity is None else {"id": str(identity)})

    def _add(self, row: Fields) -> None:
        """Add the columns of a row, or begin anew with those of another file."""
        columns = dict.fromkeys(row)
        if not self.columns.keys().isdisjoint(row):
            columns = self.columns | columns
        if "" in row:
            raise UserError("a column has no name", "name it, or take it out")
        if len(columns) < 2:
            raise UserError(
                f"the row has {len(columns)} columns with texts, not 2 or more",
                "write anchor, positive and negatives",
            )
        self.columns = columns


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
        return row | record.move({name: name for name in LABEL_FIELDS})
