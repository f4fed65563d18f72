"""Training examples from judgements: a query, what answers it, and what was judged lower."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from structkit.errors import UserError, flag, leave_out
from structkit.progress import say
from structkit.records.jsonl import Record, Records
from structkit.scoring.qrels import Qrels
from structkit.seeds import random_for

TextOf = Callable[[Record], str]


class Corpus:
    """The texts of the wanted documents of a file, by id, once all are wanted and it is read.

    A document with an unusable text raises when it is asked for, with its place in the file.
    """

    def __init__(self, path: str, text: TextOf) -> None:
        self.path, self.text_of = path, text
        self.wanted: set[str] = set()
        self.texts: dict[str, str | UserError] = {}

    def read(self) -> None:
        """Read the file, which may be a pipe: once."""
        records = Records.read([self.path])
        try:
            for record in records:
                if record["id"] in self.wanted:
                    self._add(record, records)
        except UserError as error:
            raise records.place(error) from None

    def _add(self, record: Record, records: Records) -> None:
        if record["id"] in self.texts:
            raise UserError(f'document "{record["id"]}" occurs twice', "keep one")
        try:
            self.texts[record["id"]] = self.text_of(record)
        except UserError as error:
            self.texts[record["id"]] = records.place(error)

    def usable(self, doc_id: str) -> bool:
        return not isinstance(self.texts.get(doc_id), UserError)

    def text(self, doc_id: str, source: str) -> str:
        """The text of a document that the file `source` names."""
        text = self.texts.get(doc_id)
        if text is None:
            raise UserError(
                f'document "{doc_id}" of {source} is not in {self.path}', "give the whole corpus"
            )
        if isinstance(text, UserError):
            raise text
        return text


@dataclass
class Judged:
    """Judgements over a corpus; called with queries, it yields a record for every positive.

    Positives are the documents of the highest grade in the file (ESCI: Exact); negatives are drawn
    by `(seed, query, document)` from the query's documents of lower grades: `per_query`, by default
    one, or none where no query has such documents (BEIR judges answers alone). Source: SANTA,
    section 4 (positives Exact; negatives Substitute, Complement, Irrelevant).
    """

    qrels_path: str
    qrels: Qrels
    corpus: Corpus
    query_text: TextOf
    per_query: int | None = None
    seed: int = 0
    seen: set[str] = field(default_factory=set)
    alone: bool = False  # there are no negatives, which has not been reported yet

    def __post_init__(self) -> None:
        self.top = max(max(grades.values()) for grades in self.qrels.values())
        if self.top < 1:
            raise UserError("judges no document above 0", "give judgements with answers").at(
                self.qrels_path
            )
        both = any({self.top} < {*grades.values()} for grades in self.qrels.values())
        if self.per_query and not both:
            raise UserError(
                f"no query has documents of grade {self.top} and of a lower one",
                f"leave {flag('per_query')} out, or draw hard negatives with "
                f"{flag('negatives_from')}",
            ).at(self.qrels_path)
        if self.per_query is None:
            self.per_query = 1 if both else 0
            self.alone = not both
        self.corpus.wanted.update(*self.qrels.values())

    def __call__(self, queries: Iterable[Record]) -> Iterator[Record]:
        for query in queries:
            self.seen.add(query["id"])
            yield from self._examples(query)

    def _examples(self, query: Record) -> Iterator[Record]:
        name = query["id"]
        grades = self.qrels.get(name)
        if grades is None:
            raise UserError(
                f"the query has no judgement in {self.qrels_path}",
                f"give judged queries only, or {leave_out('others')}",
            )
        lower = sorted(doc_id for doc_id, grade in grades.items() if grade < self.top)
        positives = [doc_id for doc_id, grade in grades.items() if grade == self.top]
        if not positives or (self.per_query and not lower):
            lacks = "lower grade" if positives else f"highest grade, {self.top}"
            raise UserError(
                f"the query has no document of the {lacks}",
                leave_out("such queries"),
            )
        text = self.query_text(query)
        if self.alone:
            say("the judgements hold no lower grades; the examples get no negatives")
            self.alone = False
        for doc_id in positives:
            example = {
                "id": f"{name}:{doc_id}",
                "query_id": name,
                "doc_id": doc_id,
                "query": text,
                "positive": self._text(doc_id),
            }
            yield {**query, **example, **self._negatives(name, doc_id, lower)}

    def _negatives(self, query_id: str, doc_id: str, lower: list[str]) -> Record:
        if not self.per_query:
            return {}
        rng = random_for(self.seed, query_id, doc_id, "negatives")
        drawn = rng.sample(lower, min(self.per_query, len(lower)))
        return {"negatives": [self._text(each) for each in drawn], "negative_ids": drawn}

    def _text(self, doc_id: str) -> str:
        return self.corpus.text(doc_id, self.qrels_path)

    def all_known(self, examples: Iterable[Record]) -> Iterator[Record]:
        """The same records; after the last one, a judged query that was not among them raises."""
        yield from examples
        for query_id in self.qrels:
            if query_id not in self.seen:
                raise UserError(
                    f'no query has the id "{query_id}", which is judged',
                    "give the queries that were judged",
                ).at(self.qrels_path)
