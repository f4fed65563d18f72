"""How far parsers agree with gold trees, in one table, and how fast they are.

`python -m experiments.parsers GOLD.jsonl.gz [--first N] [--model DIR] [PARSER …]`: records
with `tree`, n-ary. Unlabelled F1 without whole sentences: binarized to the right, with punctuation;
and as they are, without it. Time is this process's, trees from words; the last row is the command
`parse-trees` from its start on, from JSONL with texts to JSONL with brackets.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from structkit import plugin
from structkit.commands.score.trees import binarized_spans, f1, plain_spans, span_counts
from structkit.errors import UserError
from structkit.records.jsonl import Records
from structkit.registry import load
from structkit.structure.trees import brackets as trees
from structkit.structure.trees.parsers import all_trees
from structkit.structure.trees.tree import Tree
from tests.benchmarks.processes import STRUCTKIT, compiled, measured

PARSERS = ("right-branching", "balanced", "random", "builtin")


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("gold")
    flags.add_argument("parsers", nargs="*", default=PARSERS)
    flags.add_argument("--first", type=int, help="only so many sentences")
    flags.add_argument("--model", help="of the parser builtin, in place of the one that ships")
    asked = flags.parse_intermixed_args()
    records = list(islice(Records.read([asked.gold]), asked.first))
    gold = [trees.clean(trees.read_tree(record["tree"])) for record in records]
    first = f" --first {asked.first}" if asked.first else ""
    print(f"{Path(asked.gold).name}{first}:")
    print(f"{len(gold):,} sentences, {sum(len(tree.words) for tree in gold):,} words\n")
    print("| parser | binarized F1 | plain F1 | sentences/s |\n|---|---:|---:|---:|")
    for name in asked.parsers:
        options = {"model": asked.model} if asked.model and name == "builtin" else {}
        try:
            print(row(name, options, gold), flush=True)
        except UserError as error:
            print(f"| {name} | {error.problem} | | |")
    print(f"| `structkit parse-trees` | | | {len(gold) / command(gold, asked.model):,.0f} |\n")


def command(gold: list[Tree], model: str | None) -> float:
    """CPU seconds of the command with the parser builtin, over the words as texts."""
    compiled()
    texts = (" ".join(tree.words) for tree in gold)
    with tempfile.NamedTemporaryFile() as records:
        records.writelines(orjson.dumps({"text": text}) + b"\n" for text in texts)
        records.flush()
        parse = [
            *STRUCTKIT,
            "parse-trees",
            "-q",
            "--workers",
            "1",
            *(["--model", model] if model else []),
        ]
        return measured(parse, Path(records.name)).cpu


def row(name: str, options: dict[str, Any], gold: list[Tree]) -> str:
    """One parser's row."""
    parser = load("parser", name)(tokenized=True, **options)
    list(parsed(parser, gold[:1]))  # what is loaded once does not count
    start = time.process_time()
    found = list(parsed(parser, gold))
    seconds = time.process_time() - start
    pairs = list(zip(found, gold, strict=True))
    binary, as_they_are = (
        f1(span_counts(pairs, kind).sum(0)) for kind in (binarized_spans, plain_spans)
    )
    return f"| {name} | {binary:.1f} | {as_they_are:.1f} | {len(gold) / seconds:,.0f} |"


def parsed(parser: plugin.Parser, gold: list[Tree]) -> Iterator[Tree]:
    """The parser's trees for the words of gold trees."""
    texts = [plugin.Unparsed(" ".join(tree.words), str(at)) for at, tree in enumerate(gold)]
    for tree in all_trees(parser, texts):
        if isinstance(tree, UserError):
            raise tree
        yield tree


if __name__ == "__main__":
    main()
