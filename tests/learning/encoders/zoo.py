"""Tiny random models of many architectures, and folders of them as sentence-transformers has them.

A tokenizer has one token a letter, in upper and lower case.
"""

import json
import shutil
import string

import pytest
import torch
import transformers
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from torch import nn

from tests.learning.encoders.small import letters

SIZE = {"vocab_size": 70, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
SIZE |= {"num_hidden_layers": 2, "max_position_embeddings": 40}
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1}
BART = {"vocab_size": 70, "d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, **IDS}
BART |= {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2}
BART |= {"decoder_attention_heads": 2, "max_position_embeddings": 40, "decoder_start_token_id": 2}
T5 = {"vocab_size": 70, "d_model": 16, "d_ff": 32, "d_kv": 8, "num_heads": 2, "num_layers": 2}
T5 |= {"num_decoder_layers": 2, "decoder_start_token_id": 0, **IDS}
LLAMA = {**SIZE, **IDS, "num_key_value_heads": 2}
ARCHITECTURES = {
    "Bert": SIZE,
    "Roberta": SIZE | IDS,
    "XLMRoberta": SIZE | IDS,
    "Camembert": SIZE | IDS,
    "DistilBert": {"vocab_size": 70, "dim": 16, "hidden_dim": 32, "n_heads": 2, "n_layers": 2}
    | {"max_position_embeddings": 40},
    "Albert": {**SIZE, "embedding_size": 8},
    "Electra": {**SIZE, "embedding_size": 8},
    "MPNet": SIZE | IDS,
    "DebertaV2": {**SIZE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "ModernBert": {**SIZE, **IDS, "cls_token_id": 2, "sep_token_id": 1},
    "XLNet": {"vocab_size": 70, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32, **IDS},
    "T5": T5,
    "MT5": T5,
    "Bart": BART,
    "GPT2": {"vocab_size": 70, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40, **IDS},
    "Llama": LLAMA,
    "Qwen3": {**LLAMA, "head_dim": 8},
    "Gemma3Text": {**LLAMA, "head_dim": 8},
}
DECODERS = ("GPT2", "Llama", "Qwen3", "Gemma3Text")
# short, empty, cased, and longer than every limit
TEXTS = ["a b", "", "A b C d E", "x", "c d E f " * 20]


def first_of(*cases):
    """The cases of a test; all except the first are long ones."""
    first, *others = cases
    marked = (each if isinstance(each, tuple) else (each,) for each in others)
    return [first, *(pytest.param(*each, marks=pytest.mark.long) for each in marked)]


def tokenizer(*, specials=True, **more):
    """A tokenizer of letters, with special tokens around a text or without."""
    names = ["<pad>", "</s>", "<s>", "<unk>", "<mask>", *string.ascii_letters, ":"]
    roles = {"pad": "<pad>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "bos": "<s>"}
    roles |= {"unk": "<unk>", "mask": "<mask>"}
    named = {f"{role}_token": name for role, name in roles.items()}
    return letters(names, "<unk>", specials=specials, **named, **more)


def model(name, kind="Model", **more):
    """A random model of an architecture, whose states are not small."""
    torch.manual_seed(len(name))
    config = getattr(transformers, f"{name}Config")(**ARCHITECTURES[name], **more)
    made = getattr(transformers, f"{name}{kind}")(config).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3 if parameter.dim() > 1 else 1)
    return made


def sentence_folder(place, name, *, pooling="mean", more=(), made=None, **of_tokenizer):
    """A folder that sentence-transformers saves of a model, its pooling and `more` modules."""
    plain = place.with_name(f"{place.name}-plain")
    own = made or model(name)
    own.save_pretrained(plain)
    tokenizer(specials=name not in DECODERS, **of_tokenizer).save_pretrained(plain)
    loaded = SentenceTransformer(str(plain), device="cpu")
    width = loaded[0].get_embedding_dimension()
    SentenceTransformer(modules=[loaded[0], Pooling(width, pooling), *more], device="cpu").save(
        str(place), create_model_card=False
    )
    shutil.rmtree(plain)
    return place


def edit(file, **changes):
    """Change fields of a JSON file, which may not be there yet; None removes one."""
    known = json.loads(file.read_text()) if file.exists() else {}
    content = {name: value for name, value in {**known, **changes}.items() if value is not None}
    file.write_text(json.dumps(content))


def old_layout(folder, *, length=None):
    """Write the files of a folder as versions 2 to 4 did."""
    modules = json.loads((folder / "modules.json").read_text())
    for module in modules:
        module["type"] = f"sentence_transformers.models.{module['type'].rpartition('.')[2]}"
    (folder / "modules.json").write_text(json.dumps(modules))
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    names = {"cls": "cls_token", "lasttoken": "lasttoken"}
    every = ("cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
    old = {"word_embedding_dimension": pooling["embedding_dimension"]}
    for mode in every:
        name = names.get(mode, mode if mode.endswith("_tokens") else f"{mode}_tokens")
        old[f"pooling_mode_{name}"] = mode == pooling["pooling_mode"]
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(old))
    (folder / "sentence_bert_config.json").unlink()
    edit(folder / "sentence_bert_config.json", max_seq_length=length, do_lower_case=False)


def theirs(folder, texts, side):
    """The embeddings that sentence-transformers gives."""
    loaded = SentenceTransformer(str(folder), device="cpu")
    return getattr(loaded, f"encode_{side}")(texts, convert_to_tensor=True)


def rows_folder(place, name="Bert", *, skipped=("x", "a", ":", "€"), dense=True, **more):
    """A folder that MultiVectorEncoder saves: with a projection, and two words skipped."""
    plain = place.with_name(f"{place.name}-plain")
    model(name).save_pretrained(plain)
    tokenizer(specials=name != "Qwen3").save_pretrained(plain)
    torch.manual_seed(2)
    tokens = "token_embeddings"
    linear = {"activation_function": nn.Identity(), "bias": False, "module_input_name": tokens}
    modules = [Transformer(str(plain), **more), *([Dense(16, 6, **linear)] if dense else [])]
    modules += [MultiVectorMask(list(skipped)), Normalize(tokens)]
    prompts = {"query": "a b: ", "document": "d "}
    made = MultiVectorEncoder(modules=modules, device="cpu", prompts=prompts)
    made.save(str(place), create_model_card=False)
    return place
