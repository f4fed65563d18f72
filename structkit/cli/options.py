"""What several commands offer on the command line: choices, and flags with their help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from structkit.plugin import GROUPS
from structkit.progress import hush


class OnError(StrEnum):
    """What to do with a record that cannot be used."""

    fail = "fail"
    skip = "skip"


class Side(StrEnum):
    """What a text is to the model."""

    query = "query"
    document = "document"


class Dtype(StrEnum):
    """Precision of a computation."""

    fp32 = "fp32"
    bf16 = "bf16"
    auto = "auto"


class Quantize(StrEnum):
    """Numbers of embeddings that are smaller than floats."""

    int8 = "int8"
    binary = "binary"


MOST_WORKERS = 256


class EngineName(StrEnum):
    """What computes a model."""

    auto = "auto"
    torch = "torch"
    onnx = "onnx"
    openvino = "openvino"
    openvino_int8 = "openvino-int8"


class Unit(StrEnum):
    """What files are cut into."""

    file = "file"
    function = "function"
    chunk = "chunk"
    page = "page"
    section = "section"
    sentence = "sentence"


class Nodes(StrEnum):
    """Which nodes of a tree."""

    words = "words"
    phrases = "phrases"
    all = "all"


class Task(StrEnum):
    """What embeddings, or trees, are scored on."""

    similarity = "similarity"
    classification = "classification"
    space = "space"
    suite = "suite"
    trees = "trees"


class Strategy(StrEnum):
    """What to mask."""

    entity = "entity"
    span = "span"


class Profile(StrEnum):
    """Whose rules for entities."""

    paper = "paper"
    official = "official"


class Hide(StrEnum):
    """What of an element is removed."""

    tag = "tag"
    content = "content"


class SourceFormat(StrEnum):
    """What documents are written in."""

    html = "html"
    markdown = "markdown"
    text = "text"


class Tagger(StrEnum):
    """What tells nouns from other words."""

    rules = "rules"
    nltk = "nltk"


class Factor(StrEnum):
    """How a node with many children becomes binary."""

    right = "right"
    left = "left"
    balanced = "balanced"


class FinalPunct(StrEnum):
    """Where the punctuation at the end of a sentence goes."""

    keep = "keep"
    root = "root"


Files = Annotated[
    list[str] | None, typer.Argument(help="JSONL files, also .gz; stdin if none, or for -.")
]
OutputFile = Annotated[
    str, typer.Option("--output", "-o", help="File to write, also .gz; - is stdout.")
]
RUN = GROUPS["run"]
OnErrorFlag = Annotated[
    OnError,
    typer.Option("--on-error", rich_help_panel=RUN, help="At a bad record: stop, or skip it."),
]
RejectsFile = Annotated[
    str | None,
    typer.Option(
        "--rejects", rich_help_panel=RUN, help="With --on-error skip: file for skipped records."
    ),
]
Seed = Annotated[
    int,
    typer.Option(rich_help_panel=RUN, help="All randomness is keyed by it and the record's id."),
]
ShardFlag = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        rich_help_panel=RUN,
        help="Keep every N-th line, from line I, counted from 0.",
    ),
]


def _workers(given: str | int) -> int:
    """A number of processes, or that of the processors; the default comes as it is."""
    text = str(given)
    if text == "auto":
        from structkit.records.workers.pool import cores

        return min(cores(), MOST_WORKERS)
    if not (text.isdecimal() and len(text) < 5 and 1 <= int(text) <= MOST_WORKERS):
        raise typer.BadParameter(f"give auto, or a number from 1 to {MOST_WORKERS}")
    return int(text)


Workers = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_WORKERS,
        parser=_workers,
        metavar="<int range|auto>",
        rich_help_panel=RUN,
        help="Processes; the output is the same. auto: one for each processor.",
    ),
]

RecordTimeout = Annotated[
    float | None,
    typer.Option(
        "--record-timeout",
        min=0.01,
        max=1e6,
        metavar="SECONDS",
        help="Reject a record that takes longer, ends its process or fills its memory.",
    ),
]

Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel=RUN,
        help="Do the work in Ray (an extra): HOST:PORT, auto, or local, which starts one here.",
    ),
]


def _hushed(quiet: bool) -> bool:
    hush(quiet)
    return quiet


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=_hushed,
        help="Nothing on stderr but errors.",
    ),
]


EngineFlag = Annotated[
    EngineName,
    typer.Option(
        help="torch, or an extra for encoders: onnx, openvino; auto: the fastest of these that "
        "computes the same; openvino-int8: faster, cosine about 0.99.",
    ),
]
PathsFlag = Annotated[
    bool | None,
    typer.Option(
        "--paths/--no-paths",
        help="Read a document's `path`, `scope` and `names` too; default: for code that collect "
        "wrote.",
        show_default=False,
    ),
]
Picture = Annotated[
    str, typer.Option("--output", "-o", help="Picture to write: .svg, .png or .pdf.")
]
FILES = "Files"
