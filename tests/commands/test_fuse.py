"""Fusing runs: numbers worked by hand, laws, and wrong usage."""

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit import fuse, search
from structkit.errors import UserError
from structkit.records.output import write_records
from structkit.scoring.runs import ranking
from tests.cli.complaints import complaint
from tests.tolerances import bound

ONE = {"q": {"a": 9.0, "b": 8.0, "c": 7.0}}
TWO = {"q": {"c": 0.4, "d": 0.2}, "r": {"a": 1.0}}


def files(folder, *runs):
    for number, run in enumerate(runs):
        rows = [
            {"query_id": query_id, "doc_id": doc_id, "score": score}
            for query_id, documents in run.items()
            for doc_id, score in documents.items()
        ]
        (folder / f"run{number}").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return [str(folder / f"run{number}") for number in range(len(runs))]


def found(run):
    return [tuple(record.values()) for record in run]


def test_reciprocal_ranks_worked_by_hand(tmp_path):
    result = found(fuse(files(tmp_path, ONE, TWO)))
    expected = [
        ("q", "c", 1 / 63 + 1 / 61, 1),
        ("q", "a", 1 / 61, 2),
        ("q", "d", 1 / 62, 3),  # ties with b: the later id first
        ("q", "b", 1 / 62, 4),
        ("r", "a", 1 / 61, 1),
    ]
    near = [(*row[:2], pytest.approx(row[2], rel=bound(1)), row[3]) for row in expected]
    assert near == result
    assert result[2][2] == result[3][2]


def test_weighted_scores_worked_by_hand(tmp_path):
    result = fuse(files(tmp_path, ONE, TWO), method="weighted", weight=[1, 3], k=2)
    # q: a 1, b 1/2, c 0 + 3, d 0; r: a alone counts 1, times 3
    assert [("q", "c", 3.0, 1), ("q", "a", 1.0, 2), ("r", "a", 3.0, 1)] == found(result)


def test_parts_of_a_corpus_merge_to_the_whole(tmp_path):
    rows = np.random.default_rng(0).integers(-2, 3, size=(40, 3)).astype("f4")  # many ties
    queries = [{"id": f"q{n}", "embedding": rows[n].tolist()} for n in range(9)]
    runs = {}
    for name, part in {"whole": slice(0, 40), "0": slice(0, 23), "1": slice(23, 40)}.items():
        corpus = tmp_path / f"{name}.npy"
        np.save(corpus, rows[part])
        ids = {"ids": [f"r{n}\n" for n in range(40)[part]]}
        ids["doc_ids"] = [f"d{n % 30}\n" for n in range(40)[part]]  # some in both parts
        for kind, lines in ids.items():
            (tmp_path / f"{name}.{kind}.txt").write_text("".join(lines))
        runs[name] = str(tmp_path / f"{name}.jsonl")
        write_records(search(corpus, queries=queries, k=7), runs[name])
    expected = [orjson.loads(line) for line in open(runs.pop("whole"))]
    assert expected == list(fuse([*runs.values()], method="merge", k=7))
    with pytest.raises(UserError, match="method='merge' takes no weight; leave it out"):
        list(fuse([*runs.values()], method="merge", weight=[1, 1]))


def test_scores_stay_doubles(tmp_path):
    parts = {"q": {"a": 1700000002.0}}, {"q": {"b": 1700000001.0, "c": 1e300, "d": 0.1}}
    merged = [("q", "c", 1e300, 1), ("q", "a", 1700000002.0, 2), ("q", "b", 1700000001.0, 3)]
    assert merged == found(fuse(files(tmp_path, *parts), method="merge", k=3))
    ranked = found(fuse(files(tmp_path, ONE, TWO)))
    assert ("q", "c", 1 / 63 + 1 / 61, 1) == ranked[0]
    (record,) = fuse(files(tmp_path, {"q": {"a": 1.0}}), method="weighted", weight=[0.1])
    assert 0.1 == record["score"]


def test_equal_ranks_in_other_runs_tie(tmp_path):
    orders = ("abc", "bca", "cab")  # summed in another order, 1/61 + 1/62 + 1/63 differ
    runs = [{"q": {name: -float(rank) for rank, name in enumerate(order)}} for order in orders]
    result = found(fuse(files(tmp_path, *runs)))
    assert ["c", "b", "a"] == [row[1] for row in result]
    assert 1 == len({row[2] for row in result})


@pytest.mark.parametrize("wrong", ['"a b"', '""', '"\\u00a0"', '"a\\tb"'])
@pytest.mark.parametrize("field", ["doc_id", "query_id"])
def test_columns_need_ids_without_blanks(here, tmp_path, wrong, field):
    good = '{"query_id": "q", "doc_id": "d", "score": 1.0}\n'
    other = {"query_id": "q", "doc_id": "d"}[field]
    (tmp_path / "one.jsonl").write_text(good)
    (tmp_path / "two.jsonl").write_text(
        good + good.replace('"d"', '"e"').replace({"q": '"q"', "d": '"e"'}[other], wrong)
    )
    for command in (("fuse",), ("fuse", "--method", "merge")):
        done = here(*command, "one.jsonl", "two.jsonl", "--format", "trec")
        problem = "is empty or holds a space, which TREC columns cannot; use --format jsonl"
        assert complaint(done).startswith("id ") and problem in complaint(done)
        assert 0 == here(*command, "one.jsonl", "two.jsonl").returncode


DOCUMENTS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=DOCUMENTS, method=st.sampled_from(["rrf", "weighted"]))
def test_a_run_fused_with_itself_keeps_its_documents_and_order(tmp_path, documents, method):
    paths = files(tmp_path, {"q": documents})
    result = [record["doc_id"] for record in fuse(paths * 2, method=method)]
    assert ranking(documents) == result


def test_each_run_has_a_weight(tmp_path):
    with pytest.raises(UserError, match="weight gives 1 weights for 2 runs") as error:
        list(fuse(files(tmp_path, ONE, TWO), weight=[1.0]))
    assert 2 == error.value.status
