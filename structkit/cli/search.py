"""Find the documents that answer each query."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from structkit.cli.completion import plugin_names
from structkit.cli.options import (
    EngineFlag,
    EngineName,
    OutputFile,
    PathsFlag,
    Quiet,
    RunFormat,
    SearchMethod,
    Similarity,
)
from structkit.cli.streams import apart
from structkit.errors import UserError

RECORDS = {
    "reads": "`id` and `embedding`, or a text; queries: the same",
    "writes": "`query_id`, `doc_id`, `score`, `rank`; with --explain: `best`",
}
EXAMPLES = """
structkit search pages.npy -m models/seal --queries pages.jsonl -o dense.jsonl
structkit search codes.npy --rescore pages.npy -m models/seal --queries pages.jsonl -o run.jsonl
structkit search functions.jsonl --method bm25 --queries functions.jsonl -o run.jsonl
structkit search functions.jsonl --method bm25 --save-index words --query "read a file" -k 3
structkit search pages.npy -m models/seal --method hybrid --texts pages.jsonl --queries pages.jsonl
"""


def search(
    corpus: Annotated[
        list[str],
        typer.Argument(help="Embeddings (JSONL, .npy, .parquet), texts (bm25), or a saved index."),
    ],
    queries: Annotated[
        list[str] | None, typer.Option(help="File with the queries; default: stdin.")
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A question, instead of --queries; may be repeated."),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", "-k", min=1, help="Documents per query; default: 100, or 10 in a list."
        ),
    ] = None,
    method: Annotated[
        SearchMethod | None,
        typer.Option(help="Inner product of embeddings (default), BM25 over texts, or both."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Encode the queries, which are texts, with this model."),
    ] = None,
    engine: EngineFlag = EngineName.auto,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="--model: encode many queries in Ray (an extra): HOST:PORT, auto, or local.",
        ),
    ] = None,
    index: Annotated[
        str,
        typer.Option(
            help="flat (exact), hnsw, ivf, int8 or binary (codes first, then vectors), or a "
            "factory string of faiss.",
            rich_help_panel="Index",
        ),
    ] = "flat",
    parameters: Annotated[
        str | None,
        typer.Option(
            help="Of the index, as faiss has them: nprobe=16, efSearch=256.",
            rich_help_panel="Index",
        ),
    ] = None,
    save_index: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Save the index; DIR can then be CORPUS.", rich_help_panel="Index"
        ),
    ] = None,
    recall_sample: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Compare the hits of N queries with exact search.",
            rich_help_panel="Index",
        ),
    ] = 0,
    rescore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLOATS.npy",
            help="CORPUS holds codes of encode --quantize: order its best by these vectors.",
            rich_help_panel="Index",
        ),
    ] = None,
    similarity: Annotated[
        Similarity,
        typer.Option(
            help="Inner product, or cosine: rows are scaled to length 1.", rich_help_panel="Index"
        ),
    ] = Similarity.dot,
    filter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="Search only rows with this value; all must hold.",
            rich_help_panel="Index",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Add `best`: the row by which a document was found.",
            rich_help_panel="Index",
        ),
    ] = False,
    backend: Annotated[
        str | None,
        typer.Option(
            autocompletion=plugin_names("backend"),
            help="What searches: exact, approximate, codes, pgvector; default: by --index.",
            rich_help_panel="Index",
        ),
    ] = None,
    database_url: Annotated[
        str | None,
        typer.Option(
            help="pgvector: postgresql://USER@HOST/DATABASE.", rich_help_panel="PostgreSQL"
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="pgvector: table; default: named after the first file.",
            rich_help_panel="PostgreSQL",
        ),
    ] = None,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload", help="pgvector: load the corpus again.", rich_help_panel="PostgreSQL"
        ),
    ] = False,
    texts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="hybrid: the records whose embeddings CORPUS holds, also for the list of --query.",
            rich_help_panel="Words: bm25 and hybrid",
        ),
    ] = None,
    dense_share: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="hybrid: weight of embeddings; words have the rest.",
            rich_help_panel="Words: bm25 and hybrid",
        ),
    ] = 0.35,
    paths: PathsFlag = None,
    document_field: Annotated[
        str | None,
        typer.Option(
            help="bm25, hybrid: field with a document's text; default: the first of positive, "
            "code, untagged, text, description, html, content.",
            rich_help_panel="Words: bm25 and hybrid",
        ),
    ] = None,
    query_field: Annotated[
        str | None,
        typer.Option(
            help="bm25 and --model: field with a query's text; default: the first of query, "
            "text, docstring (--model: the model's)."
        ),
    ] = None,
    exclude_self: Annotated[
        bool, typer.Option("--exclude-self", help="Leave out the document with the query's id.")
    ] = False,
    k1: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1000,
            help="bm25, hybrid: saturation of term frequency; default: 1.5.",
            rich_help_panel="Words: bm25 and hybrid",
        ),
    ] = None,
    b: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="bm25, hybrid: length normalization; default: 0.75.",
            rich_help_panel="Words: bm25 and hybrid",
        ),
    ] = None,
    stopwords: Annotated[
        bool | None,
        typer.Option(
            "--stopwords/--no-stopwords",
            help="bm25, hybrid: leave out English function words; default: stopwords.",
            rich_help_panel="Words: bm25 and hybrid",
        ),
    ] = None,
    format: Annotated[
        RunFormat | None,
        typer.Option(
            help="JSONL, or TREC's six columns; default: JSONL, a list for --query on a terminal."
        ),
    ] = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Find the documents that answer each query: `query_id`, `doc_id`, `score`, `rank`."""
    reads = (*corpus, *(texts or ()), *(rescore or ()), *(queries or ["-"] * (not query)), model)
    apart(output, *reads, save_index=save_index)
    from structkit.commands.search import search as command
    from structkit.scoring.runs import write_run
    from structkit.searching.bm25_folder import check_there, method_of
    from structkit.searching.hits import SearchOptions
    from structkit.searching.questions import asked, found_in, listed, write_answers

    found_by = method_of(corpus, method)
    if query and not model:  # words are searched in what may be an index
        check_there(corpus)
    shown = listed(query or [], output, format)
    options = SearchOptions(
        index=index,
        parameters=parameters,
        similarity=similarity,
        filters=tuple(filter or ()),
        explain=explain,
        save_index=save_index,
        recall_sample=recall_sample,
        rescore=tuple(rescore or ()),
        database_url=database_url,
        table=table,
        reload=reload,
    )
    run = command(
        corpus,
        asked(query or [], queries or [], texts=bool(model) or found_by != SearchMethod.dense),
        k=k or (10 if shown else 100),
        method=found_by,
        backend=backend,
        options=options,
        encoding=query_encoding(model, query_field, engine, ray),
        document_field=document_field,
        query_field=query_field,
        exclude_self=exclude_self,
        k1=k1,
        b=b,
        stopwords=stopwords,
        texts=texts if found_by == SearchMethod.hybrid or not query else None,
        paths=paths,
        dense_share=dense_share,
    )
    if shown:
        documents = texts or (corpus if found_by == SearchMethod.bm25 else [])
        write_answers(run, query or [], found_in(documents))
    else:
        write_run(run, output, format=format or RunFormat.jsonl)


def query_encoding(
    model: str | None, field: str | None, engine: EngineName, ray: str | None
) -> Any:
    """What turns query texts into embeddings, or nothing where they are embeddings."""
    if model is None:
        if ray is not None:
            raise UserError("--ray needs --model: it encodes queries", "leave it out", status=2)
        return None
    from structkit.learning.encoding.encoding import Encoding
    from structkit.learning.encoding.settings import EncodingSettings

    fields = () if field is None else (field,)
    settings = EncodingSettings(model=model, as_="query", field=fields, engine=engine.value)
    if ray is None:
        return Encoding(settings)
    from structkit.learning.encoding.on_ray import encoding_over
    from structkit.records.workers.cluster import check

    check(ray)
    return encoding_over(ray, settings)
