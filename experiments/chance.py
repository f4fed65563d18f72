"""How many questions find a passage beyond chance, after `make repositories`.

    python -m experiments.chance --model DIR --name static [--folder runs/repositories]

Of each repository's own questions, of other nonsense and of everyday questions: the share whose
best passage is beyond chance by its standard score, and by the score itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from structkit.asking.meaning import CHANCE_QUANTILE, NONSENSE_QUESTIONS, Chance, nonsense
from structkit.embeddings.vectors import Int8Rows, quantize
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from tests.jsonl import read

EVERYDAY = """
how long should an egg be boiled|what is the capital of France|who painted the chapel|why do cats
purr|when do swallows fly south in autumn|how do I prune an apple tree|which king lost his head|does
green tea contain more caffeine than black tea|how to knit a sweater with long sleeves|why is the
sky blue|best beaches for surfing in Portugal|how many moons has Jupiter|symptoms of a broken ankle|
the price of wheat in medieval towns|recipe for onion soup|can dogs eat grapes|when was the violin
invented|where do penguins sleep|how to remove red wine from a carpet|what causes earthquakes|which
mushrooms are poisonous|how often should roses be watered|what did the Romans eat for breakfast
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--name", required=True, help="of the .npy files")
    parser.add_argument("--folder", type=Path, default=Path("runs/repositories"))
    given = parser.parse_args()
    queries = Encoding(EncodingSettings(model=given.model, as_="query", field=("text",)))

    def embedded(questions: list[str]) -> np.ndarray:
        records = ({"id": str(n), "text": text} for n, text in enumerate(questions))
        rows = np.concatenate([vectors for _, vectors in queries.embedded(records)])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    chance_of = embedded(nonsense(NONSENSE_QUESTIONS))
    others = {
        "other nonsense": embedded(nonsense(2 * NONSENSE_QUESTIONS)[NONSENSE_QUESTIONS:]),
        "everyday": embedded([each.replace("\n", " ").strip() for each in EVERYDAY.split("|")]),
    }
    shares: dict[str, list[tuple[float, float]]] = {}
    for file in sorted(given.folder.glob(f"*/{given.name}.npy")):
        passages = np.load(file).astype(np.float32)
        codes, scales = quantize(passages, "int8")
        assert scales is not None
        chance = Chance.of(Int8Rows(codes, scales), chance_of)
        least = np.quantile((chance_of @ passages.T).max(axis=1), CHANCE_QUANTILE)
        own = embedded([each["query"] for each in read(file.parent / "queries.jsonl")])
        for name, asked in {"own questions": own, **others}.items():
            scores = asked @ passages.T  # (questions, passages)
            beyond = float(np.mean([chance.exceeds(each).any() for each in scores]))
            plain = float(np.mean(scores.max(axis=1) > least))
            shares.setdefault(name, []).append((beyond, plain))
    for name, of_repositories in shares.items():
        beyond, plain = np.mean(of_repositories, axis=0)
        print(f"{name:15} beyond chance {beyond:.3f}, by the score alone {plain:.3f}")


if __name__ == "__main__":
    main()
