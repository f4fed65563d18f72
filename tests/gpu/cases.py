"""What is trained on a GPU and on the CPU: methods and their settings."""

from torch import nn

ENCODER = {"size": "tiny", "vocabulary_size": 500, "batch_size": 4}
BERT = {**ENCODER, "architecture": "bert"}
WORD_MODEL = {"batch_size": 8, "minimum_count": 1, "embedding_size": 20}
# method and settings
CASES = {
    "contrastive": ("contrastive", BERT),
    "contrastive in bf16 and chunks": ("contrastive", {**BERT, "bf16": True, "chunk_size": 3}),
    "santa": ("santa", ENCODER),
    "santa in bf16 and chunks": ("santa", {**ENCODER, "bf16": True, "chunk_size": 3}),
    "santa without entities": (
        "santa",
        {**BERT, "pooling": "cls", "entity_weight": 0.0, "document_length": 24},
    ),
    "santa in place": ("santa", {**BERT, "pooling": "cls", "chunk_size": 3}),
    "held-out records": ("contrastive", {**BERT, "validate": "records.jsonl"}),
    "a start in bfloat16": ("contrastive", {"model": "half", "batch_size": 4}),
    "cross-encoder": ("cross-encoder", {**ENCODER, "chunk_size": 4}),
    "seal": ("seal", ENCODER),
    "seal with mcls": ("seal", {**BERT, "pooling": "mcls", "mcls_every": 4}),
    "strae": ("strae", WORD_MODEL),
    "self-strae": ("self-strae", WORD_MODEL),
    "self-strae-plus": ("self-strae-plus", {**WORD_MODEL, "embedding_size": 32}),
    "banyan": ("banyan", {**WORD_MODEL, "embedding_size": 128}),
    "iornn": ("iornn", WORD_MODEL),
    "tree-lstm": ("tree-lstm", WORD_MODEL),
    "bi-lstm": ("bi-lstm", WORD_MODEL),
    "roberta": ("roberta", WORD_MODEL),
    "span-parser": ("span-parser", {"batch_size": 8}),
}
FILES = {"model", "validate"}  # settings that name something in the folder of the tests


def without_dropout(put):
    """Have torch drop nothing: the devices draw other random numbers."""
    prepare = nn.Dropout.__init__
    put(nn.Dropout, "__init__", lambda self, p=0.5, inplace=False: prepare(self, 0.0, inplace))
    put(nn.functional, "dropout", lambda inputs, *args, **kwargs: inputs)
    attend = nn.functional.scaled_dot_product_attention
    all_of_it = lambda *args, **options: attend(*args, **{**options, "dropout_p": 0.0})  # noqa: E731
    put(nn.functional, "scaled_dot_product_attention", all_of_it)
