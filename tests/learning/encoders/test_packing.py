"""Packed batches: the states of the model itself, of BERT and its like, and of no other."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel, XLMRobertaConfig
from transformers import XLMRobertaModel as XLMRoberta

from structkit.learning.encoders.packing import Packed, pack
from structkit.learning.encoders.poolings import Tokens
from tests.learning.encoders.small import SHAPE, TERMS
from tests.tolerances import rounding

KINDS = [(BertConfig, BertModel), (RobertaConfig, RobertaModel), (XLMRobertaConfig, XLMRoberta)]


def a_model(config, kind, **changes):
    torch.manual_seed(0)
    return kind(config(vocab_size=40, **SHAPE | {"initializer_range": 0.5} | changes)).eval()


def near(states):
    """How far states may lie apart that the same layers computed in another order."""
    return rounding(TERMS, states.detach().abs().max().item())


def a_batch(lengths, padding):
    draw = np.random.default_rng(len(lengths))
    ids = torch.tensor(draw.integers(2, 40, (len(lengths), max(lengths))))
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    return Tokens(torch.where(mask.bool(), ids, padding), mask)


@pytest.mark.parametrize(("config", "kind"), KINDS)
@pytest.mark.parametrize("lengths", [[1], [7, 7, 7], [60, 3, 3, 9, 3, 1]])
@pytest.mark.parametrize("first", [True, False])
def test_states_and_gradients_are_those_of_the_model(config, kind, lengths, first):
    model = a_model(config, kind)
    tokens = a_batch(lengths, model.config.pad_token_id)
    # a padding token within a text: RoBERTa counts no position for it, and none trains it
    tokens.ids[0, 3:4] = model.config.pad_token_id
    real = tokens.mask.clone().bool()
    if first:
        real[:, 1:] = False
    states = pack(model).hidden_states(tokens, first=first)
    assert first or not states[~real].any()
    ours = states[:, 0] if first else states[real]
    theirs = model(input_ids=tokens.ids, attention_mask=tokens.mask).last_hidden_state[real]
    torch.testing.assert_close(ours, theirs, **near(theirs))
    with torch.no_grad():
        assert torch.equal(states, pack(model).hidden_states(tokens, first=first))
    weights = [weight for name, weight in model.named_parameters() if "pooler" not in name]
    direction = torch.randn_like(ours)
    found = torch.autograd.grad(ours, weights, direction)
    expected = torch.autograd.grad(theirs, weights, direction)
    # a weight's gradient is a sum over all tokens, of numbers as large as the largest
    scale = max(gradient.abs().max().item() for gradient in expected)
    torch.testing.assert_close(found, expected, **rounding(TERMS + int(real.sum()), scale))


def test_dropout_is_the_model_s():
    """Every dropout, one after the other, changes what the packed model computes."""
    model = a_model(*KINDS[0])
    tokens, ways = a_batch([9, 4], 0), pack(model)
    layer = model.encoder.layer[0]
    places = [model.embeddings.dropout, layer.attention.self.dropout]
    places += [layer.attention.output.dropout, layer.output.dropout]
    expected = ways.hidden_states(tokens)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.train()
    torch.testing.assert_close(ways.hidden_states(tokens), expected, **near(expected))
    for place in places:
        place.p = 0.5
        assert not torch.allclose(ways.hidden_states(tokens), expected)
        place.p = 0.0


def test_a_step_keeps_no_activation():
    model, kept = a_model(*KINDS[0], intermediate_size=512).train(), {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        pack(model).hidden_states(a_batch([64] * 4, 0))
    wide = [each for each in kept.values() if each.shape == (4 * 64, 512)]
    assert len(wide) == len(model.encoder.layer)


def test_a_model_that_computes_otherwise_is_not_packed():
    model = a_model(*KINDS[0])
    assert isinstance(pack(model), Packed)
    model.encoder.layer[1].attention.register_forward_hook(
        lambda module, inputs, output: (output[0] * 2, *output[1:])
    )
    assert pack(model) is None
    assert pack(a_model(*KINDS[0], is_decoder=True)) is None


def test_embeddings_looked_up_once_for_all_pieces_have_the_same_gradient():
    model = a_model(*KINDS[1], add_pooling_layer=False)
    tokens, ways = a_batch([9, 4, 5], 1), pack(model)
    tokens.ids[0, 3] = 1  # a padding token, whose embedding is not trained
    pieces = [tokens.shortened(torch.tensor(rows)) for rows in ([1, 2], [0])]

    def gradient():
        model.zero_grad()
        sum(ways.hidden_states(piece).pow(2).sum() for piece in pieces).backward()
        return model.embeddings.word_embeddings.weight.grad

    expected = gradient()
    with ways.of_batch(tokens.ids):
        found = gradient()
    assert not expected[1].any() and expected.any()
    torch.testing.assert_close(found, expected, **rounding(TERMS + 18, expected.abs().max().item()))
