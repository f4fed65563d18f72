"""What SANTA's released code masks: github.com/OpenMatch/SANTA, processing/Code and Product.

Reproduced: Python's names by the tokenizer, all of them; elsewhere the leaves whose kind is exactly
`identifier` (PHP: `name`, without reserved words), a string being one leaf; of these, occurrences
are sampled, 0.5 in Java, Go and Ruby, 0.1 in JavaScript, and every occurrence of a sampled name is
masked; in PHP names are drawn until half of all occurrences are covered; at most 99 names.
Products: proper nouns of the description, and words that are proper nouns in the title.

Not reproduced, because they are bugs: everything after a comment is lost (Python: after the first
`#`); sentinels are paired by position between two lists and shift; the text is made of tokens with
spaces between them; plain-text descriptions are dropped; a stale sentinel where nothing is masked.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from structkit import plugin
from structkit.errors import flag, wrong_usage
from structkit.records.jsonl import Record
from structkit.registry import canonical
from structkit.structure import Span
from structkit.structure.code.grammar import Grammar
from structkit.structure.code.languages import CodeLanguage

from ...languages import php, product

SAMPLED_SHARES = {"go": 0.5, "java": 0.5, "javascript": 0.1, "php": 0.5, "ruby": 0.5}
PROPER_NOUNS = frozenset(("NNP", "NNPS"))
PHP_KEYWORDS = frozenset(
    word.upper() if word.startswith("__") else word for word in php.RESERVED_WORDS
).difference("__HALT_COMPILER __PROPERTY__ false fn match readonly yield".split())


class Profile(plugin.Profile):
    """The six languages of code and the products of the released code."""

    mask_ratio = None

    def language(
        self, name: str, *, types: bool = False, tagger: str | None = None
    ) -> plugin.Language:
        """Return the language of the released code. Errors: it has none such."""
        language = super().language(name, types=types, tagger=tagger)
        name = canonical("language", name)
        if name == "product":
            return Products(tagger=tagger or "nltk")
        if name == "python":
            return language
        if name not in SAMPLED_SHARES:
            raise wrong_usage(f"the language {name} takes no {flag('profile')}", "leave it out")
        assert isinstance(language, CodeLanguage)
        kind = PHP if name == "php" else SampledCode
        return kind(language.grammar, SAMPLED_SHARES[name])


@dataclass(frozen=True)
class SampledCode(plugin.Language):
    """Code of which some names are masked: those of a sample of the occurrences."""

    grammar: Grammar
    share: float

    def entities(self, text: str, record: Record) -> list[Span]:
        """Return every occurrence of a name."""
        return _identifiers(self.grammar).leaves(text)

    def draw(self, names: Sequence[str], rng: Random) -> set[str] | None:
        """Return the names of a sample of the occurrences."""
        return set(rng.sample(names, max(1, int(self.share * (len(names) - 1)))))


class PHP(SampledCode):
    """PHP, where names are drawn until they cover the share of all occurrences."""

    def entities(self, text: str, record: Record) -> list[Span]:
        """Return every name that the released code does not mistake for a keyword."""
        spans = super().entities(text, record)
        return [(start, end) for start, end in spans if text[start:end] not in PHP_KEYWORDS]

    def draw(self, names: Sequence[str], rng: Random) -> set[str] | None:
        """Draw names in random order, until they cover the share of all occurrences."""
        counts = Counter(names)
        left = int(self.share * len(names))
        drawn: set[str] = set()
        for name in rng.sample(names, len(names)):
            if left <= 0:
                break
            if name not in drawn:
                drawn.add(name)
                left -= counts[name]
        return drawn


@cache
def _identifiers(grammar: Grammar) -> Grammar:
    """Return the grammar that takes the leaves whose kind is exactly `identifier` or `name`."""
    return Grammar(
        grammar.pointer,
        take=grammar.kinds.keys() & {"identifier", "name"},
        skip=[kind for kind in grammar.kinds if "string" in kind],
        opaque=grammar.opaque,
    )


class Products(product.Language):
    """Products: proper nouns of the text, and words that are proper nouns in the title."""

    def chosen(
        self, text: str, words: Sequence[Span], tags: Sequence[str], title: str
    ) -> list[Span]:
        """Return the words that are proper nouns in the text, or are proper nouns in the title."""
        in_title = [title[start:end] for start, end in product.tokens(title)]
        tagged = zip(in_title, product.tag(in_title, self.tagger), strict=True)
        proper = {word.lower() for word, tag in tagged if tag in PROPER_NOUNS}
        return [
            (start, end)
            for (start, end), tag in zip(words, tags, strict=True)
            if tag in PROPER_NOUNS or text[start:end].lower() in proper
        ]
