"""Models of real shapes and the trainings of them whose memory `peaks` and `card` measure."""

from __future__ import annotations

from typing import Any

import transformers as hf

GB = 1e9
LARGE: dict[str, Any] = {"hidden_size": 1024, "num_attention_heads": 16}
T5_BASE: dict[str, Any] = {
    "d_model": 768,
    "d_ff": 3072,
    "num_heads": 12,
    "num_layers": 12,
    "decoder_start_token_id": 0,
}
CONFIGS: dict[str, Any] = {
    "BERT-base": lambda: hf.BertConfig(vocab_size=30522),
    "T5-base": lambda: hf.T5Config(**T5_BASE),
    "XLM-R-large": lambda: hf.XLMRobertaConfig(
        **LARGE,
        vocab_size=250002,
        num_hidden_layers=24,
        intermediate_size=4096,
        max_position_embeddings=8194,
    ),
    "Qwen3-0.6B": lambda: hf.Qwen3Config(
        **LARGE,
        vocab_size=151936,
        num_hidden_layers=28,
        intermediate_size=3072,
        num_key_value_heads=8,
        head_dim=128,
        tie_word_embeddings=True,
        use_cache=False,
    ),
}
# method, model, texts in a chunk, tokens of a document
CASES = [
    ("santa", "T5-base", 16, 240),
    ("seal", "BERT-base", 8, 512),
    ("seal", "XLM-R-large", 1, 4096),
    ("seal", "XLM-R-large", 8, 4096),
    ("seal", "Qwen3-0.6B", 1, 4096),
]
TARGET = 35  # tokens of SANTA's targets
FLAGS: dict[str, dict[str, Any]] = {
    "": {},
    "`--checkpointing`": {"checkpointing": True},
    "`--lora-rank 16`": {"lora_rank": 16},
    "both": {"checkpointing": True, "lora_rank": 16},
}
