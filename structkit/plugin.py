"""What a plugin file gives, and how a method declares its settings."""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Protocol

from structkit.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from structkit.formats.interchange import Options, Parts
    from structkit.structure.code.spans import Span
    from structkit.structure.trees.tree import Tree


class Language(Protocol):
    """A file of languages/: where the entities of a text are.

    Optional beside it: `FIELDS`, the fields with the text, the first that a record has (default
    `code`); keywords of the function for flags of `mask-entities`: `types` (names of types too),
    `tagger`, `profile`; `docstring(text)`, where a function keeps its query (for `pair`);
    `ALIASES`, its other names in lower case; `IMPLIED_BY`, fields of a record that needs no
    `language` to be of this one. The last two are tuples of literal strings.
    """

    def entities(self, text: str) -> list[Span]:
        """Every occurrence of an entity, in text order, as non-overlapping spans."""
        ...


class RecordLanguage(Protocol):
    """A language whose entities need more of a record than the text: a title, a query."""

    def record_entities(self, record: dict[str, Any], text: str) -> list[Span]:
        """Every occurrence of an entity in the text, as above."""
        ...


class Parser(Protocol):
    """A file of parsers/: the trees of texts.

    What it wants to know are keywords of the function: `tokenized`, `seed`, `url`, `model` (flags;
    without a default they are required), and lists as long as the texts: `keys` (of randomness),
    `languages`, `sentences` (the text beside a tree). Optional beside it: `FIELDS`, the fields with
    the text (default `text`); `FACTOR`, how long nodes are cut (default `right`).
    """

    def trees(self, texts: Iterable[str], **options: Any) -> Iterator[Tree | UserError]:
        """A tree for each text in order, or the error that rejects it in its stead.

        It is called for some hundred texts at a time: what is costly to load is kept.
        """
        ...


class Format(Protocol):
    """A file of formats/: what another tool reads and writes, for `convert`."""

    def parts(self, options: Options) -> Parts:
        """Its parts by name, the main one first: what its rows hold and where they stand."""
        ...


def setting(
    default: Any,
    help: str,
    source: str = "",
    choices: tuple[str, ...] | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """A field of a method's settings: default, one line of help, and where the default is from.

    `low` and `high` bound a number; one that overrides another's default keeps its bounds.
    """
    metadata = {"help": help, "source": source, "choices": choices, "bounds": (low, high)}
    return field(default=default, metadata=metadata)


def bounds(kind: type, name: str) -> tuple[float, float] | None:
    """The lowest and the highest value of a setting, as the class or one that it extends has it."""
    for each in kind.__mro__:
        found = vars(each).get("__dataclass_fields__", {}).get(name)
        if found is not None and found.metadata.get("bounds", (None,))[0] is not None:
            low, high = found.metadata["bounds"]
            return low, high
    return None


def check(settings: Any) -> None:
    """Raise where a setting is none of its choices or out of its bounds: wrong usage."""
    for each in fields(settings):
        value, flag = getattr(settings, each.name), flag_of(each.name)
        choices = each.metadata.get("choices")
        if value is None:
            continue
        if choices and value not in choices:
            raise UserError(
                f"{flag} {value} is not {' or '.join(choices)}", "name one of them", status=2
            )
        if limits := bounds(type(settings), each.name):
            low, high = limits
            if not low <= value <= high:  # not a number is in no range
                raise UserError(
                    f"{flag} {value} is not in {spoken(low)} … {spoken(high)}",
                    "name a number in between",
                    status=2,
                )


def spoken(number: float) -> str:
    """A number for people.

    >>> spoken(1_000_000), spoken(1e-6), spoken(0.5)
    ('1,000,000', '0.000001', '0.5')
    """
    return f"{number:,}" if isinstance(number, int) else f"{number:,.6f}".rstrip("0").rstrip(".")


def flag_of(name: str) -> str:
    """The flag of a setting.

    >>> flag_of("max_steps")
    '--max-steps'
    """
    return "--" + name.replace("_", "-")


def help_of(metadata: Any) -> str:
    """A setting's help with its source, as `train METHOD --help` shows it."""
    text = str(metadata.get("help", ""))
    return f"{text} ({metadata['source']})" if metadata.get("source") else text
