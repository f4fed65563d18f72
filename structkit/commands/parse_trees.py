"""Parse texts into binary trees, in brackets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from structkit import plugin, registry
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record, several, text_field
from structkit.records.stream import WorkerOptions, staged
from structkit.settings import Command, seed_setting, setting

if TYPE_CHECKING:
    from structkit.structure.trees.tree import Tree

# texts that a parser gets at a time: enough to sort by length, or to fill a few requests
BATCH = 256


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Parse texts: adds `tree`, one binary tree in Penn Treebank brackets."""

    parser: str = setting(
        "builtin", "Name of a parser; `structkit plugins` lists them.", complete="parser"
    )
    field: tuple[str, ...] = setting(
        (),
        "Field with the text; several give FIELD_tree each; default: `text`, `code` for ast, "
        "`html` or `content` for dom, `tree` for brackets.",
    )
    factor: Literal["right", "left", "balanced"] | None = setting(
        None, "How to split long nodes; default: right; balanced for ast and dom."
    )
    final_punct: Literal["keep", "root"] = setting(
        "keep", "Keep the final punctuation where it is, or attach it to the root."
    )
    binarize: bool = setting(True, "Make every node a pair or a word.")
    tokenized: bool = setting(
        False, "The text is words separated by spaces; of a `tree`, its words."
    )
    url: str | None = setting(None, "corenlp: the server (default http://localhost:9000).")
    timeout: float | None = setting(
        None, "corenlp: seconds for 50 texts (default 60).", low=0.001, high=86400
    )
    model: str | None = setting(None, "self-strae: the model folder.", short="-m", reads=True)
    language: str | None = setting(
        None, "ast: language of all records; default: their `language`.", complete="language"
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        if len(set(self.field)) < len(self.field):
            raise UserError(f"{flag('field')} names a field twice", "name each once", status=2)
        self.configured  # noqa: B018 a flag that the parser does not take is wrong usage

    @cached_property
    def configured(self) -> plugin.Parser:
        """The parser, with those flags that are set; one that it does not take raises."""
        kind: type[plugin.Parser] = registry.load("parser", self.parser)
        flags: dict[str, Any] = {
            "url": self.url,
            "timeout": self.timeout,
            "model": self.model,
            "language": self.language,
            "tokenized": self.tokenized or None,
        }
        flags = {flag: value for flag, value in flags.items() if value is not None}
        if registry.takes(kind, "seed"):
            flags["seed"] = self.seed
        return registry.configured(kind, self.parser, flags)

    def fields_of(self, record: Record) -> tuple[str, ...]:
        """The fields of a record to parse."""
        if self.field:
            return self.field
        known = self.configured.fields
        return (next((name for name in known if name in record), known[0]),)

    def written(self, tree: Tree) -> str:
        """A tree as the record gets it."""
        from structkit.structure.trees.brackets import binarize, lift_final, write

        if self.final_punct == "root":
            tree = lift_final(tree)
        if self.binarize:
            tree = binarize(tree, self.factor or self.configured.factor)
        return write(tree)


def parse_trees(records: Iterable[Record], settings: Settings | None = None) -> Iterator[Record]:
    """Add `tree` to every record: one binary tree, its leaves the words of the text in order.

    Several fields give `FIELD_tree` each. An empty text raises, and so does one for which the
    parser finds no tree.

    >>> records = [{"id": "1", "text": "The cat sleeps."}]
    >>> [record["tree"] for record in parse_trees(records, Settings(parser="right-branching"))]
    ['(X (X The) (X (X cat) (X (X sleeps) (X .))))']
    """
    return several(records, partial(_parsed, settings=settings or Settings()), BATCH)


def _parsed(records: list[Record], settings: Settings) -> Iterator[Record | UserError]:
    """The records with their trees: all texts at once, for parsers that work on batches."""
    from structkit.structure.trees.parsers import all_trees

    of_records = [_texts(record, settings) for record in records]
    texts = [
        _unparsed(record, name, text, settings)
        for record, some in _good(records, of_records)
        for name, text in some
    ]
    trees = iter(all_trees(settings.configured, texts))
    for record, some in zip(records, of_records, strict=True):
        if isinstance(some, UserError):
            yield some
            continue
        made = [(name, next(trees)) for name, _ in some]
        yield _with_trees(record, made, settings)


Fields = list[tuple[str, str]]


def _good(
    records: list[Record], of_records: list[Fields | UserError]
) -> Iterator[tuple[Record, Fields]]:
    for record, texts in zip(records, of_records, strict=True):
        if not isinstance(texts, UserError):
            yield record, texts


def _texts(record: Record, settings: Settings) -> Fields | UserError:
    """The fields of a record with their texts."""
    from structkit.structure.trees.brackets import clean, escaped, read

    texts = []
    try:
        for name in settings.fields_of(record):
            text = text_field(record, name)
            if settings.tokenized and (name == "tree" or name.endswith("_tree")):
                text = " ".join(map(escaped, clean(read(text)).words))
            if not text.strip():
                raise UserError(f'field "{name}" is empty: no words, no tree', "leave it out")
            texts.append((name, text))
    except UserError as error:
        return error.with_traceback(None)
    return texts


def _with_trees(
    record: Record, trees: list[tuple[str, Tree | UserError]], settings: Settings
) -> Record | UserError:
    made: Record = {}
    for name, tree in trees:
        if isinstance(tree, UserError):
            return _in_field(tree, name) if len(trees) > 1 else tree
        try:
            made[_target(name) if len(trees) > 1 else "tree"] = settings.written(tree)
        except UserError as error:
            return error.with_traceback(None)
    return {**record, **made}


def _in_field(error: UserError, name: str) -> UserError:
    return UserError(f'field "{name}": {error.problem}', error.remedy, status=error.status)


def _target(name: str) -> str:
    """The field for the tree of a field; a field that holds a tree is replaced."""
    return name if name == "tree" or name.endswith("_tree") else f"{name}_tree"


def _sentence(record: Record, name: str) -> str | None:
    """The text beside a field with a tree."""
    plain = "text" if name == "tree" else name.removesuffix("_tree")
    text = record.get(plain)
    return text if isinstance(text, str) and plain != name else None


def _unparsed(record: Record, name: str, text: str, settings: Settings) -> plugin.Unparsed:
    """The text of a field, with what a parser may need to know about it."""
    key = f"{record['id']}\0{name}" if len(settings.field) > 1 else str(record["id"])
    return plugin.Unparsed(text, key, record.get("language"), _sentence(record, name))


COMMAND = Command(
    parse_trees,
    Settings,
    staged(parse_trees),
    also=(WorkerOptions,),
    reads="`text`; ast: `code`, `language`; dom: `html` or `content`; brackets: `tree`",
    adds="`tree`; of several fields: `FIELD_tree`",
    examples="""
structkit parse-trees sentences.jsonl -o trees.jsonl
structkit parse-trees --parser ast functions.jsonl | head -n 1
""",
)
