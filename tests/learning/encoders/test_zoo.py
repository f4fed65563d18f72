"""Folders of sentence-transformers give the embeddings that it gives, whatever is in them."""

import pytest
import torch
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Normalize

from tests.learning.encoders.zoo import (
    ARCHITECTURES,
    DECODERS,
    TEXTS,
    edit,
    old_layout,
    sentence_folder,
    theirs,
)
from tests.model_encodings import encoding_of
from tests.tolerances import rounding

POOLINGS = (
    *("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"),
    *(("mean", "max"), ("lasttoken", "cls", "weightedmean")),
)
PROMPTS = {"query": "q U: ", "document": "d "}
LENGTHS = (None, 7, 16, 200)  # of the tokenizer; the models have 40 positions
# the first rows of their tables are for padding: at more tokens, sentence-transformers fails
OFFSET = ("Roberta", "XLMRoberta", "Camembert", "MPNet")
NEAR = rounding(300)


def modules(number, width):
    """What comes after the pooling."""
    tanh = Dense(width, 8)
    wide = Dense(width, 24, bias=False, activation_function=torch.nn.Identity())
    gelu = Dense(24, 12, activation_function=torch.nn.GELU(), use_residual=True)
    return ([], [Normalize()], [tanh, Normalize()], [wide, gelu], [Normalize(), tanh])[number % 5]


def check(folder, texts=TEXTS):
    for side in ("query", "document"):
        found = torch.from_numpy(encoding_of(str(folder), side, engine="torch").embed(texts))
        torch.testing.assert_close(found, theirs(folder, texts, side), **NEAR)


# each architecture once in each layout, with other poolings, prompts, lengths and modules
CASES = [
    (name, layout, number + layout * 3)
    for number, name in enumerate(ARCHITECTURES)
    for layout in (0, 1)
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "layout", "number"), CASES)
def test_a_folder_gives_what_its_library_gives(tmp_path, name, layout, number):
    pooling, length = POOLINGS[number % len(POOLINGS)], LENGTHS[number % len(LENGTHS)]
    if layout and isinstance(pooling, tuple):
        pooling = ("max", "mean")
    if name in DECODERS and "max" in pooling:
        pooling = "lasttoken"  # a text without tokens has no maximum
    if name in OFFSET:
        length = min(length or 38, 38)
    width = 16 * (1 if isinstance(pooling, str) else len(pooling))
    limits = {} if length is None else {"model_max_length": length}
    folder = sentence_folder(
        tmp_path / "model", name, pooling=pooling, more=modules(number, width), **limits
    )
    settings = folder / "sentence_bert_config.json"
    if layout:
        legacy = ("bert", "roberta", "xlm-roberta", "albert")[number % 4]
        settings = folder / f"sentence_{legacy}_config.json"
        old_layout(folder, length=min(length or 30, 38), settings=settings.name)
    prompts = (PROMPTS, {"query": "", "document": ""}, {**PROMPTS, "document": ""})[number % 3]
    about = {"prompts": prompts, "default_prompt_name": (None, "query")[number % 2]}
    edit(folder / "config_sentence_transformers.json", **about)
    edit(settings, do_lower_case=number % 4 == 1)
    edit(folder / "1_Pooling" / "config.json", include_prompt=number % 3 != 0)
    check(folder)
