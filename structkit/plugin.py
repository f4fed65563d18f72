"""What a plugin file gives, by kind, and how a method declares its settings.

A plugin file has one class named after its kind, which extends the class of that name here: a
file of languages/ has `class Language(plugin.Language)`. One that takes flags is a frozen dataclass
whose fields are these flags: their defaults stand there, and one without a default is required.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from structkit.errors import UserError, spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from random import Random

    from structkit.embeddings.vectors import Floats
    from structkit.formats.interchange import Options, Parts
    from structkit.learning.training.module import TrainingModule
    from structkit.learning.training.plan import Plan
    from structkit.learning.training.spool import Spool
    from structkit.ranking.candidates import Candidate, Query
    from structkit.records.jsonl import Record
    from structkit.search.hits import Searcher, SearchOptions
    from structkit.structure.code.outline import Outline
    from structkit.structure.code.spans import Span
    from structkit.structure.trees.tree import Tree


@dataclass(frozen=True)
class Language(ABC):
    """A file of languages/: where the entities of a text are.

    Its flags are those of `mask-entities`: types, tagger, profile. Code with a tree-sitter
    grammar extends `CodeLanguage` (structkit.structure.code.languages), which gives the rest.
    `aliases`, `implied_by`, `extensions`, `interpreters`: literal strings, read without an import.
    """

    fields: ClassVar[tuple[str, ...]] = ("code",)
    """The fields with the text, the first that a record has."""

    aliases: ClassVar[tuple[str, ...]] = ()
    """Its other names, in lower case."""

    implied_by: ClassVar[tuple[str, ...]] = ()
    """Fields of a record that needs no `language` to be of this one."""

    extensions: ClassVar[tuple[str, ...]] = ()
    """The extensions of its files, or their whole names: `rb`, `Rakefile`."""

    interpreters: ClassVar[tuple[str, ...]] = ()
    """The programs that the first line of such a file may name, after `#!`."""

    outline: ClassVar[Outline | None] = None
    """What its trees call functions and classes, for `collect`; without, it has no trees."""

    @abstractmethod
    def entities(self, text: str, record: Record) -> list[Span]:
        """Every occurrence of an entity in a text of a record, in order, none over another."""

    def drawn(self, names: Sequence[str], rng: Random) -> set[str] | None:
        """The entities to mask, given every occurrence, where `profile` draws some; or all."""
        return None

    def docstring(self, text: str) -> Span | None:
        """Where a function keeps its query in its own text, which `pair` cuts out."""
        return None


class Unparsed(NamedTuple):
    """A text that waits for its tree, and what a parser may want to know of it."""

    text: str
    key: str = ""  # what its randomness is keyed by
    language: object = None  # what its record has for one
    sentence: str | None = None  # the plain text, where `text` is a tree of it


@dataclass(frozen=True)
class Parser(ABC):
    """A file of parsers/: the trees of texts.

    Its flags are those of `parse-trees`: tokenized, seed, url, timeout, model, language.
    """

    fields: ClassVar[tuple[str, ...]] = ("text",)
    """The fields with the text, the first that a record has."""

    factor: ClassVar[str] = "right"
    """How nodes of more than two children are cut: `right`, `left` or `balanced`."""

    @abstractmethod
    def trees(self, texts: Iterable[Unparsed]) -> Iterator[Tree | UserError]:
        """A tree for each text in order, or the error that rejects the text.

        It is called for some hundred texts at a time: what is costly to load is kept.
        """


class Backend(ABC):
    """A file of backends/: where embeddings are searched."""

    @abstractmethod
    def opened(self, corpus: Sequence[str], options: SearchOptions) -> Searcher:
        """A corpus, given by its files, ready to be searched; what it cannot do it refuses."""


@dataclass(frozen=True)
class Ranker(ABC):
    """A file of rankers/: one sign of how well a hit answers.

    Its flags are those of `rerank`: embeddings, query_embeddings.
    """

    weight: ClassVar[float] = 0.2
    """What it counts where no weight is named; the search's own scores are 0 … 1."""

    @abstractmethod
    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """What the hits of a query get, (hits,): 0 … 1, or down to -1 for what is put down."""


class Format(ABC):
    """A file of formats/: what another tool reads and writes, for `convert`."""

    @abstractmethod
    def parts(self, options: Options) -> Parts:
        """Its parts by name, the main one first: what its rows hold and where they stand."""


Configurable = TypeVar("Configurable", bound=Language | Parser | Ranker)


def takes(kind: type[Configurable], flag: str) -> bool:
    """Whether plugins of a class take a flag."""
    return flag in {each.name for each in fields(kind)}


def configured(
    kind: type[Configurable],
    name: str,
    flags: Mapping[str, Any],
    *,
    status: int = 2,
) -> Configurable:
    """The plugin of that name with these flags; one that it does not take or lacks raises."""
    known = {each.name: each for each in fields(kind)}
    plugin = f"the {kind.__name__.lower()} {name}"
    for flag in flags:
        if flag not in known:
            raise UserError(f"{plugin} takes no {flag_of(flag)}", "leave it out", status=status)
    for flag, each in known.items():
        if flag not in flags and each.default is MISSING and each.default_factory is MISSING:
            remedy = each.metadata.get("remedy", "name it")
            raise UserError(f"{plugin} needs {flag_of(flag)}", remedy, status=status)
    return kind(**flags)


@dataclass(frozen=True)
class Method(ABC):
    """A file of methods/: how records become a model, and how the model is read again.

    Its fields, made by `setting`, are the flags of `train METHOD`. What trains by steps of a
    gradient extends `GradientSettings` (structkit.learning.training.settings), and a Hugging Face
    encoder `EncoderSettings` (structkit.learning.encoders.settings), which give most of the rest.
    """

    query_fields: ClassVar[tuple[str, ...]]
    """Where `encode` finds a query in a record: the first field that it has."""

    document_fields: ClassVar[tuple[str, ...]]
    """Where `encode` finds a document."""

    without_records: ClassVar[bool] = False  # whether a model can be made of none
    shared: ClassVar[bool] = False
    """Whether several processes can share a batch."""

    example: ClassVar[str] = ""
    """A command that trains it, for the end of its help."""

    @property
    def start(self) -> str | None:
        """The model that the training starts from: a folder, or a name of the hub."""
        return None

    @property
    def held_out(self) -> str | None:
        """The file of records that choose the best model, and are not learned from."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """What the training reads beside the records."""
        return tuple(filter(None, (self.start, self.held_out)))

    @abstractmethod
    def prepare(self, record: Record) -> Record:
        """What is kept of a training record, with its `id`; one that does not do is refused."""

    @abstractmethod
    def plan(self, records: int) -> Plan:
        """The steps of a training on so many records."""

    @abstractmethod
    def build(self, spool: Spool, *, offline: bool = False) -> TrainingModule:
        """The training of a new model on prepared records."""

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """All settings, as they are written to `structkit.json`."""

    @classmethod
    @abstractmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The settings that a model folder tells; one that does not do is refused."""

    @classmethod
    def check_facts(cls, facts: Record) -> None:
        """Raise where `structkit.json` lacks what `load` reads beside the settings."""
        return None

    @classmethod
    @abstractmethod
    def load(cls, folder: Path, facts: Record) -> Any:
        """The trained model in a folder, for `encode` or for `parse-trees`."""


def setting(
    default: Any,
    help: str,
    source: str = "",
    choices: tuple[str, ...] | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    usual: Any = MISSING,
) -> Any:
    """A field of a method's settings: default, one line of help, and where the default is from.

    `low` and `high` bound a number; one that overrides another's default keeps its bounds. With
    `usual`, None stands for what the start model has, and for the usual where that says nothing.
    """
    metadata = {"help": help, "source": source, "choices": choices, "bounds": (low, high)}
    if usual is not MISSING:
        metadata["usual"] = usual
    return field(default=default, metadata=metadata)


def bounds(kind: type, name: str) -> tuple[float, float] | None:
    """The lowest and the highest value of a setting, as the class or one that it extends has it."""
    for each in kind.__mro__:
        setting = vars(each).get("__dataclass_fields__", {}).get(name)
        if setting is not None and setting.metadata.get("bounds", (None,))[0] is not None:
            low, high = setting.metadata["bounds"]
            return low, high
    return None


def check(settings: Any) -> None:
    """Raise where a setting is none of its choices or out of its bounds: wrong usage."""
    for each in fields(settings):
        value, flag = getattr(settings, each.name), flag_of(each.name)
        if value is None:
            continue
        if (choices := each.metadata.get("choices")) and value not in choices:
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


def flag_of(name: str) -> str:
    """The flag of a setting.

    >>> flag_of("max_steps")
    '--max-steps'
    """
    return "--" + name.replace("_", "-")


def help_of(metadata: Any) -> str:
    """A setting's help with its source, as `train METHOD --help` shows it."""
    text = str(metadata.get("help", ""))
    if "usual" in metadata:
        usual = metadata["usual"]
        said = ("no", "yes")[usual] if isinstance(usual, bool) else usual or "none"
        text += f"; default: the model's own, otherwise {said}"
    return f"{text} ({metadata['source']})" if metadata.get("source") else text
