"""--positions: a model that reads longer texts than its start, and short ones as before."""

import json

import pytest
import torch
import transformers

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.encoders.models import load_pretrained, positions, stretch_positions
from tests.learning.encoders.test_encoders import ENCODERS, NEAR, SHAPE, save, word_tokenizer
from tests.learning.training.materials import train_on
from tests.tolerances import rounding

KINDS = ["bert", "roberta", "xlm-roberta"]
IDS = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 1}

BART = {"d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "encoder_layers": 1}
BART |= {"decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
# how many of the 66 rows of its table a model has for tokens, and what else its configuration needs
READ = {
    "Bart": (66, BART),  # its table has two rows more
    "Bert": (66, {}),
    "Esm": (65, {"position_embedding_type": "absolute"}),
    "GPT2": (66, {"n_embd": 32, "n_layer": 1, "n_head": 4}),
    "Longformer": (65, {"attention_window": 8}),
    "MPNet": (64, {}),
    "Mra": (66, {}),  # the same
    "OPT": (66, {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    "Xmod": (65, {"languages": ["en_XX"], "default_language": "en_XX"}),
}


def start(folder, name):
    config, kind = ENCODERS[name]
    torch.manual_seed(0)
    return save(folder, kind(config(vocab_size=12, **SHAPE, **IDS)), word_tokenizer(cls=True))


def table(model):
    return model.embeddings.position_embeddings.weight.detach()


@pytest.fixture
def records(tmp_path):
    file = tmp_path / "records.jsonl"
    rows = [
        {"id": str(at), "query": each, "positive": f"{each} a"} for at, each in enumerate("bcd")
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def trained(tmp_path, records, model, **values):
    values = {"model": model, "max_steps": 0, "batch_size": 2, **values}
    train_on(records, "contrastive", tmp_path / "m", **values)
    return str(tmp_path / "m")


@pytest.mark.parametrize("name", READ)
def test_a_text_is_cut_to_what_the_model_reads(tmp_path, name):
    most, more = READ[name]
    config = getattr(transformers, f"{name}Config")(vocab_size=12, **{**SHAPE, **IDS, **more})
    model = getattr(transformers, f"{name}Model")(config)
    folder = save(tmp_path / name, model, word_tokenizer(cls=True))
    encoder = open_model(folder, pooling="mean")[0]
    ids = encoder.inputs(["a b c " * 40], "document")
    assert (most, most) == (encoder.tokenizing.positions, len(ids[0]))
    with torch.inference_mode():
        assert encoder.embed(encoder.batch(ids)).isfinite().all()
        with pytest.raises((IndexError, RuntimeError)):
            encoder.embed(encoder.batch([[*ids[0], 3, 3]]))


def test_models_that_read_any_text():
    xlnet = transformers.XLNetConfig(vocab_size=12, d_model=32, n_layer=1, n_head=4, d_inner=64)
    assert positions(transformers.XLNetModel(xlnet)) is None
    t5 = transformers.T5Config(vocab_size=12, d_model=32, d_ff=64, num_layers=1, num_heads=4)
    assert positions(transformers.T5Model(t5)) is None


@pytest.mark.parametrize("name", KINDS)
def test_short_texts_keep_their_embeddings_and_long_ones_are_read(tmp_path, records, name):
    old = start(tmp_path / "old", name)
    new = trained(tmp_path, records, old, positions=200, document_length=200)
    before, after = open_model(old)[0], open_model(new, pooling="cls")[0]
    short, long = "a b c d e f g", "a b c d " * 60
    with torch.inference_mode():
        states = [each.embed(each.tokens([short], "document")) for each in (before, after)]
        unread = [each.embed(each.tokens([long], "document")) for each in (before, after)]
    # where a weight lies in memory may change the order of a sum
    torch.testing.assert_close(*states, **NEAR)
    assert (unread[0] - unread[1]).abs().max() > 10 * NEAR["atol"]
    assert (200, 200) == (after.tokenizing.positions, len(after.inputs([long], "document")[0]))


@pytest.mark.parametrize("name", KINDS)
def test_later_positions_are_interpolated(tmp_path, name):
    model, tokenizer = load_pretrained(tmp_path / start(tmp_path / "old", name))
    old = table(model).clone()  # 66 positions; RoBERTa's start at 1, after the padding's
    offset = 0 if name == "bert" else 1
    kept = offset + (66 - offset) // 4
    rest = len(old) - kept
    stretch_positions(model, tokenizer, (kept - offset) + 2 * rest - 1)
    new = table(model)
    assert len(new) == kept + 2 * rest - 1 == model.config.max_position_embeddings
    torch.testing.assert_close(new[:kept], old[:kept], rtol=0, atol=0)
    # each old one, and between two their mean
    near = rounding(2, old.abs().max().item())
    torch.testing.assert_close(new[kept::2], old[kept:], **near)
    torch.testing.assert_close(new[kept + 1 :: 2], (old[kept:-1] + old[kept + 1 :]) / 2, **near)


def test_a_bert_from_scratch_has_so_many_positions(tmp_path, records):
    scratch = {"architecture": "bert", "size": "tiny", "vocabulary_size": 400}
    folder = trained(tmp_path, records, None, positions=1500, document_length=1500, **scratch)
    assert 1500 == open_model(folder)[0].tokenizing.positions


@pytest.mark.parametrize(
    ("name", "positions", "said"),
    [
        ("bert", 40, "--positions 40: the model reads 66 tokens already"),
        ("modernbert", 200, "a modernbert model has no position embeddings"),
        (None, 200, "a T5 has no position embeddings"),
    ],
)
def test_what_cannot_be_stretched(tmp_path, records, name, positions, said):
    model = start(tmp_path / "old", name) if name else None
    scratch = {} if name else {"size": "tiny", "vocabulary_size": 400}
    with pytest.raises(UserError, match=said):
        trained(tmp_path, records, model, positions=positions, **scratch)
