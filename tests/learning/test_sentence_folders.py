"""Folders of sentence-transformers: what training keeps, every engine gives, or is refused."""

import json
import os
import pickle
import time

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Normalize

from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from tests.learning.encoders.zoo import (
    ARCHITECTURES,
    TEXTS,
    edit,
    first_of,
    old_layout,
    sentence_folder,
    theirs,
    tokenizer,
)
from tests.learning.training.materials import train_on, write_pairs
from tests.model_encodings import encoding_of
from tests.tolerances import rounding

ABOUT, SETTINGS = "config_sentence_transformers.json", "sentence_bert_config.json"
POOLING = "1_Pooling/config.json"
NEAR = rounding(300)


def check(folder, texts=TEXTS, *, engine="torch", near=NEAR):
    for side in ("query", "document"):
        found = torch.from_numpy(encoding_of(str(folder), side, engine=engine).embed(texts))
        torch.testing.assert_close(found, theirs(folder, texts, side), **near)


def rich(place, name="Bert", pooling="mean"):
    """A folder with everything: Dense, prompts, a length, a similarity."""
    more = [Dense(16, 12), Normalize()]
    folder = sentence_folder(place, name, pooling=pooling, more=more, model_max_length=11)
    about = {"prompts": {"query": "a b: ", "document": "d "}, "similarity_fn_name": "euclidean"}
    edit(folder / ABOUT, **about)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("engine", ["torch", "onnx", "openvino"])
def test_every_engine_gives_the_same(tmp_path, engine):
    if engine != "torch":
        pytest.importorskip({"onnx": "onnxruntime"}.get(engine, engine))
    for pooling in ("cls", "mean", "lasttoken"):
        folder = rich(tmp_path / f"model-{pooling}", pooling=pooling)
        check(folder, engine=engine, near={"atol": 2e-3, "rtol": 0})


@pytest.mark.parametrize("name", first_of("Bert", "T5", "GPT2"))
def test_training_keeps_what_the_folder_says(tmp_path, name):
    start = rich(tmp_path / "start", name)
    expected = {side: theirs(start, TEXTS, side) for side in ("query", "document")}
    records = write_pairs(tmp_path / "records.jsonl")
    train_on(records, "contrastive", tmp_path / "same", model=str(start), max_steps=0)
    same = SentenceTransformer(str(tmp_path / "same"), device="cpu")
    assert ("euclidean", 11) == (same.similarity_fn_name, same.max_seq_length)
    for side, embeddings in expected.items():
        ours = torch.from_numpy(encoding_of(str(tmp_path / "same"), side).embed(TEXTS))
        torch.testing.assert_close(ours, embeddings, **NEAR)
        torch.testing.assert_close(theirs(tmp_path / "same", TEXTS, side), embeddings, **NEAR)
    again = {"model": str(tmp_path / "same"), "max_steps": 1, "learning_rate": 0.01}
    train_on(records, "contrastive", tmp_path / "trained", **again)
    check(tmp_path / "trained")
    moved = theirs(tmp_path / "trained", TEXTS[:1], "query") - expected["query"][:1]
    assert moved.abs().max() > 1e-3


def test_lengths_of_each_side_are_cut_where_the_tokenizer_says(tmp_path):
    limits = {"model_max_length": 20, "truncation_side": "left"}
    folder = sentence_folder(tmp_path / "model", "Bert", **limits)
    check(folder, [*TEXTS, "a b c d e f g h i j k l " * 300])
    edit(folder / SETTINGS, query_length=5, document_length=9)
    check(folder)


@pytest.mark.parametrize(
    ("prompts", "default", "expected"),
    first_of(
        ({"query": "a ", "document": ""}, "query", {"query": "a "}),
        ({"query": "", "document": "", "x": "b "}, "x", {}),
        ({"query": "a "}, "query", {"query": "a ", "document": "a "}),
        ({"x": "b "}, "x", {"query": "b ", "document": "b "}),
        ({"query": "a ", "passage": "", "x": "b "}, "x", {"query": "a "}),
        ({"query": None, "document": None, "x": "b "}, "x", {"query": "b ", "document": "b "}),
        ({}, None, {}),
    ),
)
def test_the_default_prompt_is_for_sides_without_their_own(tmp_path, prompts, default, expected):
    folder = sentence_folder(tmp_path / "model", "Bert")
    edit(folder / ABOUT, prompts=prompts, default_prompt_name=default)
    assert expected == open_model(str(folder))[1]["prompts"]


def refused(folder, match):
    started = time.monotonic()
    with pytest.raises(UserError, match=match):
        open_model(str(folder))
    assert time.monotonic() - started < 20


# what makes a folder a rare one: the file, what changes in it, and what is said
ODD = [
    (POOLING, {"pooling_mode": "max"}, "has the pooling max"),
    (POOLING, {"pooling_mode": ["mean", "cls"]}, "has the pooling mean and cls"),
    (POOLING, {"include_prompt": False}, "leaves prompts out of its pooling"),
    (SETTINGS, {"do_lower_case": True}, "sets do_lower_case"),
    (SETTINGS, {"processor_kwargs": {"model_max_length": 9}}, "sets processor_kwargs model_max"),
    ("sentence_roberta_config.json", {"max_seq_length": 6}, "sets sentence_roberta_config.json"),
    (ABOUT, {"truncate_dim": 9}, "cuts its embeddings"),
    (
        "2_Dense/config.json",
        {"activation_function": "torch.nn.ELU"},
        "has the activation",
    ),
]


@pytest.mark.parametrize(("file", "changes", "said"), first_of(*ODD))
def test_the_library_encodes_with_a_rare_model(tmp_path, capsys, file, changes, said):
    width = 32 if isinstance(changes.get("pooling_mode"), list) else 16
    folder = sentence_folder(tmp_path / "model", "Bert", more=[Dense(width, 12), Normalize()])
    about = {"prompts": {"query": "a b: ", "document": "d "}, "similarity_fn_name": "euclidean"}
    edit(folder / ABOUT, **about)
    edit(folder / file, **changes)
    check(folder)
    refused(folder, f"{said}.*pip install sentence-transformers")
    metadata = encoding_of(str(folder)).meta()
    assert ("sentence-transformers", "euclidean") == (metadata["engine"], metadata["similarity"])
    for changes in ({"pooling": "mean"}, {"normalize": False}, {"length": 9}, {"chunk": 9}):
        with pytest.raises(UserError, match=f"--{[*changes][0]}") as caught:
            encoding_of(str(folder), **changes)
        assert 2 == caught.value.status


def test_a_decoder_that_reads_the_text_is_rare_too(tmp_path):
    folder = sentence_folder(tmp_path / "model", "Bart")
    check(folder)
    refused(folder, "is a bart, whose decoder reads the text")


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("sentence_transformers.models.CNN", "has a module CNN, which struct"),
        ("custom_st.Dense", "has a module Dense of custom_st"),
    ],
)
def test_other_modules(tmp_path, kind, match):
    folder = sentence_folder(tmp_path / "model", "Bert")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_X", "type": kind})
    (folder / "modules.json").write_text(json.dumps(modules))
    refused(folder, match)
    with pytest.raises(UserError, match="never runs|2_X|cannot be loaded"):
        encoding_of(str(folder))


@pytest.mark.parametrize(
    ("file", "changes", "match"),
    first_of(
        (SETTINGS, {"transformer_task": "fill-mask"}, "sets transformer_task"),
        (SETTINGS, {"query_expansion": {"strategy": "min", "length": 9}}, "sets query_expansion"),
        (SETTINGS, {"modality_config": {"message": {}}}, "sets modality_config message"),
        (SETTINGS, {"tokenizer_args": {"add_eos_token": True}}, "sets tokenizer_args add_eos"),
        (SETTINGS, {"config_kwargs": {"is_decoder": True}}, "sets config_kwargs is_decoder"),
        (SETTINGS, {"max_seq_length": "9"}, "malformed"),
        (ABOUT, {"model_type": "SparseEncoder"}, "is a SparseEncoder"),
        (ABOUT, {"prompts": {"query": 3}}, "malformed"),
        ("adapter_config.json", {"base_model_name_or_path": "x"}, "adapter, .* its own; merge it"),
        ("modules.json", {"a": 1}, "modules.json of .* is malformed"),
        (POOLING, {"pooling_mode": "median"}, "has the pooling median"),
        ("2_Dense/config.json", {"activation_function": "os.system"}, "has the activation os.s"),
        ("2_Dense/config.json", {"use_residual": True}, "adds its input"),
        ("2_Dense/config.json", {"out_features": 10**9}, "holds other weights"),
        ("2_Dense/config.json", {"in_features": "many"}, "is malformed"),
        ("2_Dense/config.json", {"module_input_name": "token_embeddings"}, "or reads another one"),
    ),
)
def test_settings_that_are_not_followed_are_refused(tmp_path, file, changes, match):
    folder = sentence_folder(tmp_path / "model", "Bert", more=[Dense(16, 12)])
    if file == "modules.json":
        (folder / file).write_text(json.dumps(changes))
    else:
        edit(folder / file, **changes)
    refused(folder, match)


def test_a_dense_module_without_weights(tmp_path):
    folder = sentence_folder(tmp_path / "model", "Bert", more=[Dense(16, 12)])
    (folder / "2_Dense" / "model.safetensors").unlink()
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    refused(folder, "holds its weights as a pickle")


@pytest.mark.parametrize(
    ("name", "field"),
    first_of(
        ("Bert", "num_hidden_layers"),
        ("T5", "num_layers"),
        ("GPT2", "n_layer"),
        ("DistilBert", "n_layers"),
        ("Albert", "num_hidden_groups"),
        ("Albert", "inner_group_num"),
        ("Bart", "decoder_layers"),
        ("Bert", "max_position_embeddings"),
        ("Llama", "vocab_size"),
    ),
)
def test_numbers_that_are_not_plausible_do_not_hang(tmp_path, name, field):
    folder = sentence_folder(tmp_path / "model", name)
    edit(
        folder / "config.json", **{field: 10**8 if "layer" in field or "group" in field else 10**10}
    )
    refused(folder, f"config.json: has {field} 10+[0,]+, which is not plausible")


@pytest.mark.parametrize(
    "file",
    first_of(
        *("config.json", "modules.json", "model.safetensors", "tokenizer.json", SETTINGS, ABOUT),
        *(POOLING, "2_Dense/config.json", "2_Dense/model.safetensors", "special_tokens_map.json"),
    ),
)
def test_a_pipe_in_a_folder_does_not_hang(tmp_path, file):
    folder = sentence_folder(tmp_path / "model", "Bert", more=[Dense(16, 12)])
    (folder / file).unlink(missing_ok=True)
    os.mkfifo(folder / file)
    refused(folder, "is not a regular file")


@pytest.mark.parametrize("added", [["<new>"], [f"<new{number}>" for number in range(40)]])
def test_tokens_without_vectors_are_said_when_it_is_opened(tmp_path, added):
    folder = sentence_folder(tmp_path / "model", "Bert")
    words = tokenizer()
    known = len(words)
    words.add_tokens([*added, *(f"<more{number}>" for number in range(70 - known))])
    words.save_pretrained(folder)
    refused(folder, "has vectors of 70 tokens, but its tokenizer has the token '<more")


POOLINGS = ("cls", "mean", "lasttoken")
PROMPTS = {"query": "q U: ", "document": "d "}
LENGTHS = (None, 7, 16, 200)  # of the tokenizer; the models have 40 positions
# the first rows of their tables are for padding: at more tokens, sentence-transformers fails
OFFSET = ("Roberta", "XLMRoberta", "Camembert", "MPNet")


def modules(number):
    """What comes after the pooling."""
    tanh = Dense(16, 8)
    wide = Dense(16, 24, bias=False, activation_function=torch.nn.Identity())
    gelu = Dense(24, 12, activation_function=torch.nn.GELU())
    return ([], [Normalize()], [tanh, Normalize()], [wide, gelu], [Normalize(), tanh])[number % 5]


# each architecture once in each layout, with other poolings, prompts, lengths and modules
LAYOUTS = [
    (name, layout, number + layout * 3)
    for number, name in enumerate(each for each in ARCHITECTURES if each != "Bart")
    for layout in (0, 1)
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "layout", "number"), LAYOUTS)
def test_a_folder_gives_what_its_library_gives(tmp_path, name, layout, number):
    length = LENGTHS[number % len(LENGTHS)]
    if name in OFFSET:
        length = min(length or 38, 38)
    limits = {} if length is None else {"model_max_length": length}
    pooling = POOLINGS[number % len(POOLINGS)]
    folder = sentence_folder(
        tmp_path / "model", name, pooling=pooling, more=modules(number), **limits
    )
    if layout:
        old_layout(folder, length=min(length or 30, 38))
    prompts = (PROMPTS, {"query": "", "document": ""}, {**PROMPTS, "document": ""})[number % 3]
    about = {"prompts": prompts, "default_prompt_name": (None, "query")[number % 2]}
    edit(folder / "config_sentence_transformers.json", **about)
    check(folder)
