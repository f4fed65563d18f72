"""Late interaction: scores, losses, the peer's, where a training starts, and who loads it."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense
from sentence_transformers.multi_vector_encoder.losses import (
    MultiVectorDistillKLDivLoss,
    MultiVectorMarginMSELoss,
    MultiVectorMultipleNegativesRankingLoss,
)
from sentence_transformers.sentence_transformer.modules import Normalize
from sentence_transformers.util import maxsim as peers_maxsim

from plugins.methods._colbert import maxsim_scores
from structkit.errors import UserError
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.registry import load
from tests.learning.encoders.zoo import TEXTS, edit, sentence_folder
from tests.learning.training.materials import (
    SCRATCH,
    begun,
    first_batch,
    gradients,
    stopping,
    train_on,
    weights,
    write_pairs,
)
from tests.model_encodings import encoding_of
from tests.tolerances import rounding

SMALL = {**SCRATCH, "dimensions": 8, "batch_size": 5, "epochs": 1}


def plain_maxsim(query, document):
    """The score, one pair of rows at a time; rows of zeros are none."""
    rows = [row for row in document if any(row)]
    products = [[sum(a * b for a, b in zip(q, d, strict=True)) for d in rows] for q in query]
    return sum(map(max, products)) if rows else -float("inf")


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_scores_in_blocks_are_those_of_plain_loops(queries, documents, rows, seed):
    torch.manual_seed(seed)
    asked, there = torch.randn(queries, rows, 2), torch.randn(documents, 3, 2)
    there[0, 1:] = 0
    there[-1] *= seed % 2
    asked.requires_grad_()
    whole, parts = maxsim_scores(asked, there), maxsim_scores(asked, there, block=1)
    expected = [[plain_maxsim(q, d) for d in there.tolist()] for q in asked.tolist()]
    assert [pytest.approx(row, abs=1e-5) for row in expected] == whole.tolist()
    torch.testing.assert_close(whole, parts)
    kept = whole.isfinite()
    (first,) = torch.autograd.grad(whole[kept].sum(), asked, allow_unused=True)
    (second,) = torch.autograd.grad(parts[kept].sum(), asked, allow_unused=True)
    torch.testing.assert_close(first, second)


def trained(tmp_path, counts=(2,), **changes):
    """A training's first batch, and the folder that it writes before its first step."""
    tmp_path.mkdir(exist_ok=True)
    file = write_pairs(tmp_path / "records.jsonl", 8, lambda number: counts[number % len(counts)])
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for number, record in enumerate(records):
        record["query"] += f" {number}"
        record["positive"] += f", {number}"
        record["negatives"] = [f"{each} - {number}" for each in record["negatives"]]
        record["scores"] = [number / 3, 0.5, -1.0][: 1 + len(record["negatives"])]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    values = {**SMALL, "negatives_per_query": 2, "batch_size": 8, **changes}
    module, batch, records, _ = first_batch("colbert", file, **values)
    train_on(file, "colbert", tmp_path / "model", max_steps=0, **values)
    return module, batch, records


def test_losses_are_those_of_sentence_transformers(tmp_path):
    module, batch, records = trained(tmp_path)
    library = MultiVectorEncoder(str(tmp_path / "model"), device="cpu")
    columns = [[record["query"] for record in records], [record["positive"] for record in records]]
    columns += [[record["negatives"][place] for record in records] for place in (0, 1)]
    # our draw of both negatives is in any order
    features = [
        library.preprocess(column, task=task) | {"task": task}
        for column, task in zip(columns, ["query", *["document"] * 3], strict=True)
    ]
    loss = module.backward(batch)()["loss"]
    with torch.no_grad():
        peer = MultiVectorMultipleNegativesRankingLoss(library)(features)
        assert loss == pytest.approx(peer.item(), abs=1e-5)
        lines = (tmp_path / "records.jsonl").read_text().splitlines()
        teacher = torch.tensor([json.loads(line)["scores"] for line in lines])
        for kind, other in [
            ("kl", MultiVectorDistillKLDivLoss(library)),
            ("margin-mse", MultiVectorMarginMSELoss(library)),
        ]:
            distant, again, _ = trained(tmp_path / kind, distill=kind)
            found = distant.backward(again)()["loss"] - loss
            labels = teacher if kind == "kl" else teacher[:, :1] - teacher[:, 1:]
            assert found == pytest.approx(other(features, labels).item(), abs=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        {"query_prompt": "red: ", "query_length": 9},
        {"query_expansion": False, "skip_punctuation": False, "architecture": "t5"},
    ],
)
def test_the_library_gives_the_rows_and_scores_of_our_folders(tmp_path, changes):
    file = write_pairs(tmp_path / "records.jsonl")
    train_on(file, "colbert", tmp_path / "model", **SMALL, learning_rate=0.01, **changes)
    assert "import MultiVectorEncoder\n" in (tmp_path / "model/README.md").read_text()
    texts = ["red house: a", "green, black; (door)"]
    library = MultiVectorEncoder(str(tmp_path / "model"), device="cpu")
    rows = {}
    for side in ("query", "document"):
        encoding = encoding_of(str(tmp_path / "model"), side)
        inputs = encoding.encoder.inputs(texts, side)
        rows[side] = [torch.from_numpy(each) for each in encoding.engine.token_rows(inputs, side)]
        expected = getattr(library, f"encode_{side}")(texts)
        for found, other in zip(rows[side], expected, strict=True):
            torch.testing.assert_close(found, other, rtol=0, atol=1e-5)
    padded = [torch.nn.utils.rnn.pad_sequence(each, batch_first=True) for each in rows.values()]
    expected = library.similarity(*rows.values())
    torch.testing.assert_close(maxsim_scores(*padded), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(peers_maxsim(*rows.values()), expected)


def test_a_training_goes_on_from_rows_and_from_embeddings(tmp_path):
    file = write_pairs(tmp_path / "records.jsonl")
    start = sentence_folder(tmp_path / "start", "Bert", more=[Dense(16, 12), Normalize()])
    edit(start / "config_sentence_transformers.json", prompts={"query": "a ", "document": ""})
    same = {"max_steps": 0, "batch_size": 5}
    train_on(file, "colbert", tmp_path / "rows", model=str(start), query_length=12, **same)
    train_on(file, "colbert", tmp_path / "again", model=str(tmp_path / "rows"), **same)
    assert weights(tmp_path / "rows") == weights(tmp_path / "again")
    files = [tmp_path / each / "structkit.json" for each in ("rows", "again")]
    about = [json.loads(file.read_text()) for file in files]
    assert {"query": 12, "document": 40} == about[0]["lengths"] == about[1]["lengths"]
    assert {"query": "a "} == about[1]["prompts"] and 32 == len(about[1]["skipped"])
    values = {"model": str(tmp_path / "again"), "batch_size": 5}
    module, *_ = begun("colbert", file, **values, dimensions=4, skip_punctuation=False)
    assert (4, []) == (module.width, module.encoder.row_tokens.skipped)
    train_on(file, "contrastive", tmp_path / "whole", **values, max_steps=0)
    assert (len(TEXTS), 12) == encoding_of(str(tmp_path / "whole")).embed(TEXTS).shape


def test_stopped_and_resumed_is_uninterrupted(tmp_path):
    file, kind = write_pairs(tmp_path / "records.jsonl"), load("method", "colbert")

    def run(folder, kind, **options):
        made, options = kind(**SMALL | {"epochs": 2}), RunOptions(output=str(folder), **options)
        train_method("colbert", made, [str(file)], options)

    with pytest.raises(KeyError):
        run(tmp_path / "resumed", stopping(kind, 4, KeyError("stop")), save_every=1)
    run(tmp_path / "resumed", kind, resume=True)
    run(tmp_path / "whole", kind)
    assert weights(tmp_path / "whole") == weights(tmp_path / "resumed")


def test_a_table_is_refused(tmp_path):
    file = write_pairs(tmp_path / "records.jsonl")
    with pytest.raises(UserError, match="the model is a table of token vectors"):
        begun("colbert", file, model="builtin")


def test_absent_negatives_change_nothing(tmp_path):
    """A batch in which one record lacks a negative has finite gradients, in chunks as in one."""
    module, batch, _ = trained(tmp_path, (2, 1), distill="kl")
    losses, expected = gradients(module, batch)
    assert all(each.isfinite().all() for each in expected.values())
    chunked, batch, _ = trained(tmp_path / "chunks", (2, 1), distill="kl", chunk_size=3)
    assert losses == pytest.approx(gradients(chunked, batch)[0], abs=rounding(600)["atol"])
