"""Search: exact and lexical indexes, hits; the constants of both. May import scoring and below."""

# BM25's saturation of term frequency and length normalization, the defaults of bm25s
K1, B = 1.5, 0.75
# the weight of embeddings in a hybrid, words have the rest: of `search`, the best of 0.25, 0.35,
# 0.45 and 0.5 on 13 repositories; of `ask`, 0.2, 0.35 and 0.5 of a static model of MiniLM gave
# nDCG@10 0.869, 0.864 and 0.851 on 257 questions about these, none more than words alone
SHARE, MEANING = 0.35, 0.2
# the weight of other words with the same stem in `ask`: 0, 0.15, 0.3 and 0.5 gave nDCG@10 0.855,
# 0.870, 0.869 and 0.865 on these questions
RELATED = 0.3
DEPTH = 100  # documents of each ranking to fuse, if fewer are wanted
