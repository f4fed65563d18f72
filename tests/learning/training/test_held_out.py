"""Held-out records: the model that is best on them is kept, also by a run that was stopped."""

import json
from copy import deepcopy
from dataclasses import replace
from itertools import product

import ir_measures
import pytest
import torch

import structkit
from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.training.data import Plan, Spool
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.learning.training.trainer import HeldOut, ranking_value
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.jsonl import read, write
from tests.learning.training.materials import SCRATCH, stopping, train_on, weights

WORDS = "the cat dog sleeps barks on a mat and then red house falls".split()
METHODS = {
    "banyan": {"embedding_size": 8, "channels": 4, "minimum_count": 1},
    "bi-lstm": {"embedding_size": 8, "minimum_count": 1},
    "contrastive": {**SCRATCH, "document_length": 16, "learning_rate": 0.01},
}
# at such a rate the last model is not the best one
RISING = {"batch_size": 4, "epochs": 2, "learning_rate": 1.0, "warmup": 0.0, "schedule": "constant"}


def sentences(first, last, way=1):
    """Sentences whose words follow each other, or with `way` 5 others."""
    for n in range(first, last):
        words = [WORDS[(n + way * place) % len(WORDS)] for place in range(5)]
        yield {"id": str(n), "text": " ".join(words), "query": words[0], "positive": words[1]}


@pytest.fixture
def files(tmp_path):
    train = write(tmp_path / "train.jsonl", *sentences(0, 24))
    return train, write(tmp_path / "held.jsonl", *sentences(24, 31, way=-1))


@pytest.mark.parametrize("name", ["banyan", "bi-lstm"])
def test_the_model_with_the_lowest_loss_is_kept(name, files, tmp_path, capsys):
    values = {**RISING, **METHODS[name], "validate": files[1]}
    method = load("method", name)(**values)
    options = RunOptions(output=str(tmp_path / "model"), log_format="json", log_every=1)
    summary = train_method(name, method, [files[0]], options)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[0] == "{"]
    losses = {line["step"]: line["held_out_loss"] for line in lines if "held_out_loss" in line}
    assert [6, 12] == list(losses)
    best = min(losses, key=losses.__getitem__)
    assert 2 * 24 == summary["seen"]
    found = summary["held_out"]
    assert (losses[6], losses[best], losses[12], best) == tuple(found.values())
    assert best < 12
    # a training of as many steps ends with the same model, but for a rate that falls with them
    again = {**values, "max_steps": best, "validate": None}
    train_on(files[0], name, tmp_path / "best", **again)
    assert weights(tmp_path / "model") == weights(tmp_path / "best")
    assert open_model(str(tmp_path / "model"))[1]["data"]["held_out"]


@pytest.mark.parametrize(
    ("name", "chosen"),
    [("banyan", {}), ("contrastive", {}), ("contrastive", {"validate_measure": "RR@10"})],
)
def test_a_stopped_run_goes_on_with_the_best_model_and_its_log(name, chosen, files, tmp_path):
    values = {"batch_size": 4, "epochs": 2, "learning_rate": 0.5, **METHODS[name], **chosen}
    method = load("method", name)(**values, validate=files[1])
    options = {"quiet": True, "save_every": 3, "log_every": 2}
    whole, parts = (
        RunOptions(output=str(tmp_path / each), **options) for each in ("whole", "parts")
    )
    expected = train_method(name, method, [files[0]], whole)
    with pytest.raises(KeyError, match="stop"):
        ended = stopping(type(method), 9, KeyError("stop"))(**values, validate=files[1])
        train_method(name, ended, [files[0]], parts)
    found = train_method(name, method, [files[0]], replace(parts, resume=True))
    assert expected["held_out"] == found["held_out"] and expected["seen"] == found["seen"] == 2 * 24
    for file in ("model.safetensors", "losses.jsonl"):
        first, second = (tmp_path / each / file for each in ("whole", "parts"))
        assert first.read_bytes() == second.read_bytes(), file
    assert [2, 4, 6, 6, 8, 10, 12, 12] == [line["step"] for line in read(second)]


def test_long_epochs_are_measured_within():
    plan = [Plan(records, batch_size=1, epochs=1, warmup=0.0, seed=0) for records in (7, 10_000)]
    assert [7, 500] == [each.validate_every for each in plan]


@pytest.mark.parametrize("name", METHODS)
def test_what_is_held_out_is_not_counted_and_changes_nothing(name, files):
    method = load("method", name)(**METHODS[name]).complete()
    module = method.build(Spool(Records.read([files[0]]), method.prepare)).train()
    before = {name: weight.clone() for name, weight in module.state_dict().items()}
    counted = deepcopy(vars(module.truncation))
    held_out = HeldOut(module, Spool(Records.read([files[1]]), method.prepare), 4)
    first, second = held_out.measure(1, "train"), held_out.measure(2, "train")
    assert first == second and (1, 1) == (held_out.best_step, held_out.without_gain)
    assert counted == vars(module.truncation) and module.training
    assert all(torch.equal(before[name], weight) for name, weight in module.state_dict().items())
    assert all(weight.grad is None for weight in module.parameters())


def test_held_out_records_may_have_other_negatives(tmp_path):
    for name, more in ("train", {"negatives": ["c"]}), ("held", {}):
        rows = [{"id": f"{name} {n}", "query": str(n), "positive": "a", **more} for n in range(3)]
        write(tmp_path / f"{name}.jsonl", *rows)
    small = {**SCRATCH, "validate": str(tmp_path / "held.jsonl")}
    summary = train_on(tmp_path / "train.jsonl", "contrastive", tmp_path / "model", **small)
    assert summary["held_out"]


@pytest.mark.parametrize("name", ["nDCG@10", "RR@10"])
def test_measures_of_rankings_are_those_of_ir_measures(name):
    generator = torch.Generator().manual_seed(0)
    relevant = torch.rand(50, 30, generator=generator) < 0.1
    relevant[:, 17] = True  # none of the first ten may be
    relevant[0] = True
    run, qrels = [], []
    for query, document in product(range(50), range(30)):
        ids = str(query), f"{document}"
        run.append(ir_measures.ScoredDoc(*ids, -document))
        qrels.append(ir_measures.Qrel(*ids, int(relevant[query, document])))
    expected = ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run)
    of_query = {int(each.query_id): each.value for each in expected}
    for query, row in enumerate(relevant.tolist()):
        assert of_query[query] == pytest.approx(ranking_value(name, row[:10], sum(row)))


PAIRS = [
    (f"{a} {b}", f"the {b} {c} on a {a}")
    for a, b, c in zip(WORDS, WORDS[1:], WORDS[2:], strict=False)
]
SMALL = {**SCRATCH, "document_length": 16, "batch_size": 4, "max_steps": 4, "learning_rate": 1e-3}
RANKING = {
    "contrastive": SMALL,
    "santa": SMALL,
    "seal": SMALL,
    "colbert": {**SMALL, "dimensions": 8},
    "strae": {"objective": "pairs", "embedding_size": 8, "channels": 4, "minimum_count": 1},
}


def tree(text):
    """A right-branching tree of a text."""
    *words, made = text.split()
    for word in reversed(words):
        made = f"(X (X {word}) {made if made[0] == '(' else f'(X {made})'})"
    return made


def record(number, query, document, name):
    """A training record of a method: the query has its document, and the next one as negative."""
    if name == "strae":
        return {"id": str(number), "query": tree(query), "positive": tree(document)}
    masked = {"masked": "<extra_id_0> on a", "target": "<extra_id_0> the <extra_id_1>"}
    if name == "seal":
        masked = dict.fromkeys(("tagged", "untagged", "masked"), document)
    return {"id": str(number), "query": query, "positive": document, **masked}


@pytest.mark.parametrize("name", RANKING)
def test_the_kept_model_ranks_as_the_search_says(name, tmp_path):
    held = [record(number, *pair, name) for number, pair in enumerate([*PAIRS, PAIRS[0]])]
    file = write(tmp_path / "held.jsonl", *held)
    values = {"validate": file, "validate_measure": "nDCG@10", **RANKING[name]}
    summary = train_on(file, name, tmp_path / "model", **values)
    field = "tree" if name == "strae" else "text"
    documents = [{"id": each["id"], field: each["positive"]} for each in held[:-1]]
    queries = [{"id": each["id"], field: each["query"]} for each in held[:-1]]
    if name == "seal":
        documents = [{"id": each["id"], "tagged": each[field]} for each in documents]
    run = structkit.search(
        documents,
        model=tmp_path / "model",
        queries=queries,
        similarity="maxsim" if name == "colbert" else "cosine",
    )
    qrels = [{"query_id": each["id"], "doc_id": each["id"], "relevance": 1} for each in queries]
    (scored,) = structkit.score(run, qrels=qrels, measures=["nDCG@10"])
    found = summary["held_out"]
    assert found["highest"] == pytest.approx(scored["nDCG@10"], abs=1e-4)
    assert 0 < found["highest"] < 1
    lines = [line for line in read(tmp_path / "model/losses.jsonl") if "held_out_loss" in line]
    assert found["highest"] == max(line["held_out_nDCG@10"] for line in lines)


def test_a_stage_ends_after_evaluations_without_gain(tmp_path, capsys):
    held = [record(number, *pair, "seal") for number, pair in enumerate(PAIRS)]
    file = write(tmp_path / "held.jsonl", *held)
    values = {**SMALL, "max_steps": None, "epochs": 5, "learning_rate": 0.0, "validate": file}
    values |= {"validate_measure": "RR@10", "patience": 2}
    summary = train_on(file, "seal", tmp_path / "model", quiet=False, **values)
    epoch = -(-len(PAIRS) // 4)
    assert 2 * 3 * epoch == summary["steps"]  # each stage: the first, and two without gain
    assert 2 == capsys.readouterr().err.count("no gain since step")


def test_what_has_no_queries_cannot_be_ranked(files, tmp_path):
    values = {**METHODS["banyan"], "validate": files[1], "validate_measure": "RR@10"}
    with pytest.raises(UserError, match="needs records with a query and its document"):
        train_on(files[0], "banyan", tmp_path / "model", **values)


@pytest.mark.long
@pytest.mark.parametrize("name", ["contrastive", "colbert"])
def test_two_processes_rank_as_one(name, tmp_path):
    held = [record(number, *pair, name) for number, pair in enumerate(PAIRS)]
    file = write(tmp_path / "held.jsonl", *held)
    values = {"validate": file, "validate_measure": "RR@10", **RANKING[name]}
    values["learning_rate"] = 0.0  # dropout differs between processes
    found = []
    for processes in (1, 2):
        options = RunOptions(output=str(tmp_path / str(processes)), quiet=True, nproc=processes)
        summary = train_method(name, load("method", name)(**values), [file], options)
        found.append(summary["held_out"])
    assert found[0] == pytest.approx(found[1], abs=1e-4)
