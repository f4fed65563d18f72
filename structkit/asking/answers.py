"""Answers to a question: passages ranked by words and, with a model, by meaning; their best places.

A place is a line or a sentence, and the symbol around it. It is chosen by the words of the question
with their stems, by their rarity in the folder; names that are defined there; and, where no line
has a word, the meaning.

Tests: tests/commands/test_ask.py, tests/asking/test_places.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from structkit.asking.folder import Folder
from structkit.collecting.ignoring import file_filter
from structkit.embeddings.vectors import Floats, unit
from structkit.errors import flag
from structkit.progress import say
from structkit.ranking.reranking import Query, Ranking, rerank
from structkit.records.jsonl import Record
from structkit.searching import DEPTH, MEANING, OF_PAGES, RELATED, TRUSTED, Kind
from structkit.searching.bm25 import page_scores
from structkit.searching.fusion import deepened, hybrid
from structkit.searching.hits import Hit
from structkit.searching.kinds import ENOUGH, TOO_FEW, kind_of, kind_weights
from structkit.searching.lines import PROSE, begins, first_line, text_of
from structkit.searching.words import (
    SHORTEST,
    query_parts,
    question_words,
    same_stem,
    shared_words,
    tokens,
    words,
)
from structkit.structure.bags import Bags
from structkit.structure.sentences import sentences

if TYPE_CHECKING:
    from structkit.asking.meaning import Meaning  # a folder without a model has none

LONG, SEVERAL = 40, 12  # words from which one line, and several lines, are a report
LARGE = 2000  # characters from which it is one: all forms of the words of a question take time
WORDS = 25  # of a question, by which lines are chosen: those that count most
SAME = 0.6  # of the runs of words of the shorter prose: a page and its source differ in their marks
RUN = 3  # words
START = 8  # words with which equal texts begin
WINDOW = 3  # lines of code that are judged together
# the weights of a defined name, of a line with which something begins, and of the words of the
# first line alone: chosen on the passages of 28 questions of experiments/shown.mk
NAMED, BEGINS, ALONE = 1.0, 0.1, 0.5
COMMENT, COMMENTED = re.compile(r"\s*(?:[/#;*]|--)"), 0.9  # words of comments count less
HOLDING = 0.5  # the value of a name that holds others, which describe it better
NEAR = 4  # how many times as many passages are weighed by their files as are ranked
# the weight of links: 0 and 0.67 gave RR@10 0.57 and 0.62 on 140 questions about manuals
LINKED = 0.67
LONGEST = 240  # characters of a quote
Embed = Callable[[Sequence[str]], Floats]  # from texts to unit rows


def answers(
    folder: Folder,
    question: str,
    k: int,
    ranking: Ranking,
    chosen: Floats,
    meaning: Meaning | None = None,
    kind: Kind | None = None,
) -> list[tuple[Hit, Record]]:
    """Return the k best of the `chosen` passages, (passages,), and their records, best first.

    Without a `kind` of files, the question's words tell to which it leans.

    Each has a word of the question, or another one with its stem, or is closer to its meaning than
    chance; the others only affect the scaling of scores. Where words fail, they follow an answer
    that is. A question as long as a bug report has its own search.
    """
    weights, of_pages = kind_weights(question, kind), folder.is_of_pages(chosen)
    if is_report(question) and not of_pages:
        from structkit.asking.report import localize  # short questions do not need it

        return localize(folder, question, k, chosen)
    asked, words = question_words(question), folder.words
    if of_pages:
        by_word, among = page_scores(words.counts_of(asked), words.lengths, folder.numbers)
        by_word += LINKED * folder.linked(asked) * (by_word > 0)
    else:
        by_word = RELATED * words.related(asked) + words.scores(asked)
        among = by_word > 0
    scores, beyond = meaning.scores(question) if meaning else (0 * by_word, by_word < 0)
    lost = 0.0  # how far words fail, 0 … 1
    if meaning and not of_pages:
        matched = by_word.max() / (sum(words.weights(asked).values()) or 1.0)
        lost = min(1.0, max(0.0, (ENOUGH - matched) / (ENOUGH - TOO_FEW)))
        beyond |= lost > 0 and bool((by_word + beyond).any())  # the right one may be among others
    usual = OF_PAGES if of_pages else MEANING
    share = usual + (TRUSTED - usual) * lost if meaning else 0
    # rankers compare words, too
    rankers = tuple((each, (1 - lost) * weight) for each, weight in ranking.rankers)
    ranking = replace(ranking, rankers=rankers)
    if meaning and meaning.rows:
        first = fuse(folder, by_word * among * chosen, scores * chosen, DEPTH, share)
        scores = meaning.rows.scores(question, *first)
    by_id: dict[str, Record] = {}
    found = set[str]()

    def leant(scores: Floats, depth: int) -> Floats:
        if not lost:
            return scores
        weighed = np.zeros(len(scores))
        for n, score in best(scores, NEAR * depth).items():  # paths of more would take time
            weighed[n] = score * weights[kind_of(folder.files[folder.numbers[n]].path)] ** lost
        return weighed

    def ranked(depth: int) -> list[Hit]:
        lexical, dense = leant(by_word * among * chosen, depth), leant(scores * chosen, depth)
        hits, records = fuse(folder, lexical, dense, depth, share)
        by_id.update((record["id"], record) for record in records.values())
        found.update(records[n]["id"] for n in records if by_word[n] > 0 or beyond[n])
        reranked = rerank(Query("1", question), hits, by_id, ranking, len(hits))
        weighed = (
            Hit(hit.doc_id, hit.score * weights[kind_of(by_id[hit.doc_id]["path"])])
            if hit.score > 0  # one below 0 is of a demoted file, and stays
            else hit
            for hit in reranked
        )
        return sorted(weighed, key=lambda hit: -hit.score)

    answering = ((hit, by_id[hit.doc_id]) for hit in deepened(ranked, k) if hit.doc_id in found)
    return list(islice(without_copies(answering, weights), k))


def without_copies(
    found: Iterable[tuple[Hit, Record]], weights: Mapping[str, float]
) -> Iterator[tuple[Hit, Record]]:
    """Yield the answers without copies in other files, best first.

    Of equal texts in files of kinds with equal `weights` the one with the shortest path answers,
    where the best of them stands; it is `also_in` the paths of the others. Prose that resembles
    that of a better answer is left out.
    """

    def order(each: tuple[Hit, Record]) -> tuple[float, int, int, str]:
        path = each[1]["path"]
        return -weights[kind_of(path)], path.count("/"), len(path), path

    equal: dict[tuple[str, int], list[tuple[Hit, Record]]] = {}
    number: Counter[tuple[str, str]] = Counter()  # of equal texts in a file, which are no copies
    texts = [(each, text_of(each[1])[1]) for each in found]
    starts = [tuple(text.split(maxsplit=START)[:START]) for _, text in texts]
    several = Counter(starts)  # a whole text is compared only with those that begin as it does
    for (each, text), start in zip(texts, starts, strict=True):
        path = each[1]["path"]
        if several[start] > 1:
            text = " ".join(text.split())
        number[path, text] += 1
        equal.setdefault((text, number[path, text]), []).append(each)
    kept: list[tuple[str, frozenset[tuple[str, ...]]]] = []
    for copies in equal.values():
        copies.sort(key=order)
        record, *others = (record for _, record in copies)
        path, runs = record["path"], runs_of(record)
        if not any(
            path != other and 0 < SAME * min(len(runs), len(of)) <= len(runs & of)
            for other, of in kept
        ):
            kept.append((path, runs))
            also = {"also_in": [each["path"] for each in others]} if others else {}
            best = max(hit.score for hit, _ in copies)
            yield Hit(record["id"], best), {**record, **also}


def runs_of(record: Record) -> frozenset[tuple[str, ...]]:
    """Return the parts by which texts are compared: runs of words of prose, none of code."""
    field, text = text_of(record)
    if field not in PROSE:
        return frozenset()
    words = [word.lower() for word in tokens(text.replace("_", " "))]
    return frozenset(tuple(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)))


def is_report(question: str) -> bool:
    r"""Return whether a question is as long as a report, or has several lines.

    >>> is_report("how are faults\nreported?"), is_report("It fails\n\n" + 10 * "so it does ")
    (False, True)
    """
    size = len(question.split())
    several = "\n" in question.strip()
    return size >= (SEVERAL if several else LONG) or len(question) >= LARGE


def subject(question: str) -> str:
    """Return a question, or the title and the names of a report, which choose its lines."""
    if not is_report(question):
        return question
    from structkit.asking.report import parts  # short questions do not need it

    return "{title} {names}".format(**parts(question)).strip()


def fuse(
    folder: Folder, by_word: Floats, by_meaning: Floats, depth: int, share: float
) -> tuple[list[Hit], dict[int, Record]]:
    """Return the hits of two scores of each passage, best first, and their records by number.

    `share` is the weight of the meaning; with 0 the hits are by words, unscaled.
    """
    lexical, dense = best(by_word, depth), best(by_meaning, depth)
    records = folder.records({*lexical, *dense})
    by_words, by_meanings = (
        [Hit(records[n]["id"], s) for n, s in each.items()] for each in (lexical, dense)
    )
    return hybrid(by_meanings, by_words, 2 * depth, share) if share else by_words, records


def best(scores: Floats, maximum: int) -> dict[int, float]:
    """Return the numbers of the passages with the highest scores above 0, best first.

    >>> best(np.array([0.0, 1.0, 3.0, 1.0]), 2)
    {2: 3.0, 1: 1.0}
    """
    found = np.flatnonzero(scores > 0)
    if len(found) > maximum:  # sorting a few is faster than all
        least = np.partition(scores[found], -maximum)[-maximum]
        found = found[scores[found] >= least]
    order = found[np.argsort(-scores[found], kind="stable")][:maximum]
    return {int(number): float(scores[number]) for number in order}


def chosen_passages(folder: Folder, globs: Sequence[str], kind: Kind | None = None) -> Floats:
    """Return the mask of passages whose files match the globs, and are of a kind, (passages,)."""
    files = np.ones(len(folder.files))
    if globs:
        takes = file_filter(globs)
        files = np.array([float(takes(each.path)) for each in folder.files])
        if not files.any():
            say(f"none of {len(files):,} files matches {flag('glob', ' '.join(globs))}")
    if kind:
        weights = kind_weights("", kind)
        files *= np.array([weights[kind_of(each.path)] > 0 for each in folder.files])
    return files[folder.numbers]


def with_places(
    folder: Folder, question: str, best: list[tuple[Hit, Record]], meaning: Meaning | None
) -> list[tuple[Hit, Record]]:
    """Return answers with their best place, as `places` finds it."""
    asked = subject(question)
    weights = folder.words.weights(question_words(asked))
    heaviest = sorted(weights, key=lambda word: -weights[word])[:WORDS]
    embed = meaning.embed if meaning else None
    chosen = {word: weights[word] for word in heaviest}
    shown = places([record for _, record in best], asked, chosen, embed)
    return [(hit, {**place, **record}) for (hit, record), place in zip(best, shown, strict=True)]


@dataclass(frozen=True)
class Parts:
    """The lines of code or the sentences of a document, and on which of its lines each begins."""

    record: Record
    texts: Sequence[str]
    lines: Sequence[int]  # from 0
    window: int  # how many are judged together

    @classmethod
    def of(cls, record: Record) -> Parts:
        """Return the parts of a document."""
        field, text = text_of(record)
        if field not in PROSE:
            rows = text.split("\n")
            return cls(record, rows, range(len(rows)), WINDOW)
        quotes = [*_quotes(text)]  # none of a text without words, such as `***`
        lines = [text.count("\n", 0, start) for start, _ in quotes]
        return cls(record, [quote for _, quote in quotes], lines, 1)


def _quotes(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text with their places, long ones in parts."""
    for start, end in sentences(text):
        # its line is its first word's
        start += len(text[start:end]) - len(text[start:end].lstrip())
        while end - start > LONGEST and (blank := text.rfind(" ", start, start + LONGEST)) > start:
            yield start, text[start:blank]
            start = blank + len(text[blank:end]) - len(text[blank:end].lstrip())
        yield start, text[start:end][:LONGEST]


def places(
    records: Sequence[Record], question: str, weights: Mapping[str, float], embed: Embed | None
) -> list[Record]:
    """Return the place in each document that answers best.

    `line` is its number if the text is as in its file. Prose has a `quote`, the sentence; code the
    `symbol` around the line, with its first and last line. `weights` are the words'.
    """
    every = [Parts.of(record) for record in records]
    found, has = list[Record](), _shares([parts.texts for parts in every], weights)
    for parts, own in zip(every, has, strict=True):
        named, answered = _named(parts, question), bool(own.any())
        scores = _scores(parts, own, named)
        if embed and parts.texts and not answered:  # elsewhere the meaning chooses no better
            vectors, answered = embed([question, *parts.texts]), True
            scores = scores + _closeness(parts, vectors[1:]) @ vectors[0]
        found.append(_place(parts, own, named, scores) if answered else {})
    return found


def _shares(every: Sequence[Sequence[str]], weights: Mapping[str, float]) -> list[Floats]:
    """Return the share of each word of a question in texts, less by its stem, (texts, words)."""
    columns = {word: number for number, word in enumerate(weights)}
    beginning: dict[str, list[str]] = {}  # words that may have the same stem
    for word in columns:
        beginning.setdefault(word[:SHORTEST], []).append(word)
    shares = np.array([*weights.values()]) / (sum(weights.values()) or 1.0)

    @cache
    def matched(part: str) -> Sequence[int]:
        if part in columns:
            return [columns[part]]
        near = beginning.get(part[:SHORTEST], ())
        return [len(columns) + columns[word] for word in near if same_stem(part, word)]

    def may_have(text: str) -> bool:
        lower = text.lower()
        return not text.isascii() or any(start in lower for start in beginning)

    texts = filter(may_have, dict.fromkeys(chain.from_iterable(every)))
    rows = {text: row for row, text in enumerate(texts, 1)}  # the first one is of all others
    bags = Bags.of(["", *rows])
    of_pieces = (
        [*chain.from_iterable(map(matched, words(piece)))] if may_have(piece) else ()
        for piece in bags.number
    )
    number, found, _ = bags.spread(of_pieces)
    has = np.zeros((bags.size, 2 * len(columns)))
    has[number, found] = 1.0
    whole, stems = np.split(has, 2, axis=1)
    values = np.maximum(whole, RELATED * stems) * shares
    return [values[[rows.get(text, 0) for text in some]] for some in every]


def _named(parts: Parts, question: str) -> Floats:
    """Return how well the names that lines define match a question, (parts,)."""
    named, first = np.zeros(len(parts.texts)), first_line(parts.record) or 1
    asked = query_parts(question)
    symbols = parts.record.get("symbols", ())
    for name, top, line, end in symbols:
        if 0 <= (at := line - first) < len(named):
            holds = any(top < other[1] and other[3] <= end for other in symbols)
            share = HOLDING if holds else 1.0
            named[at] = max(named[at], share * shared_words(asked, name))
    return named


def _scores(parts: Parts, shares: Floats, named: Floats) -> Floats:
    """Score each part with the following ones, without their meaning, (parts,)."""
    if parts.window > 1:
        beside = [bool(COMMENT.match(text)) for text in parts.texts]
        shares = shares * np.where(beside, COMMENTED, 1.0)[:, None]
    together, names = shares.copy(), named.copy()
    for step in range(1, parts.window):
        np.maximum(together[:-step], shares[step:], out=together[:-step])
        np.maximum(names[:-step], named[step:], out=names[:-step])
    starts = BEGINS * np.array(begins(parts.texts))
    scores = together.sum(1) + ALONE * shares.sum(1) + NAMED * names + starts
    return np.where([bool(text.strip()) for text in parts.texts], scores, -np.inf)


def _closeness(parts: Parts, vectors: Floats) -> Floats:
    """Return unit embeddings of each part with the following ones, (parts, dimensions)."""
    weighted = vectors * np.array([len(text.strip()) for text in parts.texts])[:, None]
    total = weighted.copy()
    for step in range(1, parts.window):
        total[:-step] += weighted[step:]
    return unit(total)


def _place(parts: Parts, shares: Floats, named: Floats, scores: Floats) -> Record:
    """Return the best part as fields of its document."""
    first, best = first_line(parts.record), int(np.argmax(scores))
    if parts.window == 1:
        line = {} if first is None else {"line": first + parts.lines[best]}
        return {**line, "quote": parts.texts[best]}
    if first is None:
        return {}
    here = slice(best, best + parts.window)
    number = first + best + int(np.argmax(shares[here].sum(1) + NAMED * named[here]))
    return {"line": number, **_symbol(parts.record.get("symbols", ()), number)}


def _symbol(symbols: Iterable[tuple[str, int, int, int]], line: int) -> Record:
    """Return the innermost symbol around a line, and its lines."""
    around = [(end - top, name, top, end) for name, top, _, end in symbols if top <= line <= end]
    if not around:
        return {}
    _, name, top, end = min(around)
    return {"symbol": name, "symbol_lines": [top, end]}
