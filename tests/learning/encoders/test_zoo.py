"""Folders of sentence-transformers give the embeddings that it gives, whatever is in them."""

import pytest
import torch
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Normalize

from tests.learning.encoders.zoo import (
    ARCHITECTURES,
    TEXTS,
    edit,
    old_layout,
    sentence_folder,
    theirs,
)
from tests.model_encodings import encoding_of
from tests.tolerances import rounding

POOLINGS = ("cls", "mean", "lasttoken")
PROMPTS = {"query": "q U: ", "document": "d "}
LENGTHS = (None, 7, 16, 200)  # of the tokenizer; the models have 40 positions
# the first rows of their tables are for padding: at more tokens, sentence-transformers fails
OFFSET = ("Roberta", "XLMRoberta", "Camembert", "MPNet")
NEAR = rounding(300)


def modules(number):
    """What comes after the pooling."""
    tanh = Dense(16, 8)
    wide = Dense(16, 24, bias=False, activation_function=torch.nn.Identity())
    gelu = Dense(24, 12, activation_function=torch.nn.GELU())
    return ([], [Normalize()], [tanh, Normalize()], [wide, gelu], [Normalize(), tanh])[number % 5]


def check(folder, texts=TEXTS):
    for side in ("query", "document"):
        found = torch.from_numpy(encoding_of(str(folder), side, engine="torch").embed(texts))
        torch.testing.assert_close(found, theirs(folder, texts, side), **NEAR)


# each architecture once in each layout, with other poolings, prompts, lengths and modules
CASES = [
    (name, layout, number + layout * 3)
    for number, name in enumerate(each for each in ARCHITECTURES if each != "Bart")
    for layout in (0, 1)
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "layout", "number"), CASES)
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
