"""What a search backend takes and returns: options, filters, hits with their best rows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, fields
from typing import NoReturn, Protocol

import numpy as np

from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, guess, unknown
from structkit.plugin import flag_of
from structkit.progress import say
from structkit.records.fields import items
from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit
from structkit.searching.index_parameters import parse_parameters


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


@dataclass(frozen=True)
class SearchOptions:
    """How a corpus of embeddings is searched; a backend refuses options that it lacks.

    `index`: flat, hnsw, ivf, int8, binary, or a factory string of faiss; `parameters`: as faiss
    writes them, `nprobe=16`; `filters`: `FIELD=VALUE`, all must hold; `explain`: hits carry
    their best row; `rescore`: files with the vectors of rows that are codes.
    """

    index: str = "flat"
    parameters: str | None = None
    similarity: str = "dot"
    filters: tuple[str, ...] = ()
    explain: bool = False
    save_index: str | None = None
    recall_sample: int = 0
    rescore: tuple[str, ...] = ()
    database_url: str | None = None
    table: str | None = None
    reload: bool = False

    def given(self) -> list[str]:
        """The flags that differ from their defaults."""
        changed = [each for each in fields(self) if getattr(self, each.name) != each.default]
        return ["--filter" if each.name == "filters" else flag_of(each.name) for each in changed]

    def __post_init__(self) -> None:
        if self.similarity not in ("dot", "cosine"):
            raise unknown("similarity", self.similarity, ("dot", "cosine"))
        if self.recall_sample < 0:
            raise UserError("--recall-sample is below 0", "0 compares none", status=2)
        if self.parameters is not None:
            parse_parameters(self.parameters)
        self.wanted()

    @property
    def cosine(self) -> bool:
        return self.similarity == "cosine"

    def wanted(self) -> dict[str, str]:
        """The fields of the filters and their values."""
        pairs = [text.partition("=") for text in self.filters]
        for field, sign, _ in pairs:
            if not field or not sign:
                raise UserError(
                    f"--filter {field} names no value", "write it as FIELD=VALUE", status=2
                )
        if len({field for field, _, _ in pairs}) < len(pairs):
            raise UserError(
                "--filter names a field twice", "leave one out: all filters must hold", status=2
            )
        return {field: value for field, _, value in pairs}


class Recall:
    """The share of exact search's hits that an index finds, measured on the first queries."""

    def __init__(self, sample: int) -> None:
        self.left = sample
        self.queries = self.found = self.wanted = 0

    def add(self, hits: list[list[Hit]], exact: list[list[Hit]]) -> None:
        """Compare the hits of some queries with the exact ones of the first of them."""
        for ranked, truth in zip(hits, exact, strict=False):
            expected = {hit.doc_id for hit in truth}
            self.found += len(expected & {hit.doc_id for hit in ranked})
            self.wanted += len(expected)
        self.queries += len(exact)
        self.left -= len(exact)

    def report(self) -> None:
        """Say what was measured, if anything was."""
        if self.queries:
            say(
                f"recall@{self.wanted // self.queries} {self.found / self.wanted:.4f} against "
                f"exact search, over {self.queries:,} queries"
            )


def read_corpus(files: Sequence[str], options: SearchOptions, *, looked: bool = True) -> Embeddings:
    """The embeddings of a corpus that pass the filters; `looked` as for `read_embeddings`.

    Errors: a field that no row has, and filters that no row passes.
    """
    wanted = options.wanted()
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
    for name in options.wanted():
        if name not in known:
            has = f"it has: {', '.join(sorted(known)) or 'none'}"
            raise UserError(
                f"no row of the corpus has the field {name} of --filter",
                f"{guess(name, known)}{has}; structkit encode --keep adds some",
            ).at(corpus)
    raise UserError(
        f"no row of the corpus passes --filter {' '.join(options.filters)}",
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
