"""What a batch loses, by contrast, teachers and prefixes: plain versions, and other libraries'."""

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import (
    DistillKLDivLoss,
    MarginMSELoss,
    MatryoshkaLoss,
    MultipleNegativesRankingLoss,
)
from torch.nn import functional

from structkit.errors import UserError
from structkit.learning.encoders.dual_encoder import distillation_loss, false_negatives, info_nce
from structkit.registry import load
from tests.jsonl import write
from tests.learning.training.materials import SCRATCH, first_batch, gradients, write_pairs
from tests.tolerances import bound


def plain_info_nce(queries, groups, temperature, exclude=None, symmetric=False):
    """The contrastive loss, one query and one document at a time; of a group the first is right."""
    documents = [each for group in groups for each in group]
    first = [sum(map(len, groups[:place])) for place in range(len(groups))]

    def loss(own, pairs):
        scores = [sum(a * b for a, b in zip(*pair, strict=True)) / temperature for pair in pairs]
        return math.log(sum(map(math.exp, scores))) - scores[own]

    losses = []
    for i, query in enumerate(queries):
        there = [j for j in range(len(documents)) if not (exclude and exclude[i][j])]
        losses.append(loss(there.index(first[i]), [(query, documents[j]) for j in there]))
        if symmetric:
            there = [j for j in range(len(queries)) if not (exclude and exclude[j][first[i]])]
            own = documents[first[i]]
            losses.append(loss(there.index(i), [(queries[j], own) for j in there]))
    return sum(losses) / len(losses)


@given(st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(0, 99))
def test_agrees_with_plain_loops(batch, group, symmetric, masked, seed):
    torch.manual_seed(seed)
    queries, documents = torch.randn(batch, 3), torch.randn(batch * group, 3)
    exclude = torch.rand(batch, batch * group) < 0.4
    exclude[torch.arange(batch), torch.arange(batch) * group] = False
    chosen = exclude if masked else None
    rows = exclude.tolist() if masked else None
    groups = documents.view(batch, group, 3).tolist()
    expected = plain_info_nce(queries.tolist(), groups, 0.7, rows, symmetric)
    found = info_nce(queries @ documents.T, 0.7, chosen, symmetric).item()
    # scores reach a squared length over the temperature
    scale = max(part.square().sum(1).max().item() for part in (queries, documents)) / 0.7
    assert expected == pytest.approx(found, abs=bound(batch * group + 3, scale))


@pytest.mark.parametrize(
    ("queries", "documents", "expected"),
    [
        (["a", "b"], ["x", "y"], None),
        (["a", "b"], ["x", "x"], [[0, 1], [1, 0]]),
        (["a", "a"], ["x", "y"], [[0, 1], [1, 0]]),
        # a hard negative of one query that is the positive of the other, or of its own
        (["a", "b"], ["x", "n", "y", "x"], [[0, 0, 0, 1], [0, 0, 0, 0]]),
        (["a", "b"], ["x", "x", "y", "m"], [[0, 1, 0, 0], [0, 0, 0, 0]]),
        # the positive of an equal query, as a third one's hard negative and as one of its own
        (
            ["a", "a", "b"],
            ["x", "n", "y", "x", "z", "y"],
            [[0, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0]],
        ),
        # hard negatives of an equal query stay negatives
        (["a", "a"], ["x", "n", "y", "m"], [[0, 0, 1, 0], [1, 0, 0, 0]]),
    ],
)
def test_false_negatives(queries, documents, expected):
    found = false_negatives(queries, documents)
    assert expected == (None if found is None else found.int().tolist())


def test_both_distances_from_a_teacher_are_the_losses_of_sentence_transformers():
    torch.manual_seed(3)
    queries, documents, teacher = torch.randn(5, 8), torch.randn(20, 8), torch.randn(5, 4) * 3
    columns = [queries, *documents.view(5, 4, 8).unbind(1)]
    temperatures = {"temperature": 0.7, "teacher_temperature": 2.0}
    peers = {
        "margin-mse": MarginMSELoss(None),
        "kl": DistillKLDivLoss(None, student_temperature=0.7, teacher_temperature=2.0),
    }
    for kind, peer in peers.items():
        expected = peer.compute_loss_from_embeddings(columns, teacher)
        expected /= 0.7**2 if kind == "kl" else 1
        scores = torch.stack([(queries * each).sum(1) for each in columns[1:]], dim=1)
        found = distillation_loss(kind, scores, teacher, **temperatures)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def plain_distances(kind, query, documents, teacher):
    """The distances of a query's scores from its teacher's, at temperatures of 0.5 and 0.3."""
    scores = documents @ query
    if kind == "margin-mse":
        return [*((scores[0] - scores[1:] - teacher[0] + teacher[1:]) ** 2)]
    wanted, found = (functional.log_softmax(each, 0) for each in (teacher / 0.3, scores / 0.5))
    return [(wanted.exp() * (wanted - found)).sum()]


def built(tmp_path, name, counts=(3,), **changes):
    """A training without dropout, the batch of all its records, these, and the step."""
    file = write_pairs(tmp_path / "records.jsonl", 8, lambda number: counts[number % len(counts)])
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for number, record in enumerate(records):  # scores are all different: each is its document's
        record["query"] += f" {number}"
        count = 1 + len(record.get("negatives", ()))
        record["scores"] = [math.sin(10 * number + each) for each in range(count)]
    write(file, *records)
    values = {"batch_size": 8, "temperature": 0.5, "epochs": 1}
    values |= {"negatives_per_query": 2} if max(counts) > 1 else {}
    return first_batch(name, file, **SCRATCH, **values | changes)


# what documents a stage of SEAL has; their variants have the negatives of one
DOCUMENTS = {"element": ["masked"], "structure": ["tagged", "untagged"]}
DOCUMENTS["joint"] = sum(DOCUMENTS.values(), [])


def plain_loss(module, records, step, kind):
    """The loss of a batch, each text embedded by itself: the sum of each prefix and document."""
    settings, encoder = module.settings, module.encoder
    seal = step.stage in DOCUMENTS
    fields = DOCUMENTS.get(step.stage) or ["positive"]
    if getattr(settings, "align_on", "") == "masked":
        fields = ["masked"]

    def embedded(texts, side, field):
        encoder.tokenizing.read_field(field if seal else "")
        return torch.cat([encoder.embed(encoder.tokens([text], side)) for text in texts])

    losses = {}
    for field in fields:
        queries = embedded([each["query"] for each in records], "query", "query")
        groups, teachers = [], []
        for record in records:
            others = record.get(f"negatives_{field}" if seal else "negatives")
            own = module.draw_negatives(record, step, "negatives_tagged" if seal else "negatives")
            texts = [record[field], *(others[place] for place in own)]
            groups.append(embedded(texts, "document", field))
            scores = record.get("scores", [0.0] * 9)  # none are kept without a teacher
            teachers.append(torch.tensor([scores[0], *(scores[1 + place] for place in own)]))
        losses[field] = 0.0
        for width in settings.prefixes or (queries.shape[1],):
            parts = [each[:, :width] for each in (queries, *groups)]
            if encoder.normalize:
                parts = [functional.normalize(each) for each in parts]
            asked, *there = (each.tolist() for each in parts)
            losses[field] += plain_info_nce(asked, there, 0.5, None, settings.symmetric)
            if kind:
                each = zip(parts[0], parts[1:], teachers, strict=True)
                taught = [far for one in each for far in plain_distances(kind, *one)]
                losses[field] += torch.stack(taught).mean().item()
    if step.stage == "joint":
        return losses["masked"] + (losses["tagged"] + losses["untagged"]) / 2
    return sum(losses.values()) / len(losses)


# how many negatives the records have, in turn, and the teacher
TAUGHT = [
    ((0,), None),
    ((3,), "margin-mse"),
    ((0, 2, 1, 3), "kl"),
    ((2, 0, 0, 0, 0, 0, 0, 0), "margin-mse"),
    ((0, 0, 0, 0, 0, 0, 0, 1), None),
]
METHODS = [
    ("contrastive", {}),
    ("contrastive", {"symmetric": True, "pooling": "cls", "matryoshka": "8,64"}),
    ("santa", {"matryoshka": "16"}),
    ("santa", {"align_on": "original", "entity_weight": 0.0}),
    ("seal", {"stages": "joint"}),
    ("seal", {"stages": "element"}),
    ("seal", {"stages": "structure", "matryoshka": "64, 3"}),
]
# a third of all pairs, with each method and each teacher, is tried often
PAIRS = [
    pytest.param(*method, *taught, marks=[pytest.mark.long] * ((row + column) % 3 > 0))
    for row, method in enumerate(METHODS)
    for column, taught in enumerate(TAUGHT)
]


@pytest.mark.parametrize(("name", "changes", "counts", "kind"), PAIRS)
def test_the_loss_is_the_sum_over_prefixes_of_contrast_and_teacher(
    tmp_path, name, changes, counts, kind
):
    taught = {"distill": kind, "teacher_temperature": 0.3} if kind else {}
    module, batch, records, step = built(tmp_path, name, counts, **changes, **taught)
    with torch.no_grad():
        expected = plain_loss(module, records, step, kind)
    found, every = gradients(module, batch)
    assert expected == pytest.approx(found.get("alignment", found["loss"]), abs=1e-4)
    assert all(gradient.isfinite().all() for gradient in every.values())


def test_matryoshka_is_the_loss_of_sentence_transformers(tmp_path):
    settings = {"matryoshka": "8,32,64", "negatives_per_query": 0, "temperature": 0.05}
    module, batch, records, _ = built(tmp_path, "contrastive", **settings)
    module.save(tmp_path / "model")
    peer = SentenceTransformer(str(tmp_path / "model"), device="cpu").eval()
    loss = MatryoshkaLoss(peer, MultipleNegativesRankingLoss(peer, scale=20.0), [64, 8, 32])
    columns = [[record[name] for record in records] for name in ("query", "positive")]
    assert batch.exclude is None  # no text occurs twice
    expected = loss([peer.tokenize(texts) for texts in columns], None).item()
    assert expected == pytest.approx(module.backward(batch)()["loss"], abs=1e-4)


def test_different_numbers_of_negatives_are_said(tmp_path, capfd):
    built(tmp_path, "contrastive", (2, 0, 1), negatives_per_query=None)
    said = "record 1 has 0 negatives, and others have up to 2: each uses what it has, at most 1"
    assert said in capfd.readouterr().err


RECORD = {"id": "1", "query": "a", "positive": "b", "negatives": ["c", "d"]}
RECORD |= {"negatives_tagged": ["c", "d"], "negatives_untagged": ["c", "d"]}
RECORD |= {"negatives_masked": ["c", "d"], "tagged": "b", "untagged": "b"}
RECORD |= {"masked": "b <extra_id_0>", "target": "<extra_id_0> x <extra_id_1>"}


@pytest.mark.parametrize("name", ["contrastive", "seal", "santa"])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, 'field "scores" is missing, which --distill needs; add it with structkit pair'),
        ([1.0, 2.0], '"scores" holds 2 numbers, not 3 for positive and negatives'),
        ([1, 2, 3, 4], 'field "scores" holds 4 numbers, not 3'),
        ("high", 'field "scores" holds no list of numbers, not 3'),
        ([1, math.inf, 3], "holds inf, which is no finite number"),
        ([1, math.nan, 3], "holds nan, which is no finite number"),
        ([1, None, 3], "holds None, which is no finite number"),
        ([1, True, 3], "holds True, which is no finite number"),
        ([1, "2", 3], "holds '2', which is no finite number"),
    ],
)
def test_scores_that_cannot_be_learned_say_so(name, scores, message):
    method = load("method", name)(distill="kl")
    record = RECORD if scores is None else RECORD | {"scores": scores}
    with pytest.raises(UserError, match=message):
        method.prepare(record)
    assert "scores" not in load("method", name)().prepare(RECORD | {"scores": "unread"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({"matryoshka": text}, "is no list of different numbers above 0")
            for text in ("64,64", "0,64", "64,", "-3", "a")
        ),
        ({"matryoshka": "a"}, "write 64,128,256"),
        ({"matryoshka": "65,16"}, "names 65, but an embedding has 64 numbers; name at most 64"),
        ({"negatives_per_query": 4}, "no record has more than 3 negatives, but each query n"),
        ({"distill": "kl", "negatives_per_query": 0}, "no query has negatives, which --distill"),
        ({"teacher_temperature": 2.0}, "--teacher-temperature needs --distill"),
        ({"distill": "mse"}, "unknown --distill 'mse'; available: kl, margin-mse"),
    ],
)
def test_settings_that_cannot_be_say_so(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        built(tmp_path, "contrastive", **changes)
