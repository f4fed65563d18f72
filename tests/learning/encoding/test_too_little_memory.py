"""Where memory is too small for a batch, encoding goes on with fewer texts at a time."""

import numpy as np
import pytest
import torch
from torch import nn

from structkit.errors import UserError
from structkit.learning.encoding.torch_engine import TorchEngine
from structkit.learning.tokens import Truncation
from structkit.learning.training.devices import TorchModel

LACK = {
    "cuda": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.50 GiB."),
    "cpu": RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    "python": MemoryError(),
}


class Sums(TorchModel):
    """A model whose embedding of numbers is their sum, with room for so many numbers at a time."""

    def __init__(self, room, error=LACK["cuda"]):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.room, self.error, self.truncation = room, error, Truncation()
        self.sizes = []

    device = property(lambda self: self.weight.device)

    def inputs(self, texts, side):
        return texts

    def batch(self, inputs):
        longest = max(map(len, inputs))
        return torch.tensor([[*each, *[0] * (longest - len(each))] for each in inputs])

    def embed(self, batch):
        if batch.numel() > self.room:
            raise self.error
        self.sizes.append(len(batch))
        return batch.sum(1, keepdim=True) * self.weight


def rows(count, length=3):
    return [[number] * length for number in range(count)]


@pytest.mark.parametrize("error", LACK.values(), ids=LACK)
@pytest.mark.parametrize(("count", "room", "sizes"), [(4, 12, [4]), (5, 6, [2, 2, 1]), (1, 3, [1])])
def test_a_batch_is_halved_until_it_fits(error, count, room, sizes):
    model = Sums(room, error)
    expected = np.array([[3.0 * number] for number in range(count)], np.float32)
    np.testing.assert_array_equal(
        expected, TorchEngine(model, "cpu", "fp32").embeddings(rows(count))
    )
    assert sizes == model.sizes[-len(sizes) :]


def test_later_batches_are_as_small_from_the_start(capsys):
    model = Sums(room=7)
    engine = TorchEngine(model, "cpu", "fp32")
    engine.embeddings(rows(8))
    assert "there is not enough memory: 6 tokens are computed at a time" in capsys.readouterr().err
    model.sizes.clear()
    engine.embeddings(rows(4))
    engine.embeddings(rows(6, length=1))
    assert [2, 2, 6] == model.sizes
    assert "" == capsys.readouterr().err


def test_a_text_that_is_too_long_is_an_error():
    with pytest.raises(UserError, match="not enough memory for a text of 3 tokens") as caught:
        TorchEngine(Sums(room=2), "cpu", "fp32").embeddings(rows(4))
    assert "lower --length" in caught.value.remedy


def test_other_faults_stay_what_they_are():
    fault = RuntimeError("CUDA error: an illegal memory access was encountered")
    model = Sums(room=2, error=fault)
    with pytest.raises(RuntimeError, match="illegal memory access"):
        TorchEngine(model, "cpu", "fp32").embeddings(rows(4))
    assert [] == model.sizes


def test_a_model_without_a_transformer_stays_exact(capsys):
    engine = TorchEngine(Sums(room=100), "cpu", "bf16")
    assert "fp32" == engine.dtype and "computes in float32" in capsys.readouterr().err
    assert [[3 * 257.0]] == engine.embeddings([[257] * 3]).tolist()
