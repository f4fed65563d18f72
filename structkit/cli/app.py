"""The command line: flags and help, in pipeline order; each body is import, call, write."""

from __future__ import annotations

import errno
import os
import sys
from functools import partial
from typing import Annotated, Any, NoReturn

import typer

from structkit.cli.flags import MethodGroup
from structkit.cli.options import (
    Dtype,
    Factor,
    Files,
    FinalPunct,
    FuseMethod,
    Hide,
    Nodes,
    OnError,
    OnErrorFlag,
    OutputFile,
    Picture,
    Profile,
    Quiet,
    RejectsFile,
    RunFormat,
    RunFormatFlag,
    SearchMethod,
    Seed,
    ShardFlag,
    Side,
    Similarity,
    Source,
    Strategy,
    Tagger,
    Task,
    Workers,
)
from structkit.errors import UserError
from structkit.signals import ending

app = typer.Typer(
    help="Mask, parse, train, encode and search structured text, from JSONL to JSONL.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help starts twice as fast
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def stream(options: dict[str, Any], *beside: str | None, **more: Any) -> Any:
    """The record-wise flags of a command as a `Stream`; `beside` it reads other inputs."""
    from structkit.records.jsonl import Shard
    from structkit.records.stream import Stream

    shard = None if options["shard"] is None else Shard.parse(options["shard"])
    return Stream(
        files=options["files"] or [],
        output=options["output"],
        on_error=options["on_error"],
        rejects=options["rejects"],
        shard=shard,
        workers=options.get("workers", 1),
        beside=beside,
        **more,
    )


def apart(output: str, *reads: str | None, save_index: str | None = None) -> None:
    """Raise where what a command writes is one of its inputs; it writes lines or a table."""
    from structkit.paths import keep_apart, lines_name

    keep_apart([("--save-index", save_index), ("-o", output)], reads)
    lines_name(output)


@app.command("mask-entities", short_help="Replace entities (names, nouns) by sentinels.")
def mask_entities(
    files: Files = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language of all records, also as Python, js, C++, c#; default: the field "
            "`language`; records with `html`, or with `title` and `description`, need none."
        ),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option(
            help="Field to mask; default: `positive`, else `code`, `description` of products, "
            "`html` or `content`."
        ),
    ] = None,
    mask_ratio: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Share of distinct entities to mask (default 1.0), or of tokens for spans (0.15).",
        ),
    ] = None,
    max_entities: Annotated[
        int,
        typer.Option(
            min=1,
            max=99,
            help="Most distinct entities to mask; T5 has sentinels for 99 and the closing one.",
        ),
    ] = 99,
    strategy: Annotated[
        Strategy, typer.Option(help="Entities (SANTA), or T5's random spans for the ablation.")
    ] = Strategy.entity,
    profile: Annotated[
        Profile, typer.Option(help="What the paper says, or what SANTA's released code masks.")
    ] = Profile.paper,
    types: Annotated[bool, typer.Option("--types", help="Code: names of types too.")] = False,
    tagger: Annotated[
        Tagger | None,
        typer.Option(
            help="Products: rules (default; the same everywhere, needs no data), or nltk (the "
            "paper's, needs NLTK's data; default of --profile official)."
        ),
    ] = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="At the end, counts by language on stderr.")
    ] = False,
    seed: Seed = 0,
    shard: ShardFlag = None,
    workers: Workers = 1,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Replace entities by sentinels: adds `masked`, `target`, `entities`.

    Entities are names in code, nouns that a product's title and description share, and terms that
    query, title and body of an HTML document share.
    """
    flags = locals()
    through = stream(flags)
    from structkit.commands.mask_entities import Masking, statistics
    from structkit.commands.mask_entities import mask_entities as command

    masking = Masking.of(flags)
    with statistics(show=stats and not quiet) as tally:
        through.run(partial(command, masking=masking), tally=tally, label="mask-entities")


@app.command("html-variants", short_help="Tagged, untagged and masked variants of HTML.")
def html_variants(
    files: Files = None,
    mask_ratio: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of elements to mask; one at least.")
    ] = 0.1,
    mask: Annotated[
        Hide,
        typer.Option(help="Remove the tags of an element (SEAL's paper), or its content as well."),
    ] = Hide.tag,
    tags: Annotated[
        str,
        typer.Option(
            metavar="TAG,…",
            help="Tags to keep; may name sets: structure (headings, paragraphs, lists, tables, "
            "sections), phrases (a, em, span …), all.",
        ),
    ] = "structure",
    keep_attributes: Annotated[
        bool, typer.Option("--keep-attributes", help="Keep the attributes of these tags.")
    ] = False,
    field: Annotated[
        str | None,
        typer.Option(
            help="Field with the document; default: `html`, `content` or `positive`, behind "
            "`markdown` or `text` for these."
        ),
    ] = None,
    source: Annotated[
        Source, typer.Option("--from", help="What the documents are written in.")
    ] = Source.html,
    seed: Seed = 0,
    shard: ShardFlag = None,
    workers: Workers = 1,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Make variants of HTML documents: adds `tagged`, `untagged`, `masked`.

    A record with `negatives` also gets `negatives_tagged`, `negatives_untagged` and
    `negatives_masked`.
    """
    flags = locals()
    through = stream(flags)
    from structkit.commands.html_variants import Variation
    from structkit.commands.html_variants import html_variants as command

    variation = Variation.of(flags)
    through.run(partial(command, variation=variation), label="html-variants")


@app.command("parse-trees", short_help="Trees of texts, binary and in brackets.")
def parse_trees(
    files: Files = None,
    parser: Annotated[
        str, typer.Option(help="Name of a parser; `structkit plugins` lists them.")
    ] = "builtin",
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="Field with the text; more than one give FIELD_tree each; default: `text`, `code` "
            "for ast, `html` or `content` for dom, `tree` for brackets."
        ),
    ] = None,
    factor: Annotated[
        Factor | None,
        typer.Option(help="Cut long nodes so; default: right, for ast and dom balanced."),
    ] = None,
    final_punct: Annotated[
        FinalPunct,
        typer.Option(help="Keep the final punctuation where it is, or put it beside the rest."),
    ] = FinalPunct.keep,
    binarize: Annotated[
        bool, typer.Option("--binarize/--no-binarize", help="Make every node a pair or a word.")
    ] = True,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="The words of the text stand between blanks.")
    ] = False,
    url: Annotated[
        str | None, typer.Option(help="corenlp: the server (default http://localhost:9000).")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="corenlp: seconds for 50 texts (default 60).")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="self-strae: the model folder.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="ast: language of all records; default: their `language`.")
    ] = None,
    seed: Seed = 0,
    shard: ShardFlag = None,
    workers: Workers = 1,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Parse texts: adds `tree`, one binary tree in Penn Treebank brackets."""
    flags = locals()
    through = stream(flags, model)
    from structkit.commands.parse_trees import Parsing
    from structkit.commands.parse_trees import parse_trees as command

    through.run(partial(command, parsing=Parsing.of(flags)), label="parse-trees")


@app.command(short_help="Make training examples of records or judgements.")
def pair(
    files: Files = None,
    query: Annotated[
        str | None,
        typer.Option(help="Field with the query; default: docstring, bullets or query, by record."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(help="Field with the document; default: code, description, html or content."),
    ] = None,
    positive_template: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Document made of fields: 'title : {title} text : {description}' (SANTA).",
        ),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(help="Judgements: the highest grade is positive, lower ones are negative."),
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="With --qrels: file with the judged queries.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="With --qrels or --negatives-from: file with the documents.")
    ] = None,
    negatives_from: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Draw hard negatives from this run, none that --qrels judge above 0.",
        ),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Documents of the run to draw from (default 100).")
    ] = None,
    per_query: Annotated[
        int | None, typer.Option(min=0, help="Negatives for each example (default 1).")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Negatives score below the positive by more than this.")
    ] = None,
    dedupe: Annotated[
        bool,
        typer.Option("--dedupe", help="Drop examples with a query or document seen before."),
    ] = False,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME:SHARE,…", help="Add `split`, drawn by id, without leaks."),
    ] = None,
    seed: Seed = 0,
    shard: ShardFlag = None,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Make training examples: adds `query` and `positive`, a docstring cut out of its code.

    With --qrels, examples are made of judgements; with --negatives-from, examples get `negatives`,
    `negative_ids`, `negative_ranks` and `negative_scores`.
    """
    flags = locals()
    read = files if queries is None else [queries]
    through = stream({**flags, "files": read}, qrels, corpus, negatives_from)
    from structkit.commands.pair import Pairing

    pairing = Pairing.of(flags)
    through.run(pairing.command, pairing.then, label="pair")


def train(method: str, settings: Any, options: Any, files: list[str] | None) -> None:
    """Train one method: called with its settings and the run's options as instances."""
    from structkit.commands.train import train as command
    from structkit.progress import hush
    from structkit.records.output import write_records

    hush(options.quiet)

    write_records([command(method, settings, files or [], options)])


def _run_options() -> type:
    from structkit.learning.training.settings import RunOptions

    return RunOptions


class Methods(MethodGroup):
    """`structkit train METHOD`."""

    call = staticmethod(train)
    options = staticmethod(_run_options)
    others = {"files": Files}


app.add_typer(
    typer.Typer(cls=Methods, no_args_is_help=True, rich_markup_mode=None),
    name="train",
    short_help="Train a method on records and write a model folder.",
    help="Train a method on records (files or stdin) and write a model folder.",
)


@app.command(short_help="Turn texts into embeddings with a model.")
def encode(
    files: Files = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="Model folder, hub name, or minilm (an extra).")
    ] = ...,  # type: ignore[assignment]
    side: Annotated[Side, typer.Option("--as", help="Which side the texts are.")] = Side.document,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Field with the text; default: the model's. Several: FIELD_embedding."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Field that goes along; may be given several times.")
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="An embedding for each N tokens of a text."),
    ] = None,
    elements: Annotated[
        bool, typer.Option("--elements", help="An embedding for each element of HTML.")
    ] = False,
    nodes: Annotated[
        Nodes | None, typer.Option(help="Models of trees: an embedding for each node.")
    ] = None,
    downward: Annotated[
        bool, typer.Option("--downward", help="With --nodes: the downward embedding too.")
    ] = False,
    pooling: Annotated[
        str | None, typer.Option(help="Another pooling than the model was trained with.")
    ] = None,
    mcls_every: Annotated[
        int | None, typer.Option(min=1, help="mcls: a CLS token before so many tokens.")
    ] = None,
    normalize: Annotated[
        bool | None,
        typer.Option("--normalize/--no-normalize", help="Length 1; default: the model's way."),
    ] = None,
    dimensions: Annotated[
        int | None, typer.Option(min=1, help="Keep the first numbers; scaled to length 1 again.")
    ] = None,
    dtype: Annotated[
        Dtype, typer.Option(help="Precision; auto: bf16 where the hardware has it.")
    ] = Dtype.fp32,
    batch_tokens: Annotated[
        str, typer.Option(metavar="N|auto", help="Most tokens in a batch, padding included.")
    ] = "auto",
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Never use the network.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="NAME.npy: go on where a killed run stopped.")
    ] = False,
    shard: ShardFlag = None,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="NAME.npy (with ids and meta), .parquet, or JSONL."),
    ] = "-",
    quiet: Quiet = False,
) -> None:
    """Turn texts into embeddings with a model: `id` and `embedding`, in input order.

    A part has `doc_id` and says where it is: a chunk `start`, `end` (characters) and `lines`, an
    element `xpath`, `start`, `end` and `text`, a node `node`, `span` (words) and `text`.
    """
    through = stream(locals(), model, others=(".npy", ".parquet"), in_place=False)
    from structkit.commands.encode import write
    from structkit.learning.encode.encoding import Encoding, tokens_of_a_batch

    encoding = Encoding(
        model,
        side,
        field=field,
        keep=keep or (),
        chunk=chunk,
        elements=elements,
        nodes=nodes,
        downward=downward,
        pooling=pooling,
        mcls_every=mcls_every,
        normalize=normalize,
        dimensions=dimensions,
        dtype=dtype,
        batch_tokens=tokens_of_a_batch(batch_tokens),
        device=device,
        offline=offline,
    )
    write(encoding, through, resume=resume)


@app.command("merge-embeddings", short_help="Join the embeddings of shards.")
def merge_embeddings(
    files: Annotated[list[str], typer.Argument(help="NAME.npy files of one model.")],
    output: Annotated[str, typer.Option("--output", "-o", help="NAME.npy to write.")] = ...,  # type: ignore[assignment]
    quiet: Quiet = False,
) -> None:
    """Join NAME.npy files one behind the other: ids are unique, the model is one."""
    from structkit.commands.merge_embeddings import merge_embeddings as command
    from structkit.paths import keep_apart
    from structkit.records.output import write_records

    keep_apart([("-o", output)], files)
    write_records([command(files, output)])


def query_encoding(model: str | None, field: str | None) -> Any:
    """What turns query texts into embeddings, or nothing where they are embeddings."""
    if model is None:
        return None
    from structkit.learning.encode.encoding import Encoding

    return Encoding(model, "query", field=field)


@app.command(short_help="Find the documents that answer each query.")
def search(
    corpus: Annotated[list[str], typer.Argument(help="Embeddings (JSONL, .npy), or texts (bm25).")],
    queries: Annotated[
        list[str] | None, typer.Option(help="File with the queries; default: stdin.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Documents for each query.")] = 100,
    method: Annotated[
        SearchMethod, typer.Option(help="Inner product of embeddings, or BM25 over texts.")
    ] = SearchMethod.dense,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Queries are texts; this model folder encodes them."),
    ] = None,
    index: Annotated[
        str, typer.Option(help="flat (exact), hnsw, ivf, or a factory string of faiss.")
    ] = "flat",
    parameters: Annotated[
        str | None, typer.Option(help="Of the index, as faiss has them: nprobe=16, efSearch=256.")
    ] = None,
    save_index: Annotated[
        str | None, typer.Option(metavar="DIR", help="Keep the index; DIR is a CORPUS from then.")
    ] = None,
    recall_sample: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Compare N queries with exact search."),
    ] = 0,
    similarity: Annotated[
        Similarity, typer.Option(help="Inner product, or cosine: rows are scaled to length 1.")
    ] = Similarity.dot,
    filter: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=VALUE", help="Search only rows that have it; all must hold."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add `best`: the row that a hit was found by.")
    ] = False,
    backend: Annotated[
        str | None,
        typer.Option(help="Where to search: exact, approximate, pgvector; default: by --index."),
    ] = None,
    database_url: Annotated[
        str | None, typer.Option(help="pgvector: postgresql://USER@HOST/DATABASE.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="pgvector: table; default: after the first file.")
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="pgvector: load the corpus anew.")
    ] = False,
    document_field: Annotated[
        str | None, typer.Option(help="bm25: field with a document's text.")
    ] = None,
    query_field: Annotated[
        str | None, typer.Option(help="bm25 and --model: field with a query's text.")
    ] = None,
    exclude_self: Annotated[
        bool, typer.Option("--exclude-self", help="Leave out the document with the query's id.")
    ] = False,
    k1: Annotated[float, typer.Option(min=0, help="bm25: saturation of term frequency.")] = 1.5,
    b: Annotated[float, typer.Option(min=0, max=1, help="bm25: length normalization.")] = 0.75,
    stopwords: Annotated[bool, typer.Option(help="bm25: leave English function words out.")] = True,
    format: RunFormatFlag = RunFormat.jsonl,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Find the documents that answer each query: `query_id`, `doc_id`, `score`, `rank`."""
    apart(output, *corpus, *(queries or ["-"]), model, save_index=save_index)
    from structkit.commands.search import search as command
    from structkit.records.jsonl import Records
    from structkit.scoring.runs import write_run
    from structkit.search.hits import SearchOptions

    options = SearchOptions(
        index=index,
        parameters=parameters,
        similarity=similarity,
        filters=tuple(filter or ()),
        explain=explain,
        save_index=save_index,
        recall_sample=recall_sample,
        database_url=database_url,
        table=table,
        reload=reload,
    )
    found = command(
        corpus,
        Records.read(queries or []),
        k=k,
        method=method,
        backend=backend,
        options=options,
        encoding=query_encoding(model, query_field),
        document_field=document_field,
        query_field=query_field,
        exclude_self=exclude_self,
        k1=k1,
        b=b,
        stopwords=stopwords,
    )
    write_run(found, output, format=format)


@app.command(short_help="Make one run of several.")
def fuse(
    runs: Annotated[list[str], typer.Argument(help="Run files, JSONL or TREC.")],
    method: Annotated[
        FuseMethod, typer.Option(help="Reciprocal ranks, or a weighted sum of scaled scores.")
    ] = FuseMethod.rrf,
    weight: Annotated[
        list[float] | None, typer.Option(help="Weight of a run; give one for each.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Documents for each query.")] = 100,
    rrf_k: Annotated[int, typer.Option(min=0, help="rrf: added to every rank.")] = 60,
    format: RunFormatFlag = RunFormat.jsonl,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Make one run of several, by reciprocal ranks or a weighted sum of scores."""
    apart(output, *runs)
    from structkit.commands.fuse import fuse as command
    from structkit.scoring.runs import write_run

    write_run(command(runs, method=method, weights=weight, k=k, rrf_k=rrf_k), output, format=format)


def task_scores(
    task: Task, files: Any, train: list[str], seeds: int, above: float, seed: int
) -> Any:
    """The scores of pairs of embeddings; only a classifier needs torch."""
    if task is Task.suite:
        from structkit.scoring.suite import suite

        return suite(files, seed=seed, seeds=seeds)
    if task is Task.classification:
        from structkit.commands.score_classification import classification

        return classification(files, train, seed=seed, seeds=seeds)
    from structkit.commands.score_pairs import similarity, space

    if task is Task.space:
        return space(files, positive_above=above)
    return similarity(files, seed=seed)


@app.command(short_help="Score runs against judgements, or embeddings on a task.")
def score(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Run files, JSONL or TREC (--task: pairs); stdin when none."),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(
            help="Judgements: JSONL, TREC or BEIR; `self`: the document with the query's own id."
        ),
    ] = None,
    task: Annotated[
        Task | None,
        typer.Option(
            help="Instead of --qrels, pairs of embeddings: Spearman x 100 of cosines with `score`; "
            "accuracy of a classifier for `label`; alignment and uniformity; all tasks of a file, "
            "named by `task`, a row for each model."
        ),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(help="classification: pairs to learn from; one for all files, or one each."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="classification, suite: classifiers that are trained.")
    ] = 5,
    positive_above: Annotated[
        float, typer.Option(help="space: pairs with a higher `score` are positive.")
    ] = 4.0,
    queries: Annotated[
        list[str] | None, typer.Option(help="With --qrels self: the queries that count.")
    ] = None,
    measures: Annotated[
        str, typer.Option(help="Names as ir_measures has them, and MRR, HitRate@k.")
    ] = "nDCG@10 RR@10 R@100 Success@1 Success@5 Judged@10",
    gains: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET|LABEL=VALUE,…",
            help="Gains of the qrels' field `label`: esci-documented (E=1,S=0.1,C=0.01,I=0), "
            "esci-official (S and C swapped), exact (E=1, others 0), or your own; "
            "default: `relevance`.",
        ),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="One record for each run and query.")
    ] = False,
    compare: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="Paired tests of every run against this one."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="FIELD", help="One record for each value of this field.")
    ] = None,
    by_records: Annotated[
        list[str] | None,
        typer.Option(help="With --by: file with the field, for queries or for documents."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="A table for a README.")] = False,
    seed: Seed = 0,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Score runs against judgements: means over all judged queries, with 95 % intervals.

    With --task, score pairs of embeddings (structkit encode --field text_a --field text_b).
    """
    from structkit.commands.score import names, write
    from structkit.commands.score import score as command

    if (task is None) == (qrels is None):
        raise typer.BadParameter("give --qrels or --task, one of them")
    if (task is Task.classification) != bool(train):
        raise typer.BadParameter("--train goes with --task classification")
    others = [*(queries or ()), *(compare or ()), *(by_records or ()), *(train or ())]
    apart(output, *(runs or ["-"]), None if qrels == "self" else qrels, *others)
    if task is not None:
        scores = task_scores(task, names(runs), train or [], seeds, positive_above, seed)
        return write(scores, output, markdown=markdown)
    assert qrels is not None
    found = command(
        names(runs),
        qrels,
        measures=measures.replace(",", " ").split(),
        per_query=per_query,
        queries=queries or (),
        gains=gains,
        compare_with=compare or (),
        by=by,
        by_records=by_records or (),
        seed=seed,
    )
    write(found, output, markdown=markdown)


drawing = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    drawing,
    name="plot",
    short_help="Draw embeddings, ranking probabilities, measures, losses.",
    help="Draw what the papers draw, to .svg, .png or .pdf (extra: structkit[plot]).",
)


@drawing.command("embeddings", short_help="Embeddings in two dimensions, by t-SNE.")
def plot_embeddings(
    files: Annotated[list[str], typer.Argument(help="Embeddings: JSONL or .npy, a color each.")],
    output: Picture,
    sample: Annotated[int, typer.Option(min=1, help="Rows of each file that are drawn.")] = 500,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Draw the embeddings of files (queries, documents) in two dimensions, by t-SNE."""
    apart(output, *files)
    from structkit.commands.plot import embeddings

    embeddings(files, output, sample=sample, seed=seed)


@drawing.command("ranks", short_help="How probable the relevant documents are.")
def plot_ranks(
    runs: Annotated[list[str], typer.Argument(help="Run files, JSONL or TREC.")],
    output: Picture,
    qrels: Annotated[str, typer.Option(help="Judgements, or `self`.")],
    temperature: Annotated[float, typer.Option(help="Divides the scores.")] = 1.0,
    bins: Annotated[int, typer.Option(min=1, help="Bars of the histogram.")] = 20,
    quiet: Quiet = False,
) -> None:
    """Draw a histogram of the softmax probability of each query's relevant document."""
    apart(output, *runs, None if qrels == "self" else qrels)
    from structkit.commands.plot import ranks

    ranks(runs, qrels, output, temperature=temperature, bins=bins)


@drawing.command("runs", short_help="Measures with intervals, by run and group.")
def plot_runs(
    files: Annotated[list[str], typer.Argument(help="What `structkit score` wrote, as JSONL.")],
    output: Picture,
    measure: Annotated[str | None, typer.Option(help="Default: the first one there is.")] = None,
    quiet: Quiet = False,
) -> None:
    """Draw a measure of runs as bars with 95 % intervals, in groups where score had --by."""
    apart(output, *files)
    from structkit.commands.plot import runs

    runs(files, output, measure=measure)


@drawing.command("losses", short_help="Losses over the steps of trainings.")
def plot_losses(
    files: Annotated[list[str], typer.Argument(help="Logs of `train --log-format json`.")],
    output: Picture,
    quiet: Quiet = False,
) -> None:
    """Draw the loss over the steps of trainings."""
    apart(output, *files)
    from structkit.commands.plot import losses

    losses(files, output)


@app.command(short_help="Other tools' formats to records, and back.")
def convert(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files, .gz too, or a folder of the format; stdin when none or -."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="Format of the input; default: our JSONL."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="Format of the output; default: our JSONL."),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="corpus, queries, qrels, run, examples …; default: by name or content; of a "
            "folder all."
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="The split in names of files.")] = "test",
    gains: Annotated[
        str | None,
        typer.Option(help="esci, wands: gains of labels, as `score` has them."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A field that the target cannot hold is an error.")
    ] = False,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="File to write, .gz too, or a folder for parts; - is stdout."
        ),
    ] = "-",
    quiet: Quiet = False,
) -> None:
    """Convert other tools' formats to records, and records to other tools' formats.

    `structkit plugins` lists the formats. Tables are JSON lines, .csv, .tsv or .parquet by name.
    """
    from structkit.commands.convert import Conversion
    from structkit.formats.interchange import Options
    from structkit.records.rejects import Rejects

    conversion = Conversion.of(source, target, Options(split, gains), strict=strict)
    jobs = conversion.jobs(files or [], output, part)
    conversion.run(jobs, Rejects(on_error, rejects))


@app.command(short_help="List languages, parsers and methods.")
def plugins(output: OutputFile = "-", quiet: Quiet = False) -> None:
    """List the languages, parsers and methods that are installed."""
    apart(output)
    from structkit.commands.plugins import plugins as command
    from structkit.records.table import write

    write(command(), output, columns=("kind", "name", "summary"))


def main() -> NoReturn:
    """Run the program, and turn what the user can mend into one line and an exit status."""
    with ending():
        status = _run()
    sys.exit(status)


def _run() -> int:
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False, prog_name="structkit")
        return status if isinstance(status, int) else 0  # 130 for Ctrl-C comes back as a value
    except UserError as error:
        return _fail(str(error), error.status)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # typer exports no class for it
            error.show()
            return 2
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "structkit"
        return _fail(f"{error.format_message().rstrip('.')}; see {path} --help", 2)
    except typer.Exit as exit:
        return exit.exit_code
    except SystemExit as exit:
        if isinstance(exit.__context__, BrokenPipeError):  # typer makes it a status of 1
            return 0  # whoever read the output has seen enough
        raise
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        from structkit.records.output import cannot_write

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left has no place to go
        return _fail(str(cannot_write(error).at("stdout")), 1)
    except MemoryError:
        return _fail("out of memory; try smaller batches or fewer --workers", 1)


# typer exports no base class of its usage errors
UsageError: Any = typer.BadParameter.__mro__[1]


def _fail(message: str, status: int) -> int:
    from structkit.progress import complain

    complain(message)
    return status
