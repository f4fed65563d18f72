"""A bundled constituency parser: no download, no Java; or your own.

In a clone, `python -m experiments.span_parser` made its weights, and makes a folder for `--model`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from structkit import plugin
from structkit.errors import flag, wrong_usage
from structkit.learning.metadata import has_metadata, read_metadata
from structkit.settings import settings_class
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of

from ._span_parser import SpanParser

METHOD = "span-parser"
BUNDLED_FOLDER = Path(__file__).parent / "weights"


@settings_class
class Parser(plugin.Parser):
    """Constituents by a span parser: the bundled one, or the one in `model`."""

    model: str | None = None
    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree]:
        """Yield the tree of each text."""
        parser = open_parser(Path(self.model) if self.model else BUNDLED_FOLDER)
        return parser.trees([words_of(each.text, tokenized=self.tokenized) for each in texts])


@lru_cache(maxsize=2)
def open_parser(folder: Path) -> SpanParser:
    """Open the parser in a model folder. Errors: `UserError` if it holds no span parser."""
    metadata = read_metadata(folder) if has_metadata(folder) else {}
    if metadata.get("method") != METHOD:
        raise wrong_usage(
            f"{flag('model', str(folder))} is not a model of a parser",
            "name one that experiments.span_parser wrote",
        )
    return SpanParser.load(folder)
