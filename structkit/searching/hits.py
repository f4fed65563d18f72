"""What a search backend takes and returns: rows that pass filters, hits with their best rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence, Set
from typing import NoReturn, Protocol

import numpy as np

from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, guess, program
from structkit.records.fields import items
from structkit.records.jsonl import Record
from structkit.registry import Contract
from structkit.scoring.runs import Hit
from structkit.searching.options import SearchOptions


def best_of_documents(hits: list[Hit]) -> list[Hit]:
    """Each document once, with its best row; equal scores by descending document id.

    >>> [hit[:2] for hit in best_of_documents([Hit("a", 2.0), Hit("b", 2.0), Hit("a", 1.0)])]
    [('b', 2.0), ('a', 2.0)]
    """
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.doc_id, hit)
    return sorted(best.values(), key=lambda hit: (hit.score, hit.doc_id), reverse=True)


class Searcher(Protocol):
    """A corpus that is ready to be searched; a file of backends/ opens it.

    `model` is the hash of the model that encoded it, where that is known.
    """

    dimensions: int
    model: str | None

    def batch(self, k: int) -> int:
        """How many queries should be searched together."""
        ...

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        """At most k hits for each query (queries, dimensions), best first."""
        ...

    def close(self) -> None:
        """Finish after the last query."""
        ...


class Backend(Contract):
    """A file of backends/: where embeddings are searched."""

    @abstractmethod
    def opened(self, corpus: Sequence[str], options: SearchOptions) -> Searcher:
        """The corpus in these files, ready to be searched; an option it cannot follow raises."""


def read_corpus(files: Sequence[str], options: SearchOptions, *, looked: bool = True) -> Embeddings:
    """The embeddings of a corpus that pass the filters; `looked` as for `read_embeddings`.

    Errors: a field that no row has, and filters that no row passes.
    """
    wanted = options.wanted
    fields = bool(wanted) or options.explain
    corpus = read_embeddings(files, normalize=options.cosine, fields=fields, looked=looked)
    if not wanted:
        return corpus
    rows = [row for row, record in enumerate(corpus.fields) if passes(record, wanted)]
    if not rows:
        known = {name for record in corpus.fields for name in record}
        refuse_filters(options, known, files[0])
    return corpus.taken(np.array(rows, np.int64))


def refuse_filters(options: SearchOptions, known: Set[str], corpus: str) -> NoReturn:
    """Raise for filters that no row of a corpus passes, whose rows have the fields `known`."""
    for name in options.wanted:
        if name not in known:
            has = f"it has: {', '.join(sorted(known)) or 'none'}"
            raise UserError(
                f"no row of the corpus has the field {name} of {flag('filter')}",
                f"{guess(name, known)}{has}; {program('encode')} {flag('keep')} adds some",
            ).at(corpus)
    raise UserError(
        f"no row of the corpus passes {flag('filter', ' '.join(options.filter))}",
        "leave one out, or name another value",
    )


def passes(record: Record, wanted: dict[str, str]) -> bool:
    """Whether the fields have these values; in a list, one item must be equal.

    >>> passes({"language": "go", "tags": ["a", "b"]}, {"language": "go", "tags": "b"})
    True
    >>> passes({"year": 2024}, {"year": "2023"})
    False
    """
    return all(value in items(record.get(name)) for name, value in wanted.items())


def row_record(corpus: Embeddings, row: int) -> Record:
    """What a hit says of the row by which it was found: its id and kept fields."""
    return {"id": corpus.ids[row], **(corpus.fields[row] if corpus.fields else {})}
