"""Pairs of embeddings, as files."""

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
