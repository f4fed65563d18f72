"""Make training examples: a query, the document that answers it, and documents that do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from structkit.errors import UserError
from structkit.pairs.examples import Fields
from structkit.pairs.hard_negatives import HardNegatives
from structkit.pairs.judged import Corpus, Judged
from structkit.pairs.splits import drop_repeated, parse_split, split
from structkit.plugin import flag_of
from structkit.records.jsonl import Record
from structkit.records.rejects import Command
from structkit.scoring.qrels import Qrels, read_qrels


def pair(
    records: Iterable[Record],
    *,
    query: str | None = None,
    positive: str | None = None,
    template: str | None = None,
    seed: int = 0,
) -> Iterator[Record]:
    """Add `query` and `positive`, taken from two fields of each record.

    By default docstring and code, one of the bullets and the description of a product, query and
    HTML. A list yields one item, drawn by `(seed, id)`. `template` makes the positive from several
    fields. Where the query is a docstring, it is cut out of the code: CodeSearchNet's Python
    functions contain it, and a document must not contain its query. An empty text raises.

    >>> record = {"id": "1", "docstring": "Add.", "code": "def f(a, b): return a + b"}
    >>> [(made["query"], made["positive"]) for made in pair([record])]
    [('Add.', 'def f(a, b): return a + b')]
    """
    fields = Fields(query, positive, template)
    for record in records:
        yield {**record, **fields.example(record, seed)}


@dataclass(frozen=True)
class Pairing:
    """How examples are made: the flags of the command, checked before any record is read."""

    query: str | None = None
    positive: str | None = None
    template: str | None = None
    qrels: str | None = None
    queries: str | None = None
    corpus: str | None = None
    negatives_from: str | None = None
    depth: int | None = None
    per_query: int | None = None
    margin: float | None = None
    dedupe: bool = False
    split: str | None = None
    sharded: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        judged, hard = self.queries is not None, self.negatives_from is not None
        if judged:
            self._need("--queries", qrels=self.qrels, corpus=self.corpus)
        if hard:
            self._need("--negatives-from", corpus=self.corpus)
        for flag, value in (("--margin", self.margin), ("--depth", self.depth)):
            if value is not None:
                self._need(flag, negatives_from=self.negatives_from)
        if self.qrels and not judged and not hard:
            raise UserError("--qrels needs --queries and --corpus", "add them", status=2)
        if self.corpus and not judged and not hard:
            raise UserError("--corpus needs --qrels or --negatives-from", "add one", status=2)
        if self.per_query is not None and not self.corpus:
            raise UserError("--per-query needs --qrels or --negatives-from", "add one", status=2)
        if self.per_query == 0 and hard:
            raise UserError(
                "--per-query 0 asks --negatives-from for nothing", "leave one out", status=2
            )
        if self.sharded and (self.dedupe or self.split is not None):
            raise UserError(
                "--dedupe and --split need the whole input, --shard gives a part of it",
                "shard another stage",
                status=2,
            )

    def _need(self, flag: str, **others: str | None) -> None:
        for name, value in others.items():
            if value is None:
                raise UserError(f"{flag} needs {flag_of(name)}", "add it", status=2)

    @cached_property
    def fields(self) -> Fields:
        """Where a record has its query and its document."""
        return Fields(self.query, self.positive, self.template)

    @cached_property
    def judgements(self) -> Qrels:
        """The judgements, read once; none without a file of them."""
        return {} if self.qrels is None else read_qrels(self.qrels)

    @cached_property
    def documents(self) -> Corpus:
        """The corpus, for all stages that need it."""
        assert self.corpus is not None
        return Corpus(self.corpus, self.fields.document_text)

    @cached_property
    def judged(self) -> Judged | None:
        """The stage that makes examples from judgements."""
        if self.qrels is None or self.queries is None or self.corpus is None:
            return None
        return Judged(
            self.qrels,
            self.judgements,
            self.documents,
            self.fields.query_text,
            per_query=0 if self.negatives_from else self.per_query,
            seed=self.seed,
        )

    @cached_property
    def command(self) -> Command:
        """The stages that look at one record at a time."""
        fields = self.fields
        stages: list[Command] = [
            self.judged
            or partial(
                pair,
                query=fields.query,
                positive=fields.positive,
                template=fields.template,
                seed=self.seed,
            )
        ]
        if self.negatives_from and self.corpus:
            hard = HardNegatives(
                self.negatives_from,
                self.documents,
                self.judgements,
                depth=self.depth or 100,
                per_query=self.per_query or 1,
                margin=self.margin,
                seed=self.seed,
            )
            stages.append(hard)
        if self.corpus:
            self.documents.read()
        return _chain(stages)

    @cached_property
    def then(self) -> Command | None:
        """The stages that remember what they saw; none for most flags."""
        stages: list[Command] = []
        if self.judged and not self.sharded:
            stages.append(self.judged.all_known)
        if self.dedupe:
            stages.append(drop_repeated)
        if self.split is not None:
            stages.append(partial(split, splits=parse_split(self.split), seed=self.seed))
        return _chain(stages) if stages else None


def _chain(stages: list[Command]) -> Command:
    def chained(records: Iterable[Record]) -> Iterator[Record]:
        for stage in stages:
            records = stage(records)
        yield from records

    return chained
