"""Judgements for runs: of the ranked documents, or of the documents of ranked passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from structkit.errors import RECORD_REMEDY, UserError
from structkit.records.jsonl import Record, Records, input_name, parse_each
from structkit.scoring.qrels import (
    BINARY_GAINS,
    Judgement,
    LineRange,
    Qrels,
    parse_gains,
    read_judgements,
    read_qrels,
)
from structkit.scoring.runs import Run, ranking

JudgementsByQuery = dict[str, list[Judgement]]  # query_id -> its judgements


class Passage(NamedTuple):
    """The document of a passage, and its lines, where they are known."""

    doc_id: str
    lines: LineRange | None

    def meets(self, target: Judgement) -> bool:
        """Return whether it belongs to the judged document and overlaps the judged lines.

        >>> Passage("a.py", (1, 9)).meets(Judgement("q", "a.py", 1, (9, 12)))
        True
        """
        if self.doc_id != target.doc_id:
            return False
        if self.lines is None or target.lines is None:
            return True
        return self.lines[0] <= target.lines[1] and target.lines[0] <= self.lines[1]

    @classmethod
    def of(cls, record: Record) -> Passage | None:
        """Return the passage of a record, by `doc_id` or `path`, and `lines`, if any."""
        doc_id = record.get("doc_id", record.get("path"))
        if not isinstance(doc_id, str):
            return None
        lines = record.get("lines")
        if lines is None:
            return cls(doc_id, None)
        if not (isinstance(lines, list) and [int, int] == [type(line) for line in lines]):
            raise UserError('field "lines" is not [first, last]', "write two whole numbers")
        return cls(doc_id, (lines[0], lines[1]))


def first_gains(passages: Iterable[Set[int]]) -> Iterator[int | None]:
    """Yield the number of the judgement that each passage, best first, gains.

    Where a passage meets several, the lowest number counts, and later passages do not gain the
    others.

    >>> list(first_gains([{2}, {0, 1}, {1}, set(), {2, 3}]))
    [2, 0, None, None, 3]
    """
    gone: set[int] = set()
    for met in passages:
        yield min(met - gone, default=None)
        gone |= met


def judgements_by_query(judgements: Iterable[Judgement]) -> JudgementsByQuery:
    """Return judgements by query."""
    of_queries: JudgementsByQuery = {}
    for judgement in judgements:
        of_queries.setdefault(judgement.query_id, []).append(judgement)
    return of_queries


def read_passages(files: Sequence[str]) -> dict[str, Passage]:
    """Read the documents of passages by id, as `Passage.of` their records.

    Errors: a record without a document, an id that occurs twice.
    """

    def passage(record: Record) -> Passage:
        if found := Passage.of(record):
            return found
        raise UserError(
            'the passage has neither "doc_id" nor "path" with its document', RECORD_REMEDY
        )

    return dict(parse_each(Records.read(files), passage))


class Judgements:
    """Judgements of the ranked documents, or of the documents of ranked passages.

    `path` is a file, or "self": each query judges the document with its own id; the queries are
    those with `query_ids` or, without these, the run's. `passages` are files.
    """

    def __init__(
        self, path: str, query_ids: Sequence[str], gains: str | None, passages: Sequence[str]
    ) -> None:
        self.files = passages
        self.passages = read_passages(passages) if passages else {}
        self.binary = gains == BINARY_GAINS
        self.qrels: Qrels = {}
        self.targets: JudgementsByQuery = {}
        self.query_ids = query_ids
        if path == "self":
            return
        known = None if gains is None or self.binary else parse_gains(gains)
        if passages:
            self.targets = judgements_by_query(read_judgements(path, known))
        else:
            self.qrels = read_qrels(path, known)

    def of(self, run: Run) -> tuple[Run, Qrels]:
        """Return the run and its judgements, over the same documents."""
        query_ids = self.query_ids or run
        if self.files:
            of_own = {each: [Judgement(each, each, 1)] for each in query_ids}
            run, qrels = self._of_passages(run, self.targets or of_own)
        else:
            qrels = self.qrels or self_judgements(query_ids)
        if self.binary:
            qrels = {
                query_id: {doc_id: min(relevance, 1) for doc_id, relevance in documents.items()}
                for query_id, documents in qrels.items()
            }
        return run, qrels

    def _of_passages(self, run: Run, targets: JudgementsByQuery) -> tuple[Run, Qrels]:
        """Return the run with each judged document instead of its first passage that gains.

        Ranks do not change: further passages of a document keep theirs, and gain nothing. If a
        passage meets several judgements, the best one counts.
        """
        met: Run = {}
        qrels: Qrels = {}
        for query_id, judgements in targets.items():
            names = _judgement_names(judgements)
            qrels[query_id] = {names[one]: one.relevance for one in judgements}
            if query_id in run:
                met[query_id] = self._of_query(run[query_id], names, qrels[query_id])
        # unjudged queries are only counted
        return met | {name: hits for name, hits in run.items() if name not in targets}, qrels

    def _of_query(
        self, hits: dict[str, float], names: Mapping[Judgement, str], judged: dict[str, int]
    ) -> dict[str, float]:
        best_first = sorted(names, key=lambda target: -target.relevance)
        documents = {target.doc_id for target in names}
        ids = ranking(hits)
        if lost := [each for each in ids if each not in self.passages]:
            raise UserError(
                f'"{lost[0]}" is not among the passages in {input_name(self.files[0])}',
                "give the records that were searched",
            )
        met = (
            {n for n, target in enumerate(best_first) if self.passages[each].meets(target)}
            for each in ids
        )
        ranked: dict[str, float] = {}
        for rank, (passage_id, gained) in enumerate(zip(ids, first_gains(met), strict=True), 1):
            name = f"{passage_id} at {rank}" if gained is None else names[best_first[gained]]
            ranked[name] = -rank
            if gained is None and self.passages[passage_id].doc_id in documents:
                judged[name] = 0  # judged like its document, without its own gain
        return ranked


def _judgement_names(judgements: Sequence[Judgement]) -> dict[Judgement, str]:
    """Return a name for each judgement: its document, with its lines if that name is taken."""
    taken: set[str] = set()
    names: dict[Judgement, str] = {}
    for one in judgements:
        again = one.doc_id in taken and one.lines
        names[one] = f"{one.doc_id}:{again[0]}-{again[1]}" if again else one.doc_id
        taken.add(names[one])
    return names


def self_judgements(query_ids: Iterable[str]) -> Qrels:
    """Return judgements that make the document with the query's own id relevant.

    >>> self_judgements(["a", "b"])
    {'a': {'a': 1}, 'b': {'b': 1}}
    """
    return {query_id: {query_id: 1} for query_id in query_ids}
