"""Rank the judged documents of each query alone, by the dot product of embeddings.

python -m experiments.judged DOCUMENTS.npy QUERIES.npy QRELS.jsonl > run.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from structkit.embeddings.reading import read_embeddings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents")
    parser.add_argument("queries")
    parser.add_argument("qrels", type=Path)
    given = parser.parse_args()
    documents, queries = (read_embeddings([file]) for file in (given.documents, given.queries))
    rows = {doc_id: row for row, doc_id in enumerate(documents.doc_ids)}
    judged: dict[str, list[str]] = defaultdict(list)
    with given.qrels.open("rb") as lines:
        for each in map(json.loads, lines):
            judged[each["query_id"]].append(each["doc_id"])
    for row, query_id in enumerate(queries.doc_ids):
        ids = judged[query_id]
        (query,) = queries.vectors[row : row + 1]
        scores = documents.vectors[np.array([rows[each] for each in ids])] @ query
        for rank, place in enumerate((-scores).argsort(kind="stable"), 1):
            found = {"query_id": query_id, "doc_id": ids[place], "score": float(scores[place])}
            print(json.dumps({**found, "rank": rank}))


if __name__ == "__main__":
    main()
