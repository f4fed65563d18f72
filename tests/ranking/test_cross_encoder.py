"""The ranker cross-encoder: the scores of sentence-transformers' `CrossEncoder`, or a refusal."""

import json
import sys

import pytest
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder
from tokenizers import processors
from torch import nn

from structkit import rerank
from structkit.errors import UserError
from structkit.learning.folders import BUILTIN_FOLDER
from tests.learning.encoders.zoo import DECODERS, edit, model, sentence_folder, tokenizer
from tests.learning.training.materials import small_bert

QUERIES = ["a b", "x Y", "c d e f " * 9]
DOCUMENTS = ["A b C d E", "x", "a", "g h i " * 30, "b a"]
PAIRS = [(query, document) for query in QUERIES for document in DOCUMENTS]
ABOUT = "config_sentence_transformers.json"


def theirs(folder, **options):
    """The scores that sentence-transformers gives."""
    return CrossEncoder(str(folder), device="cpu", **options).predict(PAIRS).tolist()


def reranked(folder, **options):
    """The scores of the ranker for all pairs, by `rerank`."""
    queries = [{"id": str(n), "query": text} for n, text in enumerate(QUERIES)]
    corpus = [{"id": str(n), "text": text} for n, text in enumerate(DOCUMENTS)]
    run = [
        {"query_id": query["id"], "doc_id": document["id"], "score": n}
        for query in queries
        for n, document in enumerate(corpus)
    ]
    options = {"ranker": ["cross-encoder=1"], "search_weight": 0.0, "offline": True} | options
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
def test_scores_are_those_of_sentence_transformers(tmp_path, name, capsys):
    typed = name in ("Bert", "XLNet")
    start = classifier(tmp_path / "plain", name, typed=typed, model_max_length=19)
    made = CrossEncoder(str(start), device="cpu", activation_fn=nn.Identity())
    made.save_pretrained(str(tmp_path / "saved"))
    for folder in (start, tmp_path / "saved"):
        expected = theirs(folder)
        assert len({round(score, 5) for score in expected}) > 5
        assert expected == pytest.approx(reranked(folder), rel=1e-4, abs=1e-5)
    said = capsys.readouterr().err
    cut = "structkit: query 0 and 1 of its hits are longer than 19 tokens, and cut; others may be"
    assert [cut] * 2 == [line[: len(cut)] for line in said.splitlines()]  # and no progress


def test_prompts_and_activations_of_a_folder_count(tmp_path):
    folder = classifier(tmp_path / "model", "Bert", typed=True)
    plain = reranked(folder)
    tanh = "torch.nn.modules.activation.Tanh"
    edit(folder / "config.json", sbert_ce_default_activation_function=tanh)
    assert theirs(folder) == pytest.approx(reranked(folder), abs=1e-6)
    CrossEncoder(str(folder), device="cpu").save_pretrained(str(folder))
    edit(folder / ABOUT, prompts={"web": "x x x "}, default_prompt_name="web")
    assert theirs(folder) == pytest.approx(reranked(folder), abs=1e-6)
    assert plain != pytest.approx(reranked(folder), abs=1e-3)


def weights(change):
    """Change each weight of a folder by name, or leave it out if None."""

    def changed(folder):
        file = folder / "model.safetensors"
        found = {name: change(name, each) for name, each in load_file(file).items()}
        save_file({n: each for n, each in found.items() if each is not None}, file)

    return changed


def cut(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-9])


def of_other_code(folder):
    modules = [{"type": "mine.Model", "path": ""}]
    (folder / "modules.json").write_text(json.dumps(modules))


ACTIVATION = "activation_fn torch.seed, which structkit never runs"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda folder: sentence_folder(folder, "Bert"), "lacks classifier.bias: it is no cross-e"),
        (small_bert, "lacks classifier.bias"),
        (lambda folder: classifier(folder, "Bert", labels=3), "3 labels: it is no cross-encoder"),
        (lambda folder: folder.mkdir(), "holds no model.safetensors"),
        (lambda folder: folder.symlink_to(BUILTIN_FOLDER), "is a table of token vectors; name a"),
    ],
)
def test_what_is_no_cross_encoder_with_one_score_is_refused(tmp_path, made, message):
    made(tmp_path / "model")
    with pytest.raises(UserError, match=message):
        reranked(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (weights(lambda name, each: None if "classifier" in name else each), "lacks classifier"),
        (weights(lambda name, each: each * float("nan")), "cross-encoder .* are not finite"),
        (cut, "cannot be loaded"),
        (lambda folder: edit(folder / ABOUT, activation_fn="torch.seed"), ACTIVATION),
        (of_other_code, "made by code of its own"),
    ],
)
def test_damaged_folders_are_refused(tmp_path, change, message):
    folder = tmp_path / "model"
    plain = classifier(tmp_path / "plain", "Bert")
    CrossEncoder(str(plain), device="cpu").save_pretrained(str(folder))
    change(folder)
    with pytest.raises(UserError, match=message):
        reranked(folder)


def test_the_model_is_needed_and_only_for_its_ranker(tmp_path):
    with pytest.raises(UserError, match="ranker cross-encoder needs model; name a folder or Hub"):
        list(rerank(runs=[], corpus=[], queries=[], ranker=["cross-encoder"]))
    with pytest.raises(UserError, match="no ranker takes model; add a ranker that does"):
        list(rerank(runs=[], corpus=[], queries=[], model=str(tmp_path)))


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    remedy = "sentence_transformers of the extra sentence-transformers; pip install"
    with pytest.raises(UserError, match=remedy):
        reranked(tmp_path)


@pytest.mark.parametrize("activation", [nn.Sigmoid, nn.Tanh, nn.ReLU])
@pytest.mark.parametrize("bias", [-40.0, 0.0, 15.0, 25.0, 60.0])
@pytest.mark.parametrize("weight", [1, 0.7])
def test_saturated_scores_keep_the_order_of_the_logits(tmp_path, activation, bias, weight):
    start = classifier(tmp_path / "plain", "Bert")
    weights = load_file(start / "model.safetensors")
    weights["classifier.bias"] += bias
    save_file(weights, start / "model.safetensors", {"format": "pt"})
    made = CrossEncoder(str(start), device="cpu", activation_fn=activation())
    made.save_pretrained(str(tmp_path / "saved"))
    folder = tmp_path / "saved"
    scores = reranked(folder, ranker=[f"cross-encoder={weight}"])
    assert [weight * each for each in theirs(folder)] == pytest.approx(scores, abs=1e-5)
    logits = theirs(folder, activation_fn=nn.Identity())
    for first in range(0, len(PAIRS), len(DOCUMENTS)):
        places = range(first, first + len(DOCUMENTS))
        by_logit = sorted(places, key=lambda place: -logits[place])
        assert by_logit == sorted(places, key=lambda place: -scores[place])
        assert len({*logits[first : first + 5]}) == len({*scores[first : first + 5]})
