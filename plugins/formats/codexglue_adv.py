"""CodeXGLUE AdvTest: functions, their documentation as queries, and predictions."""

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record

from ._codesearchnet import function_row

TEST_SET_NAMES = {"function": "code", "function_tokens": "code_tokens"}  # the test set's names


class Format(plugin.Format):
    """Functions, their documentation, and predictions."""

    def parts(self, split: str) -> Parts:
        files = (f"{split}.jsonl",)
        return {
            "corpus": Part(files, read_function, write_function),
            "queries": Part(files, read_query),
            "qrels": Part(files, read_judgement),
            "run": Part(
                ("predictions.jsonl",), read_prediction, write_prediction, group="query_id"
            ),
        }


def read_function(row: Fields) -> Record:
    """Return a function; its `idx` is the id."""
    function = Fields((TEST_SET_NAMES.get(name, name), value) for name, value in row.items())
    code = function.pop_field("code")
    return {"id": function.pop_text("idx"), "code": code, **function}


def write_function(record: Fields) -> Row:
    """Return a row of training or development data: its id becomes `idx` and is a whole number."""
    idx = record.pop_whole("id")
    return {"idx": idx, **function_row(record)}


def read_query(row: Fields) -> Record:
    """Return the documentation of a function: its `url` is the query's id in predictions."""
    text = row.pop_field("docstring", default=None)
    if text is None:
        text = " ".join(map(str, row.pop_field("docstring_tokens", kind=list)))
    return {"id": row.pop_field("url"), "query": text}


def read_judgement(row: Fields) -> Record:
    """Return the function that a query belongs to."""
    return {"query_id": row.pop_field("url"), "doc_id": row.pop_text("idx"), "relevance": 1}


def read_prediction(row: Fields) -> list[Record]:
    """Return the answers to a query, best first; scores are made from ranks."""
    url, answers = row.pop_field("url"), row.pop_field("answers", kind=list)
    return [
        {"query_id": url, "doc_id": str(idx), "score": 1 / rank, "rank": rank}
        for rank, idx in enumerate(answers, 1)
    ]


def write_prediction(*records: Fields) -> Row:
    """Return the answers to a query; only their order counts."""
    ranked = sorted(records, key=lambda record: record.get("rank", 0))
    url = records[0].pop_text("query_id")
    for record in records:
        for name in ("query_id", "rank", "score"):
            record.pop(name, None)
    return {"url": url, "answers": [record.pop_whole("doc_id") for record in ranked]}
