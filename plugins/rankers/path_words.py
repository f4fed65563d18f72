"""Words of the query in the path, above all in the file's name."""

from collections.abc import Sequence

import numpy as np

from structkit import plugin
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.words import file_and_folders, query_parts, related_terms

FOLDERS = 0.5  # the weight of a word in a folder's name


class Ranker(plugin.Ranker):
    """Overlap of words: of the query with the path, and of the file's name with the query.

    The score is the geometric mean of both. A word of the query counts more if fewer of the hits'
    files have it: a word in the names of all files carries no information.
    """

    weight = 1.5

    def scores(self, query: Query, hits: Sequence[Candidate]) -> list[float]:
        """Return 0 … 1 for each hit."""
        words = query_parts(query.text)
        paths = list(dict.fromkeys(hit.path for hit in hits))
        if not words:
            return [0.0] * len(hits)
        matched = np.array([matches(words, path) for path in paths])  # (files, words)
        rarity = np.log1p(len(paths) / (np.count_nonzero(matched, axis=0) + 0.5))  # (words,)
        covered = matched @ (rarity / rarity.sum())  # (files,)
        named = np.array([share_of_name(words, path) for path in paths])  # (files,)
        scores = dict(zip(paths, np.sqrt(covered * named).tolist(), strict=True))
        return [scores[hit.path] for hit in hits]


def matches(words: Sequence[str], path: str) -> list[float]:
    """Return how well each word matches a path.

    >>> matches(["retry", "net", "thread", "pool", "x"], "net/threadpool_retries.py")
    [1.0, 0.5, 1.0, 1.0, 0.0]
    """
    name, folders = file_and_folders(path)
    here, around = (frozenset[str]().union(*related_terms(words, some)) for some in (name, folders))
    matched = [1.0 if word in here else FOLDERS * (word in around) for word in words]
    for place in range(len(words) - 1):  # two words that the name joins
        if words[place] + words[place + 1] in name:
            matched[place] = matched[place + 1] = 1.0
    return matched


def share_of_name(words: Sequence[str], path: str) -> float:
    """Return the share of the file's name that is in the query; a folder's name counts half."""
    name, folders = file_and_folders(path)
    if share := sum(map(bool, related_terms(words, name))):
        return share / len(name)
    return FOLDERS * any(related_terms(words, folders))
