"""An encoder as an ONNX graph, with everything else needed to compute it without torch."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from structkit.learning.encoders.encoder import Encoder, token_states
from structkit.learning.encoders.packing import Tokens
from structkit.records.jsonl import Record

# kinds of models whose graphs were checked against torch
MODELS = ("bert", "camembert", "roberta", "t5", "xlm-roberta")


class _Embedding(nn.Module):
    """The graph: ids and mask to embeddings, (batch, dim)."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        encoder = self.encoder
        return encoder.pooled(token_states(encoder.model, Tokens(ids, mask)), mask)


def write_graph(encoder: Encoder, file: Path) -> None:
    """Write the graph from token ids and their mask, (batch, length) each, to embeddings."""
    model = encoder.model
    tokens = encoder.padded([[5, 6, 7, 8], [5, 6, 7]])
    axes = {0: "batch", 1: "length"}
    attention = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about shapes that are the same for every text
            torch.onnx.export(
                _Embedding(encoder).eval(),
                (tokens.ids, tokens.mask),
                str(file),
                input_names=["ids", "mask"],
                output_names=["embeddings"],
                dynamic_axes={"ids": axes, "mask": axes, "embeddings": {0: "batch"}},
                dynamo=False,
            )
    finally:
        model.set_attn_implementation(attention)


def write_tokenizers(encoder: Encoder, file: Path, plain: Path) -> None:
    """Write the tokenizer, and the one for texts without tags if it is a different one."""
    own = encoder.tokenizing
    own.tokenizer.backend_tokenizer.save(str(file))
    if own.plain is not own.tokenizer:
        own.plain.backend_tokenizer.save(str(plain))


def inner_facts(encoder: Encoder) -> Record:
    """The facts that the graph and the tokenizers do not hold."""
    own = encoder.tokenizing
    return {
        "lengths": own.lengths,
        "prompts": own.prompts,
        "mcls_every": own.mcls_every,
        "positions": own.positions,
        "padding": own.tokenizer.pad_token_id,
        "split_special_tokens": bool(getattr(own.tokenizer, "split_special_tokens", False)),
    }
