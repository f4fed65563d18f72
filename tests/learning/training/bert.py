"""A small BERT without dropout: several processes train it as one does."""

import torch
from transformers import BertConfig, BertModel

from structkit.learning.encoders.tokenizer import train_tokenizer

WORDS = "red green blue black white house tree car door shirt".split()


def small_bert(folder):
    """Write it into a folder, with a tokenizer of a few words."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer(WORDS, 400, cls=True)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=64, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
