"""Batches of tokens: their lengths and pieces, and the calls of a model."""

import pytest
import torch
import transformers

from structkit.learning.encoders.encoder import hidden_states_of
from structkit.learning.encoders.poolings import Tokens, attention_mask, pad_tokens
from structkit.learning.tokens import batches_of
from tests.learning.encoders.small import SHAPE

ROWS = [[1, 2, 3], [4], [], [5, 6]]


def test_lengths_are_known_in_any_batch():
    tokens = pad_tokens(ROWS, padding=0)
    assert [3, 1, 0, 2] == tokens.lengths.tolist()
    assert [3, 1, 0, 2] == Tokens(tokens.ids, tokens.mask).lengths.tolist()
    some = tokens.shortened(torch.tensor([3, 1]))
    assert [2, 1] == some.lengths.tolist()
    assert [[5, 6], [4, 0]] == some.ids.tolist()
    assert [1] == some.shortened(torch.tensor([1])).lengths.tolist()


@pytest.mark.parametrize(
    ("lengths", "budget", "pieces"),
    [
        ([3, 3, 3, 3], 6, [[0, 1], [2, 3]]),
        ([1, 2, 3, 100], 6, [[3], [2, 1], [0]]),
        ([7], 6, [[0]]),
        ([0, 0, 0], 6, [[0, 1, 2]]),
        ([], 6, []),
        ([2, 1, 1, 1, 1, 1, 1], 6, [[0, 1, 2], [3, 4, 5, 6]]),
    ],
)
def test_pieces_hold_padded_tokens(lengths, budget, pieces):
    assert pieces == [*batches_of(lengths, budget)]


@pytest.mark.parametrize("kind", ["Qwen3", "Llama", "GPT2", "Bert", "T5Encoder"])
def test_no_keys_and_values_are_kept(kind):
    heads = {"num_key_value_heads": 2, "head_dim": 8} if kind in ("Qwen3", "Llama") else {}
    shape = {} if kind == "T5Encoder" else {**SHAPE, **heads}
    config = getattr(transformers, f"{kind.removesuffix('Encoder')}Config")
    model = getattr(transformers, f"{kind}Model")(config(vocab_size=12, pad_token_id=0, **shape))
    made = []
    reader = model.get_encoder() if model.config.is_encoder_decoder else model
    reader.register_forward_hook(lambda module, inputs, output: made.append(output))
    hidden_states_of(model.eval(), pad_tokens([[3, 4], [5]], padding=0))
    assert [None] == [each.get("past_key_values") for each in made]


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "XLMRoberta", "Camembert", "T5Encoder"])
def test_a_mask_of_pairs_means_the_same(kind):
    """What a GPU gets, as the device of the mask decides it: here without storage."""
    shape = {"d_model": 32, "num_layers": 2, "d_kv": 8, "num_heads": 4}
    shape = shape if kind == "T5Encoder" else SHAPE
    config = getattr(transformers, f"{kind.removesuffix('Encoder')}Config")
    model = getattr(transformers, f"{kind}Model")(config(vocab_size=12, pad_token_id=1, **shape))
    tokens = pad_tokens([[3, 4, 5], [6], [7, 8]], padding=1)
    pairs = attention_mask(model, tokens.mask.to("meta"), 3)
    assert (3, 1, 3, 3) == pairs.shape
    mask = tokens.mask.bool()[:, None, None].expand(pairs.shape)
    expected = model.eval()(input_ids=tokens.ids, attention_mask=tokens.mask).last_hidden_state
    found = model(input_ids=tokens.ids, attention_mask=mask).last_hidden_state
    real = tokens.mask.bool()
    torch.testing.assert_close(found[real], expected[real])
