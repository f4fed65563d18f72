"""Checkpoints: whole on the disk or not there, and only for the run that wrote them."""

import resource
import shutil

import pytest
import torch

from structkit.errors import UserError
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.registry import load
from tests.learning.training.materials import write_sums

Method = load("method", "contrastive")


class Stopping(Method):
    """A method that fails in its twelfth step."""

    def build(self, *arguments, **options):
        module = super().build(*arguments, **options)
        batch = module.batch

        def failing(records, step):
            if step.number == 11:
                raise KeyError("stop")
            return batch(records, step)

        module.batch = failing
        return module


def method(kind=Method):
    return kind(size="tiny", vocabulary_size=400, batch_size=8, epochs=4)


def run(folder, kind=Method, **options):
    options = RunOptions(output=str(folder / "model"), **options)
    return train("contrastive", method(kind), [str(folder / "train.jsonl")], options)


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory):
    """A folder with data and a run that stopped after 11 of 20 steps."""
    folder = tmp_path_factory.mktemp("stopped")
    write_sums(folder / "train.jsonl")
    with pytest.raises(KeyError, match="stop"):
        run(folder, Stopping, save_every=3)
    return folder


@pytest.fixture
def stopped(stopped_run, tmp_path):
    """A copy of it, and the folder in which it stopped."""
    folder = shutil.copytree(stopped_run, tmp_path / "copy")
    return folder, folder / "model.partial"


def test_a_damaged_checkpoint_is_named(stopped):
    folder, partial = stopped
    assert ["step-9"] == sorted(path.name for path in partial.iterdir())
    whole = (partial / "step-9").read_bytes()
    for content in (b"", whole[:1000], whole[:-100], b"\xff" * 1000, b"\x80\x02N."):
        (partial / "step-9").write_bytes(content)
        with pytest.raises(UserError, match=r"step-9: is damaged or cut short; .*--overwrite$"):
            run(folder, resume=True)


def test_a_full_disk_leaves_the_checkpoint_before(stopped, monkeypatch):
    folder, partial = stopped
    before = {path: path.read_bytes() for path in partial.iterdir()}
    save = torch.save

    def onto_a_full_disk(state, file):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            save(state, file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    monkeypatch.setattr(torch, "save", onto_a_full_disk)
    with pytest.raises(UserError, match=r"step-10: cannot be written: File too large; "):
        run(folder, resume=True, save_every=1)
    assert before == {path: path.read_bytes() for path in partial.iterdir()}


def test_a_checkpoint_of_another_run_is_refused(stopped):
    folder, partial = stopped
    state = torch.load(partial / "step-9", weights_only=True)
    torch.save(state | {"run": state["run"] | {"data": "0" * 64}}, partial / "step-9")
    with pytest.raises(UserError, match=r"differs in data \(was 0{64}, is \w{64}"):
        run(folder, resume=True)


def test_a_checkpoint_holds_all_once(stopped):
    state = torch.load(stopped[1] / "step-9", weights_only=True)
    parameters = sum(weight.nbytes for weight in state["module"].values())
    states = state["optimizer"]["state"].values()
    moments = sum(each[name].nbytes for each in states for name in ("exp_avg", "exp_avg_sq"))
    assert parameters < moments <= 2 * parameters  # a table that is not trained has none
    assert (stopped[1] / "step-9").stat().st_size < 1.1 * (parameters + moments)
