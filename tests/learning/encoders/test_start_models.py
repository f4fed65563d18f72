"""What settings leave open is as the start model has it, in every method that starts from one."""

import pytest

from structkit.learning.encoders.encoder import open_model
from structkit.registry import load
from tests.learning.training.materials import train_on, write_pairs

CHOSEN = {
    **{"pooling": "mean", "normalize": True, "temperature": 0.25, "mcls_every": 9},
    **{"query_prompt": "q: ", "document_prompt": "d: "},
    **{"query_length": 21, "document_length": 34},
}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return str(write_pairs(tmp_path_factory.mktemp("records") / "records.jsonl"))


def trained(folder, records, method="contrastive", **values):
    scratch = {} if "model" in values else {"size": "tiny", "vocabulary_size": 400}
    train_on(records, method, folder, **{**scratch, "max_steps": 1, **values})
    return str(folder)


@pytest.fixture(scope="module")
def start(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("start") / "model"
    return trained(folder, records, architecture="bert", **CHOSEN)


@pytest.mark.parametrize("method", ["contrastive", "seal", "santa"])
def test_no_default_overrides_the_start_model(tmp_path, records, start, method):
    settings = load("method", method)(model=start).complete()
    assert {name: getattr(settings, name) for name in CHOSEN} == CHOSEN
    folder = trained(tmp_path / "model", records, method, model=start)
    metadata = open_model(folder)[1]
    assert ("mean", True, 9) == tuple(metadata[it] for it in ("pooling", "normalize", "mcls_every"))
    assert {"query": "q: ", "document": "d: "} == metadata["prompts"]
    assert (21, 34) == (metadata["lengths"]["query"], metadata["lengths"]["document"])
    assert {name: metadata["settings"][name] for name in CHOSEN} == CHOSEN


def test_a_flag_overrides_the_start_model(start):
    settings = load("method", "seal")(model=start, pooling="cls", temperature=0.5).complete()
    assert ("cls", 0.5, 21) == (settings.pooling, settings.temperature, settings.query_length)


def test_another_scale_of_scores_has_another_temperature(start):
    settings = load("method", "santa")(model=start, normalize=False).complete()
    assert (False, 1.0) == (settings.normalize, settings.temperature)


def test_santa_of_cosines_has_their_temperature():
    settings = load("method", "santa")(model="minilm").complete()
    assert ("mean", True, 0.05) == (settings.pooling, settings.normalize, settings.temperature)
    assert 1.0 == load("method", "santa")(model="minilm", temperature=1.0).complete().temperature
