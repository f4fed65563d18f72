"""Phrases by rules over tags: NLTK's cascade of chunkers, for English, without any data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nltk import RegexpParser
from nltk import Tree as Chunk

from structkit import plugin
from structkit.learning.span_parser.decoding import pieces
from structkit.structure.english import TAGS
from structkit.structure.trees.tree import Tree, from_spans
from structkit.structure.trees.words import words_of

SUFFIXES = (
    (r"[^\w]+", "."),
    (r"[-+$€£]?\d.*", "CD"),
    (r".{3,}ly", "RB"),
    (r".{2,}(able|ible|ful|less|ous|ive|ical|ish)", "JJ"),
    (r".{3,}ing", "VBG"),
    (r".{2,}[^e]ed", "VBD"),
    (r".{2,}[^su]s", "NNS"),
)
TAGGED = [(re.compile(pattern), tag) for pattern, tag in SUFFIXES]
MARKS = {",": ",", ";": ":", ":": ":", "--": ":", "(": "-LRB-", ")": "-RRB-"}

# from small phrases to large ones; from VP on, each rule includes what follows its head
RULES = r"""
NP: {<PRP|EX>}
    {<DT|PRP\$|CD>*<RB>?<JJ|VBN|CD>*<NN.*|CD|VBG>+}
    {<DT|WDT>}
NP: {<NP><POS><JJ|CD>*<NN.*>*}
    {<NP><CC><NP>}
PP: {<IN|TO><NP>}
NP: {<NP><PP>}
PP: {<IN|TO><NP>}
VP: {<TO>?<MD>?<RB>*<VB.*>+<RB>*<NP>?<PP|SBAR|VP|S>*}
S: {<NP><RB>*<VP>}
SBAR: {<IN|WDT|WP|WRB><S|VP>}
"""
ROUNDS = 3
CHUNKER = RegexpParser(RULES, loop=ROUNDS)


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """Phrases by the rules.

    >>> from structkit.structure.trees.brackets import write
    >>> trees = Parser().trees([plugin.Unparsed("The old man has a cat.")])
    >>> [write(tree) for tree in trees]
    ['(S (S (NP (X The) (X old) (X man)) (VP (X has) (NP (X a) (X cat)))) (X .))']
    """

    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree]:
        """The tree of each text."""
        for each in texts:
            words = words_of(each.text, tokenized=self.tokenized)
            spans: dict[tuple[int, int], str] = {}
            for start, end in pieces(words):  # the time of the rules grows faster than the text
                spans |= phrases(words[start:end], start)
            yield from_spans(words, list(spans), list(spans.values()))


def phrases(words: Sequence[str], at: int = 0) -> dict[tuple[int, int], str]:
    """Where the phrases of a sentence are, with their labels; its first word is the `at`-th."""
    labels: dict[tuple[int, int], str] = {}
    top = CHUNKER.parse(Chunk("S", list(zip(words, tags(words), strict=True))))
    open_: list[tuple[str, int]] = []
    stack: list[object] = [top]
    while stack:
        node = stack.pop()
        if isinstance(node, Chunk):
            open_.append((node.label(), at))
            stack += [None, *reversed(node)]
        elif node is None:
            label, start = open_.pop()
            if at - start > 1:
                labels[start, at] = label
        else:
            at += 1
    return labels


def tags(words: Sequence[str]) -> list[str]:
    """A tag for each word, by closed classes, suffixes and capitals.

    >>> tags(["The", "old", "cables", "of", "Rome", "broke"])
    ['DT', 'JJ', 'NNS', 'IN', 'NNP', 'NN']
    """
    chosen: list[str] = []
    for place, word in enumerate(words):
        lower = word.lower()
        tag = MARKS.get(word) or TAGS.get(lower)
        if tag is None:
            tag = next((tag for rule, tag in TAGGED if rule.fullmatch(lower)), "NN")
            if word[0].isupper() and (place or tag == "NN"):
                tag = "NNP"
            elif chosen[-1:] in (["TO"], ["MD"]) and tag == "NN":
                tag = "VB"
            elif chosen[-1:] == ["PRP"] and tag in ("NN", "NNS"):
                tag = "VBP"
        chosen.append(tag)
    return chosen
