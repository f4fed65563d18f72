"""What SANTA's released code takes for entities, and how many it masks.

Reproduced: Python's names by the tokenizer, all of them; elsewhere the leaves whose kind is exactly
`identifier` (PHP: `name`, without reserved words), a string being one leaf; of these, occurrences
are sampled, 0.5 in Java, Go and Ruby, 0.1 in JavaScript, and every occurrence of a sampled name is
masked; in PHP names are drawn until half of all occurrences are covered; at most 99 names.
Products: proper nouns of the description, and words that are proper nouns in the title.

Not reproduced, because they are bugs: everything after a comment is lost (Python: after the first
`#`); sentinels are paired by position between two lists and shift; the text is made of tokens with
spaces between them; plain-text descriptions are dropped; a stale sentinel where nothing is masked.
Source: github.com/OpenMatch/SANTA, processing/Code and processing/Product.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import tree_sitter

from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.structure.code.languages import CodeLanguage
from structkit.structure.code.lexical import Lexical
from structkit.structure.code.spans import Span
from structkit.structure.code.treesitter import Grammar


@dataclass(frozen=True)
class ReleasedLanguage(CodeLanguage):
    """A language that the released code masks: with `--profile official`, as it does."""

    share: ClassVar[float]
    """The share of all occurrences to sample; their names are masked."""

    profile: str = "paper"

    def entities(self, text: str, record: Record) -> list[Span]:
        """Every name of the text."""
        return self.released_names(text) if self.profile == "official" else self.names(text)

    def released_names(self, text: str) -> list[Span]:
        """Every occurrence of what the released code takes for a name."""
        return _identifiers(self.grammar.parser, self.grammar.lexical).leaves(text)

    def drawn(self, names: Sequence[str], rng: random.Random) -> set[str] | None:
        """The names of a sample of the occurrences."""
        if self.share == 1.0 or not names:
            return None
        return set(rng.sample(names, max(1, int(self.share * (len(names) - 1)))))


@cache
def _identifiers(parser: tree_sitter.Parser, lexical: Lexical | None) -> Grammar:
    """The grammar that takes the leaves whose kind is exactly `identifier` or `name`."""
    language = parser.language
    assert language is not None
    kinds = [(n, language.node_kind_for_id(n) or "") for n in range(language.node_kind_count)]
    return Grammar(
        parser,
        take=frozenset(number for number, kind in kinds if kind in ("identifier", "name")),
        skip=frozenset(number for number, kind in kinds if "string" in kind),
        lexical=lexical,
    )


def check(profile: str, strategy: str) -> None:
    """Raise if the profile does not have the strategy."""
    if profile == "official" and strategy == "span":
        raise UserError(
            "--profile official masks entities, not spans", "leave --strategy span out", status=2
        )
