"""The memory of a training of real shapes on this machine."""

import pytest
from transformers import BertConfig, T5Config

from experiments.peaks import cost_of

WIDE = 1024 * 64  # words: a table of weights that outweighs all else
SHAPES = {
    "seal": BertConfig(
        vocab_size=WIDE,
        hidden_size=512,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
    ),
    "santa": T5Config(
        vocab_size=WIDE, d_model=512, d_ff=64, num_heads=2, num_layers=1, decoder_start_token_id=0
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("method", SHAPES)
def test_weights_gradients_and_the_state_of_the_optimizer_are_in_it(method):
    one = WIDE * 512 * 4
    cost = cost_of(method, SHAPES[method], 2, 16, {})
    assert 4 * one < cost.peak < 4 * one + 1.5e9  # torch and its libraries take the rest
