"""Judgements for runs: of the ranked documents, or of the documents of ranked passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record, Records
from structkit.records.lines import shown
from structkit.scoring.gains import BINARY, parse_gains
from structkit.scoring.qrels import Judgement, LineRange, Qrels, read_judgements, read_qrels
from structkit.scoring.runs import Run, ranking

Targets = dict[str, list[Judgement]]  # query_id -> its judgements


class Passage(NamedTuple):
    """The document of a passage, and its lines, where they are known."""

    doc_id: str
    lines: LineRange | None

    def meets(self, target: Judgement) -> bool:
        """Whether it belongs to the judged document and overlaps the judged lines.

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
        """The passage that a record is, by its `doc_id`, otherwise `path`, and `lines`, if any."""
        doc_id = record.get("doc_id", record.get("path"))
        if not isinstance(doc_id, str):
            return None
        lines = record.get("lines")
        if lines is None:
            return cls(doc_id, None)
        if not (isinstance(lines, list) and [int, int] == [type(line) for line in lines]):
            raise UserError('field "lines" is not [first, last]', "write two whole numbers")
        return cls(doc_id, (lines[0], lines[1]))


def first_met(passages: Iterable[Set[int]]) -> Iterator[int | None]:
    """Of passages, best first, with the numbers of the judgements that each meets: which it gains.

    Where a passage meets several, the lowest number counts, and later passages do not gain the
    others.

    >>> list(first_met([{2}, {0, 1}, {1}, set(), {2, 3}]))
    [2, 0, None, None, 3]
    """
    gone: set[int] = set()
    for met in passages:
        yield min(met - gone, default=None)
        gone |= met


def targets(judgements: Iterator[Judgement]) -> Targets:
    """Judgements by query."""
    of_queries: Targets = {}
    for judgement in judgements:
        of_queries.setdefault(judgement.query_id, []).append(judgement)
    return of_queries


def whole(qrels: Qrels) -> Targets:
    """Judgements of whole documents."""
    return {
        query_id: [Judgement(query_id, *judged) for judged in documents.items()]
        for query_id, documents in qrels.items()
    }


class Passages:
    """The documents of ranked passages, as `Passage.of` their records.

    Errors: a record without a document, an id that occurs twice.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.file = shown(files[0])
        self.places: dict[str, Passage] = {}
        records = Records.read(files)
        for record in records:
            try:
                if record["id"] in self.places:
                    raise UserError(f'id "{record["id"]}" occurs twice', "keep one of them")
                if (passage := Passage.of(record)) is None:
                    raise UserError(
                        'the passage has neither "doc_id" nor "path" with its document',
                        f"rename a field with {program('select')} {flag('rename', 'FIELD=doc_id')}",
                    )
                self.places[record["id"]] = passage
            except UserError as error:
                raise records.place(error) from None

    def judged(self, run: Run, targets: Targets) -> tuple[Run, Qrels]:
        """The run with each judged document in place of the first passage that gains it.

        Ranks do not change: further passages of a document keep theirs, and gain nothing. Where a
        passage meets several judgements, the best one counts.
        """
        met: Run = {}
        qrels: Qrels = {}
        for query_id, judgements in targets.items():
            names = _names(judgements)
            qrels[query_id] = {names[one]: one.relevance for one in judgements}
            if query_id in run:
                met[query_id] = self._of_query(run[query_id], names, qrels[query_id])
        # unjudged queries are only counted
        return met | {name: hits for name, hits in run.items() if name not in targets}, qrels

    def _of_query(
        self, hits: Mapping[str, float], names: Mapping[Judgement, str], judged: dict[str, int]
    ) -> dict[str, float]:
        best_first = sorted(names, key=lambda target: -target.relevance)
        documents = {target.doc_id for target in names}
        passages = [(passage_id, self._passage(passage_id)) for passage_id in ranking(dict(hits))]
        met = (
            {number for number, target in enumerate(best_first) if passage.meets(target)}
            for _, passage in passages
        )
        ranked: dict[str, float] = {}
        for rank, ((passage_id, passage), gained) in enumerate(
            zip(passages, first_met(met), strict=True), 1
        ):
            name = f"{passage_id} at {rank}" if gained is None else names[best_first[gained]]
            ranked[name] = -rank
            if gained is None and passage.doc_id in documents:
                judged[name] = 0  # judged like its document, without a gain of its own
        return ranked

    def _passage(self, passage_id: str) -> Passage:
        try:
            return self.places[passage_id]
        except KeyError:
            raise UserError(
                f'"{passage_id}" is not among the passages in {self.file}',
                "give the records that were searched",
            ) from None


def _names(judgements: Sequence[Judgement]) -> dict[Judgement, str]:
    """A name for each judgement: its document, with its lines if that name is taken."""
    taken: set[str] = set()
    names: dict[Judgement, str] = {}
    for one in judgements:
        again = one.doc_id in taken and one.lines
        names[one] = f"{one.doc_id}:{again[0]}-{again[1]}" if again else one.doc_id
        taken.add(names[one])
    return names


class Judgements:
    """Judgements of the documents that are ranked, or of those whose passages are."""

    def __init__(
        self, path: str, queries: Sequence[str], gains: str | None, passages: Sequence[str]
    ) -> None:
        self.passages = Passages(passages) if passages else None
        self.binary = gains == BINARY
        self.qrels: Qrels | None = None
        self.targets: Targets | None = None
        if path == "self":
            self.qrels = own(record["id"] for record in Records.read(queries)) if queries else None
            return
        known = None if gains is None or self.binary else parse_gains(gains)
        if passages:
            self.targets = targets(read_judgements(path, known))
        else:
            self.qrels = read_qrels(path, known)

    def of(self, run: Run) -> tuple[Run, Qrels]:
        """The run and its judgements, over the same documents."""
        qrels = own(run) if self.qrels is None and self.targets is None else self.qrels or {}
        if self.passages:
            run, qrels = self.passages.judged(run, self.targets or whole(qrels))
        if self.binary:
            qrels = {
                query_id: {doc_id: min(relevance, 1) for doc_id, relevance in documents.items()}
                for query_id, documents in qrels.items()
            }
        return run, qrels


def own(query_ids: Run | Iterator[str]) -> Qrels:
    """Judgements that make the document with the query's own id the relevant one.

    >>> own(iter(["a", "b"]))
    {'a': {'a': 1}, 'b': {'b': 1}}
    """
    return {query_id: {query_id: 1} for query_id in query_ids}
