"""Where sentences end: our rules and NLTK's punkt over texts whose sentences are known.

    python -m experiments.sentences --data ../shared/data --punkt ../shared/nltk_data

joins the sentences of each document of trees/ with spaces, those that end with a sign, and counts
the ends that are found: precision, recall, F1. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import nltk
from nltk.tokenize.punkt import PunktTokenizer
from nltk.tokenize.treebank import TreebankWordDetokenizer

from structkit.records.jsonl import Records
from structkit.structure.sentences import sentences

FILES = ("ptb_sample_train", "gum_train", "gum_dev")
SIGN = re.compile(r"[.!?…][\"'”’»)\]]*$")
Ends = tuple[str, set[int]]  # a text, and where its sentences end


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each file and each of the two."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of trees/")
    parser.add_argument("--punkt", required=True, help="the folder of tokenizers/punkt_tab")
    args = parser.parse_args(arguments)
    nltk.data.path.insert(0, args.punkt)
    punkt = PunktTokenizer("english")
    print("| texts | sentence ends by | precision | recall | F1 |\n|---|---|---:|---:|---:|")
    for name in FILES:
        texts = list(documents(args.data / "trees" / f"{name}.jsonl.gz"))
        for system, split in (("structkit", sentences), ("NLTK's punkt", punkt.span_tokenize)):
            found = [({end for _, end in split(text)} - {len(text)}, gold) for text, gold in texts]
            print(f"| {name} | {system} | {measures(found)} |", flush=True)


def documents(file: Path) -> Iterable[Ends]:
    """The documents of a file; the end of the whole text is none to be found."""
    records = Records.read([str(file)])
    for _, group in groupby(records, lambda record: record["id"].rsplit("-", 1)[0]):
        text, ends = "", set()
        for record in group:
            sentence = written(record["text"])
            if SIGN.search(sentence):
                text = f"{text} {sentence}".strip()
                ends.add(len(text))
        yield text, ends - {len(text)}


def written(tokens: str) -> str:
    """A sentence as people write it, of tokens with spaces between them."""
    text = TreebankWordDetokenizer().detokenize(tokens.split())
    text = re.sub(r"\s+([,.;:!?…’”)])", r"\1", text)
    return re.sub(r"([“‘(])\s+", r"\1", text)


def measures(found: list[tuple[set[int], set[int]]]) -> str:
    """Precision, recall and F1 of the ends that are found beside the true ones."""
    right = sum(len(ends & gold) for ends, gold in found)
    precision = right / sum(len(ends) for ends, _ in found)
    recall = right / sum(len(gold) for _, gold in found)
    f1 = 2 * precision * recall / (precision + recall)
    return f"{precision:.4f} | {recall:.4f} | {f1:.4f}"


if __name__ == "__main__":
    main()
