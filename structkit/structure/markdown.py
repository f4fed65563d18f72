"""Markdown and plain text as HTML."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt

from structkit.structure.sources import escape


@cache
def _parser() -> MarkdownIt:
    """CommonMark with GitHub's tables and struck-out text."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def from_markdown(text: str) -> str:
    r"""The HTML of a text in Markdown; HTML in it stays.

    >>> from_markdown("# Tea & *milk*")
    '<h1>Tea &amp; <em>milk</em></h1>\n'
    """
    return str(_parser().render(text))


def from_text(text: str) -> str:
    r"""Paragraphs of plain text: what stands between empty lines.

    >>> from_text("1 < 2\n \nb")
    '<p>1 &lt; 2</p><p>b</p>'
    """
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return "".join(f"<p>{escape(chr(10).join(lines))}</p>" for lines in paragraphs if lines)


def _as_it_is(text: str) -> str:
    return text


CONVERTERS: dict[str, Callable[[str], str]] = {
    "html": _as_it_is,
    "markdown": from_markdown,
    "text": from_text,
}
