"""Draws of dropout: what they keep, and how much of it."""

import pytest
import torch

from structkit.learning.training.autograd import draw_kept


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
