"""A text is cut to the tokens that a model has positions for."""

import pytest
import torch
import transformers

from structkit.learning.encoders.encoder import open_model
from structkit.learning.encoders.models import positions
from tests.learning.encoders.small import SHAPE, save, word_tokenizer

IDS = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 1}

# how many of the 66 rows of its table a model has for tokens, and what else its configuration needs
READ = {
    "Bert": (66, {}),
    "Esm": (65, {"position_embedding_type": "absolute"}),
    "GPT2": (66, {"n_embd": 32, "n_layer": 1, "n_head": 4}),
    "Longformer": (65, {"attention_window": 8}),
    "MPNet": (64, {}),
    "Mra": (66, {}),  # its table has two rows more
    "OPT": (66, {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    "Xmod": (65, {"languages": ["en_XX"], "default_language": "en_XX"}),
}


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
