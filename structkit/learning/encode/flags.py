"""Checks of `encode`'s flags: their values, and which models take them."""

from __future__ import annotations

from structkit.embeddings.quantized import KINDS
from structkit.errors import UserError, unknown
from structkit.plugin import Model

SIDES = ("query", "document")
DTYPES = ("fp32", "bf16", "auto")


def check_flags(
    side: str, dtype: str, batch_tokens: int | None, chunk: int | None, quantize: str | None
) -> None:
    """Raise for values that no model takes."""
    if side not in SIDES:
        raise UserError(f"--as {side} is not query or document", "choose one of them", status=2)
    if dtype not in DTYPES:
        raise unknown("precision of --dtype", dtype, DTYPES)
    if quantize is not None and quantize not in KINDS:
        raise unknown("form of --quantize", quantize, tuple(KINDS))
    for flag, number in (("batch-tokens", batch_tokens), ("chunk", chunk)):
        if number is not None and number < 1:
            raise UserError(f"--{flag} must be at least 1", "name another number", status=2)


def check_together(part: str, downward: bool, fields: int, reuse: str | None) -> None:
    """Raise for flags that do not go together."""
    if downward and part != "nodes":
        raise UserError("--downward goes with --nodes", "add it", status=2)
    if reuse and (downward or fields > 1):
        other = "--downward" if downward else "several --field"
        raise UserError(f"--reuse and {other} exclude each other", "leave one out", status=2)


def chosen_paths(paths: bool | None, side: str, part: str, model: Model) -> bool | None:
    """The `paths` for whole documents; off for queries, parts, and models of words or trees.

    A tree's words, and a part's character offsets, are those of the text alone. Errors: it is on
    for any of these.
    """
    if side == "document" and not part and "chunk" in model.parts:
        return paths
    if paths:
        raise UserError(
            "--paths is for whole documents and models that read tokens", "leave it out", status=2
        )
    return False


def check_length(length: int | None, chunk: int | None) -> None:
    """Raise for a length that holds no token, or no chunk."""
    if length is not None and length < 1:
        raise UserError("--length must be at least 1", "name another number", status=2)
    if length and chunk and chunk > length:
        problem = f"--chunk {chunk} is more than --length {length}"
        raise UserError(problem, "use smaller chunks", status=2)


def check_able(model: Model, part: str, length: int | None = None) -> None:
    """Raise for a length, or parts of texts, of which the model has no embeddings."""
    if length and "chunk" not in model.parts:
        raise UserError("--length is for models that read tokens", "leave it out", status=2)
    if part in model.parts:
        return
    if part == "chunk":
        raise UserError("--chunk is for models that read tokens", "leave it out", status=2)
    if part == "nodes":
        remedy = "train strae, self-strae, iornn or tree-lstm"
        raise UserError("--nodes needs a model with trees", remedy, status=2)
