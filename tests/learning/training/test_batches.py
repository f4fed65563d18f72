"""Batches that a thread makes ahead are those of the training."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from structkit.errors import UserError
from structkit.learning.training.devices import with_tensors
from structkit.learning.training.trainer import Batches
from tests.learning.training.materials import begun, write_pairs

METHODS = {
    "contrastive": {"architecture": "bert", "document_length": 4},
    "santa": {"document_length": 4},
    "seal": {"epochs": 1},
}
TINY = {"size": "tiny", "vocabulary_size": 400, "batch_size": 4}


@pytest.fixture(params=METHODS)
def training(request, tmp_path):
    """A module, its records and its plan."""
    file = write_pairs(tmp_path / "pairs.jsonl")
    return begun(request.param, file, **TINY, **METHODS[request.param])


def tensors_of(batch):
    found = []
    with_tensors(batch, lambda each: found.append(each) or each)
    return found


def counts_of(module):
    return {name: dict(each) for name, each in module.truncation.state().items()}


def test_a_thread_makes_the_same_batches_and_counts(training):
    module, spool, plan = training
    expected = []
    for number in range(plan.steps):
        batch = Batches(module, spool, plan, None).batch(plan.step(number))
        expected.append((tensors_of(batch), counts_of(module)))
    module.truncation.drain()
    with ThreadPoolExecutor(1) as thread:
        batches = Batches(module, spool, plan, thread)
        for number, (tensors, counts) in enumerate(expected):
            found = tensors_of(batches.batch(plan.step(number)))
            assert all(map(torch.equal, tensors, found)) and len(tensors) == len(found)
            batches.wait_idle()  # the next one is there
            assert counts == counts_of(module)
        resumed = Batches(module, spool, plan, thread).batch(plan.step(plan.steps - 2))
        assert all(map(torch.equal, expected[-2][0], tensors_of(resumed)))
    assert module.truncation.texts


def test_an_error_is_that_of_its_own_step(training):
    module, spool, plan = training
    batch, threads = module.batch, set()

    def fails(records, step):
        threads.add(threading.current_thread())
        if step.number == 1:
            raise UserError('field "positive" is blank', "leave the record out")
        return batch(records, step)

    module.batch = fails
    with ThreadPoolExecutor(1) as thread:
        batches = Batches(module, spool, plan, thread)
        batches.batch(plan.step(0))
        batches.wait_idle()
        with pytest.raises(UserError, match='field "positive" is blank; leave the record out'):
            batches.batch(plan.step(1))
    assert threading.main_thread() not in threads
