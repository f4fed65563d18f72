"""SANTA: train on functions with their documentation, and search others with theirs.

python docs/examples/santa.py TRAIN.jsonl TEST.jsonl [EPOCHS]
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__" and len(sys.argv) < 3:
    sys.exit(__doc__)  # before anything slow is imported

from structkit import encode, mask_entities, pair, score, search, train

# a small T5 from scratch; `structkit train santa --help` has all settings and their sources
SETTINGS = {
    "size": "tiny",
    "vocabulary_size": 1000,
    "document_length": 128,
    "target_length": 64,
    "pooling": "mean",
    "normalize": True,
    "temperature": 0.05,
    "symmetric": True,
    "align_on": "original",
    "batch_size": 32,
    "learning_rate": 3e-3,
}


def records(path: str) -> list[dict[str, object]]:
    """The records of a file."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def main(train_file: str, test_file: str, epochs: str = "10") -> None:
    """Train, encode both sides, search, and compare with BM25."""
    examples = mask_entities(pair(records(train_file)))
    done = train("santa", examples, output="models/santa", epochs=int(epochs), **SETTINGS)
    print(f"{done['folder']}: {done['steps']} steps, {done['parameters']:,} parameters")
    test = list(pair(records(test_file)))
    documents = list(encode(test, model="models/santa", as_="document"))
    queries = list(encode(test, model="models/santa", as_="query"))
    runs = {
        "santa": list(search(documents, queries=queries)),
        "bm25": list(search(test, queries=test, method="bm25")),
    }
    for scored in score(runs, qrels="self", measures=["RR@100"]):
        low, high = scored["RR@100_low"], scored["RR@100_high"]
        print(f"{scored['run']:6} RR@100 {scored['RR@100']:.3f} [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main(*sys.argv[1:])
