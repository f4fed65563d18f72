"""The trees of plain texts, for tests of parsers."""

from structkit.plugin import Unparsed
from structkit.registry import load
from structkit.structure.trees.parsers import all_trees


def parsed_texts(name, texts, languages=(), **flags):
    """The trees of texts by a parser, or the error that stands in the place of one."""
    known = [*languages, *[None] * (len(texts) - len(languages))]
    return all_trees(
        load("parser", name)(**flags),
        [Unparsed(text, str(at), known[at]) for at, text in enumerate(texts)],
    )
