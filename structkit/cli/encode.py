"""Turn texts into embeddings with a model."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.options import (
    Dtype,
    EngineFlag,
    EngineName,
    Files,
    Nodes,
    OnError,
    OnErrorFlag,
    PathsFlag,
    Quantize,
    Quiet,
    Ray,
    RejectsFile,
    ShardFlag,
    Side,
)
from structkit.cli.streams import stream

RECORDS = {
    "reads": "`query` or `positive`, `code`, `tagged`, `text` …: the model says which, by --as",
    "writes": (
        "`id`, `embedding`, and the fields of --keep; of several fields: `FIELD_embedding`; "
        "of a part: `doc_id`, and `start`, `end`, `lines`, `xpath`, `node`, `span`, `text`"
    ),
}
EXAMPLES = """
structkit encode -m models/seal --as document variants.jsonl -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --reuse pages.npy -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --quantize int8 -o codes.npy
structkit encode -m models/seal --as query pages.jsonl -o queries.jsonl
"""


def encode(
    files: Files = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="Model folder, hub name, or minilm (an extra).")
    ] = ...,  # type: ignore[assignment]
    side: Annotated[Side, typer.Option("--as", help="Which side the texts are.")] = Side.document,
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="Field with the text; default: the model's. Several give FIELD_embedding."
        ),
    ] = None,
    paths: PathsFlag = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Field to copy to the output; may be repeated.")
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(min=1, help="Most tokens of a text; default: as many as in training."),
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="An embedding for each N tokens of a text.",
            rich_help_panel="Parts of a text",
        ),
    ] = None,
    elements: Annotated[
        bool,
        typer.Option(
            "--elements",
            help="An embedding for each element of HTML.",
            rich_help_panel="Parts of a text",
        ),
    ] = False,
    nodes: Annotated[
        Nodes | None,
        typer.Option(
            help="Tree models: an embedding for each such node.", rich_help_panel="Parts of a text"
        ),
    ] = None,
    downward: Annotated[
        bool,
        typer.Option(
            "--downward",
            help="With --nodes: the downward embedding too.",
            rich_help_panel="Parts of a text",
        ),
    ] = False,
    pooling: Annotated[
        str | None,
        typer.Option(
            help="Another pooling than the model was trained with.", rich_help_panel="Embeddings"
        ),
    ] = None,
    mcls_every: Annotated[
        int | None,
        typer.Option(
            min=1, help="mcls: tokens after each CLS token.", rich_help_panel="Embeddings"
        ),
    ] = None,
    normalize: Annotated[
        bool | None,
        typer.Option(
            "--normalize/--no-normalize",
            help="Scale to length 1; default: as the model does.",
            rich_help_panel="Embeddings",
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Leading dimensions to keep, rescaled to length 1.",
            rich_help_panel="Embeddings",
        ),
    ] = None,
    dtype: Annotated[
        Dtype,
        typer.Option(
            help="Precision; auto: bf16 where the hardware has it.", rich_help_panel="Embeddings"
        ),
    ] = Dtype.fp32,
    quantize: Annotated[
        Quantize | None,
        typer.Option(
            help="NAME.npy: numbers of 8 bits and a scale for each row, or signs of 1 bit.",
            rich_help_panel="Embeddings",
        ),
    ] = None,
    batch_tokens: Annotated[
        str,
        typer.Option(
            metavar="N|auto",
            help="Most tokens in a batch, padding included.",
            rich_help_panel="Memory and speed",
        ),
    ] = "auto",
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, cuda:1 …", rich_help_panel="Memory and speed")
    ] = None,
    engine: EngineFlag = EngineName.auto,
    offline: Annotated[
        bool, typer.Option("--offline", help="Never use the network.", rich_help_panel="Run")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="NAME.npy: continue where a killed run stopped.", rich_help_panel="Run"
        ),
    ] = False,
    reuse: Annotated[
        str | None,
        typer.Option(
            metavar="OLD.npy",
            help="Copy the embeddings of unchanged texts; may be the -o file.",
            rich_help_panel="Run",
        ),
    ] = None,
    shard: ShardFlag = None,
    ray: Ray = None,
    on_error: OnErrorFlag = OnError.fail,
    rejects: RejectsFile = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="NAME.npy (with ids and meta), .parquet, or JSONL."),
    ] = "-",
    quiet: Quiet = False,
) -> None:
    """Turn texts into embeddings with a model: `id` and `embedding`, in input order.

    A part has `doc_id` and its place: a chunk has `start`, `end` (characters) and `lines`, an
    element `xpath`, `start`, `end` and `text`, a node `node`, `span` (words) and `text`.
    """
    through = stream(
        files,
        output,
        on_error=on_error,
        rejects=rejects,
        shard=shard,
        beside=[model],
        replaced=[reuse],
        others=(".npy", ".parquet"),
        in_place=False,
    )
    if ray is not None:
        from structkit.learning.encode.on_ray import check_alone, over

        check_alone(ray, field=field or (), reuse=reuse, device=device)
        device = "cpu"
    from structkit.commands.encode import tokens_of_a_batch, write
    from structkit.learning.encode.encoding import Encoding

    encoding = Encoding(
        model,
        side,
        field=field,
        paths=paths,
        keep=keep or (),
        length=length,
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
        engine=engine,
        offline=offline,
        reuse=reuse,
        quantize=quantize,
    )
    if ray is not None:
        encoding.spread = over(ray, encoding)
    write(encoding, through, resume=resume)
