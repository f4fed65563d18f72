"""An index of texts for BM25, which `search` builds, saves and opens.

Tests: tests/searching/test_bm25.py.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson

from structkit.embeddings.reading import fingerprint, id_line, map_array, read_errors
from structkit.embeddings.vectors import IntArray, Vectors, top_k
from structkit.errors import UserError, flag, wrong_usage
from structkit.paths import refuse_pipe
from structkit.processes import group_by_size
from structkit.records.fields import document_text, query_text
from structkit.records.jsonl import Record, Records, parse_each
from structkit.records.output import refuse_existing, whole_folder, write_json
from structkit.searching.bm25 import Counts, Postings, smallest
from structkit.searching.hits import Hit, Ranked
from structkit.searching.index import tie_ranks
from structkit.searching.options import WORD_LIST, WordOptions, is_saved
from structkit.searching.words import folded_words
from structkit.settings import given_values, settings_of
from structkit.structure.bags import Bags

# a saved index, with the arrays of `LexicalIndex`
INDEX_META = "meta.json"
INDEX_IDS = "ids.txt"
INDEX_ARRAYS = ("starts", "documents", "scores")
BATCH_CHARACTERS = 6_000_000  # whose pieces take twenty times their memory
INDEX_FILES = (INDEX_IDS, WORD_LIST, *(f"{name}.npy" for name in INDEX_ARRAYS))


@dataclass(frozen=True)
class LexicalIndex:
    """Documents that are ready to be searched by words: the BM25 of each word in each of them.

    The n-th of the `words` is in `documents[starts[n] : starts[n + 1]]`, each with its score.
    `built` has the options that it was built with.
    """

    doc_ids: list[str]
    words: dict[str, int]
    starts: IntArray  # (words + 1,)
    documents: Counts  # (postings,)
    scores: Vectors  # (postings,)
    built: Record

    @classmethod
    def of(cls, doc_ids: list[str], texts: Iterable[str], options: WordOptions) -> Self:
        """Return the index of texts, which are read once and not kept.

        Errors: a corpus without any word.
        """
        batches = group_by_size(texts, (len, BATCH_CHARACTERS))
        parts = [Postings.of_bags(Bags.of(some)) for some in batches]
        if not any(part.words for part in parts):
            raise UserError("the corpus holds no words", "name the field of its text")
        postings = Postings.join(parts)
        built = {"k1": options.k1, "b": options.b} | given_options(options)
        scores = postings.all_scores(options.k1, options.b)
        number = {word: place for place, word in enumerate(postings.words)}
        return cls(doc_ids, number, postings.starts, smallest(postings.documents), scores, built)

    @cached_property
    def place(self) -> IntArray:
        """The place of each document among equal scores, (documents,)."""
        return tie_ranks(self.doc_ids)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the k best documents that share a word with the query, with scores."""
        total = np.zeros(len(self.doc_ids), np.float32)
        for word in folded_words(query):
            if word in self.words:
                number = self.words[word]
                here = slice(self.starts[number], self.starts[number + 1])
                total[self.documents[here]] += self.scores[here]
        matched = np.flatnonzero(total > 0)
        ranked = matched[top_k(total[matched], self.place[matched], k)]
        return [Hit(self.doc_ids[document], float(total[document])) for document in ranked]

    def rankings(self, queries: Records, field: str | None, k: int) -> Iterator[Ranked]:
        """Yield the k best documents of each query; `field` has its text."""
        for query_id, text in parse_each(queries, lambda record: query_text(record, field)):
            yield query_id, self.search(text, k)

    def save(self, folder: str) -> None:
        """Write a folder, whole or not at all, replacing an older one.

        It holds `meta.json`, `ids.txt`, `words.txt` and three arrays. Errors: an id with a line
        break.
        """
        lines = "".join(map(id_line, self.doc_ids))
        with whole_folder(folder, "save_index") as new:
            (new / INDEX_IDS).write_text(lines, "utf-8", newline="\n")
            (new / WORD_LIST).write_text("".join(f"{word}\n" for word in self.words), "utf-8")
            for name in INDEX_ARRAYS:
                np.save(new / f"{name}.npy", getattr(self, name))
            prints = {name: _fingerprint(new / name) for name in INDEX_FILES}
            write_json(new / INDEX_META, {"built": self.built, "files": prints})

    @classmethod
    def open(cls, folder: str) -> Self:
        """Open the index that `save` wrote, with its numbers mapped from the files.

        Errors: a folder that holds none, or a damaged one.
        """
        home, again = Path(folder), f"build the index again with {flag('save_index')}"
        if not is_saved(folder):
            raise UserError(f"holds no index for BM25 (no {WORD_LIST})", again).at(folder)
        for each in (INDEX_META, *INDEX_FILES):
            refuse_pipe(str(home / each), "an index")
        with read_errors(folder, again):
            meta = orjson.loads((home / INDEX_META).read_bytes())
            doc_ids, names = (
                (home / each).read_text("utf-8").removesuffix("\n").split("\n")
                for each in (INDEX_IDS, WORD_LIST)
            )
            number = {name: place for place, name in enumerate(names)}
            arrays: Any = {
                name: np.asarray(map_array(str(home / f"{name}.npy"))) for name in INDEX_ARRAYS
            }
            if meta["files"] != {name: _fingerprint(home / name) for name in INDEX_FILES}:
                raise ValueError("its files do not fit together")
            return cls(doc_ids, number, **arrays, built=dict(meta["built"]))


def _fingerprint(path: Path) -> str:
    with path.open("rb") as handle:
        return fingerprint(handle, path.suffix)


def given_options(options: WordOptions) -> Record:
    """Return the options that differ from their defaults."""
    given = given_values(options)
    names = [each.name for each in settings_of(WordOptions)]
    return {name: given[name] for name in names if given[name] is not None}


def lexical_index(
    corpus: Sequence[str], options: WordOptions, *, save_index: str | None = None
) -> LexicalIndex:
    """Return the index of texts, or of a saved folder; `save_index` saves it.

    Errors: a folder that was built with other options.
    """
    if len(corpus) == 1 and os.path.isdir(corpus[0]):
        if save_index:
            remedy = f"leave {flag('save_index')} out"
            raise wrong_usage(f"{corpus[0]} is an index already", remedy)
        index = LexicalIndex.open(corpus[0])
        for name, value in given_options(options).items():
            if index.built.get(name) != value:
                problem = f"was not built with {flag(name, value)}"
                remedy = f"leave it out, or build another index with {flag('save_index')}"
                raise UserError(problem, remedy).at(corpus[0])
        return index
    own = {INDEX_META, *INDEX_FILES}  # other files in a folder are the user's
    if save_index and not (is_saved(save_index) and own.issuperset(os.listdir(save_index))):
        refuse_existing(save_index, "save_index")
    records = Records.read(corpus)
    doc_ids: list[str] = []

    field = options.document_field

    def texts() -> Iterator[str]:
        for doc_id, text in parse_each(records, lambda record: document_text(record, field)):
            doc_ids.append(doc_id)
            yield text

    try:
        index = LexicalIndex.of(doc_ids, texts(), options)
    except UserError as error:
        raise error.at(records.lines.file) from None
    if save_index:
        index.save(save_index)
    return index
