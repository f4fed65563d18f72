"""train: what it reads, what it writes, and what it refuses."""

import json
import os

import numpy as np
import pytest

from structkit import encode
from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.encoders.models import train_tokenizer
from structkit.learning.tokens import Tokenizing
from structkit.learning.training.data import Plan, Spool
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.records.jsonl import Records
from structkit.registry import load
from structkit.structure.sentinels import SENTINELS
from tests.jsonl import write
from tests.learning.training.materials import weights

Method = load("method", "contrastive")
COLORS = "red green blue black white yellow brown pink gray orange".split()
THINGS = "house tree car door shirt".split()


def pairs(count=50, **extra):
    """A language to learn: the query says in English what the document says in capitals."""
    for number in range(count):
        color, thing = COLORS[number % 10], THINGS[number // 10 % 5]
        record = {"id": f"d{number}", "query": f"a {color} {thing}"}
        yield record | {"positive": f"{thing.upper()}.{color.upper()}"} | extra


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "train.jsonl", *pairs())


def method(**changes):
    values = {"size": "tiny", "vocabulary_size": 420, "batch_size": 25, "learning_rate": 3e-3}
    return Method(**(values | changes))


def options(tmp_path, **changes):
    return RunOptions(output=str(tmp_path / "model"), **changes)


def test_it_learns_to_find_the_positive(tmp_path, data):
    summary = train_method("contrastive", method(epochs=30), [data], options(tmp_path))
    assert 60 == summary["steps"]
    assert summary["losses"]["loss"]["last"] < 0.5 < summary["losses"]["loss"]["first"]
    model, records = str(tmp_path / "model"), list(pairs())
    found = [
        np.array([record["embedding"] for record in encode(records, model=model, as_=side)])
        for side in ("query", "document")
    ]
    best = (found[0] @ found[1].T).argmax(1)
    assert (best == np.arange(50)).mean() > 0.8


def test_the_same_run_gives_the_same_bytes(tmp_path, data):
    for name in ("one", "two"):
        run = RunOptions(output=str(tmp_path / name))
        train_method("contrastive", method(max_steps=3), [data], run)
    assert weights(tmp_path / "one") == weights(tmp_path / "two")
    run = RunOptions(output=str(tmp_path / "three"))
    train_method("contrastive", method(max_steps=3, seed=1), [data], run)
    assert weights(tmp_path / "one") != weights(tmp_path / "three")


@pytest.mark.parametrize("pooling", ["cls", "mean", "first-decoder-token"])
@pytest.mark.parametrize("bf16", [False, True])
def test_every_pooling_trains_and_loads(tmp_path, data, pooling, bf16):
    settings = method(max_steps=2, pooling=pooling, bf16=bf16)
    train_method("contrastive", settings, [data], options(tmp_path))
    model, metadata = open_model(str(tmp_path / "model"))
    assert pooling == metadata["pooling"] == model.pooling
    assert (tmp_path / "model" / "modules.json").exists()


def test_negatives_are_drawn_anew_in_each_epoch(tmp_path):
    texts = [f"negative {number}" for number in range(30)]
    file = write(tmp_path / "n.jsonl", *pairs(4, negatives=texts))
    spool = Spool(Records.read([file]), Method().prepare)
    module = method(batch_size=4).complete().build(spool)
    assert 1 == module.negatives
    plan = Plan(4, 4, 2, 0.0, 0)
    records = [spool[place] for place in range(4)]
    drawn = [module.documents(records, plan.step(number)) for number in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [record["positive"] for record in records] == drawn[0][::2]
    assert set(drawn[0][1::2]) <= set(texts)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query": "a"}', 'n.jsonl:2: field "positive" is missing; add it with structkit pair'),
        ('{"query": 1, "positive": "b"}', 'n.jsonl:2: field "query" is a JSON number'),
        ('{"query": " ", "positive": "b"}', 'n.jsonl:2: field "query" is blank'),
        ('{"query": "a", "positive": "b", "negatives": "c"}', "2: .*is not a list of strings"),
        ("{", "n.jsonl:2: the line is not JSON"),
    ],
)
def test_bad_records_have_a_place(tmp_path, line, message):
    file = tmp_path / "n.jsonl"
    good = '{"query": "a", "positive": "b"}'
    file.write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(UserError, match=message):
        train_method("contrastive", method(), [str(file)], options(tmp_path))
    skip = options(tmp_path, on_error="skip", rejects=str(tmp_path / "rejects.jsonl"))
    assert 2 == train_method("contrastive", method(), [str(file)], skip)["records"]
    assert 1 == len((tmp_path / "rejects.jsonl").read_text().splitlines())


def test_no_records(tmp_path):
    file = write(tmp_path / "empty.jsonl")
    with pytest.raises(UserError, match=r"empty.jsonl: there are no training records"):
        train_method("contrastive", method(), [file], options(tmp_path))


def test_a_folder_in_the_way(tmp_path, data):
    run = options(tmp_path)
    train_method("contrastive", method(max_steps=1), [data], run)
    with pytest.raises(UserError, match=r"model exists; replace it with --overwrite, continue"):
        train_method("contrastive", method(max_steps=1), [data], run)
    before = weights(tmp_path / "model")
    again = options(tmp_path, overwrite=True)
    train_method("contrastive", method(max_steps=2), [data], again)
    assert before != weights(tmp_path / "model")
    assert ["model", "train.jsonl"] == sorted(os.listdir(tmp_path))


@pytest.mark.parametrize("flag", ["overwrite", "resume"])
def test_what_is_no_model_is_never_replaced(tmp_path, data, flag):
    kept = tmp_path / "folder" / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    with pytest.raises(UserError, match="is not a model folder; name another folder with -o"):
        train_method(
            "contrastive", method(), [data], RunOptions(output=str(kept.parent), **{flag: True})
        )
    assert kept.exists()


def test_what_is_no_terminal_gets_no_progress(tmp_path, data, capsys):
    train_method("contrastive", method(epochs=2), [data], options(tmp_path, log_every=2))
    assert "" == capsys.readouterr().err


def test_the_log_is_json(tmp_path, data, capsys):
    run = options(tmp_path, log_format="json", log_every=2)
    train_method("contrastive", method(epochs=3, query_length=2), [data], run)
    lines = capsys.readouterr().err.splitlines()
    assert [2, 4, 6] == [json.loads(line)["step"] for line in lines[:3]]
    assert {"loss", "learning_rate", "epoch"} <= set(json.loads(lines[0]))
    assert ["structkit: 150 of 150 query texts were longer than --query-length"] == [
        line.partition(" and were")[0] for line in lines[3:]
    ]


def test_the_tokenizer_knows_every_text_and_keeps_sentinels():
    tokenizer = train_tokenizer(["plain words only"], 400)
    assert (0, 1, 2) == (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    text = "HTTPServer.fooBar_baz(<extra_id_0>)日本<extra_id_99>\t😀"
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.unk_token_id not in ids
    sentinels = [tokenizer.convert_tokens_to_ids(name) for name in SENTINELS]
    assert [sentinels[0], sentinels[99]] == [number for number in ids if number in sentinels]
    expected = "http server.foo bar baz(<extra_id_0>)日本<extra_id_99>😀"
    assert 2 == len(tokenizer("<extra_id_0> plain <extra_id_1>")["input_ids"]) - 2
    assert expected == tokenizer.decode(ids, skip_special_tokens=True).strip()


def test_the_plan_takes_every_record_once_an_epoch():
    plan = Plan(10, 4, 2, 0.1, 0, stages=("one", "two"))
    steps = [plan.step(number) for number in range(plan.steps)]
    assert 12 == len(steps)
    for start in range(0, 12, 3):
        epoch = [index for step in steps[start : start + 3] for index in step.indices]
        assert list(range(10)) == sorted(epoch) != epoch
    assert [("one", 0), ("one", 1), ("two", 0), ("two", 1)] == [
        (step.stage, step.epoch) for step in steps[::3]
    ]
    assert [0.5, 1.0, 0.8, 0.6, 0.4, 0.2] * 2 == [
        pytest.approx(plan.learning_rate(number)) for number in range(12)
    ]


@pytest.mark.parametrize("length", [8, 200])
def test_only_the_beginning_of_a_long_text_is_read(length):
    texts = [
        "many plain words " * 500,
        "x" * 5000,
        "no tokens\n\n \t" * 300,
        "日本 " * 3000,
        "word " * 199,
        " " * 9000 + "end",
        "<p>a</p>" * 1000,
    ]
    tokenizer = train_tokenizer(texts, 500, cls=True)
    tokenizing = Tokenizing(tokenizer.backend_tokenizer, {"document": length})
    whole = tokenizer(texts, truncation=True, max_length=length)
    assert whole["input_ids"] == [[*ids] for ids in tokenizing.ids(texts, "document")]
    expected = sum(bool(encoding.overflowing) for encoding in whole.encodings)
    assert 0 < expected == tokenizing.truncation.truncated["document"] < len(texts)
