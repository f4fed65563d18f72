"""Cross-encoders: scores of sentence-transformers' `CrossEncoder`, both ways; losses by hand."""

import pytest
import torch
from sentence_transformers import CrossEncoder
from tokenizers import processors
from torch import nn

from structkit import rerank
from structkit.errors import UserError
from structkit.learning.encoders.cross_encoder import load_cross_encoder
from structkit.learning.training.data import Step
from tests.jsonl import write
from tests.learning.encoders.zoo import DECODERS, edit, model, sentence_folder, tokenizer
from tests.learning.training.materials import (
    SCRATCH,
    first_batch,
    gradients,
    small_bert,
    train_on,
    write_pairs,
)

QUERIES = ["a b", "x Y", "c d e f " * 9]
DOCUMENTS = ["A b C d E", "x", "a", "g h i " * 30, "b a"]
PAIRS = [(query, document) for query in QUERIES for document in DOCUMENTS]
NEAR = {"rel": 0, "abs": 1e-5}


def theirs(folder, **options):
    """The scores that sentence-transformers gives."""
    return CrossEncoder(str(folder), device="cpu", **options).predict(PAIRS).tolist()


def ours(folder):
    encoder = load_cross_encoder(folder)
    return encoder.scores(encoder.inputs(PAIRS)).tolist()


def reranked(folder, **options):
    """The scores of the ranker for all pairs, by `rerank`."""
    queries = [{"id": str(n), "query": text} for n, text in enumerate(QUERIES)]
    corpus = [{"id": str(n), "text": text} for n, text in enumerate(DOCUMENTS)]
    run = [
        {"query_id": query["id"], "doc_id": document["id"], "score": n}
        for query in queries
        for n, document in enumerate(corpus)
    ]
    options = {"ranker": ["cross-encoder=1"], "search_weight": 0.0} | options
    rows = rerank(runs=run, corpus=corpus, queries=queries, model=str(folder), **options)
    scores = {(row["query_id"], row["doc_id"]): row["score"] for row in rows}
    return [scores[q["id"], d["id"]] for q in queries for d in corpus]


def typed_tokenizer(**more):
    """A tokenizer like BERT's: the second text has tokens of type 1."""
    made = tokenizer(**more)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 2), ("</s>", 1)],
    )
    return made


def classifier(place, name, *, labels=1, typed=False, **of_tokenizer):
    """A folder of a random sequence classifier, as transformers writes it."""
    model(name, "ForSequenceClassification", num_labels=labels).save_pretrained(place)
    kind = typed_tokenizer if typed else tokenizer
    kind(specials=name not in DECODERS, **of_tokenizer).save_pretrained(place)
    return place


OTHERS = ["DistilBert", "Electra", "DebertaV2", "ModernBert", "Albert", "MPNet", "XLNet", "GPT2"]
OTHERS += ["Llama", "Qwen3", "T5", "Bart"]
KINDS = ["Bert", "Roberta", *(pytest.param(each, marks=pytest.mark.long) for each in OTHERS)]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("activation", [nn.Sigmoid(), nn.Identity()])
def test_folders_of_sentence_transformers_load(tmp_path, name, activation):
    start = classifier(
        tmp_path / "plain", name, typed=name in ("Bert", "XLNet"), model_max_length=19
    )
    made = CrossEncoder(str(start), device="cpu", activation_fn=activation)
    made.save_pretrained(str(tmp_path / "saved"))
    expected = theirs(tmp_path / "saved")
    assert len({round(score, 5) for score in expected}) > 5
    assert expected == pytest.approx(ours(tmp_path / "saved"), rel=1e-4, abs=1e-5)
    assert expected == pytest.approx(reranked(tmp_path / "saved"), rel=1e-4, abs=1e-5)


IDENTITY = "torch.nn.modules.linear.Identity"


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({}, nn.Sigmoid),
        ({"sentence_transformers": {"activation_fn": IDENTITY}}, nn.Identity),
        ({"sbert_ce_default_activation_function": IDENTITY}, nn.Identity),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Tanh"}, nn.Tanh),
    ],
)
def test_older_folders_load_with_their_length(tmp_path, config, kind):
    folder = classifier(tmp_path / "model", "Bert", typed=True, model_max_length=9)
    edit(folder / "config.json", **config)
    assert theirs(folder) == pytest.approx(ours(folder), **NEAR)
    encoder = load_cross_encoder(folder)
    assert (kind, 9) == (type(encoder.activation), encoder.length)


ABOUT = "config_sentence_transformers.json"


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        (None, "encoder", "is not a Transformer alone, so that it is no cross-encoder"),
        (None, "head", "labels|lacks"),
        (None, "labels", "3 labels: it is no cross-encoder with one score; train one: structkit t"),
        (ABOUT, {"activation_fn": "mine.Activation"}, "has the activation mine.Activation, which"),
        (
            ABOUT,
            {"prompts": {"web": "search: "}, "default_prompt_name": "web"},
            "has the prompt 'search: '",
        ),
        (
            "sentence_bert_config.json",
            {"transformer_task": "text-generation"},
            "sets transformer_task text-generation",
        ),
        ("model.safetensors", None, "cannot be loaded"),
    ],
)
def test_what_is_no_cross_encoder_with_one_score_is_refused(tmp_path, file, changes, message):
    folder = tmp_path / "model"
    if changes == "encoder":
        sentence_folder(folder, "Bert")
    elif changes == "head":
        small_bert(folder)
    else:
        plain = classifier(tmp_path / "plain", "Bert", labels=3 if changes == "labels" else 1)
        CrossEncoder(str(plain), device="cpu").save_pretrained(str(folder))
    if file == "model.safetensors":
        (folder / file).write_bytes((folder / file).read_bytes()[:-9])
    elif file:
        edit(folder / file, **changes)
    with pytest.raises(UserError, match=message):
        load_cross_encoder(folder)


def test_the_model_is_needed_and_only_for_its_ranker(tmp_path):
    with pytest.raises(
        UserError, match="ranker cross-encoder needs model; name a folder of structkit"
    ):
        list(rerank(runs=[], corpus=[], queries=[], ranker=["cross-encoder"]))
    with pytest.raises(UserError, match="no ranker takes model; add ranker='cross-encoder'"):
        list(rerank(runs=[], corpus=[], queries=[], model=str(tmp_path)))


def built(tmp_path, records, **values):
    """A training, without dropout, and its only batch."""
    file = write(tmp_path / "records.jsonl", *records)
    return first_batch("cross-encoder", file, **SCRATCH | values)[:2]


RAGGED = [
    {"id": "1", "query": "red", "positive": "red house", "negatives": ["blue", "a tree", "car"]},
    {"id": "2", "query": "green", "positive": "green car", "negatives": ["black door"]},
    {"id": "3", "query": "white", "positive": "white shirt", "negatives": ["x", "a tree " * 40]},
]


@pytest.mark.parametrize("chunk", [0, 1, 4])
def test_cross_entropy_is_that_of_each_query_alone(tmp_path, chunk):
    module, batch = built(tmp_path, RAGGED, chunk_size=chunk)
    parts, found = gradients(module, batch)
    encoder, losses = module.encoder, []
    for record in RAGGED:
        pairs = [(record["query"], text) for text in (record["positive"], *record["negatives"])]
        scores = torch.cat([encoder.logits(encoder.inputs([pair])) for pair in pairs])
        losses.append(scores.logsumexp(0) - scores[0])
    loss = torch.stack(losses).mean()
    assert loss.item() == pytest.approx(parts["loss"], abs=1e-6)
    expected = torch.autograd.grad(loss, [dict(module.named_parameters())[name] for name in found])
    for each, own in zip(expected, found.values(), strict=True):
        torch.testing.assert_close(own, each, rtol=0, atol=1e-6)


def test_a_query_without_negatives_takes_other_positives(tmp_path):
    records = [
        {"id": "1", "query": "red", "positive": "a"},
        {"id": "2", "query": "red", "positive": "b"},  # another answer to the same query
        {"id": "3", "query": "green", "positive": "c"},
        {"id": "4", "query": "white", "positive": "a"},
    ]
    module, batch = built(tmp_path, records)
    step = Step(0, "train", 0, [0, 1, 2, 3])
    groups = [module.group(record, records, step) for record in records]
    assert [{"c"}, {"c"}, {"a", "b"}, {"b", "c"}] == [{d for _, d in g[1:]} for g in groups]
    assert ["a", "b", "c", "a"] == [group[0][1] for group in groups]
    assert [2, 2, 3, 3] == batch.sizes
    few, batch = built(tmp_path, RAGGED, negatives_per_query=0)
    assert [3, 3, 3] == batch.sizes  # their own negatives are not used
    one, batch = built(tmp_path, [*RAGGED, records[1]], negatives_per_query=1)
    assert [2, 2, 2, 2] == batch.sizes


@pytest.mark.parametrize(
    ("records", "values", "message"),
    [
        (RAGGED, {"negatives_per_query": 5}, "no record has more than 3 negatives"),
        ([{"query": "a", "positive": "b"}], {}, "1 records in batches of 16 give no negatives"),
        (RAGGED, {"model": "builtin"}, "is a table of token vectors, which reads no pairs"),
    ],
)
def test_what_cannot_be_learned_says_so(tmp_path, records, values, message):
    with pytest.raises(UserError, match=message):
        built(tmp_path, records, **values)


@pytest.mark.parametrize(
    "kind", ["scratch", "ours", "sentence-transformers", "t5", "cross-encoder", "labels"]
)
def test_sentence_transformers_loads_what_is_trained_from_any_start(tmp_path, kind, capsys):
    records = write_pairs(tmp_path / "records.jsonl")
    start, values = tmp_path / "start", {"max_steps": 2, "batch_size": 4}
    if kind == "scratch":
        values |= SCRATCH
    elif kind in ("ours", "t5"):
        architecture = "bert" if kind == "ours" else "t5"
        train_on(records, "contrastive", start, **SCRATCH, architecture=architecture, max_steps=0)
    elif kind == "sentence-transformers":
        sentence_folder(start, "Roberta", pooling=("cls", "mean"), model_max_length=17)
    else:
        classifier(start, "Bert", labels=3 if kind == "labels" else 1, typed=True)
    values |= {} if kind == "scratch" else {"model": str(start)}
    train_on(records, "cross-encoder", tmp_path / "model", quiet=False, **values)
    assert ("has no decoder" in capsys.readouterr().err) == (kind == "t5")
    expected = theirs(tmp_path / "model")
    assert len(set(expected)) > 5
    assert expected == pytest.approx(reranked(tmp_path / "model"), **NEAR)
    if kind == "cross-encoder":
        train_on(records, kind, tmp_path / "same", **values | {"max_steps": 0})
        assert ours(start) == pytest.approx(ours(tmp_path / "same"), **NEAR)
