"""Make training examples from records or judgements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from structkit.errors import UserError, flag
from structkit.pairs.examples import Fields
from structkit.pairs.judged import Corpus, Judged
from structkit.pairs.splits import drop_repeated, parse_split, split
from structkit.records.jsonl import Command as Stage
from structkit.records.jsonl import Record, Records, accepted, raising
from structkit.records.stream import Stream, WorkerOptions
from structkit.scoring.qrels import read_qrels
from structkit.settings import Command, seed_setting, setting

JUDGED = "With --qrels and --negatives-from"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Make training examples: adds `query` and `positive`; a docstring is cut out of its code.

    With --qrels, examples are made from judgements; with --negatives-from, they get `negatives`,
    `negative_ids`, `negative_ranks` and `negative_scores`.
    """

    query: str | None = setting(
        None, "Field with the query; default: docstring, bullets or query, by record."
    )
    positive: str | None = setting(
        None, "Field with the document; default: code, description, html or content."
    )
    positive_template: str | None = setting(
        None,
        "Document made of fields: 'title : {title} text : {description}' (SANTA).",
        metavar="TEXT",
    )
    qrels: str | None = setting(
        None,
        "Judgements: the highest grade is positive, lower ones are negative.",
        reads=True,
        requires=("queries", "negatives_from"),
    )
    queries: str | None = setting(
        None,
        "With --qrels: file with the judged queries.",
        reads=True,
        requires="qrels",
        group=JUDGED,
    )
    corpus: str | None = setting(
        None,
        "With --qrels or --negatives-from: file with the documents.",
        reads=True,
        requires=("qrels", "negatives_from"),
        group=JUDGED,
    )
    negatives_from: str | None = setting(
        None,
        "Draw hard negatives from this run, but none that --qrels grade above 0.",
        metavar="RUN",
        reads=True,
        requires="corpus",
    )
    depth: int | None = setting(
        None,
        "Documents of the run to draw from (default 100).",
        low=1,
        requires="negatives_from",
        group=JUDGED,
    )
    per_query: int | None = setting(
        None,
        "Negatives per example (default 1, or 0 if --qrels have no lower grades).",
        low=0,
        requires=("qrels", "negatives_from"),
        group=JUDGED,
    )
    margin: float | None = setting(
        None,
        "How much lower negatives must score than the positive.",
        requires="negatives_from",
        group=JUDGED,
    )
    dedupe: bool = setting(False, "Drop examples with a query or document seen before.")
    split: str | None = setting(
        None, "Add `split`, drawn by id, without leaks.", metavar="NAME:SHARE,…"
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        self.fields()
        if self.split is not None:
            parse_split(self.split)
        if self.queries is not None and self.qrels is not None and self.corpus is None:
            raise UserError(f"{flag('queries')} needs {flag('corpus')}", "add it", status=2)
        if self.per_query == 0 and self.negatives_from is not None:
            problem = f"{flag('per_query', 0)} asks {flag('negatives_from')} for nothing"
            raise UserError(problem, "leave one out", status=2)

    def fields(self) -> Fields:
        """Where a record has its query and its document."""
        return Fields(self.query, self.positive, self.positive_template)


def pair(
    records: Iterable[Record] | None = None, settings: Settings | None = None
) -> Iterator[Record]:
    """Add `query` and `positive`, taken from two fields of each record.

    By default docstring and code, one of the bullets and the description of a product, query and
    HTML. A list yields one item, drawn by `(seed, id)`. `positive_template` makes the positive from
    several fields. Where the query is a docstring, it is cut out of the code: CodeSearchNet's
    Python functions contain it, and a document must not contain its query. An empty text raises.

    With `queries`, `qrels` and `corpus`, and without records, examples are made from judgements.
    With `negatives_from`, a run, and `corpus`, they get hard `negatives`.

    >>> record = {"id": "1", "docstring": "Add.", "code": "def f(a, b): return a + b"}
    >>> [(made["query"], made["positive"]) for made in pair([record])]
    [('Add.', 'def f(a, b): return a + b')]
    """
    settings = settings or Settings()
    if settings.queries is None and records is None:
        remedy = f"give some, or name {flag('queries')}"
        raise UserError("there are no records", remedy, status=2)
    if settings.queries is None:
        return _examples(records or (), settings)
    if records is not None:
        problem = f"{flag('queries')} is the input"
        raise UserError(problem, "leave out the records", status=2)
    work = partial(_examples, settings=settings)
    return accepted(work, Records.read([settings.queries]), raising)


def _examples(records: Iterable[Record], settings: Settings) -> Iterator[Record]:
    each, then = stages(settings)
    yield from then(each(records)) if then else each(records)


def stages(settings: Settings, *, whole: bool = True) -> tuple[Stage, Stage | None]:
    """What looks at one record at a time, and what remembers records, if that is wanted.

    With `whole`, all judged queries must be among the records.
    """
    fields, seed, path = settings.fields(), settings.seed, settings.qrels
    qrels = {} if path is None else read_qrels(path)
    each: list[Stage] = [partial(_paired, fields=fields, seed=seed)]
    then: list[Stage] = []
    if settings.corpus is not None:
        corpus = Corpus(settings.corpus, fields.document_text)
        if path is not None and settings.queries is not None:
            count = 0 if settings.negatives_from else settings.per_query
            judged = Judged(path, qrels, corpus, fields.query_text, count, seed)
            each = [judged]
            then += [judged.all_known] * whole
        if settings.negatives_from is not None:
            from structkit.pairs.hard_negatives import HardNegatives

            hard = HardNegatives(
                settings.negatives_from,
                corpus,
                qrels,
                depth=settings.depth or 100,
                per_query=settings.per_query or 1,
                margin=settings.margin,
                seed=seed,
            )
            each.append(hard)
        corpus.read()
    if settings.dedupe:
        then.append(drop_repeated)
    if settings.split is not None:
        then.append(partial(split, splits=parse_split(settings.split), seed=seed))
    return _chain(each), _chain(then) if then else None


def _paired(records: Iterable[Record], fields: Fields, seed: int) -> Iterator[Record]:
    for record in records:
        yield {**record, **fields.example(record, seed)}


def _chain(stages: list[Stage]) -> Stage:
    def chained(records: Iterable[Record]) -> Iterator[Record]:
        for stage in stages:
            records = stage(records)
        yield from records

    return chained


def _main(settings: Settings, options: WorkerOptions) -> None:
    queries, sharded = settings.queries, options.shard is not None
    if queries is not None and options.files:
        problem, remedy = f"{flag('queries')} is the input", f"leave out {options.files[0]!r}"
        raise UserError(problem, remedy, status=2)
    if queries is not None and (options.workers > 1 or options.record_timeout):
        problem = f"{flag('queries')} is read by one process"
        remedy = f"leave out {flag('workers')} and {flag('record_timeout')}"
        raise UserError(problem, remedy, status=2)
    if options.ray is not None and (queries or settings.negatives_from):
        problem = f"{flag('queries')} and {flag('negatives_from')} are read on this machine"
        raise UserError(problem, f"leave out {flag('ray')}", status=2)
    if sharded and (settings.dedupe or settings.split is not None):
        problem = f"{flag('dedupe')} and {flag('split')} need the whole input"
        remedy = "shard another stage"
        raise UserError(f"{problem}, {flag('shard')} gives a part of it", remedy, status=2)
    stream = Stream.of(
        options,
        settings,
        files=options.files if queries is None else [queries],
        beside=[settings.qrels, settings.corpus, settings.negatives_from],
    )
    each, then = stages(settings, whole=not sharded)
    stream.run(each, then, label="pair")


COMMAND = Command(
    pair,
    Settings,
    _main,
    also=(WorkerOptions,),
    reads="`docstring` and `code`; `bullets` and `description`; `query` and `html` or `content`",
    adds="`query`, `positive`; with --split: `split`; with --negatives-from: `negatives`, "
    "`negative_ids`, `negative_ranks`, `negative_scores`; with --qrels: `query_id`, `doc_id`",
    examples="""
structkit pair functions.jsonl --dedupe -o examples.jsonl
structkit pair functions.jsonl --negatives-from run.jsonl --corpus functions.jsonl -o hard.jsonl
""",
)
