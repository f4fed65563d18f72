"""What a plugin file gives, and how a method declares its settings."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from structkit.errors import UserError
    from structkit.formats.interchange import Options, Parts
    from structkit.structure.code.spans import Span
    from structkit.structure.trees.tree import Tree


class Language(Protocol):
    """A file of languages/: where the entities of a text are.

    Optional beside it: `FIELDS`, the fields with the text, the first that a record has (default
    `code`); keywords of the function for flags of `mask-entities`: `types` (names of types too),
    `tagger`, `profile`; `docstring(text)`, where a function keeps its query (for `pair`).
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
    default: Any, help: str, source: str = "", choices: tuple[str, ...] | None = None
) -> Any:
    """A field of a method's settings: default, one line of help, and where the default is from."""
    metadata = {"help": help, "source": source, "choices": choices}
    return field(default=default, metadata=metadata)


def help_of(metadata: Any) -> str:
    """A setting's help with its source, as `train METHOD --help` shows it."""
    text = str(metadata.get("help", ""))
    return f"{text} ({metadata['source']})" if metadata.get("source") else text
