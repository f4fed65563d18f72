"""Tables of counts: parameters of models, shapes of trees, entities, and probabilities.

    python -m experiments.counts parameters METHOD.model … -o TABLE.md
    python -m experiments.counts shapes TREES.jsonl … -o TABLE.md
    python -m experiments.counts entities SET.jsonl … -o TABLE.md
    python -m experiments.counts probabilities SYSTEM/RUN.jsonl … -o TABLE.md
    python -m experiments.counts unigram T5.model MASKED.jsonl … -o TABLE.md
    python -m experiments.counts words STRAE.model TRAINING.jsonl HELD.jsonl … -o TABLE.md

A row for each file: models of StrAE's family, trees, what `mask-entities` writes, or runs whose
relevant document has the query's own id. `unigram` reads the tokens of its first file, a model, and
`words` those of trees, as a model with cross-entropy guesses them.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from safetensors import safe_open
from tokenizers import Tokenizer

from experiments.kept import Record
from structkit.embeddings.vectors import IntArray
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.scoring.measures import interval
from structkit.scoring.probabilities import fitted_temperature
from structkit.scoring.probabilities import probabilities as of_relevant
from structkit.scoring.runs import read_run
from structkit.structure.trees.brackets import before_final_punct, read_tree
from structkit.structure.trees.tree import Tree
from tests.jsonl import read as records

SENTINEL = re.compile(r"<extra_id_\d+>")
KNOWN = re.compile(rf"{SENTINEL.pattern}|<\|eos\|>|</s>")
READ = 64  # tokens of what is masked, as the decoder of santa-t5.mk reads them
WORD = re.compile(r"\w+")
TOKEN = re.compile(r"\w+|[^\w\s]")
# SANTA, table 5: the proportion of entities
PROPORTIONS = {
    "python": 0.286,
    "php": 0.178,
    "go": 0.171,
    "java": 0.244,
    "javascript": 0.154,
    "ruby": 0.288,
    "products": 0.201,
}
# the paper counts neither embeddings, of distances too, nor the head
COUNTED = re.compile(r"(?!embedding$).*(?<!\.distance)")
LAYERS = {"roberta": "layers."}
# StrAE, table 5, and where a difference comes from
PUBLISHED = {
    "strae": (430, ""),
    "self-strae": (430, ""),
    "iornn": (40_400, ""),
    "tree-lstm": (260_600, "the paper counts the upward cell for both directions"),
    "bi-lstm": (181_800, ""),
    "roberta": (3_950_232, ""),
}


def shape(tree: Tree) -> tuple[int, int, int, int]:
    """Words, depth in edges, and the inner nodes with more words right, and with more words left.

    >>> shape(read_tree("(S (A a) (B (C b) (D c)))"))
    (3, 2, 1, 0)
    """
    starts, ends = tree.spans().T
    sizes = ends - starts
    depth = np.zeros(len(sizes), int)
    sides = []
    for node in np.flatnonzero(tree.count):  # parents before children
        children = tree.children(int(node))
        depth[children] = depth[node] + 1
        sides.append(int(np.sign(sizes[children[-1]] - sizes[children[0]])))
    return len(tree.words), int(depth.max()), sides.count(1), sides.count(-1)


def shapes(files: Sequence[Path]) -> list[str]:
    """Rows of mean words and depth with 95 % intervals, and the share of right branches.

    A node branches right where more words are in its right part; nodes whose parts are equal do not
    count.
    """
    lines = [
        "| trees | sentences | words | depth | right branches |",
        "|---|---:|---:|---:|---:|",
    ]
    for file in files:
        trees = [read_tree(each["tree"]) for each in records(file)]
        found = np.array([shape(tree) for tree in trees if len(tree.words) > 1])
        low, high = interval(found[:, :2].astype(float))
        words, depth = (
            f"{mean:.1f} [{first:.1f}, {last:.1f}]"
            for mean, first, last in zip(found.mean(axis=0), low, high, strict=False)
        )
        right, left = found[:, 2:].sum(axis=0)
        cells = f"{len(found):,} | {words} | {depth} | {right / (right + left):.1%}"
        lines.append(f"| {file.stem} | {cells} |")
    return lines


def entities(files: Sequence[Path]) -> list[str]:
    """Rows of records, entities of each, and their share of words and of tokens."""
    lines = [
        "| data | records | entities a record | share of words | words and marks | published |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for file in files:
        some = records(file)
        distinct = sum(len(each["entities"]) for each in some)
        found = words = tokens = 0
        for each in some:
            rest, count = SENTINEL.subn(" ", each["masked"])
            found += count
            words += count + len(WORD.findall(rest))
            tokens += count + len(TOKEN.findall(rest))
        shares = f"{found / words:.1%} | {found / tokens:.1%} | {PROPORTIONS[file.stem]:.1%}"
        lines.append(f"| {file.stem} | {len(some):,} | {distinct / len(some):.1f} | {shares} |")
    return lines


def parameters(folders: Sequence[Path]) -> list[str]:
    """Rows of the parameters of models beside the published ones."""
    lines = ["| method | parameters | published | difference |", "|---|---:|---:|---|"]
    for folder in folders:
        with safe_open(folder / "model.safetensors", "np") as weights:
            counted = [
                name
                for name in weights.keys()  # noqa: SIM118, it is no mapping
                if COUNTED.fullmatch(name) and name.startswith(LAYERS.get(folder.stem, ""))
            ]
            found = sum(math.prod(weights.get_slice(name).get_shape()) for name in counted)
        published, why = PUBLISHED[folder.stem]
        why = "none" if found == published else why
        lines.append(f"| {folder.stem} | {found:,} | {published:,} | {why} |")
    return lines


def probabilities(files: Sequence[Path]) -> list[str]:
    """Rows of the relevant document's probability among the documents found (SANTA, figure 3)."""
    lines = ["| model | queries | mean | quarter below | half below |", "|---|---:|---:|---:|---:|"]
    for file in files:
        run = read_run(str(file))
        qrels = {query_id: {query_id: 1} for query_id in run}
        found = of_relevant(run, qrels, fitted_temperature(run, qrels)).astype(np.float64)
        (mean,), (low,), (high,) = found.mean(keepdims=True), *interval(found[:, None])
        shares = " | ".join(f"{np.quantile(found, share):.3f}" for share in (0.25, 0.5))
        cells = f"{len(found):,} | {mean:.3f} [{low:.3f}, {high:.3f}] | {shares}"
        lines.append(f"| {file.parent.name.partition('@')[0]} | {cells} |")
    return lines


def unigram(files: Sequence[Path]) -> list[str]:
    """Rows of the loss of guessing each token of what is masked by its frequency, in nats.

    Sentinels and the end are known, as a decoder soon learns where they stand; they count among the
    tokens of the mean, as in training. Every second record is counted, and one is added to each
    token's count; the others are guessed.
    """
    tokenizer = Tokenizer.from_file(str(files[0] / "tokenizer.json"))
    known = [token for name, token in tokenizer.get_vocab().items() if KNOWN.fullmatch(name)]
    lines = ["| data | tokens | guessed | loss of a unigram model |", "|---|---:|---:|---:|"]
    for file in files[1:]:
        found = tokenizer.encode_batch([each["target"] for each in records(file)])
        counted, guessed = (
            np.bincount(
                [token for each in found[half::2] for token in each.ids[:READ]],
                minlength=tokenizer.get_vocab_size(),
            )
            for half in (0, 1)
        )
        tokens = guessed.sum()
        counted[known] = guessed[known] = 0
        loss = loss_by_frequency(counted, guessed) / tokens
        lines.append(f"| {file.stem} | {tokens:,} | {guessed.sum():,} | {loss:.2f} |")
    return lines


def words(files: Sequence[Path]) -> list[str]:
    """Rows of the loss of guessing each word of held-out trees by its frequency, in nats."""
    vocabulary = Vocabulary.load(files[0])
    counted, *guessed = (
        np.bincount(
            [number for record in records(file) for number in word_numbers(record, vocabulary)],
            minlength=len(vocabulary),
        )
        for file in files[1:]
    )
    lines = ["| data | words | loss of a unigram model |", "|---|---:|---:|"]
    for file, counts in zip(files[2:], guessed, strict=True):
        loss = loss_by_frequency(counted, counts) / counts.sum()
        lines.append(f"| {file.stem} | {counts.sum():,} | {loss:.2f} |")
    return lines


def loss_by_frequency(counted: IntArray, guessed: IntArray) -> float:
    """The summed loss of guessing tokens by their counts elsewhere, each plus one."""
    shares = (counted + 1) / (counted + 1).sum()
    return float(-(guessed * np.log(shares)).sum())


def word_numbers(record: Record, vocabulary: Vocabulary) -> list[int]:
    """The numbers of a tree's words without the final punctuation."""
    found = read_tree(record["tree"]).words
    return [number for (number,) in vocabulary.ids(found[: before_final_punct(found)])]


TABLES: dict[str, Callable[[Sequence[Path]], list[str]]] = {
    "parameters": parameters,
    "shapes": shapes,
    "entities": entities,
    "probabilities": probabilities,
    "unigram": unigram,
    "words": words,
}


def main() -> None:
    flags = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    flags.add_argument("table", choices=TABLES)
    flags.add_argument("files", nargs="+", type=Path)
    flags.add_argument("-o", dest="output", type=Path, required=True)
    asked = flags.parse_args()
    asked.output.write_text("\n".join(TABLES[asked.table](asked.files)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
