"""The fitted order of hits is the one that `rerank` writes: repetitions of a group are thinned."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structkit.ranking.fitting import DEPTH, JudgedHits
from structkit.ranking.reranking import thin

HITS = st.lists(
    st.tuples(st.integers(-2, 6).map(lambda tenths: tenths / 4), st.integers(0, 3), st.booleans()),
    min_size=1,
    max_size=15,
)


@given(HITS, st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_a_fit_thins_groups_as_rerank_does(hits, repeats):
    names = [f"d{99 - place}" for place in range(len(hits))]  # descending, as ties go
    scores, groups, relevant = zip(*hits, strict=True)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, DEPTH + 1))
    met = [{place} if each else set() for place, each in enumerate(relevant)]
    features, of_hits = np.array(scores)[:, None], np.array(groups)
    judged = JudgedHits("", features, met, of_hits, repeats, ideal)

    order = thin(
        dict(zip(names, scores, strict=True)), dict(zip(names, groups, strict=True)), repeats
    )
    first = sorted(order, key=lambda name: (order[name], name), reverse=True)[:DEPTH]
    found = [rank for rank, name in enumerate(first, 1) if relevant[names.index(name)]]
    expected = sum(1 / math.log2(rank + 1) for rank in found) / ideal
    assert math.isclose(expected, judged.ndcg(np.ones(1)))
