"""The Python interface: the commands over dicts; errors name wrong arguments in its terms."""

import json
import re
from functools import cache, partial
from pathlib import Path

import pandas
import pytest
from conftest import python

import structkit
from structkit import UserError
from structkit.command import COMMANDS

CODE = {"id": "1", "language": "python", "code": "def add(a, b):\n    return a + b"}


builtin = cache(partial(structkit.load, "builtin"))


def told(call):
    with pytest.raises(UserError) as caught:
        list(call())
    return str(caught.value)


def test_importing_it_imports_nothing_else():
    script = (
        "import sys, structkit; heavy = {'torch', 'numpy', 'typer'}\n"
        "print(*sorted(m for m in sys.modules if m.startswith('structkit.') or m in heavy))"
    )
    done = python("-c", script)
    light = ("command", "errors", "version")
    assert [f"structkit.{name}" for name in light] == done.stdout.split(), done.stderr


def test_importing_it_changes_no_variable_of_the_caller():
    script = "import os; before = dict(os.environ); import structkit.api.functions\n"
    done = python("-c", f"{script}assert before == dict(os.environ)", HOME="home")
    assert 0 == done.returncode, done.stderr


def test_each_is_named_after_its_command_and_explains_itself():
    for name in (each.replace("-", "_") for each in COMMANDS):
        function = getattr(structkit, name)
        assert name == function.__name__
        assert function.__doc__ and len(function.__doc__) > 80


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


# of the calls in wrong_calls.txt
JUDGED = [{"query_id": "q", "doc_id": "b", "relevance": 1}]
RUN = [{"query_id": "q", "doc_id": "b", "score": 1.0}]
NAMES = {"CODE": CODE, "JUDGED": JUDGED, "RUN": RUN, "OTHERS": [{**RUN[0], "query_id": "other"}]}
NAMES |= {"PAIRS": [{"id": "q", "query": "x", "html": "y"}], "ASKED": [{"id": "q", "query": "x"}]}
NAMES |= {"ROW": {"id": "a", "embedding": [1.0, 0.0]}, "builtin": builtin, "Path": Path}
WRONG = Path(__file__).with_name("wrong_calls.txt").read_text("utf-8").strip().split("\n\n")


@pytest.mark.parametrize("lines", WRONG, ids=lambda lines: lines.partition("\n")[0])
def test_a_wrong_call_is_told_with_its_place_and_in_parameters(lines):
    call, expected = lines.splitlines()
    names = {name: getattr(structkit, name) for name in dir(structkit)} | NAMES
    message = told(lambda: eval(call, names) or ())
    assert expected in message
    assert not re.search("--[a-z]", message)
    assert "/structkit-" not in message  # the folder of its files


def test_a_setting_that_is_off_is_told_as_a_parameter(tmp_path):
    folder = str(tmp_path / "words")
    list(
        structkit.search([{"id": "a", "text": "b"}], query=["b"], method="bm25", save_index=folder)
    )
    error = told(lambda: structkit.search(folder, query=["b"], document_field="x"))
    assert "was not built with document_field='x'; leave it out, or build another" in error


def test_runs_may_have_any_names():
    run = [{"query_id": "q", "doc_id": "q", "score": 1.0}]
    others = {"a/v1.2": run, "qrels": [{**run[0], "doc_id": "other"}]}  # a parameter's too
    found = structkit.score({"a/v1.2": run}, qrels="self", measures=["AP"], compare=others)
    told_apart = [(each["run"], each["against"], each["difference"]) for each in found]
    assert [("a/v1.2", "a/v1.2", 0.0), ("a/v1.2", "qrels", 1.0)] == told_apart
    assert "a/b:1: field" in told(lambda: structkit.score({"a/b": [{}]}, qrels="self"))


SCORED = {"1": {"b": 2.0, "a": 1.0}, "2": {"c": 3}}


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (SCORED, ["runs"]),
        ({"x": SCORED, "y": [{"query_id": "1", "doc_id": "b", "score": 1}]}, ["x", "y"]),
    ],
)
def test_runs_and_judgements_as_pytrec_eval_has_them(runs, names):
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
    found = structkit.score(runs, qrels=qrels, measures=["RR"])
    assert [(0.75, names[0]), *((0.0, each) for each in names[1:])] == [
        (each["RR"], each["run"]) for each in found
    ]
    for wrong, said in (({"1": {"a": "x"}}, 'field "relevance" is'), ({}, "holds no judgements")):
        assert said in told(lambda wrong=wrong: list(structkit.score(SCORED, qrels=wrong)))


def test_records_before_a_wrong_one_come_first():
    made = structkit.mask_entities([CODE, {"language": "cobol", "code": "MOVE A TO B"}])
    assert "1" == next(made)["id"]
    with pytest.raises(UserError, match=r"records:2: unknown language 'cobol'"):
        next(made)


def test_bad_records_and_files_are_skipped_as_by_the_command(tmp_path, capfd):
    records = [CODE, {"code": "x = 1", "language": "python"}, {"code": "", "language": "python"}]
    skip = {"on_error": "skip", "rejects": tmp_path / "no.jsonl"}
    assert 2 == len(list(structkit.mask_entities(records, **skip)))
    assert '"line":3' in (tmp_path / "no.jsonl").read_text()
    assert ["2"] == [each["id"] for each in structkit.mask_entities(records[:2], shard="1/2")]
    (tmp_path / "large.txt").write_text("tea\n" * 600_000)
    (tmp_path / "a.py").write_text("x = 1\n")
    found = structkit.collect(tmp_path, glob=["*.txt", "*.py"], workers=1)
    assert ["x = 1"] == [each["code"] for each in found]
    assert "1 path left out (1 x has more than 2,000,000 bytes)" in capfd.readouterr().err
    with pytest.raises(UserError, match="large.txt: has more than 2,000,000 bytes"):
        list(structkit.collect(tmp_path, on_error="fail", workers=1))


def test_dicts_are_files_that_vanish(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    list(structkit.search([{"id": "a", "text": "tea"}], query=["tea"], method="bm25"))
    found = structkit.search([{"id": "a", "text": "tea"}], query=["tea", "a tea"], method="bm25")
    next(found)
    found.close()
    assert [] == list(tmp_path.iterdir())


class Polars:
    """What a DataFrame of polars does with its rows, and where it differs from a list."""

    def __init__(self, rows):
        self.columns, self.to_dicts = list(rows[0]), lambda: rows

    def __iter__(self):
        return iter(self.columns)

    def __eq__(self, other):
        return self

    def __bool__(self):
        raise TypeError("the truth value of a DataFrame is ambiguous")

    __hash__ = None


@pytest.mark.parametrize("frame", [pandas.DataFrame, Polars])
def test_a_data_frame_is_its_rows(frame):
    def same(function, *given, **others):
        expected = list(function(*given, **others))
        frames = [frame(each) if isinstance(each, list) else each for each in given]
        framed = {
            name: frame(each) if isinstance(each, list) else each for name, each in others.items()
        }
        assert expected == list(function(*frames, **framed))
        assert expected
        return expected

    same(structkit.mask_entities, [CODE])
    texts = [{"id": "a", "text": "green tea"}, {"id": "b", "text": "coffee"}]
    run = same(structkit.search, texts, queries=[{"id": "q", "query": "tea"}], method="bm25")
    qrels = [{"query_id": "q", "doc_id": "a", "relevance": 1}]
    queries = [{"id": "q", "kind": "drink"}]
    same(structkit.score, run, qrels=qrels, by="kind", queries=queries)
    same(structkit.score, {"x": frame(run)}, qrels=qrels)
    same(structkit.pair, queries=[{"id": "q", "query": "tea"}], qrels=qrels, corpus=texts)
    same(structkit.select, texts, in_=[{"id": "b"}])


def test_encode_takes_strings_as_search_does():
    records = [{"id": "1", "code": "tea"}, {"id": "2", "text": "hot water"}]
    expected = [record["embedding"] for record in structkit.encode(records, model="builtin")]
    found = list(structkit.encode(["tea", "hot water"], model="builtin"))
    assert [pytest.approx(each, abs=1e-5) for each in expected] == [e["embedding"] for e in found]
    assert ["1", "2"] == [each["id"] for each in found]
    (named,) = structkit.encode(["tea"], model="builtin", field=["title"], keep=["title"])
    assert "tea" == named["title"]


def test_a_training_and_an_encoding_leave_the_environment_as_it_is(tmp_path):
    script = (
        "import os, structkit\n"
        "before = dict(os.environ)\n"
        "pairs = [{'query': f'red {n}', 'positive': f'a house {n}'} for n in range(4)]\n"
        "values = {'size': 'tiny', 'vocabulary_size': 420, 'max_steps': 1, 'quiet': True}\n"
        f"folder = {str(tmp_path / 'model')!r}\n"
        "structkit.train('contrastive', pairs, output=folder, **values)\n"
        "structkit.encode(['red'], model=folder)\n"
        "assert before == dict(os.environ), set(os.environ) - set(before)\n"
    )
    done = python("-c", script, HOME="home")
    assert 0 == done.returncode, done.stderr
