"""Search: exact and lexical indexes, hits; the constants of both. May import scoring and below."""

from typing import Literal

PreferredKind = Literal["code", "docs", "tests", "all"]  # of files that `ask` prefers
# BM25's saturation of term frequency and length normalization, the defaults of bm25s
BM25_K1 = 1.5
BM25_B = 0.75
# the weight of embeddings in a hybrid of `search`, words have the rest: the best of 0.25, 0.35,
# 0.45 and 0.5 on 13 repositories
HYBRID_EMBEDDING_WEIGHT = 0.35
# that of `ask`: 0.2, 0.35 and 0.5 of a static model of MiniLM gave nDCG@10 0.869, 0.864 and 0.851
# on 257 questions about these, none more than words alone. Since the bundled table is aligned on
# more pairs, 0.2, 0.25, 0.3 and 0.35 gave RR@10 0.770, 0.772, 0.773 and 0.772 on 509 questions
# about 14 checkouts
ASK_EMBEDDING_WEIGHT = 0.3
# that of `ask` over pages: 0.2 gave nDCG@10 0.836, and 0.3 0.833
PAGE_EMBEDDING_WEIGHT = 0.2
# where the best passage lacks the question's words, the meaning of `ask` counts more: 0.5, 0.6,
# 0.65 and 0.7 gave RR@10 0.773, 0.776, 0.778 and 0.778 on these 509 questions
WORDLESS_EMBEDDING_WEIGHT = 0.65
# the weight of other forms of a word in `ask`: of those with the same stem, as one word, 0.3, 0.5,
# 0.65, 0.8 and 1 gave nDCG@10 0.883, 0.886, 0.884, 0.883 and 0.877 on these questions
RELATED_WORD_WEIGHT = 0.6
# of these, the weight of shorter words that a word begins with: 0, 0.2, 0.33, 0.4, 0.5 and 0.67
# gave 0.8967, 0.8967, 0.8990, 0.9005, 0.9005 and 0.8985
PREFIX_WORD_WEIGHT = 0.4
MIN_FUSION_DEPTH = 100  # minimum documents of each ranking to fuse
