"""StrAE: train on parsed sentences, and compare cosines of sentence pairs with people's scores.

python docs/examples/strae.py SENTENCES.jsonl PAIRS.jsonl [EPOCHS]
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__" and len(sys.argv) < 3:
    sys.exit(__doc__)  # before anything slow is imported

from structkit import encode, parse_trees, score, train

PARSER = "builtin"  # a constituency parser; balanced, right-branching … need no model
SETTINGS = {"learning_rate": 1e-3, "batch_size": 32, "composition_init": "sum"}


def records(path: str) -> list[dict[str, object]]:
    """The records of a file."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def main(sentences_file: str, pairs_file: str, epochs: str = "5") -> None:
    """Train, encode both sides of the pairs, and score the model and an untrained one."""
    trees = list(parse_trees(records(sentences_file), parser=PARSER))
    pairs = list(parse_trees(records(pairs_file), parser=PARSER, field=("text_a", "text_b")))
    for name, steps in (("untrained", {"max_steps": 0}), ("strae", {"epochs": int(epochs)})):
        model = f"models/{name}"
        train("strae", trees, output=model, **SETTINGS, **steps)
        sides = ("text_a_tree", "text_b_tree")
        embeddings = encode(pairs, model=model, field=sides, keep=("score",))
        for scored in score({name: embeddings}, task="similarity"):
            low, high = scored["spearman_low"], scored["spearman_high"]
            print(f"{name:9} Spearman x 100 {scored['spearman']:.1f} [{low:.1f}, {high:.1f}]")


if __name__ == "__main__":
    main(*sys.argv[1:])
