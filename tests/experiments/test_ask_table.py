"""The bundled table is made of a larger one: its tokens that texts have, in 8 bits."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from experiments.ask_table import main
from structkit.learning.static import Table
from tests.jsonl import write


@pytest.mark.parametrize("kind", [models.WordPiece, models.WordLevel])
def test_a_table_loses_the_tokens_that_the_texts_do_not_have(kind, tmp_path):
    words = ["[UNK]", "a", "b", "##b", "ab", "river", "sea", "mountain"]
    numbers = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(kind(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    rows = np.random.default_rng(0).standard_normal((len(words), 4), np.float32)
    (tmp_path / "large").mkdir()
    Table(rows, tokenizer).write(tmp_path / "large", normalize=True)
    texts = write(tmp_path / "texts.jsonl", {"text": "a river"}, {"text": "the sea"})
    main([str(tmp_path / "large"), str(texts), "-o", str(tmp_path / "small")])
    small = Table.read(tmp_path / "small")
    # characters stay, for words that are new; no text has ab or mountain
    kept = [word for word in words if word not in ("ab", "mountain")]
    if kind is models.WordLevel:
        kept.remove("##b")
    assert {word: number for number, word in enumerate(kept)} == small.tokenizer.get_vocab()
    expected = rows[[numbers[word] for word in kept]]
    # half a step of 127 between zero and the largest of a row, and the rounding to 16 bits
    half = np.abs(expected).max(axis=1, keepdims=True) / 254
    assert (np.abs(expected - small.floats) <= half * 1.1 + 1e-3).all()
