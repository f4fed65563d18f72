"""The Python interface: what commands do, over dicts; wrong arguments are told in its terms."""

import inspect
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import structkit
from structkit import UserError
from structkit.commands.mask_entities import Settings as MaskSettings
from structkit.settings import COMMANDS

CODE = {"id": "1", "language": "python", "code": "def add(a, b):\n    return a + b"}
FUNCTIONS = [name for name in structkit.__all__ if name != "UserError"]


def told(call):
    with pytest.raises(UserError) as caught:
        list(call())
    return str(caught.value)


def test_importing_it_imports_nothing_else():
    script = (
        "import sys, structkit; heavy = {'torch', 'numpy', 'typer'}\n"
        "print([each for each in sys.modules if each.startswith('structkit.') or each in heavy])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "['structkit.machine']\n" == done.stdout, done.stderr


def test_masking_does_not_import_torch():
    script = "import sys; from structkit import mask_entities; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "False\n" == done.stdout, done.stderr


def test_each_is_named_after_its_command_and_explains_itself():
    assert set(FUNCTIONS) <= {name.replace("-", "_") for name in COMMANDS}
    for name in FUNCTIONS:
        function = getattr(structkit, name)
        assert name == function.__name__
        assert function.__doc__ and len(function.__doc__) > 80


def test_a_stage_takes_the_settings_of_its_command():
    names = list(inspect.signature(structkit.mask_entities).parameters)
    assert ["records", *(field.name for field in fields(MaskSettings))] == names


def test_the_result_is_that_of_the_command(run):
    lines = Path("fixtures/code/test.jsonl").read_bytes()
    done = run("mask-entities", "--mask-ratio", "0.5", "--seed", "3", input=lines)
    records = map(json.loads, lines.splitlines())
    ours = list(structkit.mask_entities(records, mask_ratio=0.5, seed=3))
    assert list(map(json.loads, done.stdout.splitlines())) == ours


def test_records_are_asked_for_as_they_are_needed():
    def endless():
        while True:
            yield CODE

    assert "1" == next(structkit.mask_entities(endless()))["id"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: structkit.mask_entities([], mask_ratio=2), "mask_ratio=2 is not in 0 … 1;"),
        (lambda: structkit.mask_entities([], mask_ratio="2"), "mask_ratio is '2', not float;"),
        (lambda: structkit.mask_entities([], max_entities=True), "max_entities is True, not int;"),
        (lambda: structkit.mask_entities([], mask_rate=1), "did you mean 'mask_ratio'?"),
        (lambda: structkit.mask_entities([], strategy="x"), "no strategy 'x'; there are: entity"),
        (lambda: structkit.html_variants([], from_="md"), "no from_ 'md'; there are: html"),
        (lambda: structkit.parse_trees([], parser="rigth"), "no parser 'rigth'"),
        (lambda: structkit.pair([], margin=1.0), "margin needs negatives_from; add it"),
        (lambda: structkit.collect(["."], unit="line"), "no unit 'line'; there are: chunk"),
        (lambda: structkit.train("santa", [], epochs=0), "epochs=0 is not in 1 … 1,000,000;"),
        (lambda: structkit.train("santa", [], epochs=0.5), "epochs is 0.5, not int;"),
        (lambda: structkit.train("santa", [], epoch=1), "did you mean 'epochs'?"),
        (lambda: structkit.train("santta"), "no method 'santta'; did you mean 'santa'?"),
        (lambda: structkit.search([], k=0), "k=0 is not 1 or more;"),
        (lambda: structkit.search([], similarity="l2"), "no similarity 'l2'"),
        (lambda: structkit.score([]), "score needs one of qrels and task; give one"),
        (lambda: structkit.score([], task="x"), "no task 'x'; there are:"),
        (lambda: structkit.score([], qrels="self", mean="x"), "mean is 'x', not bool;"),
        (lambda: structkit.pair([], positive_template=3), "positive_template is 3, not"),
        (lambda: structkit.encode([], model="x", dtype="fp8"), "no dtype 'fp8'"),
        (
            lambda: structkit.encode([], model="x", keep="id"),
            "keep is 'id', not a list; give ['id']",
        ),
        (lambda: structkit.parse_trees([], field="code"), "field is 'code', not a list; give ['"),
        (lambda: structkit.search([], query=["a", 1]), "query is 1, not str;"),
        (lambda: structkit.search([], filter="a=1"), "filter is 'a=1', not a list; give"),
        (lambda: structkit.score([], qrels="x", measures="AP"), "measures is 'AP', not a list;"),
        (lambda: structkit.plot("rank"), "no command of plot 'rank'; did you mean 'ranks'?"),
        (lambda: structkit.plot("trees", nummer=1), "did you mean 'number'?"),
    ],
)
def test_a_wrong_argument_is_told_at_the_call(call, expected):
    with pytest.raises(UserError) as caught:
        call()
    assert expected in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: structkit.mask_entities([CODE, {"language": "python", "code": 3}]),
            'records:2: field "code" is a JSON number, not a string;',
        ),
        (lambda: structkit.mask_entities([CODE, 3]), "records:2: a record is int, not a dict;"),
        (
            lambda: structkit.mask_entities([{**CODE, "tags": {1}}]),
            "records:1: JSON has no form for the record's 'tags' (set); convert it,",
        ),
        (
            lambda: structkit.search([{"id": "a"}], query=["tea"], method="bm25"),
            "corpus:1: the record has none of the fields",
        ),
        (
            lambda: structkit.search([{"id": "a"}], queries=[{"query": "tea"}]),
            "structkit.encode, or search texts with method='bm25'",
        ),
        (
            lambda: structkit.score([{"doc_id": 1}], qrels="self"),
            'runs:1: field "query_id" is missing;',
        ),
        (lambda: structkit.collect("nowhere"), "nowhere: does not exist;"),
        (
            lambda: structkit.train("santa", [{"query": "x"}], output=Path("models/santa")),
            'records:1: field "positive" is missing; add it with structkit.pair',
        ),
    ],
)
def test_a_wrong_record_is_told_with_its_place(call, expected):
    assert expected in told(call)


JUDGED = {"qrels": [{"query_id": "q", "doc_id": "a", "relevance": 1}], "corpus": [{"id": "a"}]}
HARD = {"negatives_from": [{"query_id": "q", "doc_id": "a", "score": 1}], "positive": "text"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: structkit.mask_entities([{**CODE, "code": "x" * 64_000_000}]),
            "records:1: the record has more than 64,000,000 bytes; set "
            "STRUCTKIT_MAX_RECORD_BYTES to a larger number, or leave the record out",
        ),
        (
            lambda: structkit.pair([{"docstring": 3, "code": "x"}], query="docstring"),
            "not a string; name another with query, or leave the record out",
        ),
        (
            lambda: structkit.pair([{"docstring": "", "code": "x"}]),
            'records:1: field "docstring" is empty; leave the record out',
        ),
        (
            lambda: structkit.pair(queries=[{"id": "p", "query": "x"}], **JUDGED),
            "in qrels; give judged queries only, or leave others out",
        ),
        (
            lambda: structkit.pair([{"id": "q", "query": "x", "text": "t"}], **HARD, corpus=[]),
            'records:1: document "a" of negatives_from is not in corpus; give the whole corpus',
        ),
        (
            lambda: structkit.collect([{"a": 1}], records=True),
            "(it has: a, id); rename a field with structkit.select: rename='FIELD=text'",
        ),
        (
            lambda: structkit.score([{"id": "1", "a_embedding": [1]}], task="similarity"),
            "structkit encode --field text_a --field text_b --keep score",
        ),
        (
            lambda: structkit.score(
                [{"id": "1", "a_embedding": [1], "b_embedding": [2], "score": 0}], task="space"
            ),
            "runs: there are no positive pairs; give more pairs",
        ),
        (
            lambda: structkit.search(
                [{"id": "a", "embedding": [1]}], queries=[], texts=[{"id": "a"}]
            ),
            "texts goes with method='hybrid'; leave it out, or ask with query",
        ),
    ],
)
def test_a_remedy_is_one_that_the_function_has(call, expected):
    assert told(call).endswith(expected)


def test_a_setting_that_is_off_is_told_as_a_parameter(tmp_path):
    folder = str(tmp_path / "words")
    list(
        structkit.search([{"id": "a", "text": "b"}], query=["b"], method="bm25", save_index=folder)
    )
    error = told(lambda: structkit.search(folder, query=["b"], stopwords=False))
    assert (
        "was built with stopwords=True, not stopwords=False; leave it out, or build another"
        in error
    )


def test_runs_may_have_any_names():
    run = [{"query_id": "q", "doc_id": "q", "score": 1.0}]
    others = {"a/v1.2": run, "qrels": [{**run[0], "doc_id": "other"}]}  # a parameter's too
    found = structkit.score({"a/v1.2": run}, qrels="self", measures=["AP"], compare=others)
    told_apart = [(each["run"], each["against"], each["difference"]) for each in found]
    assert [("a/v1.2", "a/v1.2", 0.0), ("a/v1.2", "qrels", 1.0)] == told_apart
    assert "a/b:1: field" in told(lambda: structkit.score({"a/b": [{}]}, qrels="self"))


def test_records_before_a_wrong_one_come_first():
    made = structkit.mask_entities([CODE, {"language": "cobol", "code": "MOVE A TO B"}])
    assert "1" == next(made)["id"]
    with pytest.raises(UserError, match=r"records:2: no language 'cobol'"):
        next(made)


def test_search_and_score_over_dicts_and_files(tmp_path):
    corpus = [{"id": "a", "text": "tea is hot"}, {"id": "b", "text": "ice is cold"}]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in corpus))
    found = [
        list(structkit.search(each, query=["hot tea", "ice"], method="bm25"))
        for each in (
            corpus,
            iter(corpus),
            str(tmp_path / "corpus.jsonl"),
            [tmp_path / "corpus.jsonl"],
        )
    ]
    assert [found[0]] * 4 == found
    assert [("1", "a"), ("2", "b")] == [(hit["query_id"], hit["doc_id"]) for hit in found[0]]
    qrels = [{"query_id": "1", "doc_id": "a", "relevance": 1}]
    [scored] = structkit.score(found[0], qrels=qrels, measures=["RR@10"])
    assert ("runs", 1.0) == (scored["run"], scored["RR@10"])
    others = {"other": [{"query_id": "1", "doc_id": "b", "score": 1.0}]}
    [compared] = structkit.score(
        {"words": found[0]}, qrels=qrels, measures=["RR@10"], compare=others
    )
    assert ("words", "other", 1.0) == tuple(
        compared[name] for name in ("run", "against", "difference")
    )


def test_examples_of_judgements_and_hard_negatives():
    corpus = [{"id": "a", "text": "hot tea"}, {"id": "b", "text": "cold tea"}]
    queries = [{"id": "q", "query": "tea"}]
    qrels = [{"query_id": "q", "doc_id": "a", "relevance": 1}]
    judged = {"queries": queries, "qrels": qrels, "corpus": corpus}
    [example] = structkit.pair(**judged, per_query=0, positive="text")
    assert ("tea", "hot tea") == (example["query"], example["positive"])
    run = structkit.search(corpus, queries=queries, method="bm25")
    aligned = [{"id": "a", "query": "tea", "text": "hot tea"}]
    run = [{**hit, "query_id": "a"} for hit in run]
    [example] = structkit.pair(aligned, negatives_from=run, corpus=corpus, positive="text")
    assert ["cold tea"] == example["negatives"]


def test_pairs_of_embeddings_are_scored():
    pairs = [
        {
            "id": str(n),
            "text_a_embedding": [1.0, 0.0],
            "text_b_embedding": [1.0, n],
            "score": 3.0 - n,
        }
        for n in (0.0, 1.0, 2.0)
    ]
    [scored] = structkit.score(pairs, task="similarity")
    assert 100.0 == pytest.approx(scored["spearman"])


def test_dicts_are_files_that_vanish(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    list(structkit.search([{"id": "a", "text": "tea"}], query=["tea"], method="bm25"))
    found = structkit.search([{"id": "a", "text": "tea"}], query=["tea", "a tea"], method="bm25")
    next(found)
    found.close()
    assert [] == list(tmp_path.iterdir())
