"""Reranking: numbers worked by hand, groups, presets, and wrong usage."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from structkit.commands.rerank import rerank
from structkit.errors import UserError
from structkit.records.jsonl import Record

CORPUS = [
    {"id": "a", "path": "src/pool.py", "code": "x"},
    {"id": "b", "path": "src/pool.py", "code": "y"},
    {"id": "c", "path": "src/retry_policy.py", "code": "z"},
    {"id": "unfound", "path": "src/retry.py", "code": "z"},
]
QUERIES = [{"id": "q", "query": "how does it retry"}, {"id": "unasked", "query": "x"}]
RUN = {"a": 8.0, "b": 7.0, "c": 4.0}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    run = [{"query_id": "q", "doc_id": doc_id, "score": score} for doc_id, score in RUN.items()]
    return {
        "runs": [written(tmp_path / "run", run)],
        "corpus": [written(tmp_path / "corpus", CORPUS)],
        "queries": [written(tmp_path / "queries", QUERIES)],
    }


def written(path: Path, records: Iterable[Record]) -> str:
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return str(path)


def scores(files: dict[str, Any], **options: Any) -> dict[str, float]:
    return {row["doc_id"]: row["score"] for row in rerank(**files, **options)}


def test_nothing_named_stretches_the_scores(files: dict[str, Any]) -> None:
    assert {"a": 1.0, "b": 0.75, "c": 0.0} == scores(files)
    assert {"a": 1.0, "b": 0.75} == scores(files, k=2)


def test_a_ranker_adds_its_weight(files: dict[str, Any]) -> None:
    # the only word is there, one of the two words of the file's name is asked for
    assert {"c": float(np.float32(3 * 0.5**0.5)), "a": 1.0, "b": 0.75} == scores(files, rankers=["path-words=3"])


def test_later_hits_of_a_group_count_less(files: dict[str, Any]) -> None:
    assert {"a": 1.0, "c": 0.0} == scores(files, group="path")
    assert {"a": 1.0, "b": 0.375, "c": 0.0} == scores(files, group="path", repeats=0.5)


def test_several_runs_count_together(files: dict[str, Any], tmp_path: Path) -> None:
    other = [
        {"query_id": "q", "doc_id": "c", "score": 5},
        {"query_id": "q", "doc_id": "b", "score": 1},
    ]
    files["runs"].append(written(tmp_path / "other", other))
    # means 1/2, 3/8 and 1/2, stretched
    assert {"a": 1.0, "c": 1.0, "b": 0.0} == scores(files)


def test_what_is_missing_is_told(files: dict[str, Any], tmp_path: Path) -> None:
    for key, kind in (("corpus", "document"), ("queries", "query")):
        empty = written(tmp_path / "few", [{"id": "other", "query": "x"}])
        with pytest.raises(UserError, match=f'few: {kind} "[abcq]" of the run is not there'):
            scores({**files, key: [empty]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rankers": ["path-word"]}, "no ranker 'path-word'; did you mean 'path-words'"),
        ({"rankers": ["path-words=much"]}, "'much' is no weight"),
        ({"rankers": ["path-words=inf"]}, "'inf' is no weight"),
        ({"preset": "prose"}, "no preset 'prose'"),
    ],
)
def test_wrong_usage(files: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        scores(files, **options)
    assert 2 == error.value.status
