"""Arguments, checked by what the command says of its flags, and errors in Python's terms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from structkit.errors import UserError, spoken, unknown

# parameters that are named otherwise than their flags
FLAGS = {
    "side": "as",
    "source": "from",
    "template": "positive-template",
    "filters": "filter",
    "compare_with": "compare",
    "by_mean": "mean",
}
PARAMETERS = {flag: parameter for parameter, flag in FLAGS.items()}
FUNCTIONS = (
    *("collect", "mask-entities", "html-variants", "parse-trees", "pair", "train", "encode"),
    *("search", "score"),
)


def check(function: str, values: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise for an unknown parameter, and for a value that the flag of the command refuses."""
    hints = flags_of(function)
    known = list(known)
    for name, value in values.items():
        if name not in known:
            raise unknown(f"parameter of {function}", name, known)
        flag = name if name in hints else FLAGS.get(name, name).replace("-", "_")
        if value is not None and flag in hints and (function, name) != ("encode", "batch_tokens"):
            fits(name, value, hints[flag])


def flags_of(function: str) -> dict[str, Any]:
    """The parameters of a command's function with their annotations."""
    return get_type_hints(
        getattr(import_module(f"structkit.cli.{function}"), function), include_extras=True
    )


def fits(name: str, value: Any, hint: Any) -> None:
    """Raise for a value that an annotation does not allow: its type, choices and bounds."""
    bounds = next((each for each in get_args(hint)[1:] if hasattr(each, "min")), None)
    hint = getattr(hint, "__origin__", hint) if bounds is not None else hint
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    if any(get_origin(kind) is list for kind in kinds) or get_origin(hint) is list:
        return
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            if value not in list(kind):
                raise unknown(f"{name}", str(value), list(kind))
            return
    if not _is(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise UserError(f"{name} is {value!r}, not {wanted}", "give one", status=2)
    low, high = (getattr(bounds, end, None) for end in ("min", "max"))
    if low is not None and not low <= value <= (math.inf if high is None else high):
        ends = f"{spoken(low)} or more" if high is None else f"in {spoken(low)} … {spoken(high)}"
        raise UserError(f"{name} {value} is not {ends}", "give such a number", status=2)


def _is(value: Any, kinds: list[Any]) -> bool:
    """Whether a value has one of some types; a whole number is a float, a truth value is none."""
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, (*kinds, int) if float in kinds else tuple(kinds))


@contextmanager
def in_python() -> Iterator[None]:
    """Name parameters and functions in errors, where a command names flags and commands."""
    try:
        yield
    except UserError as error:
        told = UserError(_told(error.problem), _told(error.remedy), status=error.status)
        raise told.at(error.file, error.line) from None


def _told(text: str) -> str:
    """A message as a Python program reads it.

    >>> _told("--mask-ratio 2 is …; add it with structkit mask-entities, or leave --from out")
    'mask_ratio 2 is …; add it with structkit.mask_entities, or leave source out'
    """
    text = re.sub(r"(?<![\w-])-o\b", "output", text)
    text = re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda found: _parameter(found[1]), text)
    names = "|".join(FUNCTIONS)
    return re.sub(
        rf"\bstructkit ({names})\b", lambda found: "structkit." + found[1].replace("-", "_"), text
    )


def _parameter(flag: str) -> str:
    return PARAMETERS.get(flag, flag).replace("-", "_")
