"""Dropout of the encoders: what it keeps, how much of it, and its gradient."""

import pytest
import torch

from structkit.learning.training.autograd import draw_kept, drop


@pytest.mark.parametrize("dropout", [0.1, 0.2, 0.5, 0.99])
def test_draws_have_their_share_and_are_independent(dropout):
    torch.manual_seed(0)
    kept, factor = draw_kept((1000, 332), dropout, torch.device("cpu"))
    error = 4 * (dropout * (1 - dropout) / kept.numel()) ** 0.5  # four standard deviations
    step = 2**-17  # the share is rounded to 16 bits
    assert 1 - kept.double().mean().item() == pytest.approx(dropout, abs=error + step)
    assert factor == pytest.approx(1 / (1 - dropout), rel=step / (1 - dropout - step))
    # so are the four draws of one random number
    four = kept.flatten().view(-1, 4).double()
    both = torch.corrcoef(four.T) - torch.eye(4)
    assert both.abs().max() < 4 / len(four) ** 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_kept_is_scaled_up_and_its_gradient_too(dtype):
    inputs = torch.full((4, 10_000), 3.0, dtype=dtype, requires_grad=True)
    found = drop(inputs, torch.nn.Dropout(0.25))
    kept = found != 0
    assert kept.any() and found[kept].unique().tolist() == [4.0]
    found.backward(torch.full_like(found, 6.0))
    assert torch.equal(inputs.grad, torch.where(kept, 8.0, 0.0).to(dtype))


def test_without_dropout_nothing_is_drawn():
    inputs, before = torch.ones(3), torch.get_rng_state()
    assert drop(inputs, torch.nn.Dropout(0.0)) is inputs
    assert drop(inputs, torch.nn.Dropout(0.5).eval()) is inputs
    assert torch.equal(torch.get_rng_state(), before)
