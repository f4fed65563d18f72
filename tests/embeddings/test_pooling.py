"""Pooled rows are those of sentence-transformers' own pooling."""

import numpy as np
import pytest
import torch

from structkit.embeddings.pooling import pool_rows

token_pooling = pytest.importorskip(
    "sentence_transformers.multi_vector_encoder.modules.token_pooling"
)


@pytest.mark.parametrize("factor", [1, 1.5, 2, 4, 100])
@pytest.mark.parametrize("tokens", [1, 2, 3, 7, 60])
def test_rows_are_clustered_as_sentence_transformers_does(factor, tokens):
    generator = np.random.default_rng(tokens)
    rows = generator.normal(size=(tokens, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    library = token_pooling.HierarchicalTokenPooling(factor, num_protected_tokens=1)
    expected = library.pool_one(torch.from_numpy(rows)).numpy()
    found = pool_rows(rows, factor)
    assert (found.dtype, found.shape) == (np.float32, expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-6)
