"""Records that are all the same in a text teach nothing: a training says so, and trains."""

import json

import pytest

from structkit.learning.training.data import Spool
from structkit.records.jsonl import Records
from structkit.registry import load

NUMBERS = range(1, 9)
DIFFERENT = [{"query": f"add {each}", "positive": f"a + {each}"} for each in NUMBERS]
SAID = "all 8 records have the same {}; there is nothing to learn"


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"query": "add", "positive": "a"}, "query and the same positive"),
        *(
            pytest.param(changes, names, marks=pytest.mark.long)
            for changes, names in (
                ({}, None),
                ({"query": "add"}, "query"),
                ({"positive": "a"}, "positive"),
                ({"negatives": ["b"]}, None),
            )
        ),
    ],
)
def test_a_training_on_equal_queries_or_positives_says_so(run, tmp_path, changes, names):
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps({**each, **changes}) + "\n" for each in DIFFERENT))
    words = "train contrastive -o model --size tiny --vocabulary-size 400 --max-steps 0"
    done = run(*words.split(), path, cwd=tmp_path)
    assert 0 == done.returncode, done.stderr
    lines = [line for line in done.stderr.decode().splitlines() if "the same" in line]
    assert [f"structkit: {SAID.format(names)}"] * bool(names) == lines


@pytest.mark.parametrize(
    ("name", "records", "same"),
    [
        ("static", [{"text": "tea"}] * 3, ["text"]),
        ("static", [{"text": "tea"}, {"text": "ice"}], []),
        ("static", [{"query": "tea", "positive": "a"}] * 2, ["text"]),
        ("self-strae", [{"text": "a small house"}] * 3, ["text"]),
        ("self-strae", [{"text": "a small house"}, {"text": "a small boat"}], []),
        ("contrastive", DIFFERENT[:1], []),  # one record is the same as itself
        ("contrastive", [DIFFERENT[0]] * 7 + DIFFERENT[1:2], []),
        ("contrastive", [{**DIFFERENT[0], "id": "1"}] * 2, ["query", "positive"]),
    ],
)
def test_which_texts_are_the_same_in_all_records(tmp_path, name, records, same):
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    assert same == Spool(Records.read([str(path)]), load("method", name)().prepare).same_texts
