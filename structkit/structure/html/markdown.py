"""Markdown and plain text as HTML; the front matter of Markdown."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from structkit.errors import UserError
from structkit.structure.html.markup import escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

# at the very top, between two lines: YAML (Jekyll, Pandoc, GitHub …), or TOML (Hugo, Zola)
YAML_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)
TOML_FRONT = re.compile(r"\A\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.S | re.M)
# how lines that are no YAML, or too many, look like front matter
YAML_KEY = re.compile(r"[\w-]+[ \t]*:")
TITLE_LINE = re.compile(r"^title[ \t]*[:=](.*)", re.M)
YAML_NULLS = ("~", "null")
# at the end of a heading, as Pandoc, Hugo and kramdown have them: `{#id .class key=value}`
_ATTRIBUTE = r"(?:[#.][\w:.-]+|[\w-]+=[^\s{}]+|-)"
HEADING_ATTRIBUTES = re.compile(rf"\{{:?\s*({_ATTRIBUTE}(?:\s+{_ATTRIBUTE})*)\s*\}}\Z")
MAX_FRONT_CHARACTERS = 20_000  # deeply nested YAML and TOML take quadratic time


@dataclass(frozen=True)
class FrontMatter:
    """Front matter of a document: its title, empty if it has none; its end; its lines."""

    title: str
    end: int
    lines: int

    @classmethod
    def of(cls, text: str) -> FrontMatter | None:
        r"""Return the front matter of a text in Markdown; other text between lines is none.

        >>> FrontMatter.of("---\ntitle: 'Tea: hot'  # draft\n---\nText")
        FrontMatter(title='Tea: hot', end=35, lines=3)
        """
        for fence, read in ((YAML_FRONT, _yaml_title), (TOML_FRONT, _toml_title)):
            if (match := fence.match(text)) and (title := read(match[1])) is not None:
                return cls(" ".join(title.split()), match.end(), match[0].count("\n"))
        return None


def _yaml_title(text: str) -> str | None:
    """Return the title in YAML; None if the text is no mapping."""
    import yaml  # 15 ms, and front matter is rare

    try:
        if len(text) > MAX_FRONT_CHARACTERS:
            raise yaml.YAMLError
        front = yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except (yaml.YAMLError, RecursionError):
        return _title_line(text) if YAML_KEY.match(text) else None
    if front and not isinstance(front, dict):
        return None
    title = (front or {}).get("title")
    return title if isinstance(title, str) and title not in YAML_NULLS else ""


def _title_line(text: str) -> str:
    """Return the title in lines that cannot be parsed, without the quotes around it."""
    line = TITLE_LINE.search(text)
    title = line[1].strip(" \t\r") if line else ""
    title = title[1:] if title.startswith(("'", '"')) else title
    return title[:-1] if title.endswith(("'", '"')) else title


def _toml_title(text: str) -> str:
    """Return the title in TOML."""
    if len(text) > MAX_FRONT_CHARACTERS:
        return _title_line(text)
    try:
        title = tomllib.loads(text).get("title", "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return ""
    return "" if isinstance(title, dict | list) else str(title)


@cache
def _parser() -> MarkdownIt:
    """Return a parser of CommonMark with GitHub's tables and strikethrough.

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
    parser.core.ruler.after("inline", "attributes", _take_attributes)
    return parser


def _take_attributes(state: StateCore) -> None:
    """Take the attributes of headings out of their text; an id becomes theirs."""
    for opening, inline in pairwise(state.tokens):
        last = inline.children[-1] if opening.type == "heading_open" and inline.children else None
        if last and last.type == "text" and (found := HEADING_ATTRIBUTES.search(last.content)):
            last.content = last.content[: found.start()].rstrip()
            for each in found[1].split():
                if each.startswith("#"):
                    opening.attrSet("id", each[1:])


def from_markdown(text: str) -> str:
    r"""Return the HTML of a text in Markdown; HTML in it stays.

    >>> from_markdown("# Tea & *milk* {#tea}")
    '<h1 id="tea">Tea &amp; <em>milk</em></h1>\n'
    """
    return render_markdown(markdown_tokens(text))


def render_markdown(markdown_tokens: Sequence[Token]) -> str:
    """Return the HTML of blocks of Markdown."""
    parser = _parser()
    return str(parser.renderer.render(markdown_tokens, parser.options, {}))


def markdown_tokens(text: str) -> list[Token]:
    r"""Return the blocks of a text in Markdown below its front matter, each with its lines.

    >>> [(token.type, token.map) for token in markdown_tokens("a\n\n# b") if token.map][0]
    ('paragraph_open', [0, 1])
    """
    if front := FrontMatter.of(text):  # so that line numbers stay the same
        text = "\n" * front.lines + text[front.end :]
    try:
        return _parser().parse(text)
    except RecursionError:
        raise UserError(
            "the Markdown is nested too deeply (about 400 quotes or lists)",
            "convert it to HTML, which has no limit",
        ) from None


def from_text(text: str) -> str:
    r"""Return paragraphs of plain text: the lines between blank ones.

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
