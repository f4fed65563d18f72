"""Flags spoiled: all that a command has, found from the app itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

from structkit.settings import alternatives, bounds, choices_of, is_several, types_of

from ..cases import DATA, REFUSED, USAGE, Case, Scene
from ..sessions import Session, found

ANY = DATA | USAGE
BEYOND = 10**30
NO_NUMBERS = ("", " ", "x", "nan", "1,5", "0x10", "½", "--")
INTEGERS = ("-1", "0", str(2**31), str(2**63), str(2**64), str(BEYOND), str(-BEYOND))
FLOATS = ("-1", "0", "1e-320", "1e30", "-1e30", "1e400", "-1e400", "inf", "-inf")
TEXTS = (
    *("", " ", "nope", ".", "/", "..", "-", "nope/nope.jsonl", "a\nb", "\udcff", "\x1b[31m", "*"),
    *("0/0", "1/0", "2/2", "-1/2", "a/b", "0/2/4", "1e400", "nan", "{", "{nope}", "[", "a=b", "="),
    *("a:nan", "a:0.5,a:0.5", ":1", "a:2", "a:", "\u202e", "x" * 300, "x" * 5000, "./nope"),
    "mteb",  # a format that is only written
)
OUTPUTS = {"output", "rejects", "save_index"}


@dataclass(frozen=True)
class Flag:
    """A flag of a command: how it is written, what it takes, and whether it must be there."""

    name: str
    spellings: tuple[str, ...]
    kind: type
    choices: tuple[str, ...]
    low: float
    high: float
    required: bool
    several: bool
    empty: bool  # whether an empty text is a value
    declared: str  # the class that has the setting

    @property
    def flag(self) -> str:
        """The long spelling."""
        return max(self.spellings, key=len)


@cache
def flags(command: tuple[str, ...]) -> list[Flag]:
    """All flags of a command, but for its help."""
    made = found(command)
    spelled = {
        each.name: (*each.opts, *each.secondary_opts)
        for each in made.params
        if each.opts[0].startswith("-")
    }
    return [
        _flag(kind, each, spelled[each.name])
        for kind in getattr(made, "settings", ())
        for each in fields(kind)
        if each.name in spelled
    ]


def _flag(kind: type, each: Field[Any], spellings: tuple[str, ...]) -> Flag:
    hint = alternatives(types_of(kind)[each.name])[0]
    several = is_several(hint)
    hint = get_args(hint)[0] if several else hint
    low, high = bounds(kind, each.name)
    return Flag(
        each.name,
        spellings,
        hint if isinstance(hint, type) else str,
        tuple(choices_of(kind, each) or ()),
        -math.inf if low is None else low,
        math.inf if high is None else high,
        each.default is MISSING,
        several,
        "" in (each.default, each.metadata.get("usual")),
        next(str(one) for one in kind.__mro__ if each.name in vars(one).get("__annotations__", {})),
    )


def flag_cases(session: Session, *, everything: bool) -> Iterator[Case]:
    """The session's own flags spoiled, or all of its command."""
    for flag in flags(session.command):
        given = any(word in flag.spellings for word in session.arguments)
        if not (given or everything):
            continue
        make = partial(_case, session, flag)
        if flag.required:
            yield Case(session, flag.flag, "missing", partial(remove, flag=flag), (), REFUSED)
        if flag.kind is bool:
            for spelling in flag.spellings:
                yield make("given", [spelling], ANY)
                yield make("twice", [spelling] * 2, ANY)
                if spelling.startswith("--"):  # of short ones, = is the next
                    yield make("with a value", [f"{spelling}=7"], REFUSED)
            continue
        yield make("without a value", [flag.flag], REFUSED)
        yield make("twice", [flag.flag, "1", flag.flag, "2"], ANY)
        for value, statuses in values(flag):
            shown = value if len(value) < 40 else f"{value[:9]} … ({len(value):,} characters)"
            yield make(repr(shown), [f"{flag.flag}={value}"], statuses)
        if flag.name in OUTPUTS:
            yield from output_cases(session, flag)
    yield Case(session, "--nope", "given", partial(add, words=["--nope"]), ("--nope",), REFUSED)


def values(flag: Flag) -> Iterator[tuple[str, frozenset[int]]]:
    """Spoiled values of a flag, and the exit status that each may have."""
    if flag.kind in (int, float):
        for value in NO_NUMBERS:
            yield value, REFUSED
        for value in INTEGERS if flag.kind is int else (*FLOATS, *INTEGERS):
            outside = not flag.low <= float(value) <= flag.high
            huge = abs(float(value)) > 1e6  # allowed where there is no bound, but may leave nothing
            yield value, REFUSED if outside else ANY if huge else USAGE
        for end in {flag.low - 1, flag.high + 1} - {math.inf, -math.inf}:
            yield f"{end:g}", REFUSED
        if flag.kind is int:
            yield "1.5", REFUSED
    elif flag.choices:
        choice = flag.choices[0]
        for value in ("", "nope", f" {choice}", choice[:-1], choice + choice):
            yield value, REFUSED
    else:
        for value in TEXTS:
            yield value, ANY


def output_cases(session: Session, flag: Flag) -> Iterator[Case]:
    """An output that is an input, a folder, has no folder, or may not be written."""
    places = ["out", "nope/out.jsonl", "/proc/nope", "/dev/full", ".", "-", "out.gz/x"]
    places += ["link"] if session.inputs else []
    for value in (*places, *session.inputs):
        spoil = partial(output, flag=flag, value=value)
        own = (session.inputs[0] if value == "link" else value,)  # in place, at the end
        own = own if flag.name == "output" else ()
        yield Case(
            session, flag.flag, f"is {value}", spoil, (*flag.spellings, value), ANY, replaces=own
        )


def _case(
    session: Session, flag: Flag, how: str, words: list[str], statuses: frozenset[int]
) -> Case:
    given = [words[0].partition("=")[2], *words[1::2]]
    names = (*flag.spellings, *(each for value in given if value for each in shown_as(value)))
    return Case(session, flag.flag, how, partial(spoil, flag=flag, words=words), names, statuses)


def shown_as(value: str) -> tuple[str, ...]:
    """How a message may show a value: quoted; a long one in one line, or its beginning."""
    written = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in value)
    plain = (value.replace("\n", " "), written, value[:50])
    about = (f"structkit: {written}", *(f" {written}{end}" for end in "; ,:"))
    about += (f'"{written}"', *(["stdin"] if value == "-" else []))
    return (repr(value), *about, *(each for each in plain if len(each) > 2))


def spoil(scene: Scene, *, flag: Flag, words: list[str]) -> None:
    """Write these words instead of the flag, or behind the rest."""
    if not flag.several:
        remove(scene, flag=flag)
    add(scene, words=words)
    if flag.name == "rejects":
        scene.arguments += ["--on-error", "skip"]


def add(scene: Scene, *, words: list[str]) -> None:
    scene.arguments += words


def remove(scene: Scene, *, flag: Flag) -> None:
    """Take the flag and its values out of the line."""
    words = scene.arguments
    while any(spelling in words for spelling in flag.spellings):
        place = next(place for place, word in enumerate(words) if word in flag.spellings)
        del words[place : place + (1 if flag.kind is bool else 2)]


def output(scene: Scene, *, flag: Flag, value: str) -> None:
    """Let the flag name that file."""
    if value == "link":  # to the first input
        Path(scene.folder, "link").symlink_to(sorted(scene.folder.iterdir())[0].name)
    spoil(scene, flag=flag, words=[flag.flag, value])
