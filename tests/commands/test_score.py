"""Measures against pytrec_eval and numbers worked by hand; what `score` writes and refuses."""

import math
from pathlib import Path

import numpy as np
import orjson
import pytest
from scipy.stats import bootstrap

from structkit import score, search
from structkit.cli.main import app
from structkit.errors import UserError
from structkit.reproducibility import key
from structkit.scoring.measures import evaluate, interval, measure
from tests.jsonl import write


def test_numbers_worked_by_hand():
    # ranking of q1: c, b, a (b and c tie: the later id first); q2 is not in the run
    run = {"q1": {"a": 1.0, "b": 2.0, "c": 2.0}, "q3": {"a": 1.0}}
    qrels = {"q1": {"a": 2, "b": 1, "x": 0}, "q2": {"a": 1}}
    names = ["RR", "MRR@1", "nDCG@10", "R@2", "HitRate@2", "Judged@3"]
    result = evaluate(run, qrels, names)
    gain = (1 / math.log2(3) + 2 / math.log2(4)) / (2 / math.log2(2) + 1 / math.log2(3))
    assert [1 / 2, 0, gain, 1 / 2, 1, 2 / 3] == pytest.approx(result.values[0].tolist())
    assert [0.0] * 6 == result.values[1].tolist()
    assert [1 / 4, 0, gain / 2, 1 / 4, 1 / 2, 1 / 3] == pytest.approx(
        result.values.mean(axis=0).tolist()
    )
    assert (1, 1) == (len(result.lost), result.unjudged)
    assert names == result.names


def test_the_interval_is_that_of_scipy():
    values = np.random.default_rng(1).random((40, 1))
    drawn = np.random.default_rng(key(0, "bootstrap"))
    found = bootstrap(
        (values[:, 0],), np.mean, n_resamples=1000, method="percentile", random_state=drawn
    )
    (low,), (high,) = interval(values)
    np.testing.assert_allclose([low, high], [*found.confidence_interval], rtol=1e-12)


UNKNOWN = (
    "nDCG@x nDCG(@10 nDCG@10.5 nDCG(gains={1:10000000000})@3 ERR P P@True P@5@6 P@10(rel=2) "
    "P(rel=1.5)@4 IPrec@1e400 IPrec@1.5 IPrec@-0.5 AP(rel=0) AP(rel=abc) AP(foo=1) "
    "AP(rel=99999999999999999999) RR@0 RR@-1 P@9223372036854775808"
)


@pytest.mark.parametrize("name", ["", *UNKNOWN.split()])
def test_an_unknown_measure_is_refused_with_examples(name):
    with pytest.raises(UserError) as error:
        measure(name)
    assert str(error.value).startswith(f"unknown measure {name!r}; ")
    assert "nDCG@10, RR@10" in str(error.value)
    assert 2 == error.value.status


HITS = [("q1", "a", 1.0), ("q1", "b", 2.0), ("q2", "q2", 1.0), ("q3", "a", 1.0)]
FOUND = [{"query_id": query, "doc_id": doc, "score": score} for query, doc, score in HITS]
ANSWERS = {"q1": "a", "q2": "q2", "q4": "a"}
JUDGED = [{"query_id": query, "doc_id": doc, "relevance": 1} for query, doc in ANSWERS.items()]


def test_score_gives_one_flat_record_for_each_run():
    one, two = score({"one": FOUND, "two": FOUND}, qrels=JUDGED, measures=["MRR", "R@10"])
    counts = {"run": "one", "queries": 3, "missing": 1, "unjudged": 1}
    assert counts == {name: one[name] for name in counts}
    assert [*counts, "MRR", "MRR_low", "MRR_high", "R@10", "R@10_low", "R@10_high"] == list(one)
    assert (pytest.approx(0.5), pytest.approx(2 / 3)) == (one["MRR"], one["R@10"])
    assert 0 <= one["MRR_low"] < one["MRR"] < one["MRR_high"] <= 1
    assert {**one, "run": "two"} == two


def test_score_per_query():
    found = score({"r": FOUND}, qrels=JUDGED, measures=["MRR"], per_query=True)
    assert [
        {"run": "r", "query_id": "q1", "MRR": 0.5},
        {"run": "r", "query_id": "q2", "MRR": 1.0},
        {"run": "r", "query_id": "q4", "MRR": 0.0},
    ] == list(found)


def test_score_against_the_queries_own_documents():
    (record,) = score(FOUND, qrels="self", measures=["RR"])
    assert (3, 0, 1 / 3) == (record["queries"], record["missing"], record["RR"])
    queries = [{"id": f"q{number}"} for number in (1, 2, 8, 9)]
    (record,) = score(FOUND, qrels="self", measures=["RR"], queries=queries)
    assert (4, 2, 1 / 4) == (record["queries"], record["missing"], record["RR"])


def test_a_run_of_other_queries_is_refused_with_its_file():
    other = [{"query_id": "1", "doc_id": "a", "score": 1}]
    with pytest.raises(UserError, match='r: no query of the run is judged: it has "1", '):
        list(score({"r": other}, qrels=JUDGED))
    with pytest.raises(UserError, match="unknown measure 'foo@1'"):  # before files are read
        list(score({"r": "no file"}, qrels="no file", measures=["nDCG@10", "foo@1"]))


def test_self_is_no_file_and_measures_may_have_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").write_bytes(b"\n".join(map(orjson.dumps, FOUND)))
    names = "P(rel=1, judged_only=True)@1,RR R@10"
    arguments = ["score", "run", "--qrels", "self", "--measures", names, "-o", "self"]
    app(arguments, standalone_mode=False)
    scored = orjson.loads((tmp_path / "self").read_bytes())
    assert ["P(rel=1, judged_only=True)@1", "RR", "R@10"] == [*scored][4::3]


RUNS = ("--qrels", "qrels", "one", "two", "--measures", "RR P(rel=1)@1")
COMPARED = ("--qrels=self", "three", "--compare=two", "--measures", "RR R@1")


@pytest.mark.parametrize(
    ("words", "limits", "status", "told"),
    [
        (RUNS, ["RR=0.5", "P(rel=1)@1=0"], 0, ""),
        (RUNS, ["RR=0.75"], 1, "run two: RR is 0.5, below 0.75"),
        (RUNS, ["RR=0.4", "P(rel=1)@1=2"], 1, "run one: P(rel=1)@1 is 0.666667, below 2"),
        (
            RUNS,
            ["RR@1=0"],
            2,
            "unknown measure 'RR@1'; did you mean 'RR'? available: P(rel=1)@1, RR",
        ),
        (COMPARED, ["R@1=0", "RR=0.9"], 1, "run three, against two: RR is 0.333333, below 0.9"),
        (["none", "--qrels=none"], ["RR"], 2, "--fail-below RR is not MEASURE=VALUE; write it as "),
    ],
)
def test_a_value_below_its_limit_fails_when_all_is_written(
    here, tmp_path, words, limits, status, told
):
    hits = {"one": [*FOUND, {"query_id": "q4", "doc_id": "a", "score": 1}], "two": FOUND}
    for name, lines in {**hits, "three": FOUND, "qrels": JUDGED}.items():
        (tmp_path / name).write_bytes(b"\n".join(map(orjson.dumps, lines)))
    done = here("score", *words, *(f"--fail-below={limit}" for limit in limits))
    written = 0 if "none" in words else 2  # wrong usage is seen before files are read
    assert (status, written) == (done.returncode, len(done.stdout.splitlines()))
    said = done.stderr.decode().rstrip("\n").removeprefix("structkit: ")
    assert said.startswith(told) and bool(said) == bool(told) and "\n" not in said


CORPUS = [
    {"id": str(number), "text": text}
    for number, text in enumerate(["tea and milk", "tea with milk", "milk", "coffee"])
]


@pytest.mark.parametrize(
    ("exclude", "left_out"),
    [
        ("self", {"0": ["0"], "1": ["1"]}),
        ([{"id": "0", "excluded_ids": ["2", "0", "9"]}, {"id": "1"}], {"0": ["0", "2"]}),
        (["self", "excluded.jsonl"], {"0": ["0", "2"], "1": ["1"]}),
    ],
)
@pytest.mark.parametrize("how", [{"method": "bm25"}, {"model": "builtin"}, {"method": "hybrid"}])
def test_excluded_documents_are_left_out_of_runs_and_scores(
    tmp_path, monkeypatch, exclude, left_out, how
):
    """As BEIR scores ArguAna (MTEB: ignore_identical_ids), and BRIGHT its queries."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "excluded.jsonl", {"id": "0", "excluded_ids": ["2"]})
    queries = CORPUS[:2]
    qrels = [{"query_id": query["id"], "doc_id": "1", "relevance": 1} for query in queries]
    found = [*search(CORPUS, queries=queries, **how)]
    kept = [hit for hit in found if hit["doc_id"] not in left_out.get(hit["query_id"], [])]
    scores = {}
    for k in (1, 100):
        run = [*search(CORPUS, queries=queries, exclude=exclude, k=k, **how)]
        firsts = [[hit for hit in kept if hit["query_id"] == query["id"]][:k] for query in queries]
        assert [hit["doc_id"] for hit in run] == [hit["doc_id"] for hits in firsts for hit in hits]
        (scores[k],) = score({"r": run}, qrels=qrels)
    (excluded,) = score({"r": found}, qrels=qrels, exclude=exclude)
    assert scores[100] == excluded


def test_exclusions_that_exclude_nothing_are_an_error(tmp_path):
    run = [{"query_id": "0", "doc_id": "1", "score": 1.0}]
    with pytest.raises(UserError, match="leaves out the answers of"):
        list(score({"r": run}, qrels="self", exclude="self"))
    qrels = [{"query_id": "0", "doc_id": "1", "relevance": 1}]
    of_others = [{"id": name, "excluded_ids": ["1"]} for name in ("5", "6")]
    for wrong, told in (
        (CORPUS, 'field "excluded_ids" is missing; name queries that have it'),
        ([{"id": "0", "excluded_ids": "1"}], 'field "excluded_ids" is a JSON string, not an array'),
        (of_others, "exclude: no ranking is of one of its 2 queries; name the file of the queries"),
    ):
        with pytest.raises(UserError, match=told):
            list(score({"r": run}, qrels=qrels, exclude=wrong))
        with pytest.raises(UserError, match=told):
            list(search(CORPUS, query="tea", method="bm25", exclude=wrong))


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ({"0": ["2"]}, ""),
        ({"0": ["t/2"]}, "no ranking has a document that its query excludes; compare the ids"),
    ],
)
def test_exclusions_without_effect_are_reported(listed, told, capsys):
    excluded = [{"id": name, "excluded_ids": doc_ids} for name, doc_ids in listed.items()]
    run = [*search(CORPUS, queries=CORPUS[:2], method="bm25")]
    qrels = [{"query_id": name, "doc_id": "1", "relevance": 1} for name in "01"]
    for use in (
        lambda: search(CORPUS, queries=CORPUS[:2], method="bm25", exclude=excluded),
        lambda: score({"r": run}, qrels=qrels, exclude=excluded),
    ):
        list(use())
        said = capsys.readouterr().err
        assert told in said and bool(told) == bool(said)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0\t1\n", "1: the line is not JSON"),  # as qrels of BEIR …
        ("0 0 1 1\n", "1: the line is not JSON"),  # … and of TREC
        ('{"query_id":"0","doc_id":"1","relevance":1}\n', ' field "excluded_ids" is missing'),
        ('{"id":"0","excluded_ids":["1"]}\n' * 2, '2: id "0" is repeated'),
    ],
)
def test_other_forms_of_exclusions_are_refused(tmp_path, here, text, told):
    write(tmp_path / "run.jsonl", {"query_id": "0", "doc_id": "1", "score": 1})
    Path(tmp_path, "excluded").write_text(text)
    done = here("score", "run.jsonl", "--qrels", "self", "--exclude", "excluded")
    assert done.returncode == 1 and f"excluded:{told}" in done.stderr.decode()


@pytest.mark.parametrize("split", ["test", "test-long"])
def test_the_exclusions_of_bright_are_scored(here, split):
    bright = Path("fixtures/formats/bright").resolve()
    assert 0 == here("convert", "--split", split, "--from", "bright", bright, "-o", ".").returncode
    words = "search corpus.jsonl --method bm25 --queries queries.jsonl -o run.jsonl"
    judge = "score run.jsonl --qrels qrels.jsonl --measures RR@1"
    for more, value in (("", 0.5), (" --exclude queries.jsonl", 1.0)):
        assert 0 == here(*words.split()).returncode
        [scores] = map(orjson.loads, here(*(judge + more).split()).stdout.splitlines())
        assert value == scores["RR@1"]
