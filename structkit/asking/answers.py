"""Answers to a question: passages ranked by words and, with a model, by meaning.

Tests: tests/commands/test_ask.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from structkit.asking.folder import Folder
from structkit.asking.places import places
from structkit.collecting.ignoring import file_filter
from structkit.embeddings.vectors import Floats
from structkit.errors import flag
from structkit.progress import say
from structkit.ranking.reranking import Query, Ranking, rerank
from structkit.records.jsonl import Record
from structkit.searching import DEPTH, MEANING, RELATED
from structkit.searching.bm25 import page_scores
from structkit.searching.fusion import hybrid
from structkit.searching.hits import Hit
from structkit.searching.lines import PROSE, text_of
from structkit.searching.words import joined_words, question_words, tokens

if TYPE_CHECKING:
    from structkit.asking.meaning import Meaning  # a folder without a model has none

LONG, SEVERAL = 40, 12  # words from which one line, and several lines, are a report
WORDS = 25  # of a question, by which lines are chosen: those that count most
SAME = 0.6  # of the runs of words of the shorter prose: a page and its source differ in their marks
RUN = 3  # words


def answers(
    folder: Folder,
    question: str,
    k: int,
    ranking: Ranking,
    globs: Sequence[str] = (),
    meaning: Meaning | None = None,
) -> list[tuple[Hit, Record]]:
    """Return the k best passages and their records, best first; `globs` choose their files.

    Each has a word of the question, or another one with its stem, or is closer to its meaning than
    chance; the others only affect the scaling of scores. A question as long as a bug report is
    taken apart.
    """
    depth = max(k, DEPTH)
    chosen = chosen_passages(folder, globs)
    if is_report(question) and not folder.is_of_pages:
        from structkit.asking.localizing import localize  # short questions do not need them
        from structkit.asking.report import Report

        return localize(folder, Report.of(question), k, chosen)
    asked, words = question_words(question), folder.words
    if folder.is_of_pages:
        counts = words.counts_of(asked)
        by_word, among = page_scores(counts, words.lengths, folder.numbers)
    else:
        joined = [word for word in joined_words(question) if word not in asked]
        related = words.related(asked) + words.scores(joined)
        by_word = RELATED * related + words.scores(asked)
        among = by_word > 0
    scores, beyond = meaning.scores(question) if meaning else (0 * by_word, by_word < 0)
    share = MEANING if meaning else 0
    hits, records = fuse(folder, by_word * among * chosen, scores * chosen, depth, share)
    by_id = {record["id"]: record for record in records.values()}
    ranked = rerank(Query("1", question), hits, by_id, ranking, len(hits))
    found = {records[n]["id"] for n in records if by_word[n] > 0 or beyond[n]}
    answering = ((hit, by_id[hit.doc_id]) for hit in ranked if hit.doc_id in found)
    return list(islice(without_copies(answering), k))


def without_copies(found: Iterable[tuple[Hit, Record]]) -> Iterator[tuple[Hit, Record]]:
    """Yield the answers whose text differs from every better one's in another file."""
    kept: list[tuple[str, frozenset[tuple[str, ...]]]] = []
    for hit, record in found:
        path, runs = record["path"], runs_of(record)
        if not any(path != other and _is_copy(runs, of) for other, of in kept):
            kept.append((path, runs))
            yield hit, record


def runs_of(record: Record) -> frozenset[tuple[str, ...]]:
    """Return what is compared: runs of words of prose, code without blanks."""
    field, text = text_of(record)
    if field not in PROSE:
        return frozenset([tuple(text.split())])
    words = [word.lower() for word in tokens(text.replace("_", " "))]
    return frozenset(tuple(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)))


def _is_copy(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    return len(one & other) >= SAME * min(len(one), len(other))


def is_report(question: str) -> bool:
    r"""Return whether a question is as long as a report, or has several lines.

    >>> is_report("how are faults\nreported?"), is_report("It fails\n\n" + 10 * "so it does ")
    (False, True)
    """
    size = len(question.split())
    return size >= (SEVERAL if "\n" in question.strip() else LONG)


def subject(question: str) -> str:
    """Return a question, or the subject of a report."""
    if not is_report(question):
        return question
    from structkit.asking.report import Report  # short questions do not need it

    return Report.of(question).subject


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


def chosen_passages(folder: Folder, globs: Sequence[str]) -> Floats:
    """Return the mask of passages whose files match the globs, (passages,)."""
    files = np.ones(len(folder.files))
    if globs:
        takes = file_filter(globs)
        files = np.array([float(takes(each.path)) for each in folder.files])
        if not files.any():
            say(f"none of {len(files):,} files matches {flag('glob', ' '.join(globs))}")
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
