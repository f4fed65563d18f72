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
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from structkit.asking.folder import Folder
from structkit.asking.path_kinds import kind_weights, old_versions, version_of, words_for_names
from structkit.collecting.ignoring import file_filter
from structkit.embeddings.vectors import Floats, normalize_rows
from structkit.errors import UserError, flag
from structkit.ranking.reranking import Query, Ranking, rerank
from structkit.records.jsonl import Record
from structkit.searching import (
    ASK_EMBEDDING_WEIGHT,
    MIN_FUSION_DEPTH,
    PAGE_EMBEDDING_WEIGHT,
    RELATED_WORD_WEIGHT,
    WORDLESS_EMBEDDING_WEIGHT,
    PreferredKind,
)
from structkit.searching.bm25 import highest_scores, page_scores
from structkit.searching.fusion import deepen, hybrid_hits
from structkit.searching.hits import Hit
from structkit.searching.lines import PROSE_FIELDS, field_and_text, first_line_number, starts_blocks
from structkit.searching.words import (
    MIN_STEM_CHARACTERS,
    folded_words,
    query_parts,
    question_words,
    same_stem,
    shared_words,
    split_words,
)
from structkit.structure.sentences import sentences

if TYPE_CHECKING:
    from structkit.asking.meaning import Meaning  # a folder without a model has none

# a question of so many words in one line, or in several, is a report
MIN_REPORT_WORDS = 40
MIN_REPORT_WORDS_IN_LINES = 12
MIN_REPORT_CHARACTERS = 2000  # looking up all forms of the words of a longer question takes time
MAX_PLACE_WORDS = 25  # of a question, with the highest weights: they choose the best lines
# of the shingles of the longer text; a page and its source differ in markup
MIN_COPIED_SHARE = 0.6
NAME_OR_NUMBER = re.compile(r"\d|\w_\w|[a-z][A-Z]")  # in a word
LIST_NUMBER = re.compile(r"^\s{0,9}\d{1,9}[.)] ", re.MULTILINE)
OLD_VERSION_WEIGHT = 0.5  # of a page if a newer version of it is among the answers
SHINGLE_WORDS = 3
WHITESPACE = b" \t\r\n"
WINDOW_LINES = 3  # of code, that are scored together
# the weights of a defined name, of a line with which something begins, and of the words of the
# first line alone: chosen on the passages of 28 questions of experiments/shown.mk
NAME_WEIGHT = 1.0
BEGINNING_WEIGHT = 0.1
FIRST_LINE_WEIGHT = 0.5
COMMENT_LINE = re.compile(r"\s*(?:[/#;*]|--)")
COMMENT_WEIGHT = 0.9  # of its words
OUTER_NAME_WEIGHT = 0.5  # of a definition with others inside, whose names describe it better
WEIGHED_DEPTH_FACTOR = 4  # kinds of files weigh this many times as many passages as are ranked
# of the words of links to a page: on 140 questions about manuals 0.67 gave RR@10 0.62, and 0 0.57
LINK_WEIGHT = 0.67
# the BM25 of the best passage over the idf of all words of the question: above the first, words
# suffice; below the second, they fail. 95 of 100 paraphrases have less than 0.28, and 90 of 100
# other questions more than 0.27
ENOUGH_MATCHED = 0.35
TOO_LITTLE_MATCHED = 0.15
# of the mean over a file's passages by meaning, if words fail: RR@10 of 206 paraphrases is 0.411,
# without it 0.396. Cross-validation by repository chose 1, with 0.417, which loses more on other
# kinds. The best passage for each word of the question gained nothing
FILE_MEANING_WEIGHT = 0.5
MAX_QUOTE_CHARACTERS = 240
EmbedLines = Callable[[Sequence[str]], Floats]  # from texts to unit rows
Answer = tuple[Hit, Record]  # a passage's id and score, and its record


@dataclass(frozen=True)
class Search:
    """A question, and the scores of a folder's passages by its words and its meaning."""

    folder: Folder
    question: str
    ranking: Ranking
    kind_weights: Mapping[str, float]
    by_word: Floats  # (passages,)
    by_meaning: Floats  # (passages,)
    may_answer: NDArray[np.bool_]  # (passages,); the others only affect the scaling of scores
    meaning_share: float  # the weight of the meaning, 0 … 1
    word_failure: float  # 0 if words suffice … 1 if they fail

    def weight_of(self, path: str) -> float:
        """Return the weight of a file by its kind."""
        return self.kind_weights[self.folder.kind_of(path)]


def answers(
    folder: Folder,
    question: str,
    k: int,
    ranking: Ranking,
    chosen: Floats,
    meaning: Meaning | None = None,
    kind: PreferredKind | None = None,
) -> list[Answer]:
    """Return the k best of the `chosen` passages, (passages,), and their records, best first.

    Without a `kind` of files, the words of the question decide which kinds it prefers.

    Each answer has a word of the question, or another one with its stem, or is closer to its
    meaning than chance. If words fail, and there is such an answer, any passage may be another one.
    A question as long as a bug report has its own search.
    """
    if is_report(question) and not folder.is_mostly_pages(chosen):
        from structkit.asking.report import localize  # short questions do not need it

        return localize(folder, question, k, chosen)
    search = begin_search(folder, question, ranking, chosen, meaning, kind)
    hits = deepen(partial(rank_passages, search), k)
    found = [(hit, hit.best) for hit in hits if hit.best]  # all have their record as `best`
    return without_copies(found, search.weight_of, k)


def begin_search(
    folder: Folder,
    question: str,
    ranking: Ranking,
    chosen: Floats,
    meaning: Meaning | None,
    kind: PreferredKind | None,
) -> Search:
    """Return the search for a question among the `chosen` passages, (passages,)."""
    asked, words = question_words(question), folder.words
    of_pages = folder.is_mostly_pages(chosen)
    if of_pages:  # only the best passage of each page
        counts = words.counts_of(asked)
        by_word, is_best_of_page = page_scores(counts, words.lengths, folder.file_numbers)
        by_word += LINK_WEIGHT * folder.link_scores(asked) * (by_word > 0)
        may_rank = chosen * is_best_of_page
    else:
        by_word = RELATED_WORD_WEIGHT * words.related_scores(asked) + words.scores(asked)
        may_rank = chosen
    by_meaning: Floats = np.zeros(len(folder))
    may_answer = by_word > 0
    meaning_share, word_failure = 0.0, 0.0
    if meaning:
        by_meaning, exceeds_chance = meaning.scores(question)
        may_answer |= exceeds_chance
        meaning_share = PAGE_EMBEDDING_WEIGHT
    if meaning and not of_pages:
        matched = by_word.max() / (sum(words.idf_of_stems(asked).values()) or 1.0)
        word_failure = min(
            1.0, max(0.0, (ENOUGH_MATCHED - matched) / (ENOUGH_MATCHED - TOO_LITTLE_MATCHED))
        )
        meaning_share = (
            ASK_EMBEDDING_WEIGHT + (WORDLESS_EMBEDDING_WEIGHT - ASK_EMBEDDING_WEIGHT) * word_failure
        )
    if word_failure:
        of_file = folder.file_numbers
        file_means = np.bincount(of_file, by_meaning) / np.bincount(of_file)
        by_meaning = by_meaning + FILE_MEANING_WEIGHT * word_failure**2 * file_means[of_file]
        may_answer |= may_answer.any()
        # rankers compare words, too
        rankers = tuple((ranker, (1 - word_failure) * weight) for ranker, weight in ranking.rankers)
        ranking = replace(ranking, rankers=rankers)
    by_word, by_meaning = by_word * may_rank, by_meaning * chosen
    if meaning and meaning.maxsim:
        hits, records = fuse(folder, by_word, by_meaning, MIN_FUSION_DEPTH, meaning_share)
        by_meaning = meaning.maxsim.scores(question, hits, records) * chosen
    weights = kind_weights(question, kind)
    return Search(
        folder,
        question,
        ranking,
        weights,
        by_word,
        by_meaning,
        may_answer,
        meaning_share,
        word_failure,
    )


def rank_passages(search: Search, depth: int) -> list[Hit]:
    """Return the passages that may answer, best first, each with its record as `best`.

    They come from the `depth` best by words, and the `depth` best by meaning.
    """
    by_word, by_meaning = search.by_word, search.by_meaning
    if search.word_failure:
        by_word = weighted_by_kind(search, by_word, depth)
        by_meaning = weighted_by_kind(search, by_meaning, depth)
    hits, records = fuse(search.folder, by_word, by_meaning, depth, search.meaning_share)
    by_id = {record["id"]: record for record in records.values()}
    answering = {record["id"] for number, record in records.items() if search.may_answer[number]}
    old_pages = old_versions(search.question, {record["path"] for record in by_id.values()})
    query = Query("1", words_for_names(search.question))
    weighed = list[tuple[Hit, str]]()  # with their paths
    newest_scores = dict[str, float]()  # the best score of the newest version of each page
    for hit in rerank(query, hits, by_id, search.ranking, len(hits)):
        record, score = by_id[hit.doc_id], hit.score
        path = record["path"]
        if score > 0:  # rankers may demote a file below 0, where a weight would raise it
            score *= search.weight_of(path)
        if old_pages and path not in old_pages:
            page = version_of(path)[0]
            newest_scores[page] = max(score, newest_scores.get(page, score))
        weighed.append((Hit(hit.doc_id, score, record), path))
    ranked = list[tuple[Hit, str]]()
    for hit, path in weighed:
        score = hit.score
        if path in old_pages:  # no old version is better than the newest one
            newest_score = newest_scores.get(version_of(path)[0], score)
            score = min(OLD_VERSION_WEIGHT * score, newest_score)
        if hit.doc_id in answering:
            ranked.append((hit._replace(score=score), path))
    ranked.sort(key=lambda hit_and_path: (-hit_and_path[0].score, hit_and_path[1] in old_pages))
    return [hit for hit, _ in ranked]


def weighted_by_kind(search: Search, scores: Floats, depth: int) -> Floats:
    """Return the best scores, times kind weights to the power of word failure, (passages,)."""
    weighted = np.zeros(len(scores))
    files, numbers = search.folder.files, search.folder.file_numbers
    for passage, score in highest_scores(scores, WEIGHED_DEPTH_FACTOR * depth).items():
        weight = search.weight_of(files[numbers[passage]].path)
        weighted[passage] = score * weight**search.word_failure
    return weighted


class Copies:
    """Answers with one text, or nearly, in their order."""

    def __init__(self, equal: list[Answer]) -> None:
        self.equal = equal
        self.nearly_equal: list[Answer] = []
        self.path = equal[0][1]["path"]
        field, text = field_and_text(equal[0][1])
        # only equal code is a copy
        self._words = split_words(LIST_NUMBER.sub("", text)) if field in PROSE_FIELDS else []

    @cached_property
    def _names(self) -> set[str]:
        """Names and numbers."""
        return set(filter(NAME_OR_NUMBER.search, self._words))

    @cached_property
    def _shingles(self) -> set[tuple[str, ...]]:
        """All runs of `SHINGLE_WORDS` words."""
        plain = [word.lower() for word in split_words(" ".join(self._words).replace("_", " "))]
        return {*zip(*(plain[start:] for start in range(SHINGLE_WORDS)), strict=False)}

    def resemble(self, other: Copies) -> bool:
        """Return whether the texts are nearly the same, with the same names and numbers."""
        if self.path == other.path or self._names != other._names:
            return False
        longer = max(len(self._shingles), len(other._shingles))
        return 0 < MIN_COPIED_SHARE * longer <= len(self._shingles & other._shingles)

    def lead(self, weight_of: Callable[[str], float]) -> Answer:
        """Return the answer that stands for all, with the best score, and the paths of the others.

        Equal answers, and versions of their pages, come before other copies. Among them, the kind
        of file with the highest weight is first, then the newest version, then the shortest path.
        """
        pages = {version_of(record["path"])[0] for _, record in self.equal}

        def order(answer: Answer) -> tuple[bool, float, list[int], int, int, str]:
            path = answer[1]["path"]
            page, version = version_of(path)
            newest_first = [-number for number in version]
            depth = path.count("/")
            return page not in pages, -weight_of(path), newest_first, depth, len(path), path

        copies = sorted([*self.equal, *self.nearly_equal], key=order)
        _, record = copies[0]
        also_in = [*dict.fromkeys(copy["path"] for _, copy in copies)][1:]
        if also_in:
            record = {**record, "also_in": also_in}
        return Hit(record["id"], self.equal[0][0].score), record


def without_copies(
    found: Iterable[Answer], weight_of: Callable[[str], float], k: int
) -> list[Answer]:
    """Return the k best answers without copies in other files, best first.

    Equal texts, and nearly equal prose, become one answer at the rank of the best of them, which
    is `also_in` the paths of the others.
    """
    kept = list[Copies]()
    for copies in map(Copies, equal_texts(found)):
        original = next((each for each in kept if each.resemble(copies)), None)
        if original:
            original.nearly_equal += copies.equal
        elif len(kept) == 2 * k:  # later ones are seldom copies of the k best
            break
        else:
            kept.append(copies)
    return [copies.lead(weight_of) for copies in kept[:k]]


def equal_texts(found: Iterable[Answer]) -> Iterable[list[Answer]]:
    """Return groups of answers with the same text in different files, in their order."""
    groups: dict[tuple[bytes, int], list[Answer]] = {}
    # a text that two files have twice makes two groups
    repetitions = Counter[tuple[str, bytes]]()
    for answer in found:
        path, (_, text) = answer[1]["path"], field_and_text(answer[1])
        letters = text.encode().translate(None, WHITESPACE)
        repetitions[path, letters] += 1
        groups.setdefault((letters, repetitions[path, letters]), []).append(answer)
    return groups.values()


def is_report(question: str) -> bool:
    r"""Return whether a question is as long as a report, or has several lines.

    >>> is_report("how are faults\nreported?"), is_report("It fails\n\n" + 10 * "so it does ")
    (False, True)
    """
    least = MIN_REPORT_WORDS_IN_LINES if "\n" in question.strip() else MIN_REPORT_WORDS
    return len(question.split()) >= least or len(question) >= MIN_REPORT_CHARACTERS


def short_question(question: str) -> str:
    """Return a question, or of a report its title and its names, which choose the best lines."""
    if not is_report(question):
        return question
    from structkit.asking.report import report_parts  # short questions do not need it

    return "{title} {names}".format(**report_parts(question)).strip()


def fuse(
    folder: Folder, by_word: Floats, by_meaning: Floats, depth: int, share: float
) -> tuple[list[Hit], dict[int, Record]]:
    """Return the hits of two scores of each passage, best first, and their records by number.

    `share` is the weight of the meaning; with 0 the hits are by words, unscaled.
    """
    lexical, dense = highest_scores(by_word, depth), highest_scores(by_meaning, depth)
    records = folder.records({*lexical, *dense})
    lexical_hits = [Hit(records[number]["id"], score) for number, score in lexical.items()]
    if not share:
        return lexical_hits, records
    dense_hits = [Hit(records[number]["id"], score) for number, score in dense.items()]
    return hybrid_hits(dense_hits, lexical_hits, 2 * depth, share), records


def chosen_passages(
    folder: Folder, globs: Sequence[str], kind: PreferredKind | None = None
) -> Floats:
    """Return the mask of passages whose files match the globs, and are of a kind, (passages,)."""
    paths = [file.path for file in folder.files]
    files = np.ones(len(paths))
    if globs:
        files *= np.array([*map(file_filter(globs), paths)])
    if kind:
        weights = kind_weights("", kind)
        files *= np.array([weights[folder.kind_of(path)] > 0 for path in paths])
    return files[folder.file_numbers]


def nothing_chosen(folder: Folder, globs: Sequence[str], kind: PreferredKind | None) -> UserError:
    """Return the error for globs and a kind of files that choose no passage."""
    chosen = chosen_passages(folder, globs)
    if not chosen.any():
        problem = f"none of {len(folder.files):,} files matches {flag('glob', ' '.join(globs))}"
        return UserError(problem, "write patterns as in .gitignore")
    files = len({*folder.file_numbers[chosen > 0].tolist()})
    problem = f"none of {files:,} files has {flag('kind', kind)}"
    return UserError(problem, f"leave it out, or choose files with {flag('glob')}")


def with_places(
    folder: Folder, question: str, found: list[Answer], meaning: Meaning | None
) -> list[Answer]:
    """Return answers with their best place, as `best_places` finds it."""
    asked = short_question(question)
    weights = folder.words.idf_of_stems(question_words(asked))
    heaviest = sorted(weights, key=lambda word: -weights[word])[:MAX_PLACE_WORDS]
    embed = meaning.embed if meaning else None
    records = [record for _, record in found]
    places = best_places(records, asked, {word: weights[word] for word in heaviest}, embed)
    return [(hit, {**place, **record}) for (hit, record), place in zip(found, places, strict=True)]


@dataclass(frozen=True)
class TextParts:
    """The lines of code or the sentences of a document, and on which of its lines each begins."""

    record: Record
    texts: Sequence[str]
    lines: Sequence[int]  # from 0
    window: int  # how many are scored together

    @classmethod
    def of(cls, record: Record) -> TextParts:
        """Return the parts of a document."""
        field, text = field_and_text(record)
        if field not in PROSE_FIELDS:
            rows = text.split("\n")
            return cls(record, rows, range(len(rows)), WINDOW_LINES)
        quotes = [*_quotes(text)]  # none of a text without words, such as `***`
        lines = [text.count("\n", 0, start) for start, _ in quotes]
        return cls(record, [quote for _, quote in quotes], lines, 1)


def _quotes(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text with their places, long ones in parts."""
    for start, end in sentences(text):
        start += _indentation(text[start:end])  # on the line of its first word
        while end - start > MAX_QUOTE_CHARACTERS:
            blank = text.rfind(" ", start, start + MAX_QUOTE_CHARACTERS)
            if blank <= start:
                break
            yield start, text[start:blank]
            start = blank + _indentation(text[blank:end])
        yield start, text[start:end][:MAX_QUOTE_CHARACTERS]


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip())


def best_places(
    records: Sequence[Record],
    question: str,
    weights: Mapping[str, float],
    embed: EmbedLines | None,
) -> list[Record]:
    """Return the place in each document that answers best, by `weights` of the question's words.

    Its `line` is there if the text is as in its file. Prose has a `quote`, the sentence; code the
    `symbol` around the line, and the first and last line of this.
    """
    documents = [TextParts.of(record) for record in records]
    places = list[Record]()
    shares_of_documents = _word_shares([parts.texts for parts in documents], weights)
    for parts, shares in zip(documents, shares_of_documents, strict=True):
        definitions = _definition_matches(parts, question)
        scores = _scores(parts, shares, definitions)
        has_place = bool(shares.any())
        if embed and parts.texts and not has_place:  # elsewhere the meaning chooses no better
            vectors = embed([question, *parts.texts])
            scores = scores + _embeddings(parts, vectors[1:]) @ vectors[0]
            has_place = True
        places.append(_place(parts, shares, definitions, scores) if has_place else {})
    return places


def _word_shares(documents: Sequence[Sequence[str]], weights: Mapping[str, float]) -> list[Floats]:
    """Return each document's texts with the share of each word in all weights, (texts, words).

    A word that is not there is 0, and one of which only the stem is there counts less.
    """
    by_prefix: dict[str, list[str]] = {}  # words that may have the same stem
    for word in weights:
        by_prefix.setdefault(word[:MIN_STEM_CHARACTERS], []).append(word)
    total = sum(weights.values()) or 1.0

    @cache
    def matches(own: str) -> dict[str, float]:
        if own in weights:
            return {own: 1.0}
        near = by_prefix.get(own[:MIN_STEM_CHARACTERS], ())
        return {word: RELATED_WORD_WEIGHT for word in near if same_stem(own, word)}

    @cache
    def shares_of(text: str) -> list[float]:
        lower, shares = text.lower(), dict.fromkeys(weights, 0.0)
        # most texts have no such prefix
        if not text.isascii() or any(prefix in lower for prefix in by_prefix):
            for own in folded_words(text):
                for word, share in matches(own).items():
                    shares[word] = max(shares[word], share)
        return [share * weights[word] / total for word, share in shares.items()]

    return [
        np.array([shares_of(text) for text in texts]).reshape(len(texts), len(weights))
        for texts in documents
    ]


def _definition_matches(parts: TextParts, question: str) -> Floats:
    """Return how well the names that lines define match a question, (parts,)."""
    matches, first = np.zeros(len(parts.texts)), first_line_number(parts.record) or 1
    asked = query_parts(question)
    symbols = parts.record.get("symbols", ())
    for name, top, name_line, end in symbols:
        row = name_line - first
        if 0 <= row < len(matches):
            is_outer = any(
                top < inner_top and inner_end <= end for _, inner_top, _, inner_end in symbols
            )
            weight = OUTER_NAME_WEIGHT if is_outer else 1.0
            matches[row] = max(matches[row], weight * shared_words(asked, name))
    return matches


def _scores(parts: TextParts, shares: Floats, definitions: Floats) -> Floats:
    """Score each part with the following ones, without their meaning, (parts,)."""
    if parts.window > 1:
        is_comment = [bool(COMMENT_LINE.match(text)) for text in parts.texts]
        shares = shares * np.where(is_comment, COMMENT_WEIGHT, 1.0)[:, None]
    window_shares, names = shares.copy(), definitions.copy()
    for step in range(1, parts.window):
        np.maximum(window_shares[:-step], shares[step:], out=window_shares[:-step])
        np.maximum(names[:-step], definitions[step:], out=names[:-step])
    scores = window_shares.sum(1) + FIRST_LINE_WEIGHT * shares.sum(1) + NAME_WEIGHT * names
    scores += BEGINNING_WEIGHT * np.array(starts_blocks(parts.texts))
    return np.where([bool(text.strip()) for text in parts.texts], scores, -np.inf)


def _embeddings(parts: TextParts, vectors: Floats) -> Floats:
    """Return unit embeddings of each part with the following ones, (parts, dimensions)."""
    weighted = vectors * np.array([len(text.strip()) for text in parts.texts])[:, None]
    total = weighted.copy()
    for step in range(1, parts.window):
        total[:-step] += weighted[step:]
    return normalize_rows(total)


def _place(parts: TextParts, shares: Floats, definitions: Floats, scores: Floats) -> Record:
    """Return the best part as fields of its document."""
    first, best = first_line_number(parts.record), int(np.argmax(scores))
    if parts.window == 1:
        line = {} if first is None else {"line": first + parts.lines[best]}
        return {**line, "quote": parts.texts[best]}
    if first is None:
        return {}
    window = slice(best, best + parts.window)
    row = best + int(np.argmax(shares[window].sum(1) + NAME_WEIGHT * definitions[window]))
    return {"line": first + row, **_symbol(parts.record.get("symbols", ()), first + row)}


def _symbol(symbols: Iterable[tuple[str, int, int, int]], line: int) -> Record:
    """Return the innermost symbol around a line, and its lines."""
    around = [(end - top, name, top, end) for name, top, _, end in symbols if top <= line <= end]
    if not around:
        return {}
    _, name, top, end = min(around)
    return {"symbol": name, "symbol_lines": [top, end]}
