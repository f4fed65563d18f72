"""Find the documents that answer each query."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from structkit import registry
from structkit.command import Command
from structkit.errors import UserError, flag, program, wrong_usage
from structkit.extras import BUILTIN
from structkit.learning.encoding.settings import (
    NODE_ROWS,
    EncodingSettings,
    EngineName,
    engine_setting,
)
from structkit.paths import is_pipe, keep_apart
from structkit.progress import say
from structkit.records.fields import FIRST_OF_QUERY
from structkit.records.jsonl import Record, Records, parse_each
from structkit.scoring.exclusions import Exclusions, exclude_setting
from structkit.searching.options import (
    INDEX_GROUP,
    WORDS_GROUP,
    RunOutput,
    SearchOptions,
    WordOptions,
    method_of,
    question_records,
)
from structkit.settings import (
    change,
    file_setting,
    files_of,
    flags_given,
    given_values,
    offline_setting,
    setting,
    settings_class,
    unicode,
)

if TYPE_CHECKING:
    from structkit.embeddings.reading import Embeddings
    from structkit.learning.encoding.encoding import Encoding
    from structkit.searching.hits import Ranked


def usual_backend(settings: Settings) -> str:
    """exact; codes with {rescore}; approximate with another {index}, or a saved one"""
    saved = len(settings.corpus) == 1 and os.path.isdir(settings.corpus[0])
    if settings.rescore and not saved:
        return "codes"
    return "approximate" if saved or settings.index != "flat" else "exact"


@settings_class
class Settings(WordOptions, SearchOptions):
    """Find the documents that answer each query: `query_id`, `doc_id`, `score`, `rank`."""

    corpus: tuple[str, ...] = setting(
        ...,
        "Embeddings (JSONL, .npy, .parquet), texts (bm25, or with a model), or a saved index.",
        argument=True,
        reads=True,
    )
    queries: tuple[str, ...] = file_setting("File with the queries.", (), inferred="stdin")
    query: tuple[str, ...] = setting(
        (),
        "Question to search for, instead of {queries}; may be repeated. A terminal gets a list.",
        metavar="TEXT",
        parse=unicode,
        excludes="queries",
    )
    k: int | None = setting(
        None, "Documents per query.", short="-k", low=1, inferred="100; 10 in a list"
    )
    method: Literal["dense", "bm25", "hybrid"] | None = setting(
        None,
        "Search method: similarity of embeddings (dense), BM25 over texts, or both (hybrid).",
        inferred="bm25 for a saved BM25 index, otherwise dense",
    )
    model: str | None = setting(
        None,
        "Encode the texts of queries with this model.",
        inferred="none; builtin for hybrid",
        short="-m",
        reads=True,
    )
    dimensions: int | None = setting(
        None,
        "Keep the first N numbers of embeddings.",
        inferred="as CORPUS was encoded",
        low=1,
        metavar="N",
        requires="model",
    )
    engine: EngineName = engine_setting()
    offline: bool = offline_setting()
    query_field: str | None = setting(
        None, "Field with a query's text.", inferred=FIRST_OF_QUERY + "; with {model} the model's"
    )
    backend: str = setting(
        None,
        "Search backend: exact, approximate, codes.",
        usual=usual_backend,
        complete="backend",
        group=INDEX_GROUP,
    )
    exclude: tuple[str, ...] = exclude_setting()
    texts: tuple[str, ...] = file_setting(
        "File with the records whose embeddings CORPUS holds, for hybrid and for the list of "
        "{query}.",
        (),
        group=WORDS_GROUP,
    )


QUERY_ROW_KINDS = ("tokens", *NODE_ROWS)  # rows that a query has if the corpus does


def search(settings: Settings) -> Iterator[Record]:
    """Yield run records: the k best documents of each query, best first, queries in input order.

    `method` is by default `dense`, or `bm25` if the corpus is a folder of a BM25 index. With
    `dense`, corpus and queries hold embeddings, and the score is their inner product or the model's
    `similarity`; `model` encodes texts of queries and of a corpus. With `bm25` both hold texts.
    `hybrid` does both: `texts` are the records of the corpus, unless it holds texts itself, and
    scores are scaled to 0 … 1 and summed, embeddings with weight 0.35 and words with the rest. A
    question in `query` has its number as id, from 1. Equal scores are ordered by descending
    document id. Errors: repeated ids.
    """
    from structkit.searching.hits import run_records

    method = settings.method or method_of(settings.corpus)
    model = settings.model or (BUILTIN if method == "hybrid" else None)
    encodes = bool(model) and method != "bm25" and holds_texts(settings.corpus)
    _refuse_settings_of_others(settings, method, encodes=encodes)
    queries = question_records(
        settings.query, settings.queries, encoded=bool(model), texts=method != "dense"
    )
    k, excluded = settings.k or 100, Exclusions(settings.exclude)
    depth = k + excluded.most
    if method == "bm25":
        from structkit.searching.lexical import lexical_index

        index = lexical_index(settings.corpus, settings, save_index=settings.save_index)
        rankings = index.rankings(queries, settings.query_field, depth)
    else:
        rankings = _rankings_with_embeddings(
            settings, queries, depth, model, encodes, hybrid=method == "hybrid"
        )
    query_id = None
    for query_id, hits in rankings:
        if excluded.most:
            hits = [hit for hit in hits if not excluded.holds(query_id, hit.doc_id)]
        yield from run_records(query_id, hits[:k])
    if query_id is None:
        say(f"{queries.lines.file} holds no queries; the run is empty")
    else:
        excluded.report()


def _rankings_with_embeddings(
    settings: Settings,
    queries: Records,
    k: int,
    model: str | None,
    encodes: bool,
    *,
    hybrid: bool,
) -> Iterator[Ranked]:
    """Yield the rankings of queries by embeddings, or in a `hybrid` by words as well.

    The model, if any, encodes the queries; the corpus too if it `encodes`.
    """
    from structkit.searching.hits import Backend, EmbeddedCorpus, dense_rankings

    files, encoding, corpus = settings.corpus, None, None
    if model and encodes:
        encoding, corpus = _encode_corpus(settings, model)
    elif model:
        encoding = _open_encoding(settings, model, "query")
    similarity_given = given_values(settings)["similarity"]
    model_similarity = encoding.meta().get("similarity") if encoding else None
    similarity = similarity_given or model_similarity or settings.similarity
    if encoding and encoding.part and similarity != "maxsim":
        problem = f"{flag('similarity', similarity)} is of one embedding per text, not of rows"
        raise wrong_usage(problem, "leave it out, or name another model")
    kind: type[Backend] = registry.load("backend", settings.backend)
    # the usual one is not given: a backend may take none
    is_usual = similarity == settings.similarity
    options = settings if is_usual else change(settings, similarity=similarity)
    searcher = kind().open(EmbeddedCorpus(files, corpus), options)
    if not hybrid:
        return dense_rankings(searcher, queries, k, encoding, similarity)
    from structkit.searching.fusion import hybrid_rankings
    from structkit.searching.lexical import lexical_index

    assert encoding
    index = lexical_index(settings.texts or files, settings)
    return hybrid_rankings(searcher, index, queries, k, encoding, similarity, settings.query_field)


def holds_texts(corpus: Sequence[str]) -> bool:
    """Return whether files hold records without embeddings; pipes are not opened."""
    file = corpus[0]
    if file.endswith((".npy", ".parquet")) or not os.path.isfile(file) or is_pipe(file):
        return False
    first: Record = next(iter(Records.read([file])), {"embedding": None})
    return "embedding" not in first


def _encode_corpus(settings: Settings, model: str) -> tuple[Encoding, Embeddings]:
    """Encode the texts of the corpus; return the encoding of queries by the same model, too."""
    import numpy as np

    from structkit.embeddings.reading import Embeddings
    from structkit.embeddings.vectors import Matrix, largest_norm

    documents = _open_encoding(settings, model, "document")
    records = parse_each(Records.read(settings.corpus), documents.read)
    embedded = [*documents.windows(text for _, text in records)]
    documents.report()
    if not embedded:
        raise UserError("the corpus is empty", "name a file of texts").at(settings.corpus[0])
    rows = [row for window, _ in embedded for row in window]
    vectors = Matrix([np.concatenate([vectors for _, vectors in embedded])])
    doc_ids = [row.document for row in rows]
    corpus = Embeddings(
        doc_ids,
        vectors,
        largest_norm(vectors),
        doc_ids,
        fields=[row.fields for row in rows] if settings.filter else [],
        meta=documents.meta(),
    )
    opened = documents.engine, documents.metadata
    return _open_encoding(settings, model, "query", opened), corpus


def _open_encoding(
    settings: Settings, model: str, side: Literal["query", "document"], opened: Any = None
) -> Encoding:
    """Return the encoding of the texts of queries or of documents, by a model that may be open."""
    from structkit.embeddings.reading import kind_of_rows
    from structkit.learning.encoding.encoding import Encoding

    document = side == "document"
    summed = settings.similarity == "maxsim" and not document
    rows: Any = kind_of_rows((settings.rescore or settings.corpus)[0]) if summed else None
    field = settings.document_field if document else settings.query_field
    keep = dict.fromkeys(name for name, _ in settings.conditions) if document else ()
    reads = EncodingSettings(
        model=model,
        as_=side,
        field=tuple(filter(None, [field])),
        keep=tuple(keep),
        rows=rows if rows in QUERY_ROW_KINDS else None,
        dimensions=settings.dimensions,
        engine=settings.engine,
        offline=settings.offline,
    )
    return Encoding(reads, opened=opened)


def _refuse_settings_of_others(settings: Settings, method: str, *, encodes: bool) -> None:
    """Raise for what another search method takes; `encodes`: a model reads the corpus."""
    if method != "bm25" and method_of(settings.corpus) == "bm25":
        problem = f"is an index for {flag('method', 'bm25')}"
        raise UserError(problem, f"leave out {flag('method')}").at(settings.corpus[0])
    model, texts = flag("model"), flag("texts")
    words, index = (flags_given(settings, kind) for kind in (WordOptions, SearchOptions))
    if method == "dense":
        others = [name for name in words if not (encodes and name == flag("document_field"))]
    elif method == "bm25":
        others = [name for name in index if name != flag("save_index")]
        if given_values(settings)["backend"]:
            others.append(flag("backend"))
        if settings.model:
            others.append(model)
    else:
        others = [flag("filter")] if settings.filter else []
    if settings.texts and method != "hybrid" and not settings.query:
        others.append(texts)
    if others:
        problem = f"{flag('method', method)} takes no {', '.join(others)}"
        raise wrong_usage(problem, "leave it out, or search with another method")
    if encodes and settings.rescore:
        remedy = f"name the file that {program('encode')} {flag('quantize', 'int8')} wrote"
        problem = f"{flag('rescore')} needs codes, and CORPUS holds texts"
        raise wrong_usage(problem, remedy)
    if method == "hybrid" and not settings.texts and not encodes:
        problem = f"{flag('method', 'hybrid')} needs {texts}"
        remedy = f"CORPUS holds embeddings, {texts} their records, {model} encodes the queries"
        raise wrong_usage(problem, remedy)


def _main(settings: Settings, output: RunOutput) -> None:
    if not settings.query and not settings.queries:
        settings = change(settings, queries=("-",))
        inputs = [path for _, path in files_of([settings], "reads")]
        keep_apart(files_of([settings, output], "writes"), inputs)
    to_file = output.output != "-" or not os.isatty(1)
    if not settings.query or given_values(output)["format"] or to_file:
        output.write(search(settings))
        return
    from structkit.searching.listing import write_answers

    lexical = (settings.method or method_of(settings.corpus)) == "bm25"
    holds_documents = lexical or holds_texts(settings.corpus)
    documents = settings.texts or (settings.corpus if holds_documents else ())
    settings = change(settings, k=settings.k or 10)
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
