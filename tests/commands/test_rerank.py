"""Reranking: numbers worked by hand, groups, presets, and wrong usage."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from structkit import rerank, score
from structkit.errors import UserError
from structkit.ranking.weights import choose, read
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
    assert {"c": float(np.float32(3 * 0.5**0.5)), "a": 1.0, "b": 0.75} == scores(
        files, ranker=["path-words=3"]
    )


def test_later_hits_of_a_group_count_less(files: dict[str, Any], tmp_path: Path) -> None:
    assert {"a": 1.0, "c": 0.0} == scores(files, group="path")
    file = written(tmp_path / "half", [{"rankers": {}, "group": "path", "repeats": 0.5}])
    assert {"a": 1.0, "b": 0.375, "c": 0.0} == scores(files, weights=file)


def test_another_group_leaves_what_repeats_count() -> None:
    assert 0.5 == choose("code").repeats == choose("code", group="scope").repeats


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
        with pytest.raises(UserError, match=f'few: has no {kind} "[abcq]", which is in the run'):
            scores({**files, key: [empty]})


def test_a_query_without_a_text_is_told_with_its_line(
    files: dict[str, Any], tmp_path: Path
) -> None:
    queries = written(tmp_path / "bad", [QUERIES[1], {"id": "q", "query": {"a": [1]}}])
    with pytest.raises(UserError, match='bad:2: field "query" is a JSON object, not a string'):
        scores({**files, "queries": [queries]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranker": ["path-word"]}, "no ranker 'path-word'; did you mean 'path-words'"),
        ({"ranker": ["path-words=much"]}, "'much' is not a weight"),
        ({"ranker": ["path-words=inf"]}, "'inf' is not a weight"),
        ({"for_": "prose"}, "no for_ 'prose'"),
    ],
)
def test_wrong_usage(files: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        scores(files, **options)
    assert 2 == error.value.status


# of each query, the last hit of the search is right: its path has the query's word
WORDS = ["alpha", "bravo", "delta", "gamma"]


@pytest.fixture
def judged(tmp_path: Path) -> dict[str, Any]:
    corpus = [{"id": word, "path": f"{word}.py", "code": "x"} for word in WORDS]
    corpus += [{"id": f"{word} test", "path": f"test_{word}.py", "code": "x"} for word in WORDS]
    queries = [{"id": f"q{word}", "query": f"the {word}", "half": word < "c"} for word in WORDS]
    run = [
        {"query_id": query["id"], "doc_id": record["id"], "score": -place}
        for query in queries
        for place, record in enumerate(sorted(corpus, key=lambda each: each["id"][::-1]))
    ]
    qrels = [{"query_id": f"q{word}", "doc_id": f"{word}.py", "relevance": 1} for word in WORDS]
    return {
        "runs": [written(tmp_path / "run", run)],
        "corpus": [written(tmp_path / "corpus", corpus)],
        "queries": [written(tmp_path / "queries", queries)],
        "fit": written(tmp_path / "qrels", qrels),
    }


@pytest.mark.parametrize("field", ["path", "doc_id"])
def test_fitted_weights_find_what_the_judgements_say(
    judged: dict[str, Any], tmp_path: Path, field: str
) -> None:
    if field == "doc_id":  # passages of a document, judged by it
        corpus = [{**orjson.loads(line)} for line in open(judged["corpus"][0], "rb")]
        documents = [{**record, "doc_id": f"x/{record['path']}"} for record in corpus]
        judged["corpus"] = [written(tmp_path / "corpus", documents)]
        rows = [
            {"query_id": f"q{word}", "doc_id": f"x/{word}.py", "relevance": 1} for word in WORDS
        ]
        judged["fit"] = written(tmp_path / "qrels", rows)
    (found,) = rerank(**judged, ranker=["path-words", "path-kinds", "name-words"], folds="half")
    assert found["rankers"]["path-words"] > 0 < found["rankers"]["path-kinds"]
    assert 4 == found["queries"]
    assert 1.0 == found["nDCG@10"]["fitted"] == found["nDCG@10"]["cross_validated"]
    assert 1.0 > found["nDCG@10"]["search"]
    assert {"true": 1.0, "false": 1.0} == found["folds"]
    file = written(tmp_path / "weights.json", [found])
    del judged["fit"]
    run = list(rerank(**judged, weights=file, k=1))
    assert [(f"q{word}", word) for word in WORDS] == [
        (row["query_id"], row["doc_id"]) for row in run
    ]


def test_the_run_of_held_out_queries_has_weights_of_the_others(
    judged: dict[str, Any], tmp_path: Path
) -> None:
    # words of paths answer the first half of the queries, and mislead in the second
    right = {"qalpha": "alpha", "qbravo": "bravo", "qdelta": "gamma test", "qgamma": "delta test"}
    rows = [{"query_id": key, "doc_id": value, "relevance": 1} for key, value in right.items()]
    judged["fit"] = written(tmp_path / "qrels", rows)
    held_out = tmp_path / "held-out.jsonl"
    order: dict[str, Any] = {"ranker": ["path-words"], "folds": "half", "k": 10}
    (found,) = rerank(**judged, **order, held_out=held_out)
    gains: dict[str, list[float]] = {"true": [], "false": []}
    for row in map(orjson.loads, held_out.read_bytes().splitlines()):
        if right[row["query_id"]] == row["doc_id"]:
            gains[str(row["query_id"] < "qc").lower()].append(1 / np.log2(row["rank"] + 1))
    assert found["folds"] == {half: pytest.approx(np.mean(each)) for half, each in gains.items()}
    assert found["folds"]["true"] < 1.0  # of the others it learned to leave paths unread


def test_a_fit_judges_lines_as_score_does(judged: dict[str, Any], tmp_path: Path) -> None:
    # two passages of each file; the first is the one whose path has the query's word by chance,
    # and the judged lines are in the second, or in both, or are judged twice
    corpus = [
        {"id": f"{word} {part}", "doc_id": f"{word}.py", "path": path, "lines": lines}
        for word in WORDS
        for part, path, lines in ((1, f"{word}.py", [1, 9]), (2, "x.py", [10, 19]))
    ]
    spans = {"alpha": [(12, 14)], "bravo": [(9, 10)], "delta": [(1, 2), (3, 4), (18, 30)]}
    rows = [
        {"query_id": f"q{word}", "doc_id": f"{word}.py", "relevance": 1, **span}
        for word in WORDS
        for span in (
            {"start_line": first, "end_line": last} for first, last in spans.get(word, [(19, 19)])
        )
    ]
    run = [
        {"query_id": f"q{word}", "doc_id": record["id"], "score": -(place // 2)}  # ties
        for word in WORDS
        for place, record in enumerate(corpus)
    ]
    judged["runs"], judged["corpus"] = (
        [written(tmp_path / "r", run)],
        [written(tmp_path / "c", corpus)],
    )
    judged["fit"] = written(tmp_path / "qrels", rows)
    held_out = str(tmp_path / "held-out.jsonl")
    half = written(tmp_path / "half", [{"rankers": {}, "group": "doc_id", "repeats": 0.5}])
    order: dict[str, Any] = {"ranker": ["path-words"], "weights": half}
    (found,) = rerank(**judged, **order, folds="half", held_out=held_out)
    fitted = written(
        tmp_path / "fitted",
        rerank(
            **{key: value for key, value in judged.items() if key != "fit"},
            weights=written(tmp_path / "weights", [found]),
        ),
    )
    scored = score(
        {"held out": held_out, "fitted": fitted},
        qrels=judged["fit"],
        measures=["nDCG@10"],
        gains="binary",
        by="half",
        by_records=judged["queries"],
        mean=True,
        passages=judged["corpus"],
    )
    expected = {record["run"]: pytest.approx(record["nDCG@10"]) for record in scored}
    told = found["nDCG@10"]
    assert expected == {"held out": told["cross_validated"], "fitted": told["fitted"]}
    assert 0 < told["fitted"] < 1


def test_weights_that_cannot_be_read(tmp_path: Path) -> None:
    for wrong in ({"weights": {}}, {"rankers": {"coherence": "much"}}, {"rankers": []}):
        with pytest.raises(UserError, match="file: holds no weights"):
            read(written(tmp_path / "file", [wrong]))
    with pytest.raises(UserError, match="holds no weights"):
        read(written(tmp_path / "file", [{"rankers": {}, "repeats": 2}]))
    with pytest.raises(UserError, match="no such|cannot|not there|No such"):
        read(str(tmp_path / "nothing"))


def test_what_cannot_be_fitted(judged: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="fit has no rankers"):
        list(rerank(**judged))
    with pytest.raises(UserError, match='query "qalpha" has no field repository'):
        list(rerank(**judged, ranker=["path-kinds"], folds="repository"))
    judged["fit"] = written(tmp_path / "qrels", [{"query_id": "x", "doc_id": "y", "relevance": 1}])
    with pytest.raises(UserError, match="judges no query of the run"):
        list(rerank(**judged, ranker=["path-kinds"]))
