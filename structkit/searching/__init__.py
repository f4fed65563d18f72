"""Search: exact and lexical indexes, hits; the constants of both. May import scoring and below."""

from typing import Literal

Kind = Literal["code", "docs", "tests", "all"]  # of files that `ask` prefers
# BM25's saturation of term frequency and length normalization, the defaults of bm25s
K1, B = 1.5, 0.75
# the weight of embeddings in a hybrid, words have the rest: of `search`, the best of 0.25, 0.35,
# 0.45 and 0.5 on 13 repositories; of `ask`, 0.2, 0.35 and 0.5 of a static model of MiniLM gave
# nDCG@10 0.869, 0.864 and 0.851 on 257 questions about these, none more than words alone
SHARE, MEANING = 0.35, 0.2
# where the best passage lacks the question's words, the meaning of `ask` counts more: on 56
# paraphrases about 14 checkouts 0.4, 0.5 and 0.6 gave RR@10 0.257, 0.285 and 0.285, and on 453
# other questions 0.811, 0.809 and 0.806
TRUSTED = 0.5
# the weight of other forms of a word in `ask`: of those with the same stem, as one word, 0.3, 0.5,
# 0.65, 0.8 and 1 gave nDCG@10 0.883, 0.886, 0.884, 0.883 and 0.877 on these questions
RELATED = 0.6
# of these, the weight of shorter words that a word begins with: 0, 0.2, 0.33, 0.4, 0.5 and 0.67
# gave 0.8967, 0.8967, 0.8990, 0.9005, 0.9005 and 0.8985
SHORTENED = 0.4
DEPTH = 100  # minimum documents of each ranking to fuse
