"""Make training examples from records or judgements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from structkit.command import Command
from structkit.errors import UserError, flag, leave_out, wrong_usage
from structkit.pairs.splits import add_split, drop_repeated, group_of, parse_split
from structkit.records.fields import (
    DOCUMENT_FIELDS,
    PAIRED_FIELDS,
    QUERY_FIELD_OF,
    QUERY_FIELDS,
    text_name,
)
from structkit.records.jsonl import Record, Stage, json_kind, text_field
from structkit.records.stream import Stream, WorkerOptions
from structkit.reproducibility import random_for
from structkit.settings import file_setting, seed_setting, setting, settings_class
from structkit.structure.code.languages import without_docstring

if TYPE_CHECKING:
    from structkit.pairs.negatives import HardNegatives, Judged, ScoredRun

JUDGED_GROUP = "With {qrels} and {negatives_from}"
# query and document of every kind of record that holds both
QUERY_AND_DOCUMENT_FIELDS = [
    (QUERY_FIELD_OF[name], name) for name in DOCUMENT_FIELDS if name in QUERY_FIELD_OF
]
TEMPLATE_FIELD = re.compile(r"\{(\w+)\}")  # in a template
LIST_FIELDS = (
    "bullets",
    "product_bullet_point",
)  # a string is a list too, one item per line (ESCI)


@settings_class
class Settings:
    """Make training examples: add `query` and `positive`, and cut a docstring out of its code.

    With --qrels, examples come from judgements; with --negatives-from, they get `negatives`,
    `negative_ids`, `negative_ranks` and `negative_scores`.
    """

    query: str | None = setting(
        None, "Field with the query.", inferred="query, docstring or bullets, by record"
    )
    positive: str | None = setting(
        None, "Field with the document.", inferred="positive, code, description, html or content"
    )
    positive_template: str | None = setting(
        None,
        "Template of the document, with fields: 'title : {{title}} text : {{description}}' "
        "(SANTA).",
        metavar="TEXT",
    )
    qrels: str | None = file_setting(
        "Make examples from judgements: the highest grade is positive, lower ones are negative.",
        requires=("queries", "negatives_from"),
    )
    queries: str | None = file_setting(
        "File with the judged queries, for {qrels}.",
        requires="corpus",
        # they are the input, and one process of this machine reads what was judged
        excludes=("files", "workers"),
        group=JUDGED_GROUP,
    )
    corpus: str | None = file_setting(
        "File with the documents, for {qrels} or {negatives_from}.",
        requires=("qrels", "negatives_from"),
        group=JUDGED_GROUP,
    )
    negatives_from: str | None = file_setting(
        "Draw hard negatives from this run, except positives of an equal query and documents that "
        "{qrels} grade above 0.",
        metavar="RUN",
        requires="corpus",
    )
    depth: int = setting(
        None,
        "Documents of the run to draw from.",
        usual=100,
        low=1,
        requires="negatives_from",
        group=JUDGED_GROUP,
    )
    per_query: int | None = setting(
        None,
        "Negatives per example.",
        inferred="1, or 0 if {qrels} have no lower grades",
        low=0,
        requires=("qrels", "negatives_from"),
        group=JUDGED_GROUP,
    )
    margin: float | None = setting(
        None,
        "Minimum difference between the scores of the positive and a negative.",
        requires="negatives_from",
        group=JUDGED_GROUP,
    )
    teacher: str | None = file_setting(
        "Add `scores` of this reranked run, for {distill} of `train`; the margin is of them.",
        metavar="RUN",
        group=JUDGED_GROUP,
    )
    dedupe: bool = setting(
        False, "Keep one example of those that share a query or document.", excludes="shard"
    )
    split: str | None = setting(
        None,
        "Add `split`, drawn by id without leaks between splits.",
        metavar="NAME:SHARE,…",
        excludes="shard",
    )
    split_by: str | None = setting(
        None,
        "Field whose value decides the split instead of the id, such as `path`.",
        metavar="FIELD",
        requires="split",
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        if self.positive_template is not None and not TEMPLATE_FIELD.search(self.positive_template):
            problem = f"{flag('positive_template', self.positive_template)} names no fields in "
            raise wrong_usage(
                f"{problem}braces", "for example 'title : {title} text : {description}'"
            )
        if self.split is not None:
            parse_split(self.split)


def pair(settings: Settings, *, whole_input: bool = True) -> Stage:
    """Add `query` and `positive`, taken from two fields of each record.

    By default docstring and code, one of the bullets and the description of a product, query and
    HTML. A list yields one item, drawn by `(seed, id)`. `positive_template` makes the positive from
    several fields. Where the query is a docstring, it is cut out of the code: CodeSearchNet's
    Python functions contain it, and a document must not contain its query. An empty text raises.

    With `queries`, `qrels` and `corpus`, and without records, examples are made from judgements.
    With `negatives_from`, a run, and `corpus`, they get hard `negatives`.

    >>> record = {"id": "1", "docstring": "Add.", "code": "def f(a, b): return a + b"}
    >>> [(made["query"], made["positive"]) for made in pair(Settings()).each(record)]
    [('Add.', 'def f(a, b): return a + b')]
    """
    seed = settings.seed
    judged = hard = teacher = None
    plain = partial(_examples, settings=settings)
    if settings.teacher:
        from structkit.pairs.negatives import ScoredRun

        teacher = ScoredRun(settings.teacher)
    if settings.corpus:
        from structkit.pairs.negatives import Corpus, HardNegatives, Judged
        from structkit.scoring.qrels import read_qrels

        path = settings.qrels
        corpus = Corpus(settings.corpus, partial(corpus_text, settings=settings))
        qrels = read_qrels(path) if path else {}
        count, run = settings.per_query, settings.negatives_from
        if path and settings.queries:
            text = partial(judged_query_text, settings=settings)
            # a run gives the negatives, too
            judged = Judged(path, qrels, corpus, text, 0 if run else count, seed)
        if run:
            count = 1 if count is None else count
            hard = HardNegatives(
                run, corpus, qrels, settings.depth, count, settings.margin, seed, teacher
            )
            corpus.read(partial(_note, hard, partial(plain, judged=None)))
        else:
            corpus.read()
    plain = partial(plain, judged=judged)
    each = partial(plain, hard=hard, teacher=teacher)
    first = partial(_note, hard, plain) if hard else None

    def finish(records: Iterable[Record]) -> Iterator[Record]:
        if judged and whole_input:  # of a shard, some queries are elsewhere
            records = judged.all_known(records)
        if settings.dedupe:
            records = drop_repeated(records)
        if settings.split:
            records = add_split(records, parse_split(settings.split), settings.split_by, seed)
        return iter(records)

    must_know_all = (judged and whole_input) or settings.dedupe or settings.split
    return Stage(each, finish if must_know_all else None, first=first)


def _note(
    hard: HardNegatives, examples: Callable[[Record], Iterator[Record]], record: Record
) -> None:
    """Show the examples of a record to what draws negatives."""
    for each in examples(record):
        hard.note(each)


def _examples(
    record: Record,
    settings: Settings,
    judged: Judged | None,
    hard: HardNegatives | None = None,
    teacher: ScoredRun | None = None,
) -> Iterator[Record]:
    """Yield the examples of a record or, with judgements, of a query."""
    examples = judged.examples(record) if judged else [{**record, **example(record, settings)}]
    for item in examples:
        if settings.split_by is not None:
            group_of(item, settings.split_by)  # or the record is rejected
        completed = {**item, **hard.negatives(item)} if hard else item
        yield teacher.add_scores(completed) if teacher else completed


def example(record: Record, settings: Settings) -> Record:
    """Return query and positive of one record that holds both.

    >>> settings = Settings(positive_template="title : {title} text : {description}")
    >>> example({"id": "1", "bullets": "Red", "title": "Cup", "description": "A cup."}, settings)
    {'query': 'Red', 'positive': 'title : Cup text : A cup.'}
    """
    query, positive = _query_and_document(record, settings)
    query_text = field_text(record, query, settings.seed, "query")
    if query == "docstring" and isinstance(record.get(positive), str):
        record = {**record, positive: without_docstring(record[positive], record)}
    if settings.positive_template is not None:
        positive_text = fill_template(settings.positive_template, record)
    else:
        positive_text = field_text(record, positive, settings.seed, "positive")
    return {"query": query_text, "positive": positive_text}


def _query_and_document(record: Record, settings: Settings) -> tuple[str, str]:
    """Return the fields of a record that hold its query and its document."""
    if settings.query and settings.positive:
        return settings.query, settings.positive
    # a record's document says more about its kind than its query
    for side, given in ((1, settings.positive), (0, settings.query)):
        for fields in QUERY_AND_DOCUMENT_FIELDS:
            if fields[side] in record and given in (None, "", fields[side]):
                return settings.query or fields[0], settings.positive or fields[1]
    if settings.positive_template and settings.query:
        return settings.query, "positive"
    raise UserError(
        f"the record is not code, product or HTML document: it has {', '.join(record)}",
        f"name its fields with {flag('query')} and {flag('positive')}",
    )


def judged_query_text(record: Record, settings: Settings) -> str:
    """Return the text of a record that is a query."""
    field = settings.query or text_name(record, QUERY_FIELDS, f"name one with {flag('query')}")
    return field_text(record, field, 0, "query")


def corpus_text(record: Record, settings: Settings) -> str:
    """Return the text of a record that is a document."""
    if settings.positive_template is not None:
        return fill_template(settings.positive_template, record)
    remedy = f"name one with {flag('positive')}"
    field = settings.positive or text_name(record, PAIRED_FIELDS, remedy)
    return field_text(record, field, 0, "positive")


def field_text(record: Record, field: str, seed: int, setting: str) -> str:
    """Return the text in a field; from a list, one nonempty item drawn by `(seed, id)`."""
    value = record.get(field)
    remedy = f"name another with {flag(setting)}"
    if isinstance(value, str) and field in LIST_FIELDS:
        value = value.splitlines()
    if isinstance(value, list):
        if other_kinds := [json_kind(item) for item in value if not isinstance(item, str)]:
            raise UserError(
                f'field "{field}" is a list with {other_kinds[0]}, not of strings alone', remedy
            )
        nonempty = [item for item in value if item.strip()]
        value = random_for(seed, record["id"], field).choice(nonempty) if nonempty else ""
    else:
        value = text_field(record, field, f"{remedy}, or {leave_out()}", named=True)
    if not value.strip():
        raise UserError(f'field "{field}" is empty', leave_out())
    return str(value)


def fill_template(template: str, record: Record) -> str:
    """Fill the template with the record's fields; null is empty, items of a list are joined.

    Errors: a missing field, or only empty fields.
    """
    values = {name: _template_value(record, name) for name in TEMPLATE_FIELD.findall(template)}
    if not any(map(str.strip, values.values())):
        raise UserError(f"the fields {', '.join(values)} are empty", "leave the record out")
    return TEMPLATE_FIELD.sub(lambda match: values[match[1]], template).rstrip()


def _template_value(record: Record, name: str) -> str:
    value = record.get(name)
    if name in record and value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return text_field(
        record, name, f"change {flag('positive_template')}, which names it", named=True
    )


def _main(settings: Settings, options: WorkerOptions) -> None:
    stream = Stream.of(
        options,
        settings,
        files=options.files if settings.queries is None else [settings.queries],
        beside=[settings.qrels, settings.corpus, settings.negatives_from, settings.teacher],
        workers=options.workers or 1,  # it is cheap
    )
    stream.run(pair(settings, whole_input=options.shard is None), label="pair")


COMMAND = Command(
    pair,
    Settings,
    _main,
    also=(WorkerOptions,),
    stage=pair,
    instead="queries",
    reads="`docstring` and `code`; `bullets` and `description`; `query` and `html` or `content`",
    adds="`query`, `positive`; with {split}: `split`; with {negatives_from}: `negatives`, "
    "`negative_ids`, `negative_ranks`, `negative_scores`; with {qrels}: `query_id`, `doc_id`; "
    "with {teacher}: `scores`",
    examples="""
structkit pair functions.jsonl --dedupe -o examples.jsonl
structkit pair functions.jsonl --negatives-from run.jsonl --corpus functions.jsonl -o hard.jsonl
""",
)
