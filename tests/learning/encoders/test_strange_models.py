"""Models of other libraries that are unlike most: computed as there, or refused by name."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import LSTM, Normalize, Pooling

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from tests.learning.encoders import zoo
from tests.learning.encoders.zoo import IDS, LLAMA, SIZE, model, theirs, tokenizer
from tests.learning.training.materials import train_on, write_pairs
from tests.model_encodings import encoding_of

# whose states depend on the padding behind a text
MIXING = {
    "FNet": {**SIZE, "tpu_short_seq_length": 40},
    "ConvBert": {**SIZE, "embedding_size": 16, "conv_kernel_size": 3},
    "Funnel": {"vocab_size": 70, "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 32}
    | {"block_sizes": [1, 1], "num_decoder_layers": 1},
    "Nystromformer": SIZE,
}
TEXTS = ["a b c", "a b c d e f g h", "x", "c d E f a b c d e f g h", "b a c"]


def plain_folder(place, made, **of_tokenizer):
    """A folder as transformers writes it: no pooling is named."""
    made.save_pretrained(place)
    tokenizer(**of_tokenizer).save_pretrained(place)
    return place


def random_model(name, config, kind="Model"):
    torch.manual_seed(3)
    made = getattr(transformers, f"{name}{kind}")(getattr(transformers, f"{name}Config")(**config))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3 if parameter.dim() > 1 else 1)
    return made.eval()


@pytest.mark.parametrize("name", MIXING)
def test_an_embedding_does_not_depend_on_the_other_texts(tmp_path, name):
    folder = plain_folder(tmp_path / "model", random_model(name, MIXING[name]))
    encoding = encoding_of(str(folder), engine="torch", pooling="mean")
    assert encoding.encoder.mixes_padding
    together = encoding.embed(TEXTS)
    alone = np.concatenate([encoding.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    encoding.encoder.mixes_padding = False  # as it was: padding does change them
    assert np.abs(encoding.embed(TEXTS) - alone).max() > 1e-3


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("Funnel", MIXING["Funnel"], "cannot read a text of 2 to 5 tokens"),
        ("Nystromformer", {**SIZE, "num_landmarks": 4, "segment_means_seq_len": 16}, 'text "a"'),
    ],
)
def test_a_text_that_a_model_cannot_read_is_an_error(tmp_path, name, more, said):
    folder = plain_folder(tmp_path / "model", random_model(name, more))
    with pytest.raises(UserError, match=said):
        encoding_of(str(folder), engine="torch", pooling="mean").embed(["", "a b c"])


@pytest.mark.parametrize("unread", ["x", "z"])
def test_a_text_that_a_model_cannot_read_is_named_by_its_record(tmp_path, here, unread):
    folder = plain_folder(tmp_path / "model", random_model("Funnel", MIXING["Funnel"]))
    lines = [{"id": name, "text": "" if name == unread else "a b c"} for name in "xyz"]
    flags = ["--engine", "torch", "--pooling", "mean", "-m", folder]
    done = here("encode", *flags, input="".join(json.dumps(line) + "\n" for line in lines))
    assert done.returncode == 1
    assert f'record "{unread}": the model cannot read a text of 2 tokens' in done.stderr.decode()


@pytest.mark.parametrize("name", ["Bert", "MPNet", "ModernBert", "Llama", "XLNet", "T5"])
def test_padding_changes_no_other_kind(tmp_path, name):
    folder = plain_folder(tmp_path / "model", model(name), specials=name not in zoo.DECODERS)
    assert not open_model(str(folder))[0].mixes_padding


def t5_gemma():
    part = {**LLAMA, "head_dim": 8, "query_pre_attn_scalar": 8, "attn_implementation": "eager"}
    parts = {name: transformers.T5GemmaModuleConfig(**part) for name in ("encoder", "decoder")}
    config = transformers.T5GemmaConfig(**parts, vocab_size=70, is_encoder_decoder=False, **IDS)
    torch.manual_seed(1)
    return transformers.T5GemmaEncoderModel(config).eval()


@pytest.mark.parametrize("normalized", [True, False])
def test_a_model_whose_parts_have_sizes_of_their_own(tmp_path, normalized):
    more = [Normalize()] * normalized
    folder = zoo.sentence_folder(tmp_path / "model", "T5", made=t5_gemma(), more=more)
    found = torch.from_numpy(encoding_of(str(folder), "document", engine="torch").embed(TEXTS))
    torch.testing.assert_close(found, theirs(folder, TEXTS, "document"), atol=1e-5, rtol=1e-5)


def weights_of(folder, **changes):
    """Change weights of a folder; None removes one."""
    file = folder / "model.safetensors"
    known = load_file(file)
    new = {name: each for name, each in (known | changes).items() if each is not None}
    save_file({name: each.contiguous() for name, each in new.items()}, file, {"format": "pt"})


QUERY = "encoder.layer.0.attention.self.query.weight"
EIGHT_BITS = {
    "int8": torch.zeros(16, 16, dtype=torch.int8),
    "uint8": torch.zeros(16, 16, dtype=torch.uint8),
    "float8": torch.zeros(16, 16).to(torch.float8_e4m3fn),
}


@pytest.mark.parametrize("kind", EIGHT_BITS)
@pytest.mark.parametrize("scale", [True, False])
def test_weights_with_a_scale_that_nothing_reads_are_refused(tmp_path, kind, scale):
    folder = plain_folder(tmp_path / "model", model("Bert"))
    scales = {QUERY.replace("weight", "weight_scale"): torch.ones(16)} if scale else {}
    weights_of(folder, **{QUERY: EIGHT_BITS[kind]}, **scales)
    with pytest.raises(UserError, match=QUERY) as caught:
        open_model(str(folder))
    assert "save the model in 16 or 32 bits" in caught.value.remedy


@pytest.mark.parametrize(
    "extra", [f"{QUERY}_scale", "encoder.layer.1.adapter.down.weight", "embeddings.norm2.weight"]
)
def test_tensors_that_no_module_takes_are_refused(tmp_path, extra):
    folder = plain_folder(tmp_path / "model", model("Bert"))
    weights_of(folder, **{extra: torch.ones(3)})
    with pytest.raises(UserError, match=f"{extra} has no place in BertModel"):
        open_model(str(folder))


@pytest.mark.parametrize(
    "extra",
    [
        "cls.predictions.bias",
        "classifier.weight",
        "encoder.layer.2.output.dense.weight",
        "embeddings.position_ids",
    ],
)
def test_heads_further_layers_and_buffers_are_left_over(tmp_path, extra):
    folder = plain_folder(tmp_path / "model", model("Bert"))
    expected = encoding_of(str(folder), engine="torch").embed(TEXTS)
    weights_of(folder, **{extra: torch.ones(3)})
    assert np.array_equal(expected, encoding_of(str(folder), engine="torch").embed(TEXTS))


def test_a_weight_of_another_shape_is_named_with_both(tmp_path):
    folder = plain_folder(tmp_path / "model", model("Bert"))
    weights_of(folder, **{QUERY: torch.zeros(16, 15)})
    with pytest.raises(UserError) as caught:
        open_model(str(folder))
    assert f"the weight {QUERY} of shape [16, 15], but its config.json" in caught.value.problem
    assert "[16, 16]" in caught.value.problem and "config.json that" in caught.value.remedy


def test_a_module_with_which_its_library_fails(tmp_path):
    start = zoo.sentence_folder(tmp_path / "start", "Bert")
    first = SentenceTransformer(str(start), device="cpu")[0]
    lstm = LSTM(16, 8)
    modules = [first, lstm, Pooling(lstm.get_embedding_dimension(), "mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "model"))
    with pytest.raises(UserError, match="cannot encode with the model .*KeyError") as caught:
        encoding_of(str(tmp_path / "model"))
    assert "use another model" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "pooling"), [("Bert", "cls"), ("T5", "mean"), ("Qwen3", "last-token")]
)
def test_a_declared_cls_token_is_none_and_the_pooling_is_said(tmp_path, capsys, name, pooling):
    folder = plain_folder(tmp_path / "model", model(name), specials=name == "Bert")
    _, metadata = open_model(str(folder))
    said = capsys.readouterr().err
    assert pooling == metadata["pooling"]
    message = f"names no pooling, and is pooled by {pooling}; structkit encode --pooling changes it"
    assert 1 == said.count(message)
    open_model(str(folder), pooling="mean")
    assert "" == capsys.readouterr().err


@pytest.mark.parametrize("query_length", [6, 9, 30])
def test_our_folder_is_cut_alike_by_its_library(tmp_path, query_length):
    start = zoo.sentence_folder(tmp_path / "start", "Bert")
    file = write_pairs(tmp_path / "pairs.jsonl", 8, lambda number: 0)
    lengths = {"query_length": query_length, "document_length": 9}
    changes = {"model": str(start), "max_steps": 2, "batch_size": 4, **lengths}
    train_on(file, "contrastive", tmp_path / "model", **changes)
    texts = ["a b c d e f g h " * 9, "a b"]
    for side in ("query", "document"):
        encoding = encoding_of(str(tmp_path / "model"), side, engine="torch")
        found, expected = encoding.embed(texts), theirs(tmp_path / "model", texts, side).numpy()
        np.testing.assert_allclose(found, expected, atol=1e-5)
    reading = json.loads((tmp_path / "model/sentence_bert_config.json").read_text())
    assert (query_length if query_length != 9 else None) == reading.get("query_length")


@pytest.mark.parametrize("content", [5, True, "a", {"a": 1}, [5], [{"type": 5, "path": ""}]])
def test_modules_that_are_no_list_are_malformed(tmp_path, content):
    start = zoo.sentence_folder(tmp_path / "start", "Bert")
    file = write_pairs(tmp_path / "pairs.jsonl", 8, lambda number: 0)
    train_on(file, "contrastive", tmp_path / "own", model=str(start), max_steps=0)
    for folder in (start, tmp_path / "own"):
        (folder / "modules.json").write_text(json.dumps(content))
        with pytest.raises(UserError, match="modules.json .*malformed"):
            open_model(str(folder))


def test_a_model_that_cannot_read_a_word_is_refused(tmp_path):
    config = MIXING["Funnel"] | {"block_sizes": [1, 1, 1]}
    folder = plain_folder(tmp_path / "model", random_model("Funnel", config))
    with pytest.raises(UserError, match="cannot read the text") as caught:
        open_model(str(folder))
    assert "use another model" == caught.value.remedy
