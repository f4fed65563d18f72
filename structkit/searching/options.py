"""Settings of questions, and of search by embeddings, words or both.

Tests: tests/searching/test_approximate.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Literal

import orjson

from structkit.errors import UserError, flag, wrong_usage
from structkit.records.fields import FIRST_OF_DOCUMENT
from structkit.records.jsonl import Block, Record, Records
from structkit.records.output import Output
from structkit.records.stream import OutputOptions
from structkit.searching import BM25_B, BM25_K1
from structkit.settings import file_setting, setting, settings_class, unicode

INDEX_GROUP = "Index"
WORDS_GROUP = "Words: bm25 and hybrid"
AS_SAVED = "as in a saved index"
WORD_LIST = "words.txt"  # the file that marks a saved index for BM25

FAISS_PARAMETERS = re.compile(
    r"(?:(?:^|,)\w+=[1-9]\d{0,8}(?:\.\d+)?)+"
)  # faiss takes any, and fails


@settings_class
class SearchOptions:
    """Settings of search by embeddings; a backend refuses options that it lacks."""

    index: str = setting(
        "flat",
        "Kind of index: flat (exact), hnsw, ivf, int8 or binary (codes first, then vectors), "
        "or a factory string of faiss.",
        group=INDEX_GROUP,
    )
    parameters: str | None = setting(
        None,
        "Parameters of faiss: nprobe=16, efSearch=256.",
        group=INDEX_GROUP,
    )
    save_index: str | None = setting(
        None,
        "Save the index to DIR, which can then be CORPUS.",
        metavar="DIR",
        writes=True,
        group=INDEX_GROUP,
    )
    rescore: tuple[str, ...] = setting(
        (),
        "Rescore the best candidates by these vectors, if CORPUS holds codes of encode {quantize}.",
        metavar="FLOATS.npy",
        reads=True,
        group=INDEX_GROUP,
    )
    filter: tuple[str, ...] = setting(
        (),
        "Search only rows whose field has this value; all conditions must hold.",
        metavar="FIELD=VALUE",
        group=INDEX_GROUP,
    )
    similarity: Literal["cosine", "dot", "euclidean", "manhattan", "maxsim"] = setting(
        None,
        "Similarity of embeddings, or of the rows of texts (maxsim); distances become negative.",
        inferred="the one of {model}",
        usual="dot",
        group=INDEX_GROUP,
    )
    explain: bool = setting(
        False, "Add `best`, the row that found the document.", group=INDEX_GROUP
    )

    def __post_init__(self) -> None:
        if self.parameters is not None and not FAISS_PARAMETERS.fullmatch(self.parameters):
            problem = f"{flag('parameters', repr(self.parameters))} is not NAME=NUMBER,NAME=NUMBER"
            remedy = "write nprobe=16 for ivf, efSearch=256 for hnsw"
            raise wrong_usage(problem, remedy)
        for text in self.filter:
            if text.find("=") < 1:
                problem = f"{flag('filter', text)} names no value"
                raise wrong_usage(problem, "write it as FIELD=VALUE")

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """The fields of the filters, each with its value."""
        return [(field, value) for field, _, value in (text.partition("=") for text in self.filter)]


@settings_class
class WordOptions:
    """Settings of search by words; a saved index has its own."""

    document_field: str | None = setting(
        None,
        "Field with a document's text.",
        inferred=FIRST_OF_DOCUMENT,
        group=WORDS_GROUP,
    )
    k1: float = setting(
        None,
        "Saturation of term frequency in BM25.",
        low=0.0,
        high=1000.0,
        group=WORDS_GROUP,
        inferred=AS_SAVED,
        usual=BM25_K1,
    )
    b: float = setting(
        None,
        "Length normalization in BM25.",
        short="-b",
        low=0.0,
        high=1.0,
        group=WORDS_GROUP,
        inferred=AS_SAVED,
        usual=BM25_B,
    )


@settings_class
class RunSettings:
    """Settings of the runs to read, and of the length of rankings."""

    runs: tuple[str, ...] = file_setting(
        "Run files, JSONL or TREC; several may be given.", ..., metavar="RUNS", argument=True
    )
    k: int = setting(100, "Documents per query.", short="-k", low=1)


def trec_line(record: Record) -> bytes:
    r"""Return a line of a TREC run; six digits of a score would create ties.

    >>> trec_line({"query_id": "q", "doc_id": "d", "score": 0.123456789, "rank": 1})
    b'q Q0 d 1 0.123456789 structkit\n'
    """
    query_id, doc_id = record["query_id"], record["doc_id"]
    for identifier in (query_id, doc_id):
        if len(identifier.split()) != 1:
            problem = f'id "{identifier}" is empty or holds a space, which TREC columns cannot'
            raise UserError(problem, f"use {flag('format', 'jsonl')}")
    return f"{query_id} Q0 {doc_id} {record['rank']} {record['score']!r} structkit\n".encode()


@settings_class
class RunOutput(OutputOptions):
    """Settings of the file of a run and of its format."""

    format: Literal["jsonl", "trec"] = setting(
        None, "Output format: JSONL, or TREC's six columns.", usual="jsonl"
    )

    def write(self, records: Iterable[Record]) -> None:
        """Write run records in this format, whole or not at all."""
        with Output(self.output) as output:
            output.write_records(map(trec_line, records) if self.format == "trec" else records)


def is_saved(folder: str) -> bool:
    """Return whether a folder holds an index for BM25, even a damaged one."""
    return os.path.lexists(os.path.join(folder, WORD_LIST))


def method_of(corpus: Sequence[str]) -> str:
    """Return the method for a corpus: bm25 for a saved BM25 index, otherwise dense."""
    return "bm25" if len(corpus) == 1 and is_saved(corpus[0]) else "dense"


def question_records(
    questions: Sequence[str], files: Sequence[str], *, encoded: bool, texts: bool
) -> Records:
    """Return questions as records, numbered as ids, or the records of files.

    A question is a text: it is searched as `texts`, or `encoded`.
    """
    if not questions and not files:
        remedy = f"give {flag('query')} or {flag('queries')}"
        raise wrong_usage("there are no queries", remedy)
    if not questions:
        return Records.read(files)
    if not encoded and not texts:
        remedy = f"name one, or search with {flag('method', 'bm25')}"
        problem = f"{flag('query')} needs {flag('model')}, which encodes it"
        raise wrong_usage(problem, remedy)
    lines = [orjson.dumps({"query": unicode(question)}) + b"\n" for question in questions]
    return Records(Block(flag("query"), 0, 0, b"".join(lines)))
