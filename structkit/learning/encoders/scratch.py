"""Models from scratch: small ones, so that every recipe runs without a download."""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    T5Model,
)

from structkit.errors import UserError

# width, inner width, heads, layers, decoder layers
SIZES = {
    "tiny": (64, 128, 4, 2, 1),  # 0.6M parameters with 8,000 tokens: for tests and demos
    "mini": (256, 1024, 4, 3, 2),  # 6.5M
    "wide": (768, 768, 12, 1, 1),  # 15.6M: learns most from few pairs and passes
    "small": (512, 1024, 8, 6, 4),  # 21M
}

# scales T5's initial values: the encoder's layers add a tenth to the word embeddings at first, so
# that an untrained model already matches words, and a step changes it more; the decoder is as T5's
FACTOR = 0.1


def new_model(
    architecture: str,
    size: str,
    tokenizer: PreTrainedTokenizerFast,
    *,
    positions: int | None = None,
    decoder: bool = False,
    head: bool = False,
) -> Any:
    """An untrained model whose parameters depend only on torch's seed.

    Errors: `UserError` for a number of positions of a T5, which has none.
    """
    width, inner, heads, layers, decoder_layers = SIZES[size]
    if architecture == "bert":
        return BertModel(
            BertConfig(
                vocab_size=len(tokenizer),
                hidden_size=width,
                intermediate_size=inner,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                pad_token_id=tokenizer.pad_token_id,
                max_position_embeddings=positions or 1024,
            ),
            add_pooling_layer=False,
        )
    if positions:
        raise UserError(
            "a T5 has no position embeddings: it reads texts of any length",
            "leave --positions out, or use --architecture bert",
        )
    config = T5Config(  # type: ignore[call-arg]
        initializer_factor=FACTOR,
        vocab_size=len(tokenizer),
        d_model=width,
        d_ff=inner,
        d_kv=width // heads,
        num_heads=heads,
        num_layers=layers,
        num_decoder_layers=decoder_layers,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    if not (head or decoder):
        return T5EncoderModel(config)
    model: Any = T5ForConditionalGeneration(config) if head else T5Model(config)
    with torch.no_grad():
        for name, weight in model.decoder.named_parameters():
            if not name.startswith("embed_tokens"):
                weight /= FACTOR  # all initial values are proportional to it
    return model
