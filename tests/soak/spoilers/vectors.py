"""Numbers spoiled: the shape, type and values of .npy files and of a model's weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file

from ..cases import Case, Scene
from ..sessions import Session
from .files import named

Array = np.ndarray[Any, Any]


def with_value(vectors: Array, value: float) -> Array:
    floats = np.issubdtype(vectors.dtype, np.floating)
    changed = vectors.copy() if floats else vectors.astype(np.float32)
    changed[-1, ...].flat[0] = value
    return changed


ARRAYS: dict[str, Callable[[Array], Array]] = {
    "a row less": lambda vectors: vectors[:-1],
    "a row more": lambda vectors: np.concatenate([vectors, vectors[:1]]),
    "no row": lambda vectors: vectors[:0],
    "no column": lambda vectors: vectors[..., :0],
    "a column less": lambda vectors: vectors[..., :-1],
    "flat": lambda vectors: vectors.ravel(),
    "a number": lambda vectors: vectors.ravel()[0],
    "three axes": lambda vectors: vectors[None],
    "by columns": np.asfortranarray,
    "transposed": lambda vectors: vectors.T.copy(),
    "float64": lambda vectors: vectors.astype(np.float64),
    "float16": lambda vectors: vectors.astype(np.float16),
    "other byte order": lambda vectors: vectors.astype(">f4"),
    "integers": lambda vectors: vectors.astype(np.int64),
    "truth values": lambda vectors: vectors > 0,
    "complex": lambda vectors: vectors.astype(np.complex64),
    "texts": lambda vectors: vectors.astype("U9"),
    "objects": lambda vectors: vectors.astype(object),
    "not a number": lambda vectors: with_value(vectors, np.nan),
    "infinity": lambda vectors: with_value(vectors, -np.inf),
    "huge": lambda vectors: with_value(vectors, 3e38),
    "zeros": np.zeros_like,
}


def vector_cases(session: Session) -> Iterator[Case]:
    """Each .npy file and each file of weights, spoiled by what is in it."""
    for file in session.files():
        if file.endswith(".npy"):
            for how, change in ARRAYS.items():
                spoil = partial(rewrite_array, file=file, change=change)
                yield Case(session, f"{file} array", how, spoil, named(session, file))
        if file.endswith(".safetensors"):
            for how, change_weights in WEIGHTS.items():
                spoil = partial(rewrite_weights, file=file, change=change_weights)
                yield Case(session, f"{file} weights", how, spoil, named(session, file))


def rewrite_array(scene: Scene, *, file: str, change: Callable[[Array], Array]) -> None:
    path = scene.folder / file
    np.save(path, change(np.load(path)))


def rewrite_weights(
    scene: Scene, *, file: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    path = scene.folder / file
    # a model's library asks for this word
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def first(weights: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    name = next(iter(weights))
    return {**weights, name: change(weights[name]).contiguous()}


WEIGHTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "not a number": lambda weights: {
        name: weight * float("nan") if weight.is_floating_point() else weight
        for name, weight in weights.items()
    },
    "one not a number": lambda weights: first(weights, lambda weight: weight * float("nan")),
    "one infinite": lambda weights: first(weights, lambda weight: weight * float("inf")),
    "one gone": lambda weights: dict(list(weights.items())[1:]),
    "one more": lambda weights: {**weights, "nope": next(iter(weights.values())).clone()},
    "one shorter": lambda weights: first(weights, lambda weight: weight[:-1]),
    "one flat": lambda weights: first(weights, lambda weight: weight.reshape(-1)),
    "one of integers": lambda weights: first(weights, lambda weight: weight.long()),
    "none": lambda weights: {},
}
