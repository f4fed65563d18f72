"""Similarity of pairs of trees by their nodes: `make -C experiments rows-nodes`.

    python -m experiments.nodes PAIRS LEFT.npy RIGHT.npy --seed 0 -o FOLDER

The rows of both sides are of `encode --rows nodes`. FOLDER/KIND@SEED.jsonl is for `score --task
suite`, which reads cosines: a pair has two embeddings whose cosine is its similarity.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from experiments.repositories import read
from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import Floats, normalize_rows
from structkit.records.jsonl import Record
from structkit.records.output import write_records
from structkit.searching.index import maxsim


def both_ways(left: Floats, right: Floats) -> float:
    """Return maxsim from each side to the other, each divided by its rows, and their mean.

    >>> both_ways(np.eye(2), np.array([[1.0, 0.0]]))
    0.75
    """
    return (maxsim(left, right) / len(left) + maxsim(right, left) / len(right)) / 2


def trees(file: str) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
    """Yield the id of each tree, with its rows, the root first, and those of its words."""
    read_rows = read_embeddings([file], fields=True)
    rows, first = normalize_rows(read_rows.vectors[:]), 0
    spans = [each["span"] for each in read_rows.fields]
    for name, same in groupby(read_rows.doc_ids):
        here = slice(first, first + len([*same]))
        words = np.array([end - start == 1 for start, end in spans[here]])
        yield name, (rows[here], rows[here][words])
        first = here.stop


def similarities(left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> dict[str, float]:
    """Return the similarity of two trees by each kind of rows: of nodes, and of words."""
    (nodes, words), (others, other_words) = left, right
    means = [normalize_rows(each.mean(axis=0, keepdims=True)) for each in (words, other_words)]
    return {
        "root": float(nodes[0] @ others[0]),
        "nodes": both_ways(nodes, others),
        "words": both_ways(words, other_words),
        "mean": float(means[0][0] @ means[1][0]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="nodes")
    parser.add_argument("files", nargs=3)
    for flag in ("--seed", "-o"):
        parser.add_argument(flag, required=True)
    options = parser.parse_args()
    pairs, *sides = options.files
    left, right = (dict(trees(file)) for file in sides)
    found: dict[str, list[Record]] = {}
    for pair in read(pairs):
        name = pair["id"]
        for kind, cosine in similarities(left[name], right[name]).items():
            sine = np.sqrt(max(0.0, 1 - cosine**2))
            sides_of = {"text_a_embedding": [1.0, 0.0], "text_b_embedding": [cosine, float(sine)]}
            known = {key: pair[key] for key in ("id", "task", "split", "score")}
            found.setdefault(kind, []).append(known | sides_of)
    for kind, records in found.items():
        write_records(records, f"{options.o}/{kind}@{options.seed}.jsonl")


if __name__ == "__main__":
    main()
