"""Encoders of any kind: poolings, special tokens, and folders of other libraries."""

import json
from functools import cache
from pathlib import Path

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.encoders.models import train_tokenizer
from structkit.structure.sentinels import SENTINELS
from tests.jsonl import write
from tests.learning.encoders.small import SHAPE, TERMS, TEXTS, save, word_tokenizer
from tests.learning.training.materials import train_on
from tests.tolerances import TINY, bound, rounding

NEAR = rounding(TERMS)


@pytest.fixture(scope="session")
def decoder_only(tmp_path_factory):
    torch.manual_seed(0)
    config = transformers.Qwen2Config(vocab_size=12, num_key_value_heads=2, **SHAPE)
    model = transformers.Qwen2Model(config)
    return save(tmp_path_factory.mktemp("models") / "qwen2", model, word_tokenizer(cls=False))


def embeddings(model, texts=TEXTS, side="document"):
    with torch.inference_mode():
        return model.embed(model.batch(model.inputs(texts, side)))


@pytest.mark.parametrize("pooling", ["cls", "mean", "mcls", "last-token"])
def test_any_bert_like_model_encodes_each_text_as_if_alone(bert_like, pooling):
    model, metadata = open_model(bert_like, pooling=pooling, mcls_every=7)
    assert pooling == metadata["pooling"]
    alone = torch.cat([embeddings(model, [text]) for text in TEXTS])
    torch.testing.assert_close(embeddings(model), alone, **NEAR)
    lengths = alone.norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones(len(TEXTS)), **rounding(alone.shape[1]))


def test_a_decoder_only_model_reads_the_state_of_its_eos(decoder_only):
    model, metadata = open_model(decoder_only)
    assert "last-token" == metadata["pooling"]
    ids = model.inputs(["a b"], "document")
    assert [[3, 4, 1]] == [[*each] for each in ids]
    states = model.model(torch.tensor(ids)).last_hidden_state
    expected = torch.nn.functional.normalize(states[0, -1], dim=0)
    torch.testing.assert_close(embeddings(model, ["a b", *TEXTS])[0], expected, **NEAR)
    cut = model.tokenizing.ids(["c " * 600], "query")[0]
    assert (66, 1) == (len(cut), cut[-1])  # what is cut still ends in EOS


@pytest.mark.parametrize("pooling", ["cls", "mcls"])
def test_a_model_without_cls_token(decoder_only, pooling):
    with pytest.raises(UserError, match=f"puts no CLS token first, which --pooling {pooling} nee"):
        open_model(decoder_only, pooling=pooling)


@cache
def opened(folder, every):
    return open_model(folder, pooling="mcls", mcls_every=every)[0]


@given(st.integers(0, 30), st.integers(1, 12), st.integers(4, 40))
def test_mcls_against_plain_loops(bert_like, count, every, length):
    model = opened(bert_like, every)
    model.tokenizing.lengths["document"] = length
    ids = model.inputs(["d " * count], "document")[0]
    expected = [2]
    for number in range(count):
        if number and number % every == 0:
            expected.append(2)
        expected.append(6)
    # cut from the right, to fit with </s>; a CLS token with nothing after it goes too
    expected = expected[: length - 1]
    while len(expected) > 1 and expected[-1] == 2:
        expected.pop()
    assert [*expected, 1] == ids
    states = model.model(torch.tensor([ids])).last_hidden_state[0]
    plain = torch.stack([state for state, token in zip(states, ids, strict=True) if token == 2])
    plain = torch.nn.functional.normalize(plain.mean(0), dim=0)
    padded = model.embed(model.batch([ids, model.inputs(["c " * 60], "document")[0]]))[0]
    torch.testing.assert_close(padded, plain, **NEAR)


@pytest.fixture
def pairs(tmp_path):
    texts = ("a b", "c d", "e f", "g h")
    records = ({"id": text, "query": text, "positive": text} for text in texts)
    return write(tmp_path / "pairs.jsonl", *records)


def trained(tmp_path, pairs, **values):
    folder = str(tmp_path / "trained")
    train_on(pairs, "contrastive", folder, max_steps=1, **values)
    return folder


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_sentence_transformers_gives_the_same_embeddings(tmp_path, pairs, bert_like, pooling):
    prompts = {"query_prompt": "a a ", "document_prompt": "h "}
    folder = trained(tmp_path, pairs, model=bert_like, pooling=pooling, **prompts)
    compare(folder)


@pytest.mark.parametrize("kind", ["decoder only", "without padding token", "from scratch"])
def test_sentence_transformers_and_other_models(tmp_path, pairs, decoder_only, kind):
    if kind == "from scratch":
        scratch = {"size": "tiny", "architecture": "bert", "vocabulary_size": 400}
        compare(trained(tmp_path, pairs, **scratch), [*TEXTS, "a </s> b <|eos|> <pad>"])
        return
    if kind == "without padding token":
        tokenizer = word_tokenizer(cls=False)
        tokenizer.pad_token = None
        shape = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 66, "n_inner": 64}
        config = transformers.GPT2Config(vocab_size=12, bos_token_id=1, eos_token_id=1, **shape)
        decoder_only = save(tmp_path / "gpt2", transformers.GPT2Model(config), tokenizer)
    compare(trained(tmp_path, pairs, model=decoder_only, pooling="last-token"))


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(
    ("pooling", "architecture"), [("first-decoder-token", "t5"), ("mcls", "bert")]
)
def test_sentence_transformers_refuses_poolings_of_ours(
    tmp_path, pairs, pooling, architecture, trust
):
    scratch = {"size": "tiny", "architecture": architecture, "vocabulary_size": 400}
    folder = trained(tmp_path, pairs, pooling=pooling, **scratch)
    with pytest.raises(
        (ImportError, ValueError), match=f"pooling_{pooling.replace('-', '_')}|only_"
    ):
        SentenceTransformer(folder, device="cpu", trust_remote_code=trust)
    assert pooling == open_model(folder)[1]["pooling"]


def compare(folder, texts=TEXTS):
    ours, _ = open_model(folder)
    theirs = SentenceTransformer(folder, device="cpu")
    for side in ("query", "document"):
        found = getattr(theirs, f"encode_{side}")(texts, convert_to_tensor=True)
        torch.testing.assert_close(embeddings(ours, texts, side), found, **rounding(TINY))
    (Path(folder) / "structkit.json").unlink()  # what is left is sentence-transformers' own
    plain = open_model(folder)[0]
    torch.testing.assert_close(embeddings(plain, texts), embeddings(ours, texts), atol=0, rtol=0)


def test_transformers_gives_the_same_embeddings_and_the_folder_has_its_facts(tmp_path, pairs):
    folder = trained(tmp_path, pairs, size="tiny", vocabulary_size=400, pooling="mean")
    expected = embeddings(open_model(folder)[0])
    model = transformers.AutoModel.from_pretrained(folder).get_encoder().eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(tokens.input_ids, attention_mask=tokens.attention_mask).last_hidden_state
    mask = tokens.attention_mask[..., None]
    found = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
    torch.testing.assert_close(found, expected, **rounding(TINY))
    metadata = json.loads(Path(folder, "structkit.json").read_text())
    assert ("contrastive", 1, 0) == (
        metadata["method"],
        metadata["format"],
        metadata["settings"]["seed"],
    )
    assert ({"query": 64, "document": 256}, 4) == (metadata["lengths"], metadata["data"]["records"])
    assert {"structkit", "torch", "transformers", "python"} == set(metadata["versions"])


def test_minilm_is_the_packaged_model():
    model, metadata = open_model("minilm")
    assert ("mean", True, {"query": 256, "document": 256}) == tuple(
        metadata[name] for name in ("pooling", "normalize", "lengths")
    )
    texts, config = ["two words", "x " * 300], model.model.config
    theirs = SentenceTransformer(str(metadata["folder"]), device="cpu").encode(texts)
    near = bound(config.num_hidden_layers * config.intermediate_size, abs(theirs).max())
    assert abs(embeddings(model, texts).numpy() - theirs).max() <= near


def test_special_tokens_have_no_names_in_a_text():
    tags = ["<p>", "</p>", "<h1>", "</s>"]
    tokenizer = train_tokenizer(["plain words <p>"], 600, whole=tags)
    text = "<p>one</p> <s>two</s><pad><mask><unk><|eos|><|cls|><|pad|> <extra_id_3>"
    ids = tokenizer(text)["input_ids"]
    assert not set(ids[:-1]) & set(tokenizer.all_special_ids)
    tokens = tokenizer.convert_ids_to_tokens(ids)
    kept = [token for token in tokens if token in {*tags, *SENTINELS}]
    assert ["<p>", "</p>", "</s>", "<extra_id_3>"] == kept
    assert len(tokenizer) <= 600


RETRIES = ["def retry(attempts): self.retry(2)", "how is a retry done", "utf8 and 2d"] * 9


@pytest.mark.parametrize("before", ["(", ".", " ", "2", "self.", "_", "x\n"])
def test_a_word_may_have_its_tokens_after_anything(before):
    for alike in (True, False):
        tokenizer = train_tokenizer(RETRIES, 500, words_alike=alike)
        word, found = (
            tokenizer(text, add_special_tokens=False)["input_ids"]
            for text in ("retry", f"{before}retry")
        )
        same = word == found[-len(word) :]
        assert same if alike else before != "." or not same
        assert len(word) < len("retry")
