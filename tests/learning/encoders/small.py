"""Small random encoders that read one token a letter."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

TEXTS = ["a b c", "", "d e f g h a b c d", "c " * 40]
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
SHAPE |= {"num_hidden_layers": 2, "max_position_embeddings": 66}
TERMS = SHAPE["num_hidden_layers"] * SHAPE["intermediate_size"]  # the longest sums of each layer


def letters(names, unknown, *, specials, **roles):
    """A tokenizer of one token a letter, with special tokens around a text as BERT has them."""
    words = {name: number for number, name in enumerate(names)}
    backend = Tokenizer(models.WordLevel(words, unk_token=unknown))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if specials:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>",
            pair="<s> $A </s> $B </s>",
            special_tokens=[("<s>", 2), ("</s>", 1)],
        )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **roles)


def word_tokenizer(*, cls):
    """One of eight letters; special tokens as BERT has them, or only an EOS token never added."""
    roles = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "?"}
    roles |= {"cls_token": "<s>", "sep_token": "</s>"} if cls else {}
    return letters(["<pad>", "</s>", "<s>", *"abcdefgh?"], "?", specials=cls, **roles)


def save(folder, model, tokenizer):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def bert_like(name, folder):
    """Write an encoder like BERT, of a name: its folder."""
    kinds = {"bert": "Bert", "roberta": "Roberta", "modernbert": "ModernBert"}
    kinds |= {"xlm-roberta": "XLMRoberta"}
    config, kind = (getattr(transformers, kinds[name] + each) for each in ("Config", "Model"))
    torch.manual_seed(0)
    ids = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2}
    ids |= {"eos_token_id": 1, "sep_token_id": 1}
    return save(folder, kind(config(vocab_size=12, **SHAPE, **ids)), word_tokenizer(cls=True))
