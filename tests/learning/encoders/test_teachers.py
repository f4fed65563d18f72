"""Losses of teachers and over prefixes: those of sentence-transformers and of FlagEmbedding."""

import json
import math

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import (
    DistillKLDivLoss,
    MarginMSELoss,
    MatryoshkaLoss,
    MultipleNegativesRankingLoss,
)
from torch.nn import functional

from structkit.errors import UserError
from structkit.learning.encoders.dual_encoder import distill, info_nce, rows_of, spread
from structkit.registry import load
from tests.jsonl import write
from tests.learning.training.materials import begun, write_pairs

NEAR = {"rtol": 0, "atol": 1e-5}
KINDS = ("kl", "margin-mse")
BATCH, GROUP, DIM = 5, 4, 8


def tensors():
    """Queries, documents and a teacher's scores."""
    torch.manual_seed(3)
    queries = torch.randn(BATCH, DIM, requires_grad=True)
    documents = torch.randn(BATCH * GROUP, DIM, requires_grad=True)
    return queries, documents, torch.randn(BATCH, GROUP) * 3


def ours(kind, queries, documents, teacher, temperature=0.7, teacher_temperature=2.0):
    more = {"temperature": temperature, "teacher_temperature": teacher_temperature}
    return distill(kind, queries, documents, teacher, **more)


def test_both_are_the_losses_of_sentence_transformers():
    queries, documents, teacher = tensors()
    columns = [queries, *documents.view(BATCH, GROUP, DIM).unbind(1)]
    expected = MarginMSELoss(None).compute_loss_from_embeddings(columns, teacher)
    torch.testing.assert_close(ours("margin-mse", queries, documents, teacher), expected, **NEAR)
    peer = DistillKLDivLoss(None, student_temperature=0.7, teacher_temperature=2.0)
    expected = peer.compute_loss_from_embeddings(columns, teacher) / 0.7**2
    torch.testing.assert_close(ours("kl", queries, documents, teacher), expected, **NEAR)


def test_kl_has_the_gradients_of_flagembedding():
    queries, documents, teacher = tensors()
    scores = torch.stack([documents.view(BATCH, GROUP, DIM)[n] @ queries[n] for n in range(BATCH)])
    targets = functional.softmax(teacher, dim=-1)  # AbsEmbedderModel.distill_loss, kl_div
    theirs = -(functional.log_softmax(scores / 0.02, dim=-1) * targets).sum(-1).mean()
    own = ours("kl", queries, documents, teacher, 0.02, 1.0)
    for leaf in (queries, documents):
        (expected,) = torch.autograd.grad(theirs, leaf, retain_graph=True)
        (found,) = torch.autograd.grad(own, leaf, retain_graph=True)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    entropy = -(targets * targets.log()).sum(-1).mean()
    torch.testing.assert_close(own, theirs - entropy, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_places_without_a_document_do_not_count(kind):
    queries, documents, teacher = tensors()
    sizes = [4, 2, 1, 3, 4]
    rows = rows_of([row[:size].tolist() for row, size in zip(teacher, sizes, strict=True)], GROUP)
    found = ours(kind, queries, documents, rows)
    every = documents.view(BATCH, GROUP, DIM)
    alone = [
        ours(kind, queries[n : n + 1], every[n, :size], teacher[n : n + 1, :size])
        for n, size in enumerate(sizes)
    ]
    counts = torch.tensor([size - 1.0 for size in sizes] if kind == "margin-mse" else [1.0] * BATCH)
    expected = (torch.stack(alone) * counts).sum() / counts.sum()
    torch.testing.assert_close(found, expected, **NEAR)
    (gradient,) = torch.autograd.grad(found, documents)
    assert gradient.isfinite().all()
    assert 0 == gradient.view(BATCH, GROUP, DIM)[1, 2:].abs().max()


def taught(file, negatives):
    """Pairs with scores that are all different, so that none can be taken for another."""
    write_pairs(file, 8, negatives)
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for number, record in enumerate(records):
        record["query"] += f" {number}"
        count = 1 + len(record.get("negatives", ()))
        record["scores"] = [math.sin(10 * number + each) for each in range(count)]
    write(file, *records)
    return file


def built(tmp_path, name, negatives=lambda number: 3, **changes):
    """A training without dropout, the batch of all its records, these, and the step."""
    file = taught(tmp_path / "records.jsonl", negatives)
    values = {"size": "tiny", "vocabulary_size": 450, "batch_size": 8, "temperature": 0.5}
    values |= {"negatives_per_query": 2, "epochs": 1}
    module, spool, plan = begun(name, file, **values | changes)
    step = plan.step(0)
    records = [spool[place] for place in step.indices]
    return module.eval(), module.batch(records, step), records, step


CASES = [
    ("contrastive", {}),
    ("contrastive", {"symmetric": True, "matryoshka": "8,64"}),
    ("santa", {"matryoshka": "16"}),
    ("santa", {"align_on": "original", "entity_weight": 0.0}),
    ("seal", {"stages": "joint"}),
    ("seal", {"stages": "structure", "matryoshka": "64, 3"}),
]


def loss_by_hand(module, inputs, records, step, kind, weight):
    """The loss of plain embeddings: each variant's contrast, and its distance from the teacher."""
    settings = module.settings
    name = next((key for key in records[0] if key.startswith("negatives")), "negatives")
    scores = [
        [record["scores"][0], *(record["scores"][1 + n] for n in module.drawn(record, step, name))]
        for record in records
    ]
    embedded = {
        each: module.embedded(inputs, each, torch.arange(len(texts.tokens.ids)))[0]
        for each, texts in inputs.texts.items()
    }
    losses = {}
    queries = embedded.pop("queries" if "queries" in embedded else "query")
    if "negatives" in embedded:
        group = embedded.pop("negatives").view(len(queries), -1, queries.shape[1])
        positives = embedded.get("originals", embedded.get("masked"))
        embedded = {"all": torch.cat([positives[:, None], group], 1).flatten(0, 1)}
    for each, documents in embedded.items():
        documents = spread(documents, inputs.present)
        losses[each] = 0.0
        for width in settings.prefixes or (queries.shape[1],):
            both = [queries[:, :width], documents[:, :width]]
            if module.encoder.normalize:
                both = [functional.normalize(one) for one in both]
            losses[each] += info_nce(*both, 0.5, inputs.exclude, settings.symmetric)
            losses[each] += weight * ours(kind, *both, rows_of(scores, 3), 0.5, 0.3)
    if "tagged" not in losses:
        return sum(losses.values())
    return (losses["tagged"] + losses["untagged"]) / 2 + losses.get("masked", 0.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "changes"), CASES)
def test_the_loss_is_the_sum_over_prefixes_of_contrast_and_teacher(tmp_path, name, changes, kind):
    more = {"distill": kind, "distill_weight": 0.7, "teacher_temperature": 0.3}
    module, inputs, records, step = built(tmp_path, name, **changes, **more)
    with torch.no_grad():
        expected = loss_by_hand(module, inputs, records, step, kind, 0.7).item()
    found = module.backward(inputs)()
    assert expected == pytest.approx(found.get("alignment", found["loss"]), abs=1e-4)


def test_matryoshka_is_the_loss_of_sentence_transformers(tmp_path):
    settings = {"matryoshka": "8,32,64", "negatives_per_query": 0, "temperature": 0.05}
    module, inputs, records, _ = built(tmp_path, "contrastive", **settings)
    module.save(tmp_path / "model")
    peer = SentenceTransformer(str(tmp_path / "model"), device="cpu").eval()
    loss = MatryoshkaLoss(peer, MultipleNegativesRankingLoss(peer, scale=20.0), [64, 8, 32])
    columns = [[record[name] for record in records] for name in ("query", "positive")]
    assert inputs.exclude is None  # no text occurs twice
    expected = loss([peer.tokenize(texts) for texts in columns], None).item()
    assert expected == pytest.approx(module.backward(inputs)()["loss"], abs=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("64,64", "is no list of different numbers above 0; write 64,128,256"),
        ("0,64", "is no list of different numbers above 0"),
        ("64,", "is no list of different numbers above 0"),
        ("-3", "is no list of different numbers above 0"),
        ("a", "is no list of different numbers above 0"),
        ("65,16", "--matryoshka names 65, but an embedding has 64 numbers; name at most 64"),
    ],
)
def test_prefixes_that_cannot_be_say_so(tmp_path, text, message):
    with pytest.raises(UserError, match=message):
        built(tmp_path, "contrastive", matryoshka=text)


RECORD = {"id": "1", "query": "a", "positive": "b", "negatives": ["c", "d"]}
RECORD |= {"negatives_tagged": ["c", "d"], "negatives_untagged": ["c", "d"]}
RECORD |= {"negatives_masked": ["c", "d"], "tagged": "b", "untagged": "b"}
RECORD |= {"masked": "b <extra_id_0>", "target": "<extra_id_0> x <extra_id_1>"}


@pytest.mark.parametrize("name", ["contrastive", "seal", "santa"])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, 'field "scores" is missing, which --distill needs; add it with structkit pair'),
        (
            [1.0, 2.0],
            '"scores" holds 2 numbers, not 3 for positive and negatives',
        ),
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
        ({"distill": "kl", "negatives_per_query": 0}, "no query has negatives, which --distill"),
        ({"distill_weight": 2.0}, "--distill-weight needs --distill"),
        ({"teacher_temperature": 2.0}, "--teacher-temperature needs --distill"),
        ({"distill": "mse"}, "no --distill 'mse'; there are: kl, margin-mse"),
    ],
)
def test_settings_that_do_nothing_say_so(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        built(tmp_path, "contrastive", **changes)
