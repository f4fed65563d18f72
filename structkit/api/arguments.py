"""Arguments, checked by what the command says of its flags, and errors in Python's terms."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from structkit.errors import UserError, spoken, unknown

# parameters that are named otherwise than their flags
FLAGS = {
    "side": "as",
    "source": "from",
    "template": "positive-template",
    "filters": "filter",
}
PARAMETERS = {flag: parameter for parameter, flag in FLAGS.items()}
# types that differ from those of the flags: text with `auto`, and text with blanks between names
OTHERWISE = {("encode", "batch_tokens"): int}
# lists that may be one string: a field, or the name of a file
ALSO_ONE = {
    ("encode", "field"),
    ("search", "texts"),
}
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
        hint = OTHERWISE.get((function, name), hints.get(flag))
        if value is not None and hint is not None:
            if isinstance(value, str) and _is_list(hint) and (function, name) not in ALSO_ONE:
                raise UserError(f"{name} is {value!r}, not a list", f"give [{value!r}]", status=2)
            fits(name, value, hint)


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
    if _is_list(hint):
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


def _is_list(hint: Any) -> bool:
    """Whether a flag may be repeated."""
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return list in (get_origin(hint), *map(get_origin, get_args(hint)))


def _is(value: Any, kinds: list[Any]) -> bool:
    """Whether a value has one of some types; a whole number is a float, a truth value is none."""
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, (*kinds, int) if float in kinds else tuple(kinds))


@contextmanager
def in_python(parameters: Iterable[str]) -> Iterator[None]:
    """Name parameters and functions in errors, where a command names flags and commands.

    What is no parameter of the function stays a flag, and is no remedy if there is another.
    """
    try:
        yield
    except UserError as error:
        ours = frozenset(parameters)
        told = UserError(
            _told(error.problem, ours), _told(_ways(error.remedy, ours), ours), status=error.status
        )
        raise told.at(error.file, error.line) from None


FLAG = re.compile(r"(?<![\w-])(?:--([a-z][a-z0-9-]*)|-([ko])\b)")
NAMES = "|".join(FUNCTIONS)


def _told(text: str, ours: Collection[str]) -> str:
    """A message as a Python program reads it.

    >>> text = "--mask-ratio 2 is …; add it with structkit mask-entities, or leave --from out"
    >>> _told(text, ["mask_ratio", "source"])
    'mask_ratio 2 is …; add it with structkit.mask_entities, or leave source out'
    """
    text = FLAG.sub(lambda found: _parameter(found, ours) or found[0], text)
    return re.sub(
        rf"\bstructkit ({NAMES})\b(?! -)",
        lambda found: "structkit." + found[1].replace("-", "_"),
        text,
    )


def _ways(remedy: str, ours: Collection[str]) -> str:
    """Those ways out that a function has, or another command; all if it has none of them.

    >>> _ways("raise --depth, or leave the record out with --on-error skip", [])
    'leave the record out'
    >>> _ways("encode with --quantize int8, or search without --rescore", ["rescore"])
    'encode with --quantize int8, or search without --rescore'
    """
    if "on_error" not in ours:  # records are the program's own to leave out
        remedy = remedy.replace(" with --on-error skip", "")
    ways = remedy.split(", or ")
    open_to_us = [
        way
        for way in ways
        if re.search(rf"\b({NAMES}|select)\b", way)
        or all(_parameter(found, ours) for found in FLAG.finditer(way))
    ]
    return ", or ".join(open_to_us or ways)


def _parameter(found: re.Match[str], ours: Collection[str]) -> str:
    """The parameter of a flag, empty if it is none of ours."""
    flag = found[1] or {"k": "k", "o": "output"}[found[2]]
    name = PARAMETERS.get(flag, flag).replace("-", "_")
    if name in ours:
        return name
    positive = name.removeprefix("no_")
    return f"{positive} False" if positive in ours else ""
