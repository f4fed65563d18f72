"""SEAL: train on queries and HTML pages, and find the element of a page that answers.

python docs/examples/seal.py TRAIN.jsonl TEST.jsonl [STEPS]
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__" and len(sys.argv) < 3:
    sys.exit(__doc__)  # before anything slow is imported

from structkit import encode, html_variants, search, train

# a small BERT from scratch; name a pretrained one with `model`
SETTINGS = {"size": "tiny", "vocabulary_size": 1000, "document_length": 64, "batch_size": 16}


def records(path: str) -> list[dict[str, object]]:
    """The records of a file."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def main(train_file: str, test_file: str, steps: str = "100") -> None:
    """Train in two stages, encode the elements of pages, and print where each query is answered."""
    variants = html_variants(records(train_file))
    done = train("seal", variants, output="models/seal", max_steps=int(steps), **SETTINGS)
    print(f"{done['folder']}: {done['steps']} steps, {done['parameters']:,} parameters")
    pages = records(test_file)
    elements = list(encode(pages, model="models/seal", rows="elements"))
    queries = list(encode(pages, model="models/seal", as_="query"))
    for hit in search(elements, queries=queries, k=1, explain=True):
        print(hit["query_id"], hit["doc_id"], hit["best"]["xpath"], f"{hit['score']:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
