"""Records with different numbers of negatives: each uses what it has, in every method."""

import math

import numpy as np
import pytest
import torch

from structkit.errors import UserError
from structkit.learning.training.data import Spool
from structkit.learning.training.launching import launch
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.learning.training.materials import small_bert, write_pairs
from tests.learning.training.ranks import gradients

SCRATCH = {"size": "tiny", "vocabulary_size": 450, "batch_size": 6, "temperature": 1.0}
# how many negatives the records have, in turn
COUNTS = {"some": (0, 2, 1, 3), "first": (2, 0, 0, 0, 0, 0), "last": (0, 0, 0, 0, 0, 1)}
CASES = [
    ("contrastive", {"negatives_per_query": 2}),
    ("contrastive", {"negatives_per_query": 3, "symmetric": True, "pooling": "cls"}),
    ("contrastive", {}),  # one negative
    ("seal", {"stages": "joint"}),  # eight, where records have so many
    ("santa", {"negatives_per_query": 2, "align_on": "original"}),
]


def built(folder, name, counts, **changes):
    """A module without dropout, its settings, and the records."""
    file = write_pairs(folder / "records.jsonl", 6, lambda number: counts[number % len(counts)])
    method = load("method", name)(**(SCRATCH | changes)).complete()
    spool = Spool(Records.read([str(file)]), method.prepare)
    most = method.negatives_per_query or {"seal": 8}.get(name, 1)
    if most > spool.most_negatives:
        method = load("method", name)(**(SCRATCH | changes | {"negatives_per_query": None}))
        method = method.complete()
    return method.build(spool).eval(), method, [spool[place] for place in range(len(spool))]


def contrasted(queries, positives, negatives, symmetric):
    """The mean loss of queries against the documents that there are, each in turn."""
    documents = [*positives, *(each for of_query in negatives for each in of_query)]
    losses = []
    for place, query in enumerate(queries):
        scores = [float(query @ document) for document in documents]
        losses.append(math.log(sum(map(math.exp, scores))) - scores[place])
        if symmetric:
            back = [float(each @ positives[place]) for each in queries]
            losses.append(math.log(sum(map(math.exp, back))) - back[place])
    return sum(losses) / len(losses)


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize(("name", "changes"), CASES)
def test_the_loss_is_of_the_documents_that_there_are(tmp_path, name, changes, counts):
    module, method, records = built(tmp_path, name, counts, **changes)
    step = method.plan(len(records)).step(0)
    records = [{**record, "query": f"red {place}"} for place, record in enumerate(records)]

    def embedded(texts, kind, field=""):
        module.encoder.tokenizing.read_field(field)
        return module.encoder.embed(module.encoder.tokens(texts, kind)) if texts else []

    variants = {"seal": ("masked", "tagged", "untagged")}.get(name, ("",))
    losses = {}
    with torch.no_grad():
        queries = embedded([record["query"] for record in records], "query")
        for variant in variants:
            own, others = variant or "positive", f"negatives_{variant}".rstrip("_")
            key = "negatives_tagged" if variant else "negatives"
            positives = embedded([record[own] for record in records], "document", variant)
            negatives = [
                embedded(
                    [record[others][place] for place in module.drawn(record, step, key)],
                    "document",
                    variant,
                )
                for record in records
            ]
            losses[variant] = contrasted(queries, positives, negatives, method.symmetric)
    expected = sum(losses.values())
    if variants != ("",):  # EAL, and the mean of SAL's two
        expected = losses["masked"] + (losses["tagged"] + losses["untagged"]) / 2
    found = module.backward(module.batch(records, step))()
    assert expected == pytest.approx(found.get("alignment", found["loss"]), abs=2e-5)


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_chunks_give_the_gradients_of_the_whole(tmp_path, name, changes):
    found = []
    for size in (0, 3):
        module, method, records = built(
            tmp_path, name, COUNTS["some"], chunk_size=size, temperature=0.1, **changes
        )
        module.backward(module.batch(records, method.plan(6).step(0)))
        grads = [each.grad for each in module.parameters() if each.grad is not None]
        found.append(torch.cat([grad.flatten() for grad in grads]))
    assert found[0].isfinite().all() and found[0].abs().max() > 5e-5
    near = 0.02 * found[0].abs().max().item()  # small gradients of large sums
    torch.testing.assert_close(found[1], found[0], atol=near, rtol=0)


@pytest.mark.long
@pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES=")
def test_two_processes_give_the_gradients_of_one(tmp_path):
    small_bert(tmp_path / "bert")
    counts = COUNTS["some"]
    file = write_pairs(tmp_path / "train.jsonl", 11, lambda number: counts[number % 4])
    cases = []
    for name, more in ("contrastive", {}), ("seal", {"stages": "joint"}), ("santa", {}):
        values = {"model": str(tmp_path / "bert"), "batch_size": 5, "temperature": 1.0, **more}
        method = load("method", name)(**values, negatives_per_query=2).complete()
        cases.append((name, values | {"negatives_per_query": 2}, read(file, method)))
    expected, found = gradients(cases), launch(Shared(cases), 2)
    for own, shared in zip(expected, found, strict=True):
        for (parts, grads), (shared_parts, shared_grads) in zip(own, shared, strict=True):
            near = 1e-6 * max(1.0, parts["loss"])
            assert parts == pytest.approx(shared_parts, rel=0, abs=near)
            np.testing.assert_allclose(shared_grads, grads, rtol=0, atol=near)


def read(file, method):
    return Spool(Records.read([str(file)]), method.prepare)


class Shared:
    """What each process of a launch does."""

    def __init__(self, cases):
        self.cases = cases

    def __call__(self):
        return gradients(self.cases)


def test_it_is_said_and_too_many_are_refused(tmp_path, capfd):
    built(tmp_path, "contrastive", (2, 0, 1))
    said = "record 1 has 0 negatives, and others have up to 2: each uses what it has, at most 1"
    assert said in capfd.readouterr().err
    file = write_pairs(tmp_path / "records.jsonl", 6, lambda number: number % 3)
    method = load("method", "contrastive")(**SCRATCH, negatives_per_query=3).complete()
    with pytest.raises(UserError, match="no record has more than 2 negatives, but each query n"):
        method.build(read(file, method))
