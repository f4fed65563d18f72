"""Find the documents that answer each query."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from structkit import registry
from structkit.command import Command
from structkit.errors import UserError, flag
from structkit.extras import BUILTIN
from structkit.learning.encoding.settings import EncodingSettings, Engine, engine_setting
from structkit.paths import is_pipe, keep_apart
from structkit.progress import announce, say
from structkit.records.fields import query_field
from structkit.records.jsonl import Record, Records, parse_each
from structkit.records.lines import input_name
from structkit.searching.options import (
    INDEX,
    WORDS,
    RunOutput,
    SearchOptions,
    WordOptions,
    check_method,
    is_for_a_list,
    method_of,
    question_records,
    unicode,
)
from structkit.settings import (
    Recorded,
    change,
    file_setting,
    files_of,
    flags_given,
    offline_setting,
    resolve,
    setting,
    setting_of,
)

if TYPE_CHECKING:
    from structkit.embeddings.vectors import TextEncoding
    from structkit.searching.hits import Backend, Ranked, Searcher


def usual_k(listed: bool) -> int:
    """100; 10 in a list"""
    return 10 if listed else 100


def standard_input() -> tuple[str, ...]:
    """Stdin"""
    return ("-",)


def usual_model(method: str) -> str | None:
    """none; builtin for hybrid"""
    return BUILTIN if method == "hybrid" else None


def usual_backend(settings: Settings) -> str:
    """exact; codes with {rescore}; approximate with another {index}, or a saved one"""
    if settings.rescore:
        return "codes"
    saved = len(settings.corpus) == 1 and os.path.isdir(settings.corpus[0])
    return "approximate" if saved or settings.index != "flat" else "exact"


@dataclass(frozen=True, kw_only=True)
class Settings(WordOptions, SearchOptions):
    """Find the documents that answer each query: `query_id`, `doc_id`, `score`, `rank`."""

    corpus: tuple[str, ...] = setting(
        ...,
        "Embeddings (JSONL, .npy, .parquet), texts (bm25, or with a model), or a saved index.",
        argument=True,
        reads=True,
    )
    queries: tuple[str, ...] = file_setting("File with the queries.", (), later=standard_input)
    query: tuple[str, ...] = setting(
        (),
        "Question to search for, instead of {queries}; may be repeated. A terminal gets a list.",
        metavar="TEXT",
        parse=unicode,
        excludes="queries",
    )
    k: int | None = setting(None, "Documents per query.", short="-k", low=1, later=usual_k)
    method: Literal["dense", "bm25", "hybrid"] | None = setting(
        None,
        "Search method: similarity of embeddings (dense), BM25 over texts, or both (hybrid).",
        later=method_of,
    )
    model: str | None = setting(
        None,
        "Encode the texts of queries with this model.",
        later=usual_model,
        short="-m",
        reads=True,
    )
    dimensions: int | None = setting(
        None,
        "Keep the first N numbers of the queries' embeddings.",
        later=Recorded("as CORPUS was encoded"),
        low=1,
        metavar="N",
        requires="model",
    )
    engine: Engine = engine_setting()
    offline: bool = offline_setting()
    query_field: str | None = setting(
        None,
        "Field with a query's text.",
        later=replace(query_field, besides="; with {model} the model's"),
    )
    backend: str = setting(
        None,
        "Search backend: exact, approximate, codes, pgvector.",
        usual=usual_backend,
        complete="backend",
        group=INDEX,
    )
    texts: tuple[str, ...] = file_setting(
        "File with the records whose embeddings CORPUS holds, for hybrid and for the list of "
        "{query}.",
        (),
        group=WORDS,
    )


BACKEND = setting_of(Settings, "backend")


def search(settings: Settings, *, encoding: TextEncoding | None = None) -> Iterator[Record]:
    """Yield run records: the k best documents of each query, best first, queries in input order.

    `method` is by default `dense`, or `bm25` if the corpus is a folder of a BM25 index. With
    `dense`, corpus and queries hold embeddings, and the score is their inner product or the model's
    `similarity`; `model` encodes texts of queries and of a corpus. With `bm25` both hold texts.
    `hybrid` does both: `texts` are the records of the corpus, unless it holds texts itself, and
    scores are scaled to 0 … 1 and summed, embeddings with weight 0.35 and words with the rest. A
    question in `query` has its number as id, from 1. Equal scores are ordered by descending
    document id. Errors: repeated ids.
    """
    from structkit.scoring.runs import run_records

    method: str = resolve(settings, "method", settings.corpus)
    check_method(settings.corpus, method)
    if not encoding:
        settings = change(settings, model=resolve(settings, "model", method))
    encoded = bool(encoding or settings.model)
    queries = question_records(
        settings.query, settings.queries, encoded=encoded, texts=method != "dense"
    )
    encodes = bool(settings.model) and method != "bm25" and holds_texts(settings.corpus)
    _check(settings, method, encoded, encodes)
    encoding = encoding or _encoding(settings)
    similarity = resolve(settings, "similarity", encoding.meta() if encoding else {})
    if similarity != settings.similarity:
        settings = change(settings, similarity=similarity)
    query_id = None
    with _with_embeddings(settings) if encodes else nullcontext(settings) as settings:
        for query_id, hits in _rankings(settings, method, queries, encoding):
            yield from run_records(query_id, hits)
    if query_id is None:
        say(f"{queries.lines.file} holds no queries; the run is empty")


def _rankings(
    settings: Settings, method: str, queries: Records, encoding: TextEncoding | None
) -> Iterator[Ranked]:
    """Yield the rankings of the queries."""
    from structkit.searching.hits import by_both, by_embeddings, by_words

    corpus, field, k = settings.corpus, settings.query_field, resolve(settings, "k", False)
    if method == "dense":
        return by_embeddings(_searcher(settings), queries, k, encoding)
    from structkit.searching.bm25 import lexical_index

    if method == "bm25":
        index = lexical_index(corpus, settings, save_index=settings.save_index)
        return by_words(index, queries, field, k)
    assert encoding
    searcher = _searcher(settings)
    index = lexical_index(settings.texts, settings)
    files = ", ".join(map(input_name, [*corpus, *settings.texts]))
    return by_both(searcher, index, queries, k, encoding, field, files)


def holds_texts(corpus: Sequence[str]) -> bool:
    """Return whether files hold records without embeddings; pipes are not opened."""
    file = corpus[0]
    if file.endswith((".npy", ".parquet")) or not os.path.isfile(file) or is_pipe(file):
        return False
    first: Record = next(iter(Records.read([file])), {"embedding": None})
    return "embedding" not in first


@contextmanager
def _with_embeddings(settings: Settings) -> Iterator[Settings]:
    """Encode a corpus with the queries' model, and yield settings with its embeddings."""
    from structkit.embeddings.writing import VectorFiles
    from structkit.learning.encoding.encoding import Encoding

    assert settings.model
    reads = EncodingSettings(
        model=settings.model,
        field=tuple(filter(None, [settings.document_field])),
        keep=tuple(dict.fromkeys(name for name, _ in settings.conditions)),
        engine=settings.engine,
        offline=settings.offline,
    )
    encoding = Encoding(reads)
    announce(f"encoding {', '.join(map(input_name, settings.corpus))} with {settings.model}")
    with TemporaryDirectory(prefix="structkit-") as folder:
        path = os.path.join(folder, "corpus.npy")
        records = Records.read(settings.corpus)
        texts = (text for _, text in parse_each(records, encoding.read))
        with VectorFiles(path, fields=bool(reads.keep)) as files:
            for rows, embeddings in encoding.windows(texts):
                files.add(rows, embeddings)
            files.finish(encoding.meta())
        encoding.report()
        yield change(settings, corpus=(path,), texts=settings.texts or settings.corpus)


def _check(settings: Settings, method: str, encoded: bool, encodes: bool) -> None:
    """Raise for settings that the method does not take.

    `encoded`: a model reads the queries; `encodes`: it reads the corpus, too.
    """
    model, texts = flag("model"), flag("texts")
    searched = [name for name in flags_given(settings, SearchOptions) if name != flag("save_index")]
    refused = {
        "dense": [
            name
            for name in flags_given(settings, WordOptions)
            if not encodes or name != flag("document_field")
        ],
        "bm25": searched + [flag("backend")] * bool(BACKEND.given(settings)) + [model] * encoded,
        "hybrid": [flag("filter")] * bool(settings.filter),
    }
    alone = settings.texts and method != "hybrid" and not settings.query
    others = refused[method] + [texts] * bool(alone)
    if others:
        problem = f"{flag('method', method)} takes no {', '.join(others)}"
        raise UserError(problem, "leave it out, or search with another method", status=2)
    if method == "hybrid" and not settings.texts and not encodes:
        problem = f"{flag('method', 'hybrid')} needs {texts}"
        remedy = f"CORPUS holds embeddings, {texts} their records, {model} encodes the queries"
        raise UserError(problem, remedy, status=2)


def _searcher(settings: Settings) -> Searcher:
    """Open the corpus with its backend."""
    kind: type[Backend] = registry.load("backend", settings.backend)
    searcher = kind().open(settings.corpus, settings)
    searcher.similarity = settings.similarity
    return searcher


def _encoding(settings: Settings) -> TextEncoding | None:
    """Return the encoding of the queries' texts, or None if they are embeddings."""
    if not settings.model:
        return None
    from structkit.learning.encoding.encoding import Encoding

    reads = EncodingSettings(
        model=settings.model,
        as_="query",
        field=tuple(filter(None, [settings.query_field])),
        dimensions=settings.dimensions,
        engine=settings.engine,
        offline=settings.offline,
    )
    return Encoding(reads)


def _main(settings: Settings, output: RunOutput) -> None:
    from structkit.scoring.runs import write_run

    if not settings.query and not settings.queries:
        settings = change(settings, queries=resolve(settings, "queries"))
        read = [path for _, path in files_of([settings], "reads")]
        keep_apart(files_of([settings, output], "writes"), read)
    if not is_for_a_list(settings.query, output):
        write_run(search(settings), output.output, output.format)
        return
    from structkit.searching.listing import write_answers

    lexical = resolve(settings, "method", settings.corpus) == "bm25"
    shows = lexical or holds_texts(settings.corpus)
    documents = settings.texts or (settings.corpus if shows else ())
    settings = change(settings, k=resolve(settings, "k", True))
    write_answers(search(settings), settings.query, documents)


COMMAND = Command(
    search,
    Settings,
    _main,
    also=(RunOutput,),
    reads="`id` and `embedding`, or a text; queries: the same",
    writes="`query_id`, `doc_id`, `score`, `rank`; with {explain}: `best`",
    examples="""
structkit search pages.npy -m models/seal --queries pages.jsonl -o dense.jsonl
structkit search codes.npy --rescore pages.npy -m models/seal --queries pages.jsonl -o run.jsonl
structkit search functions.jsonl -m builtin --query "read a file" -k 3
structkit search functions.jsonl --method bm25 --queries functions.jsonl -o run.jsonl
structkit search functions.jsonl --method bm25 --save-index words --query "read a file" -k 3
structkit search pages.npy -m models/seal --method hybrid --texts pages.jsonl --queries pages.jsonl
""",
)
