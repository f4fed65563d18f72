"""Pairs of embeddings, as files."""

import numpy as np
import orjson


def pairs(left, right, **fields):
    """Lines of pairs; each field is a list with one value for each pair."""
    rows = zip(left, right, strict=True)
    return b"".join(
        orjson.dumps(
            {"id": f"p{number}", "text_a_embedding": [*map(float, a)]}
            | {"text_b_embedding": [*map(float, b)]}
            | {name: values[number] for name, values in fields.items()}
        )
        + b"\n"
        for number, (a, b) in enumerate(rows)
    )


# cosines with (1, 0): 1, 0.6, 0, -1
EAST = [(1.0, 0.0)] * 4
ROUND = [(2.0, 0.0), (3.0, 4.0), (0.0, 0.5), (-1.0, 0.0)]


def suite_of(tmp_path, seed):
    """Two tasks: one of similarity, and one of labels that are right for equal sides."""
    generator = np.random.default_rng(seed)
    left = generator.normal(size=(240, 3))
    labels = [number % 2 for number in range(240)]
    right = np.where(np.array(labels)[:, None] == 1, left, generator.normal(size=(240, 3)))
    split = ["train" if number < 200 else "test" for number in range(240)]
    lines = pairs(left.tolist(), right.tolist(), label=labels, split=split, task=["MRPC"] * 240)
    file = tmp_path / f"strae@{seed}.jsonl"
    scores = [4, 3, 1, 2] if seed else [4, 3, 2, 1]
    deep = [[(*row, 0.0) for row in rows] for rows in (EAST, ROUND)]
    file.write_bytes(pairs(*deep, score=scores, task=["STS"] * 4) + lines)
    return file
