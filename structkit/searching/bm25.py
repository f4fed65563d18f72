"""BM25: the lexical baseline beside every dense number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Self

import bm25s
import numpy as np

from structkit.embeddings.rows import id_line
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.records.output import whole_folder, write_json
from structkit.searching.bm25_folder import FORMAT, IDS, META, METHOD, SavedIndex
from structkit.searching.index import best, places
from structkit.searching.options import K1, B
from structkit.searching.words import Vocabulary, words


class BM25:
    """Documents ready for BM25 as Lucene computes it (Robertson et al. 1994; Kamphuis et al. 2020).

    `k1` and `b` default to those of bm25s. Texts are read once and not kept; `sha256` is the hash
    of all ids and texts; `reading` says how texts were read from records, and is kept. A corpus
    without any word raises.
    """

    def __init__(
        self,
        doc_ids: list[str],
        texts: Iterable[str],
        *,
        k1: float = K1,
        b: float = B,
        stopwords: bool = True,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        digest = hashlib.sha256()
        vocabulary = Vocabulary(stopwords=stopwords)
        tokens = []
        for text in texts:
            digest.update(_told(text))
            tokens.append(vocabulary.numbers(text))
        if not vocabulary.number:
            raise UserError("the corpus holds no words", "name the field of its text")
        for doc_id in doc_ids:
            digest.update(_told(doc_id))
        index = bm25s.BM25(method="lucene", k1=float(k1), b=float(b))
        pair = tokens, vocabulary.number
        index.index(pair, create_empty_token=False, show_progress=False)
        self._keep(index, doc_ids, vocabulary.number, stopwords, digest.hexdigest())
        self.reading: Record = dict(reading or {})

    def _keep(
        self, index: Any, doc_ids: list[str], vocabulary: dict[str, int], stopwords: bool, sha: str
    ) -> None:
        self.index, self.doc_ids, self.vocabulary = index, doc_ids, vocabulary
        self.stopwords, self.sha256 = stopwords, sha
        self.place = places(doc_ids)

    @property
    def settings(self) -> Record:
        """The settings that it was built with."""
        return {"k1": self.index.k1, "b": self.index.b, "stopwords": self.stopwords}

    def save(self, folder: str) -> None:
        """Write a folder, whole or not at all, replacing an older one.

        It holds the files of bm25s, `ids.txt` and `meta.json`. Errors: an id with a line break.
        """
        lines = "".join(map(id_line, self.doc_ids))
        meta = {
            "format": FORMAT,
            "method": METHOD,
            "count": len(self.doc_ids),
            "sha256": self.sha256,
            "settings": self.settings,
            "reading": self.reading,
            "library": f"bm25s {bm25s.__version__}",
        }
        with whole_folder(folder, flag("save_index")) as new:
            self.index.save(new, show_progress=False)
            (new / IDS).write_text(lines, "utf-8", newline="\n")
            write_json(new / META, meta)

    @classmethod
    def open(cls, folder: str) -> Self:
        """The index that `save` wrote, its numbers mapped from the files.

        Errors: a folder that holds none, or a damaged one.
        """
        saved = SavedIndex.read(folder)
        k1, b = saved.settings["k1"], saved.settings["b"]
        index = bm25s.BM25(method="lucene", k1=k1, b=b)
        index.scores, index.nonoccurrence_array = saved.scores, None
        made = cls.__new__(cls)
        stopwords = saved.settings["stopwords"]
        made._keep(index, saved.doc_ids, saved.vocabulary, stopwords, saved.sha256)
        made.reading = saved.reading
        return made

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """The k best documents that share a word with the query, with their scores, best first."""
        tokens = [
            self.vocabulary[word]
            for word in words(query, self.stopwords)
            if word in self.vocabulary
        ]
        scores = self.index.get_scores_from_ids(tokens).astype(np.float32)  # (documents,)
        matched = np.flatnonzero(scores > 0)
        ranked = matched[best(scores[matched], self.place[matched], k)]
        return [(self.doc_ids[document], float(scores[document])) for document in ranked]


def _told(text: str) -> bytes:
    """A text with its length, so that different lists of texts never look the same."""
    return f"{len(text)} {text}".encode("utf-8", "surrogatepass")
