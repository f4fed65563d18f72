"""What several tests train: forty records, and a small BERT."""

import json

import torch
from transformers import BertConfig, BertModel

from structkit.learning.encoders.models import train_tokenizer

WORDS = "red green blue black white house tree car door shirt".split()


def write_sums(file):
    """Write records of sums, and return the file."""
    records = (
        {"id": str(n), "query": f"sum of {n} and {n * 7}", "positive": f"return {n} + {n * 7}"}
        for n in range(40)
    )
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def small_bert(folder):
    """Write a BERT without dropout, which several processes train as one does."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer(WORDS, 400, cls=True)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=64, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
