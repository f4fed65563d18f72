"""A row per token: folders of other libraries are computed by sentence-transformers."""

import json

import numpy as np
import pytest
import torch
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import nn

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from tests.learning.encoders.zoo import TEXTS, edit, first_of, rows_folder, sentence_folder
from tests.model_encodings import encoding_of

ABOUT, SETTINGS = "config_sentence_transformers.json", "sentence_bert_config.json"
FIXED = {"strategy": "fixed", "length": 9}
SIDES = ("query", "document")
PYLATE = {
    **{"model_type": "ColBERT", "query_prefix": "Q", "document_prefix": "[D] "},
    **{"query_length": 9, "document_length": 14, "skiplist_words": ["x", ":", "€"]},
    **{"do_query_expansion": True, "attend_to_expansion_tokens": False},
}


def ours(folder, side, texts=TEXTS):
    encoding = encoding_of(str(folder), side, engine="torch")
    return encoding.engine.token_rows(encoding.encoder.inputs(texts, side), side)


def check(folder, texts=TEXTS):
    """Both sides' rows, and the scores, are the library's."""
    library = MultiVectorEncoder(str(folder), device="cpu")
    theirs = {side: getattr(library, f"encode_{side}")(texts) for side in SIDES}
    found = {side: [torch.from_numpy(each) for each in ours(folder, side)] for side in SIDES}
    for side in SIDES:
        for own, other in zip(found[side], theirs[side], strict=True):
            torch.testing.assert_close(own, other, rtol=0, atol=1e-5)
    scores = [[float((q @ d.T).amax(1).sum()) for d in found["document"]] for q in found["query"]]
    expected = library.similarity(theirs["query"], theirs["document"]).tolist()
    assert [pytest.approx(row, abs=1e-4) for row in expected] == scores


@pytest.mark.parametrize("name", first_of("Bert", "Roberta", "T5", "ModernBert", "Qwen3"))
@pytest.mark.parametrize("expansion", first_of(FIXED, {**FIXED, "attend": True}, None))
def test_folders_of_the_library_give_its_rows_and_scores(tmp_path, name, expansion):
    check(
        rows_folder(
            tmp_path / "model", name, query_expansion=expansion, document_length=12, query_length=20
        )
    )


def pylate_folder(place, name="Bert", **changes):
    """A folder as PyLate writes it: two modules, and all the rest in one file."""
    rows_folder(place, name)
    modules = json.loads((place / "modules.json").read_text())[:2]
    modules[1]["type"] = "pylate.models.Dense.Dense"
    (place / "modules.json").write_text(json.dumps(modules))
    edit(place / modules[1]["path"] / "config.json", module_input_name=None)
    edit(place / ABOUT, **{"prompts": None, "similarity_fn_name": "MaxSim", **PYLATE, **changes})
    return place


@pytest.mark.parametrize(
    "changes",
    first_of(
        {},
        {"attend_to_expansion_tokens": True, "prompts": {"query": "b: ", "document": ""}},
        {"do_query_expansion": False, "query_prefix": "", "model_type": None},
    ),
)
def test_folders_of_pylate_give_the_same_as_in_the_library(tmp_path, changes):
    check(pylate_folder(tmp_path / "model", **changes))


def test_any_encoder_gives_rows_of_its_tokens(tmp_path):
    folder = sentence_folder(tmp_path / "model", "Bert", more=[Dense(16, 6), Normalize()])
    library = SentenceTransformer(str(folder), device="cpu")
    (rows,) = ours(folder, "document", ["a b c"])
    states = library.encode("a b c", output_value="token_embeddings").clone()
    expected = nn.functional.normalize(library[2].linear(states).tanh(), dim=-1)
    np.testing.assert_allclose(expected.detach(), rows, atol=1e-5)


def test_it_is_said_who_computes_a_folder_with_rows(tmp_path, capsys):
    folder = rows_folder(tmp_path / "model")
    (rows,) = ours(folder, "document", ["a"])
    assert "gives an embedding per token, which structkit does not" in capsys.readouterr().err
    with pytest.raises(UserError, match="an embedding per token, and none of a whole text"):
        encoding_of(str(folder)).embed(["a"])
    with pytest.raises(UserError, match="pip install sentence-transformers"):
        open_model(str(folder))


def test_what_cannot_be_the_same_is_refused(tmp_path):
    folder = rows_folder(tmp_path / "model")
    for changes, settings, said in [
        ({}, {"pooling": "mean"}, "gives an embedding per token"),
        ({}, {"engine": "onnx"}, "gives an embedding per token"),
        ({"similarity_fn_name": "meanmaxsim"}, {}, "scores by meanmaxsim"),
    ]:
        edit(folder / ABOUT, **changes)
        with pytest.raises(UserError, match=said):
            encoding_of(str(folder), **settings)
