"""JavaScript: names of variables, functions, properties, modules, classes and labels.

A class is a plain name, as in Python, so `--types` changes nothing. `#x` is one name, with its `#`.
`undefined` is a literal. Tags and attributes of JSX are names. Bare class methods are read as they
would be inside a class.
"""

import tree_sitter_javascript

from structkit.structure.code import CodeLanguage, keywords_of

from . import _ecmascript

# not here: words that are keywords in some places only (async, get, of, static …)
KEYWORDS = keywords_of(
    tree_sitter_javascript.language(), without="as async from get meta of set static target using"
).union("enum false null super this true".split())
# `name(` at the start that is not a call: the parser checks the rest
MEMBER = (
    r"\s*(?!(?:if|for|while|switch|catch|with|function|return|async\s+function)\b)"
    r"(?:(?:static|async|get|set)\s+|\*\s*)*[#\w$]+\s*\("
)


class Language(CodeLanguage):
    """Every name; types have no names of their own.

    >>> text = "get x() { return {a, b: this.#c, [`${d}`]: /e/}; }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['x', 'a', 'b', '#c']
    """

    aliases = ("js", "jsx", "mjs", "ecmascript")
    extensions = ("js", "mjs", "cjs", "jsx")
    interpreters = ("node", "nodejs", "deno", "bun")
    grammar = _ecmascript.grammar(
        tree_sitter_javascript.language(),
        skip="string template_string regex comment html_comment",
        reserved=(*KEYWORDS, "undefined"),
        member=MEMBER,
    )
    outline = _ecmascript.outline(
        grammar,
        functions=_ecmascript.functions(grammar, "field_definition"),
        scopes=_ecmascript.CLASSES,
        names={**_ecmascript.FIELDS, "field_definition": "property"},
        keywords=KEYWORDS,
    )
