"""Fewer rows of a text: similar ones become their mean. Tests: tests/embeddings/test_pooling.py."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from structkit.embeddings.vectors import Vectors


def pool_rows(rows: Vectors, factor: float) -> Vectors:
    """Return the rows (tokens, dim) of a text as the means of clusters, all of length 1.

    The first row, of the CLS token, stays. The others become one in `factor`, by Ward's method on
    cosine distances. Source: Clavié, Chaffin and Adams 2024, "Reducing the Footprint of
    Multi-Vector Retrieval with Minimal Performance Impact via Token Pooling" (arXiv 2409.14683).

    >>> rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [-1.0, 0.0], [-0.8, -0.6]])
    >>> pool_rows(rows, 2).round(3).tolist()
    [[1.0, 0.0], [0.707, 0.707], [-0.949, -0.316]]
    """
    others = rows[1:]
    count = max(1, int(len(others) // factor))
    if count >= len(others):
        return rows
    distances = squareform((1 - others @ others.T).clip(0, 2), checks=False)
    labels = fcluster(linkage(distances, "ward"), count, "maxclust")
    means = np.stack([others[labels == label].mean(0) for label in np.unique(labels)])
    return np.concatenate([rows[:1], means / np.linalg.norm(means, axis=1, keepdims=True)])
