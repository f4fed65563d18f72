"""CodeXGLUE AdvTest: functions, their documentation as queries, and predictions."""

from __future__ import annotations

from structkit import plugin
from structkit.errors import MEND, UserError
from structkit.formats.codesearchnet import FILES, function_row
from structkit.formats.interchange import (
    Options,
    Part,
    Parts,
    Row,
    take,
    take_id,
    take_whole,
)
from structkit.records.jsonl import Record

TEST = {"function": "code", "function_tokens": "code_tokens"}  # the test set's names


class Format(plugin.Format):
    """Functions, their documentation, and predictions."""

    def parts(self, options: Options) -> Parts:
        files = (f"{options.split}.jsonl",)
        return {
            "corpus": Part(files, read_function, write_function),
            "queries": Part(files, read_query),
            "qrels": Part(files, read_judgement),
            "run": Part(
                ("predictions.jsonl",), read_prediction, write_prediction, group="query_id"
            ),
        }


def read_function(row: Row) -> Record:
    """A function; its `idx` is the id."""
    function = {TEST.get(name, name): value for name, value in row.items()}
    code = take(function, "code")
    return {"id": take_id(function, "idx"), "code": code, **function}


def write_function(record: Record) -> Row:
    """A row of training or development data: its id becomes `idx` and is a whole number."""
    idx = take_whole(record, "id")
    return {"idx": idx, **function_row(record, FILES)}


def read_query(row: Row) -> Record:
    """The documentation of a function: its `url` is the query's id in predictions."""
    tokens = take(row, "docstring_tokens", kind=list, default=None)
    text = take(row, "docstring", default=None)
    if text is None and tokens is None:
        raise UserError('fields "docstring" and "docstring_tokens" are missing', MEND)
    return {"id": take(row, "url"), "query": " ".join(map(str, tokens)) if text is None else text}


def read_judgement(row: Row) -> Record:
    """The function that a query belongs to."""
    return {"query_id": take(row, "url"), "doc_id": take_id(row, "idx"), "relevance": 1}


def read_prediction(row: Row) -> list[Record]:
    """The answers to a query, best first; scores are made from ranks."""
    url, answers = take(row, "url"), take(row, "answers", kind=list)
    return [
        {"query_id": url, "doc_id": str(idx), "score": 1 / rank, "rank": rank}
        for rank, idx in enumerate(answers, 1)
    ]


def write_prediction(*records: Record) -> Row:
    """The answers to a query; only their order counts."""
    ranked = sorted(records, key=lambda record: record.get("rank", 0))
    url = take_id(records[0], "query_id")
    for record in records:
        for name in ("query_id", "rank", "score"):
            record.pop(name, None)
    return {"url": url, "answers": [take_whole(record, "doc_id") for record in ranked]}
