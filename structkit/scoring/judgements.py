"""Judgements for runs: of the ranked documents, or of the documents of ranked passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from structkit.records.jsonl import Records
from structkit.scoring.gains import BINARY, parse_gains
from structkit.scoring.passages import Passages, Targets, targets, whole
from structkit.scoring.qrels import Qrels, read_judgements, read_qrels
from structkit.scoring.runs import Run


class Judgements:
    """Judgements of the documents that are ranked, or of those whose passages are."""

    def __init__(
        self, path: str, queries: Sequence[str], gains: str | None, passages: Passages | None
    ) -> None:
        self.passages = passages
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
