"""The one exception for errors that users can fix. Tests: tests/cli/test_remedies.py."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

# the remedy for a record with wrong content
RECORD_REMEDY = "fix the record, or leave it out"


class Surface:
    """Spelling of settings, files and commands in messages of the command line."""

    progress = True  # whether it shows how far a command is

    def setting(self, name: str, value: object, argument: str = "") -> str:
        """Return `--mask-ratio`, `--mask-ratio 2`, `FILE`; a Python keyword loses its `_`."""
        name = name.strip("_").replace("_", "-")
        if value is False:
            return self.setting(f"no-{name}", None)
        flag = argument
        if not flag:
            short = "o" if name == "output" else name
            flag = f"-{short}" if len(short) == 1 else f"--{short}"
        if isinstance(value, list):
            return " ".join(f"{flag} {item}" for item in value)
        return flag if value is None or value is True else f"{flag} {value}"

    def file(self, path: str) -> str:
        """Return the name of a file."""
        return "stdin" if path == "-" else path

    def command(self, name: str, arguments: Sequence[str], settings: dict[str, object]) -> str:
        """Return `structkit mask-entities --mask-ratio 2 FILE`."""
        words = [
            self.setting(setting, shlex.quote(value) if isinstance(value, str) else value)
            for setting, value in settings.items()
        ]
        return " ".join([f"structkit {name}", *words, *map(shlex.quote, arguments)])

    def note(self, message: str) -> None:
        """Take a message, which a person reads on stderr."""


class Python(Surface):
    """Spelling of messages in Python: `mask_ratio=2`, `structkit.mask_entities(mask_ratio=2)`."""

    progress = False

    def __init__(self) -> None:
        self.files: dict[str, str] = {}  # parameters by the paths of their files

    def file(self, path: str) -> str:
        return self.files.get(path) or super().file(path)

    def setting(self, name: str, value: object, argument: str = "") -> str:
        return name if value is None else f"{name}={value!r}"

    def command(self, name: str, arguments: Sequence[str], settings: dict[str, object]) -> str:
        words = [*map(repr, arguments), *map(self.setting, settings, settings.values())]
        call = f"({', '.join(words)})" if words else ""
        return f"structkit.{name.replace('-', '_')}{call}"


_surface: ContextVar[Surface] = ContextVar("surface", default=Surface())  # noqa: B039 it is frozen


@contextmanager
def use_surface(surface: Surface) -> Iterator[None]:
    """Spell settings and commands in messages as a surface does."""
    token = _surface.set(surface)
    try:
        yield
    finally:
        _surface.reset(token)


def surface() -> Surface:
    """Return the surface that messages are spelled for."""
    return _surface.get()


def flag(name: str, value: object = None, argument: str = "") -> str:
    """Return a setting for a message, with its value if that is wrong: `--mask-ratio 2`.

    A setting that has no flag is named by its `argument`.

    >>> flag("mask_ratio", 2), flag("from_"), flag("k"), flag("normalize", False)
    ('--mask-ratio 2', '--from', '-k', '--no-normalize')
    """
    return _surface.get().setting(name, value, argument)


def program(name: str, *arguments: str, **settings: object) -> str:
    """Return a command for a message, with its arguments and settings.

    >>> program("encode", "my file.jsonl", field=["title", "text"])
    "structkit encode --field title --field text 'my file.jsonl'"
    """
    return _surface.get().command(name, arguments, settings)


def spell_settings(text: str) -> str:
    """Return a declared text, such as a line of help, with the settings in braces spelled.

    >>> spell_settings("With {on_error:skip}: file for what {k} leaves out.")
    'With --on-error skip: file for what -k leaves out.'
    """
    words = re.sub(r"(?<!{){(\w+):?([^{}]*)}", lambda name: flag(name[1], name[2] or None), text)
    return words.replace("{{", "{").replace("}}", "}")


def leave_out(what: str = "the record") -> str:
    """Return the remedy that skips records with this error.

    >>> leave_out()
    'leave the record out with --on-error skip'
    """
    return f"leave {what} out with {flag('on_error', 'skip')}"


class UserError(Exception):
    """Error that the user can fix: its place, the problem and the remedy.

    `status` is the exit status: 1 for data and run errors, 2 for wrong usage.

    >>> print(UserError('field "html" is missing', "name it with --field").at("docs.jsonl", 17))
    docs.jsonl:17: field "html" is missing; name it with --field
    """

    def __init__(self, problem: str, remedy: str, *, status: int = 1) -> None:
        super().__init__(problem, remedy)  # with what follows it travels between processes
        self.problem = problem
        self.remedy = remedy
        self.status = status
        self.file = ""
        self.line = 0

    def at(self, file: str, line: int = 0) -> UserError:
        """Return the same error with its place; a known place is kept."""
        if not self.file:
            self.file, self.line = _surface.get().file(file), line
        return self

    @property
    def reason(self) -> str:
        """Problem and remedy without the place."""
        return f"{self.problem}; {self.remedy}" if self.remedy else self.problem

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}" if place else self.reason


def wrong_usage(problem: str, remedy: str) -> UserError:
    """Return the error for wrong usage, which is found before any work: exit status 2."""
    return UserError(problem, remedy, status=2)


@contextmanager
def data_errors() -> Iterator[None]:
    """Make wrong usage an error of the data, where a record or a file names what is unknown."""
    try:
        yield
    except UserError as error:
        error.status = 1
        raise


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Return the error for an unknown name; it lists the known ones.

    >>> print(unknown("language", "pyhton", ["go", "python"]))
    unknown language 'pyhton'; did you mean 'python'? available: go, python
    """
    names = sorted(known)
    return wrong_usage(
        f"unknown {kind} {name!r}",
        f"{guess(name, names)}available: {', '.join(names) or 'none'}",
    )


def missing(
    field: str, record: Iterable[str], remedy: str = "", *, what: str = "", named: bool = False
) -> UserError:
    """Return the error for a missing field; it lists the record's fields, or a remedy.

    If the user `named` the field, or there is no better remedy, it suggests a similar field of the
    record.

    >>> print(missing("cod", {"id": "1", "code": "x"}))
    field "cod" is missing; did you mean 'code'? the record has: id, code
    """
    names = [str(name) for name in record]
    hint = guess(field, names) if named or not remedy else ""
    remedy = remedy or f"the record has: {', '.join(names) or 'none'}"
    return UserError(f'field "{field}"{what} is missing', hint + remedy)


def guess(name: str, known: Iterable[str]) -> str:
    """Return the question for the most similar known name, which begins a remedy, or "".

    >>> guess("ndgc", ["nDCG", "RR"]), guess("x", ["nDCG", "RR"])
    ("did you mean 'nDCG'? ", '')
    """
    names = {candidate.casefold(): str(candidate) for candidate in known}  # of an enum its values
    close = difflib.get_close_matches(name.casefold(), names, n=1)
    return f"did you mean {names[close[0]]!r}? " if close else ""


def format_number(number: float) -> str:
    """Return a number as people write it.

    >>> format_number(1_000_000), format_number(1e-6), format_number(0.5)
    ('1,000,000', '0.000001', '0.5')
    """
    return f"{number:,}" if isinstance(number, int) else f"{number:,.6f}".rstrip("0").rstrip(".")
