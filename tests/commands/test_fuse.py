"""Fusing runs: numbers worked by hand, laws, and wrong usage."""

from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit import fuse, search
from structkit.errors import UserError
from structkit.records.output import write_records
from structkit.scoring.runs import Run, ranking
from tests.tolerances import bound

ONE: Run = {"q": {"a": 9.0, "b": 8.0, "c": 7.0}}
TWO: Run = {"q": {"c": 0.4, "d": 0.2}, "r": {"a": 1.0}}


def files(folder: Path, *runs: Run) -> list[str]:
    paths = []
    for number, run in enumerate(runs):
        path = folder / f"run{number}"
        path.write_bytes(
            b"".join(
                orjson.dumps({"query_id": query_id, "doc_id": doc_id, "score": score}) + b"\n"
                for query_id, documents in run.items()
                for doc_id, score in documents.items()
            )
        )
        paths.append(str(path))
    return paths


def test_reciprocal_ranks_worked_by_hand(tmp_path: Path) -> None:
    result = list(fuse(files(tmp_path, ONE, TWO)))
    expected = [
        ("q", "c", 1 / 63 + 1 / 61, 1),
        ("q", "a", 1 / 61, 2),
        ("q", "d", 1 / 62, 3),  # ties with b: the later id first
        ("q", "b", 1 / 62, 4),
        ("r", "a", 1 / 61, 1),
    ]
    names = ("query_id", "doc_id", "score", "rank")
    result = [tuple(record[name] for name in names) for record in result]
    expected = [(*row[:2], pytest.approx(row[2], rel=bound(1)), row[3]) for row in expected]
    assert expected == result
    assert result[2][2] == result[3][2]


def test_weighted_scores_worked_by_hand(tmp_path: Path) -> None:
    result = fuse(files(tmp_path, ONE, TWO), method="weighted", weight=[1, 3], k=2)
    # q: a 1, b 1/2, c 0 + 3, d 0; r: a alone counts 1, times 3
    assert [("q", "c", 3.0), ("q", "a", 1.0), ("r", "a", 3.0)] == [
        (record["query_id"], record["doc_id"], record["score"]) for record in result
    ]


def test_parts_of_a_corpus_merge_to_the_whole(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(-2, 3, size=(40, 3)).astype("f4")  # many ties
    for name, part in {"whole": slice(0, 40), "0": slice(0, 23), "1": slice(23, 40)}.items():
        np.save(tmp_path / f"{name}.npy", rows[part])
        ids = "".join(f"d{number % 30}\n" for number in range(40)[part])  # some in both parts
        (tmp_path / f"{name}.ids.txt").write_text(
            "".join(f"r{number}\n" for number in range(40)[part])
        )
        (tmp_path / f"{name}.doc_ids.txt").write_text(ids)
    queries = tmp_path / "queries.jsonl"
    asked = ({"id": f"q{n}", "embedding": rows[n].tolist()} for n in range(9))
    queries.write_bytes(b"".join(orjson.dumps(query) + b"\n" for query in asked))
    for name in ("whole", "0", "1"):
        found = search(tmp_path / f"{name}.npy", queries=queries, k=7)
        write_records(found, str(tmp_path / f"{name}.jsonl"))
    parts = [str(tmp_path / f"{number}.jsonl") for number in range(2)]
    expected = [orjson.loads(line) for line in (tmp_path / "whole.jsonl").open()]
    assert expected == list(fuse(parts, method="merge", k=7))
    with pytest.raises(UserError, match="method='merge' takes no weight; leave it out"):
        list(fuse(parts, method="merge", weight=[1, 1]))


DOCUMENTS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=DOCUMENTS, method=st.sampled_from(["rrf", "weighted"]))
def test_a_run_fused_with_itself_keeps_its_documents_and_order(
    tmp_path: Path, documents: dict[str, float], method: str
) -> None:
    paths = files(tmp_path, {"q": documents})
    result = [record["doc_id"] for record in fuse(paths * 2, method=method)]
    assert ranking(documents) == result
