"""Records with different numbers of negatives: each uses what it has, in every method."""

import math

import pytest
import torch

from structkit.errors import UserError
from structkit.learning.training.data import Spool
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.learning.training.materials import write_pairs

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


def test_it_is_said_and_too_many_are_refused(tmp_path, capfd):
    built(tmp_path, "contrastive", (2, 0, 1))
    said = "record 1 has 0 negatives, and others have up to 2: each uses what it has, at most 1"
    assert said in capfd.readouterr().err
    file = write_pairs(tmp_path / "records.jsonl", 6, lambda number: number % 3)
    method = load("method", "contrastive")(**SCRATCH, negatives_per_query=3).complete()
    with pytest.raises(UserError, match="no record has more than 2 negatives, but each query n"):
        method.build(Spool(Records.read([str(file)]), method.prepare))
