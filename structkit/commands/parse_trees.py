"""Parse texts into binary trees, in brackets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from structkit import plugin, registry
from structkit.command import Command
from structkit.errors import UserError
from structkit.records.fields import is_tree
from structkit.records.jsonl import Record, text_field
from structkit.records.stream import WorkerOptions
from structkit.settings import given_values, seed_setting, setting, settings_class, settings_of

if TYPE_CHECKING:
    from structkit.structure.trees.tree import Tree

PARSER_FLAGS = ("url", "model", "language", "tokenized")  # of some parsers
# texts that a parser gets at a time: enough to sort by length, or to fill a few requests
BATCH_RECORDS = 256


def usual_factor(settings: Settings) -> str:
    """right; balanced for ast and dom"""
    return settings.parser_plugin.factor


@settings_class
class Settings:
    """Parse texts: add `tree`, one binary tree in Penn Treebank brackets."""

    parser: str = setting("builtin", "Parser; `structkit plugins` lists them.", complete="parser")
    field: tuple[str, ...] = setting(
        (),
        "Field with the text; several give FIELD_tree each.",
        inferred="`text`, `code` for ast, `html` or `content` for dom, `tree` for brackets",
    )
    factor: Literal["right", "left", "balanced"] = setting(
        None, "How to split long nodes.", usual=usual_factor
    )
    final_punct: Literal["keep", "root"] = setting(
        "keep", "Keep the final punctuation where it is, or attach it to the root."
    )
    binarize: bool = setting(True, "Make every node a pair or a word.")
    tokenized: bool = setting(
        False, "Take the text as words separated by spaces, or the words of a `tree`."
    )
    url: str = setting(None, "URL of the server, for corenlp.", usual="http://localhost:9000")
    model: str | None = setting(
        None,
        "Model folder for self-strae, or for builtin one of your own.",
        short="-m",
        reads=True,
    )
    language: str | None = setting(
        None,
        "Language of all records, for ast.",
        complete="language",
        inferred="`language` of each record",
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        self.parser_plugin  # noqa: B018 a flag that the parser does not take is wrong usage

    @cached_property
    def parser_plugin(self) -> plugin.Parser:
        """Parser with the flags that are set. Errors: a flag that it does not take."""
        kind: type[plugin.Parser] = registry.load("parser", self.parser)
        given = given_values(self)
        flags = {name: given[name] for name in PARSER_FLAGS if given[name] not in (None, False)}
        for each in settings_of(kind):
            if each.name == "seed" or each.name == "url" and each.required:
                flags[each.name] = getattr(self, each.name)
        return registry.configure(kind, self.parser, flags)

    def write_tree(self, tree: Tree) -> str:
        """Return a tree as the record holds it."""
        from structkit.structure.trees.brackets import binarize, lift_final, write_tree

        if self.final_punct == "root":
            tree = lift_final(tree)
        if self.binarize:
            tree = binarize(tree, self.factor)
        return write_tree(tree)


def parse_trees(records: list[Record], settings: Settings) -> Iterator[Record | UserError]:
    """Add `tree` to every record: one binary tree, its leaves the words of the text in order.

    Several fields give `FIELD_tree` each. An empty text is an error, and so is one for which the
    parser finds no tree. All texts are parsed at once, for parsers that work on batches.

    >>> records = [{"id": "1", "text": "The cat sleeps."}]
    >>> [record["tree"] for record in parse_trees(records, Settings(parser="right-branching"))]
    ['(X (X The) (X (X cat) (X (X sleeps) (X .))))']
    """
    from structkit.structure.trees.parsers import all_trees

    of_records = [_unparsed_texts(record, settings) for record in records]
    texts = [text for some in of_records if isinstance(some, dict) for text in some.values()]
    trees = iter(all_trees(settings.parser_plugin, texts))
    for record, some in zip(records, of_records, strict=True):
        if isinstance(some, UserError):
            yield some
        else:
            yield _with_trees(record, {name: next(trees) for name in some}, settings)


def _unparsed_texts(record: Record, settings: Settings) -> dict[str, plugin.Unparsed] | UserError:
    """Return the text of each field, with what a parser may need to know about it."""
    from structkit.structure.trees.brackets import clean, escaped, read_tree

    texts, known = {}, settings.parser_plugin.fields
    try:
        usual = next((name for name in known if name in record), known[0])
        for name in settings.field or (usual,):
            text = text_field(record, name)
            if settings.tokenized and is_tree(name):
                text = " ".join(map(escaped, clean(read_tree(text)).words))
            if not text.strip():
                raise UserError(f'field "{name}" is empty: no words, no tree', "leave it out")
            key = f"{record['id']}\0{name}" if len(settings.field) > 1 else str(record["id"])
            sentence = record.get("text" if name == "tree" else name.removesuffix("_tree"))
            sentence = sentence if isinstance(sentence, str) and is_tree(name) else None
            language = settings.language or record.get("language")
            texts[name] = plugin.Unparsed(text, key, language, sentence)
    except UserError as error:
        return error
    return texts


def _with_trees(
    record: Record, trees: dict[str, Tree | UserError], settings: Settings
) -> Record | UserError:
    made: Record = {}
    for name, tree in trees.items():
        if isinstance(tree, UserError):
            where = f'field "{name}": ' if len(trees) > 1 else ""
            return UserError(f"{where}{tree.problem}", tree.remedy, status=tree.status)
        # a field that holds a tree is replaced
        target = name if is_tree(name) else f"{name}_tree"
        if len(trees) == 1:
            target = "tree"
        try:
            made[target] = settings.write_tree(tree)
        except UserError as error:
            return error
    return {**record, **made}


COMMAND = Command(
    parse_trees,
    Settings,
    also=(WorkerOptions,),
    batch=BATCH_RECORDS,
    reads="`text`; ast: `code`, `language`; dom: `html` or `content`; brackets: `tree`",
    adds="`tree`; for several fields: `FIELD_tree`",
    examples="""
structkit parse-trees sentences.jsonl -o trees.jsonl
structkit parse-trees --parser ast functions.jsonl | head -n 1
""",
)
