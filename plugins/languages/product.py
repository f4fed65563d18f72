"""Products: nouns of the description that also occur in the title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from nltk.tag import DefaultTagger, RegexpTagger, SequentialBackoffTagger, UnigramTagger
from nltk.tag.perceptron import PerceptronTagger
from nltk.tokenize import NLTKWordTokenizer

from structkit import plugin
from structkit.errors import UserError, flag, unknown, wrong_usage
from structkit.records.jsonl import Record, text_field
from structkit.settings import settings_class
from structkit.structure import Span
from structkit.structure.html.markup import visible_text
from structkit.structure.trees.brackets import unescaped

from ._english import TAGS

NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS"))


@settings_class
class Language(plugin.Language):
    """Nouns and proper nouns of the text that are also words of the title, every occurrence.

    Words are compared case-folded; one that is a noun somewhere in the text counts everywhere. HTML
    in the text stays untouched. `tags` of the record, a list of [word, tag] for the words of the
    text, replace the `tagger`: `rules` or `nltk`. Source: SANTA, appendix A.3.

    >>> record = {"title": "USB Cable"}
    >>> Language().entities("A <b>cable</b> with usb plug", record)
    [(5, 10), (20, 23)]
    """

    fields = ("description",)
    aliases = ("products",)
    implied_by = ("title", "description")

    tagger: str = "rules"

    def entities(self, text: str, record: Record) -> list[Span]:
        """Return every occurrence of a noun that also occurs in the title."""
        title = text_field(
            record, "title", "entities of a product are nouns that also occur in its title"
        )
        words = tokens(text)
        if record.get("tags") is None:
            tags = tag([text[start:end] for start, end in words], self.tagger)
        else:
            words, tags = supplied(record["tags"], text)
        return self.chosen(text, words, tags, title)

    def chosen(
        self, text: str, words: Sequence[Span], tags: Sequence[str], title: str
    ) -> list[Span]:
        """Return the words that are nouns in the text and occur in the title."""
        names = {title[start:end].casefold() for start, end in tokens(title)}
        nouns = {
            text[start:end] for (start, end), tag in zip(words, tags, strict=True) if tag in NOUNS
        }
        nouns = {noun for noun in nouns if noun.casefold() in names and any(map(str.isalpha, noun))}
        return [(start, end) for start, end in words if text[start:end] in nouns]


TOKENIZER = NLTKWordTokenizer()
ABBREVIATION = re.compile(r"(?:\w\.)+")
OPENING_QUOTE = re.compile(r'(?<![^\s([{<])"')


def tokens(text: str) -> list[Span]:
    """Return the words and signs of a text by NLTK's word tokenizer, without its markup.

    The tokenizer treats a text as one sentence: a period after a word is cut off here.

    >>> [text[start:end] for text in ["<b>It's</b> 5.5 in. Buy!"] for start, end in tokens(text)]
    ['It', "'s", '5.5', 'in', '.', 'Buy', '!']
    """
    plain = OPENING_QUOTE.sub("“", visible_text(text)).translate(CURLY_QUOTES)
    plain = plain.replace("``", "““").replace("''", "””")
    spans: list[Span] = []
    for start, end in TOKENIZER.span_tokenize(plain):
        token = plain[start:end]
        if token[-1] == "." and token.strip(".") and not ABBREVIATION.fullmatch(token):
            word = len(token.rstrip("."))
            spans += [(start, start + word), (start + word, end)]
        else:
            spans.append((start, end))
    return spans


# span_tokenize loses count of nested straight quotes; it keeps every one of these
CURLY_QUOTES = str.maketrans({'"': "”", "’": "'"})


def tag(words: Sequence[str], tagger: str) -> list[str]:
    """Return the Penn Treebank tag of each word.

    >>> tag(["The", "cable", "is", "washable"], "rules")
    ['DT', 'NN', 'VBZ', 'JJ']
    """
    if tagger == "nltk":
        return [
            tag for _, tag in _perceptron().tag([TREEBANK_QUOTES.get(word, word) for word in words])
        ]
    if tagger != "rules":
        raise unknown("tagger", tagger, ("nltk", "rules"))
    tags = [tag for _, tag in RULE_TAGGER.tag([word.lower() for word in words])]
    starts = [True, *(tag == "." for tag in tags)]
    return [
        "NNP" if word[0].isupper() and tag in (("NN",) if first else NAME_TAGS) else tag
        for word, tag, first in zip(words, tags, starts[:-1], strict=True)
    ]


# tags that a capital letter inside a sentence turns into a name
NAME_TAGS = ("NN", "NNS", "JJ", "VB", "VBN", "VBG")
TREEBANK_QUOTES = {"“": "``", "”": "''", '"': "''", "’": "'"}
SUFFIX_TAGGER = RegexpTagger(
    [
        (r"^[^\w]+$", "."),
        (r"^[-+$€£]?\d[\d.,:/x%-]*$", "CD"),
        (r"^.{3,}ly$", "RB"),
        (r"^.{2,}(able|ible|ful|less|ous|proof|free|wide)$", "JJ"),
        (r"^(.{3,}(ive|al|ic|iest)|.[^-]*-.+ed)$", "JJ"),
        (r"^.{3,}ing$", "VBG"),
        (r"^.{2,}[^e]ed$", "VBN"),
        (r"^.{2,}(ss|us|is)$", "NN"),
        (r"^.{2,}s$", "NNS"),
    ],
    backoff=DefaultTagger("NN"),
)


class AfterTagger(SequentialBackoffTagger):  # type: ignore[misc]
    """A word after `to`, a modal verb or a pronoun is a verb: to buy, can match, you wish."""

    def choose_tag(self, tokens: list[str], index: int, history: list[str]) -> str | None:
        verb = tokens[index].isalpha() and not tokens[index].endswith("s")
        return "VB" if verb and history[-1:] in (["TO"], ["MD"], ["PRP"]) else None


RULE_TAGGER = UnigramTagger(model=TAGS, backoff=AfterTagger(backoff=SUFFIX_TAGGER))


@cache
def _perceptron() -> Any:
    try:
        return PerceptronTagger()
    except LookupError:
        raise wrong_usage(
            f"the data of {flag('tagger', 'nltk')} is not installed",
            "run `python -m nltk.downloader averaged_perceptron_tagger_eng` (NLTK_DATA: another "
            f"folder), or use {flag('tagger', 'rules')}",
        ) from None


def supplied(tags: Any, text: str) -> tuple[list[Span], list[str]]:
    """Return the places of the user's tagged words in the text, and their tags.

    >>> supplied([["usb", "NN"], ["plugs", "NNS"]], "<b>usb</b> plugs")
    ([(3, 6), (11, 16)], ['NN', 'NNS'])
    """
    plain = visible_text(text)
    spans: list[Span] = []
    at = 0
    for number, pair in enumerate(tags if isinstance(tags, list) else [None]):
        match pair:
            case [str(word), str()]:
                start, length = _find(plain, word, at)
            case _:
                raise UserError(
                    'field "tags" is not a list of [word, tag]',
                    'write "tags": [["gift", "NN"], …], or rename the field',
                )
        if start < 0 or not length:
            raise UserError(
                f'field "tags": word {number + 1}, {word!r}, is not in the rest of the text',
                "tag the words of the field that is masked, in their order",
            )
        at = start + length
        spans.append((start, at))
    return spans, [tag for _, tag in tags]


def _find(text: str, word: str, at: int) -> Span:
    """Return the place and length of a word; quotes and brackets also in Treebank form."""
    forms = [word, '"', "“", "”"] if word in ("``", "''") else [unescaped(word)]
    places = [(text.find(form, at), len(form)) for form in forms]
    return min((each for each in places if each[0] >= 0), default=(-1, 0))
