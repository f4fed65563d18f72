"""Tags of HTML: which separate words, which hide their text, which are structure.

Tests: tests/structure/html/test_html_laws.py.
"""

from collections.abc import Mapping

from structkit.errors import flag, wrong_usage

# tags that a browser starts on a new line or cell (HTML standard, section 15.3), and those that it
# draws as a box within a line: words at the two sides are not one word
SEPARATING_ELEMENTS = frozenset(
    """
        address article aside audio blockquote body br button canvas caption center col colgroup
        dd details dialog dir div dl dt embed fieldset figcaption figure footer foreignobject form
        frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input isindex
        legend li listing main map marquee menu meter mtable mtd mtr nav object ol optgroup option
        p plaintext pre progress search section select summary svg table tbody td text textarea
        tfoot th thead title tr ul video xmp
        """.split()
)

# elements that no browser with scripts shows as text
SILENT_ELEMENTS = frozenset(
    """
        annotation annotation-xml audio canvas datalist defs desc iframe metadata noembed noframes
        noscript script style symbol template video
        """.split()
)

VOID_ELEMENTS = frozenset(
    """
        area base basefont bgsound br col embed frame hr img input isindex keygen link meta param
        source track wbr
        """.split()
)

# elements that may end without an end tag, or hold the whole page until a script has run
UNBOUNDED_ELEMENTS = frozenset("body dd dt html li optgroup option p td th tr".split())

# elements that a start tag ends, if it is the innermost open one (HTML standard, section
# 13.2.6.4.7): libxml2 knows a part of it
_PARAGRAPH_ENDS = """
    address article aside blockquote center details dialog dir div dl fieldset figcaption figure
    footer header hgroup main menu nav ol p search section summary ul
    """
HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
ENDED_BY_START = {
    **dict.fromkeys(_PARAGRAPH_ENDS.split(), frozenset(("p",))),
    **dict.fromkeys(HEADINGS, HEADINGS | {"p"}),
    **{name: frozenset((name,)) for name in ("button", "dd", "dt")},
}

# their content is no markup, or every document has them anyway
NEVER_KEPT = (
    SILENT_ELEMENTS | VOID_ELEMENTS | frozenset("body frameset head html plaintext svg xmp".split())
)

TABLE_TAGS = "caption table tbody td tfoot th thead tr"
LIST_TAGS = "dd dl dt li ol ul"
SECTION_TAGS = "article aside footer header hgroup main nav section"
GROUP_TAGS = "address blockquote details div figcaption figure p pre summary title"
STRUCTURE = tuple(
    sorted([*HEADINGS, *f"{TABLE_TAGS} {LIST_TAGS} {SECTION_TAGS} {GROUP_TAGS}".split()])
)
# tags that a tokenizer may keep whole
TAG_TOKENS = tuple(tag for name in STRUCTURE for tag in (f"<{name}>", f"</{name}>"))

PHRASE_TAGS = """
    a abbr b big cite code data del dfn em font i ins kbd mark q s samp small span strike strong
    sub sup time tt u var
    """.split()
FORM_TAGS = (
    "button fieldset form label legend meter optgroup option output progress select textarea"
)
OTHER_TAGS = "bdi bdo center dialog dir map math menu object rb rp rt rtc ruby search"
TAG_SETS = {
    "structure": STRUCTURE,
    "phrases": tuple(PHRASE_TAGS),
    "all": tuple(sorted({*STRUCTURE, *PHRASE_TAGS, *FORM_TAGS.split(), *OTHER_TAGS.split()})),
}


def is_aria_hidden(name: str, attributes: Mapping[str, str], before: str) -> bool:
    """Return whether an element within a line is hidden from those who hear the page.

    `before` is the tag before it: `span` if a formula of KaTeX has no MathML.
    """
    if attributes.get("aria-hidden") != "true" or name in SEPARATING_ELEMENTS | UNBOUNDED_ELEMENTS:
        return False
    return before != "span" or "katex-html" not in attributes.get("class", "")


def tag_names(names: str) -> tuple[str, ...]:
    """Return the tags in a list, which may also name sets: `structure`, `phrases`, `all`.

    >>> tag_names("h1, P")
    ('h1', 'p')
    >>> "strong" in tag_names("structure phrases")
    True
    """
    tags: set[str] = set()
    for name in names.lower().replace(",", " ").split():
        tags.update(TAG_SETS.get(name, (name,)))
    for name in sorted(tags):
        if name in NEVER_KEPT or not name[0].isalpha() or not name.replace("-", "").isalnum():
            raise wrong_usage(
                f"{flag('tags')}: {name!r} is not a tag that can be kept",
                f"name a tag that encloses text, or a set: {', '.join(TAG_SETS)}",
            )
    if not tags:
        raise wrong_usage(f"{flag('tags')} names no tag", f"for example {', '.join(TAG_SETS)}")
    return tuple(sorted(tags))
