"""Dropout of the encoders: what it keeps, how much of it, and its gradient."""

import pytest
import torch

from structkit.learning.training.autograd import drop


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_kept_is_scaled_up_and_its_gradient_too(dtype):
    torch.manual_seed(0)
    dropout, count = torch.nn.Dropout(0.25), 40_000
    inputs = torch.full((4, count // 4), 3.0, dtype=dtype, requires_grad=True)
    found = drop(inputs, dropout)
    kept = found != 0
    assert found[kept].unique().tolist() == [4.0]
    # the share of so many draws, at four deviations
    assert kept.float().mean() == pytest.approx(0.75, abs=4 * (0.25 * 0.75 / count) ** 0.5)
    found.backward(torch.full_like(found, 6.0))
    assert torch.equal(inputs.grad, torch.where(kept, 8.0, 0.0).to(dtype))


def test_without_dropout_nothing_is_drawn():
    inputs, before = torch.ones(3), torch.get_rng_state()
    assert drop(inputs, torch.nn.Dropout(0.0)) is inputs
    assert drop(inputs, torch.nn.Dropout(0.5).eval()) is inputs
    assert torch.equal(torch.get_rng_state(), before)
