"""Markdown and plain text as HTML."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from structkit.errors import UserError
from structkit.structure.html.markup import escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token


@cache
def _parser() -> MarkdownIt:
    """CommonMark with GitHub's tables and strikethrough.

    Blocks may be nested without limit, as text beyond a limit would be dropped; inline elements
    have one.
    """
    from markdown_it import MarkdownIt  # 20 ms that HTML alone need not pay

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    inline_limit = parser.options["maxNesting"]

    def set_limit(limit: int) -> Callable[[StateCore], None]:
        return lambda state: state.md.options.update(maxNesting=limit)

    parser.core.ruler.before("block", "any_depth", set_limit(sys.maxsize))
    parser.core.ruler.before("inline", "some_depth", set_limit(inline_limit))
    return parser


def from_markdown(text: str) -> str:
    r"""The HTML of a text in Markdown; HTML in it stays.

    >>> from_markdown("# Tea & *milk*")
    '<h1>Tea &amp; <em>milk</em></h1>\n'
    """
    parser = _parser()
    return str(parser.renderer.render(tokens(text), parser.options, {}))


def tokens(text: str) -> list[Token]:
    r"""The blocks of a text in Markdown, each with its lines.

    >>> [(token.type, token.map) for token in tokens("a\n\n# b") if token.map][0]
    ('paragraph_open', [0, 1])
    """
    try:
        return _parser().parse(text)
    except RecursionError:
        raise UserError(
            "the Markdown is nested too deeply (about 400 quotes or lists)",
            "convert it to HTML, which has no limit",
        ) from None


def from_text(text: str) -> str:
    r"""Paragraphs of plain text: the lines between blank ones.

    >>> from_text("1 < 2\n \nb")
    '<p>1 &lt; 2</p><p>b</p>'
    """
    blocks = groupby(text.splitlines(), key=lambda line: bool(line.strip()))
    return "".join(f"<p>{escape(chr(10).join(lines))}</p>" for filled, lines in blocks if filled)


CONVERTERS: dict[str, Callable[[str], str]] = {
    "html": str,
    "markdown": from_markdown,
    "text": from_text,
}
