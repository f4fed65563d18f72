"""What SANTA's released code takes for entities, and how many of them it masks.

Reproduced: Python's names by the tokenizer, all of them; elsewhere the leaves whose kind is exactly
`identifier` (PHP: `name`, without reserved words), a string being one leaf; of these, occurrences
are sampled, 0.5 in Java, Go and Ruby, 0.1 in JavaScript, and every occurrence of a sampled name is
masked; in PHP names are drawn until half of all occurrences are covered; at most 99 names.
Products: proper nouns of the description, and words that are proper nouns in the title.

Not reproduced, because they are faults: all behind a comment is lost (Python: behind the first
`#`); sentinels are paired by position between two lists and shift; the text is made of tokens with
blanks between them; plain-text descriptions are dropped; a stale sentinel where nothing is masked.
Source: github.com/OpenMatch/SANTA, processing/Code and processing/Product.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from types import ModuleType

import tree_sitter

from structkit.errors import UserError
from structkit.structure.code.lexical import Lexical
from structkit.structure.code.spans import Span
from structkit.structure.code.treesitter import Grammar

SHARES = {"python": 1.0, "java": 0.5, "go": 0.5, "ruby": 0.5, "php": 0.5, "javascript": 0.1}

PHP_RESERVED = frozenset(
    "abstract and array as break callable case catch class clone const continue declare default "
    "die do echo else elseif empty enddeclare endfor endforeach endif endswitch endwhile eval exit "
    "extends final finally for foreach function global goto if implements include include_once "
    "instanceof insteadof interface isset list namespace new null or parent print private "
    "protected public require require_once return self static switch this throw trait true try "
    "unset use var while xor __CLASS__ __DIR__ __FILE__ __FUNCTION__ __LINE__ __METHOD__ "
    "__NAMESPACE__ __TRAIT__".split()
)


def names(language: str, plugin: ModuleType, text: str, *, profile: str) -> list[Span]:
    """Every occurrence of what the released code takes for a name."""
    if language == "python":
        spans: list[Span] = plugin.entities(text)
        return spans
    found = _grammar(plugin.GRAMMAR.parser, plugin.GRAMMAR.lexical).leaves(text)
    if language == "php":
        return [(start, end) for start, end in found if text[start:end] not in PHP_RESERVED]
    return found


@cache
def _grammar(parser: tree_sitter.Parser, lexical: Lexical | None) -> Grammar:
    language = parser.language
    assert language is not None
    kinds = [(n, language.node_kind_for_id(n) or "") for n in range(language.node_kind_count)]
    return Grammar(
        parser,
        take=frozenset(number for number, kind in kinds if kind in ("identifier", "name")),
        skip=frozenset(number for number, kind in kinds if "string" in kind),
        lexical=lexical,
    )


def draw(language: str, found: Sequence[str], rng: random.Random) -> set[str] | None:
    """The names to mask, given every occurrence; none where all are.

    >>> draw("javascript", ["a", "b", "a"], random.Random(0)) in ({"a"}, {"b"})
    True
    """
    share = SHARES.get(language, 1.0)
    if share == 1.0 or not found:
        return None
    if language == "php":
        return _until_covered(found, int(share * len(found)), rng)
    return set(rng.sample(found, max(1, int(share * (len(found) - 1)))))


def _until_covered(found: Sequence[str], wanted: int, rng: random.Random) -> set[str]:
    counts = Counter(found)
    drawn: set[str] = set()
    for name in rng.sample(found, len(found)):
        if wanted <= 0:
            break
        if name not in drawn:
            drawn.add(name)
            wanted -= counts[name]
    return drawn


def check(profile: str, strategy: str) -> None:
    """Raise if the released code has no such thing."""
    if profile == "official" and strategy == "span":
        raise UserError(
            "--profile official masks entities, not spans", "leave --strategy span out", status=2
        )
