"""A lack of memory is an error with a remedy; other faults of a device stay what they are."""

import pytest
import torch

from structkit.errors import UserError
from structkit.learning.training.devices import enough_memory

CUDA = "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.11 GiB"
LACK = [
    torch.OutOfMemoryError(CUDA),
    MemoryError("Unable to allocate 8.00 GiB for an array"),
    MemoryError(),
]
FAULTS = [
    "Expected all tensors to be in the same memory format",
    "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
]


@pytest.mark.parametrize("error", LACK, ids=str)
def test_a_lack_of_memory_is_named(error):
    with pytest.raises(UserError) as caught, enough_memory():
        raise error
    assert "there is not enough memory" == caught.value.problem


def test_the_allocator_of_a_cpu_lacks_memory_too():
    with pytest.raises(UserError, match="not enough memory"), enough_memory():
        torch.empty(10**15)


@pytest.mark.parametrize("message", FAULTS)
def test_other_faults_stay_what_they_are(message):
    with pytest.raises(RuntimeError, match=message.split()[0]), enough_memory():
        raise RuntimeError(message)
