"""Negatives: documents judged lower than the answer, or ranked high but wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from structkit.errors import UserError, flag, leave_out
from structkit.pairs.splits import digest
from structkit.progress import say
from structkit.records.jsonl import Record, Records, input_name
from structkit.reproducibility import random_for
from structkit.scoring.qrels import Qrels
from structkit.scoring.runs import ranking, read_run

TextOf = Callable[[Record], str]


class Corpus:
    """The texts of the needed documents of a file, by id, once all are known and it is read.

    A document with an unusable text raises when it is read, with its place in the file.
    """

    def __init__(self, path: str, text: TextOf) -> None:
        self.path, self.text_of = path, text
        self.needed: set[str] = set()
        self.texts: dict[str, str | UserError] = {}
        self.digests: dict[str, bytes] = {}

    def read(self, look: Callable[[Record], None] = lambda record: None) -> None:
        """Read the file, which may be a pipe: once. `look` sees the usable documents."""
        records = Records.read([self.path])
        for record in records:
            name = record["id"]
            if name not in self.needed:
                continue
            if name in self.texts:
                raise records.place(UserError(f'document "{name}" occurs twice', "keep one"))
            try:
                self.texts[name] = text = self.text_of(record)
                self.digests[name] = digest("d", text)
            except UserError as error:
                self.texts[name] = records.place(error)
                continue
            with suppress(UserError):  # it is no example, too
                look(record)

    def is_one_of(self, doc_id: str, answers: set[str | bytes]) -> bool:
        """Return whether a document, or its text, is an answer, or the text is unusable."""
        unusable = isinstance(self.texts.get(doc_id), UserError)
        return unusable or doc_id in answers or self.digests.get(doc_id, b"") in answers

    def text(self, doc_id: str, source: str) -> str:
        """Return the text of a document that the file `source` names."""
        text = self.texts.get(doc_id)
        if text is None:
            names = input_name(source), input_name(self.path)
            raise UserError(
                f'document "{doc_id}" of {names[0]} is not in {names[1]}', "give the whole corpus"
            )
        if isinstance(text, UserError):
            raise text
        return text


@dataclass
class Judged:
    """Judgements over a corpus, which make an example for every positive of a query.

    Positives are the documents of the highest grade in the file (ESCI: Exact); negatives are drawn
    by `(seed, query, document)` from the query's documents of lower grades: `per_query`, by default
    one, or none where no query has such documents (BEIR judges answers alone). Source: SANTA,
    section 4 (positives Exact; negatives Substitute, Complement, Irrelevant).
    """

    qrels_path: str
    qrels: Qrels
    corpus: Corpus
    query_text: TextOf
    per_query: int | None
    seed: int
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.top = max(max(grades.values()) for grades in self.qrels.values())
        if self.top < 1:
            raise UserError("judges no document above 0", "give judgements with answers").at(
                self.qrels_path
            )
        if self.per_query is None:
            self.per_query = int(any({self.top} < {*some.values()} for some in self.qrels.values()))
            if not self.per_query:
                say("the judgements hold no lower grades; the examples get no negatives")
        self.corpus.needed.update(*self.qrels.values())

    def examples(self, query: Record) -> Iterator[Record]:
        """Yield the examples of a query, one for each of its positives."""
        name = query["id"]
        self.seen.add(name)
        grades = self.qrels.get(name)
        if grades is None:
            raise UserError(
                f"the query has no judgement in {input_name(self.qrels_path)}",
                f"give judged queries only, or {leave_out('others')}",
            )
        lower = sorted(doc_id for doc_id, grade in grades.items() if grade < self.top)
        positives = [doc_id for doc_id, grade in grades.items() if grade == self.top]
        if not positives or (self.per_query and not lower):
            lack, remedy = f"highest grade, {self.top}", leave_out("such queries")
            if positives:
                lack, remedy = "lower grade", f"give {flag('per_query', 0)}, or {remedy}"
            raise UserError(f"the query has no document of the {lack}", remedy)
        text = self.query_text(query)
        for doc_id in positives:
            example = {
                "id": f"{name}:{doc_id}",
                "query_id": name,
                "doc_id": doc_id,
                "query": text,
                "positive": self.corpus.text(doc_id, self.qrels_path),
            }
            yield {**query, **example, **self._negatives(name, doc_id, lower)}

    def _negatives(self, query_id: str, doc_id: str, lower: list[str]) -> Record:
        if not self.per_query:
            return {}
        rng = random_for(self.seed, query_id, doc_id, "negatives")
        drawn = rng.sample(lower, min(self.per_query, len(lower)))
        return {
            "negatives": [self.corpus.text(each, self.qrels_path) for each in drawn],
            "negative_ids": drawn,
        }

    def all_known(self, examples: Iterable[Record]) -> Iterator[Record]:
        """Yield the same records, then raise for a judged query that was not among them."""
        yield from examples
        for query_id in self.qrels:
            if query_id not in self.seen:
                raise UserError(
                    f'no query has the id "{query_id}", which is judged',
                    "give the queries that were judged",
                ).at(self.qrels_path)


@dataclass
class HardNegatives:
    """Run over a corpus, from which an example gets hard negatives.

    They are drawn by `(seed, id)` from the first `depth` documents of the run, in rank order,
    without the documents of all examples with an equal query (`doc_id`, otherwise the id),
    documents judged above 0 for it, and documents with the text of a positive or an empty one.
    `note` gets all examples first, also those in the corpus. Queries are equal whatever their case
    and white space. With a `margin`, negatives must score lower than the positive by more than it.
    The scores are the `teacher`'s, if there is one, otherwise the run's. Source: SANTA, section 4
    (one of the top 100).
    """

    run_path: str
    corpus: Corpus
    qrels: Qrels
    depth: int
    per_query: int
    margin: float | None
    seed: int
    teacher: ScoredRun | None

    def __post_init__(self) -> None:
        self.run = ScoredRun(self.run_path)
        hits = self.run.hits.items()
        self.top = {query: ranking(scores)[: self.depth] for query, scores in hits}
        self.corpus.needed.update(*self.top.values())
        self.answers: dict[bytes, set[str | bytes]] = defaultdict(set)

    def note(self, example: Record) -> None:
        """Remember the documents that answer the example's query."""
        query_id, own = _query_and_document_ids(example)
        good = [doc_id for doc_id, grade in self.qrels.get(query_id, {}).items() if grade > 0]
        self.answers[_query_digest(example)].update((own, digest("d", example["positive"]), *good))

    def negatives(self, example: Record) -> Record:
        """Return the fields of an example with its negatives: texts, ids, ranks and scores."""
        query_id, own = _query_and_document_ids(example)
        scores = self.run.of(query_id)
        ranks = self._candidates(example, query_id, own)
        if not ranks:
            problem = f"no negative is left among the first {self.depth} documents"
            more = f"search deeper, raise {flag('depth')}, lower {flag('margin')}"
            raise UserError(problem, f"{more}, or {leave_out()}")
        drawn = random_for(self.seed, example["id"], "negatives")
        ranks = sorted(drawn.sample(ranks, min(self.per_query, len(ranks))))
        ids = [self.top[query_id][rank - 1] for rank in ranks]
        return {
            "negatives": [self.corpus.text(doc_id, self.run_path) for doc_id in ids],
            "negative_ids": ids,
            "negative_ranks": ranks,
            "negative_scores": [scores[doc_id] for doc_id in ids],
        }

    def _candidates(self, example: Record, query_id: str, own: str) -> list[int]:
        """Return the ranks, from 1, of the documents that may be negatives."""
        answers = self.answers[_query_digest(example)]
        ranked = enumerate(self.top[query_id], 1)
        ranks = [rank for rank, doc_id in ranked if not self.corpus.is_one_of(doc_id, answers)]
        if self.margin is None:
            return ranks
        scorer = self.teacher or self.run
        limit = scorer.score(query_id, own) - self.margin
        documents = self.top[query_id]
        return [rank for rank in ranks if scorer.score(query_id, documents[rank - 1]) < limit]


def _query_and_document_ids(example: Record) -> tuple[str, str]:
    """Return the ids of an example's query and document, by default its own."""
    return str(example.get("query_id", example["id"])), str(example.get("doc_id", example["id"]))


def _query_digest(example: Record) -> bytes:
    return digest("q", example["query"].casefold())


class ScoredRun:
    """A run whose scores decide, or which an encoder learns."""

    def __init__(self, path: str) -> None:
        self.path, self.hits = path, read_run(path)

    def add_scores(self, example: Record) -> Record:
        """Return the example with the scores of its positive, then of its negatives.

        Errors: it has no ids of negatives, or the run lacks one.
        """
        ids = example.get("negative_ids")
        if not isinstance(ids, list) or len(ids) != len(example.get("negatives", ())):
            problem = 'the example has no "negative_ids" of its negatives'
            more = f"{flag('negatives_from')}, or {flag('qrels')} with lower grades"
            raise UserError(problem, f"add negatives with {more}")
        query_id, own = _query_and_document_ids(example)
        every = [own, *map(str, ids)]
        return {**example, "scores": [self.score(query_id, doc_id) for doc_id in every]}

    def of(self, query_id: str) -> dict[str, float]:
        """Return the scores of a query's documents."""
        if query_id not in self.hits:
            raise UserError(
                f'query "{query_id}" is not in {input_name(self.path)}',
                "search with the same queries, their ids in `query_id` or `id`",
            )
        return self.hits[query_id]

    def score(self, query_id: str, doc_id: str) -> float:
        """Return the score of a document for a query."""
        scores = self.of(query_id)
        if doc_id not in scores:
            problem = f'{input_name(self.path)} has no score of "{doc_id}" for query "{query_id}"'
            deeper = f"with {flag('k')} as large as {flag('depth')}"
            raise UserError(problem, f"search and rerank {deeper}, or {leave_out()}")
        return scores[doc_id]
