"""Answer a question about a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from structkit.cli.options import (
    EngineFlag,
    EngineName,
    Hidden,
    MaxFileBytes,
    NoIgnore,
    OutputFile,
    Quiet,
)
from structkit.cli.streams import apart
from structkit.errors import UserError

RECORDS = {
    "writes": (
        "`query_id`, `query`, `doc_id`, `score`, `rank`, `line`, `path`, `language`, "
        "`lines`; and what the passage has: `scope`, `names`, `code`, `title`, `headings`, "
        "`xpath`, `text`"
    ),
}
EXAMPLES = """
structkit ask src "how is the area of a circle computed"
structkit ask "where is a radius read" --glob '*.py' -k 3 --json
"""


def ask(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FOLDER] QUESTION…",
            help="What to ask about (a folder, a file or an archive; default: the current folder), "
            "then questions; without any, or with -, each line of stdin is one.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Answers to each question.")] = 10,
    context: Annotated[
        int, typer.Option(min=0, max=1000, help="In a list: lines around the best one.")
    ] = 1,
    glob: Annotated[
        list[str] | None,
        typer.Option(
            "--glob",
            "-g",
            help="Only files that match, as in .gitignore; with !, all but these.",
            rich_help_panel="Files",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="JSONL on a terminal too, as in a pipe.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Search by meaning too, with this model; default: structkit/ask-model in "
            "$XDG_DATA_HOME or ~/.local/share, if there is one.",
        ),
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Search by words alone.")] = False,
    engine: EngineFlag = EngineName.auto,
    preset: Annotated[
        str, typer.Option("--for", help="Preset of rankers and weights, as in rerank.")
    ] = "code",
    hidden: Hidden = False,
    no_ignore: NoIgnore = False,
    max_file_bytes: MaxFileBytes = 2_000_000,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where to keep what was read; default: structkit/ask in $XDG_CACHE_HOME or "
            "~/.cache.",
            rich_help_panel="Run",
        ),
    ] = None,
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Read everything, keep nothing.", rich_help_panel="Run"),
    ] = (False),
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Answer questions about a folder with its passages: path, line and text.

    All files are read the first time, and later only those that changed. A terminal gets a list,
    a pipe JSONL: one line per answer, best first. An answer has a word of the question, or is
    closer to its meaning than passages are to nonsense. Exit status 1 if there is none.
    """
    from structkit.asking.answers import Asking
    from structkit.asking.place import default_folder, default_model
    from structkit.collecting.walking import Walk
    from structkit.commands.ask import ask as command
    from structkit.commands.ask import target_and_questions
    from structkit.ranking.weights import chosen
    from structkit.records.output import write_records
    from structkit.searching.questions import carried, listed, write_answers

    named, questions = target_and_questions(words or [])
    apart(output, named, model)
    if no_model and model:
        raise UserError("--no-model and --model exclude each other", "give one", status=2)
    usual = default_model()
    if not no_model and model is None and usual.exists():
        model = str(usual)
    answers = command(
        named,
        questions,
        asking=Asking(k=k, ranking=chosen(preset).ranking(), globs=glob or []),
        walk=Walk(hidden=hidden, ignore_files=not no_ignore, max_file_bytes=max_file_bytes),
        cache=None if no_cache else Path(cache) if cache else default_folder(),
        encoding=encodings(model, engine),
        by_words=no_model,
    )
    first = next(answers, None)
    answers = chain([] if first is None else [first], answers)
    if first is not None and listed(questions, output, "jsonl" if json else None):
        write_answers(answers, questions, carried, rows=2 * context + 1)
    else:
        write_records(answers, output)
    if first is None:
        raise typer.Exit(1)


def encodings(model: str | None, engine: EngineName) -> Callable[[str], Any] | None:
    """What makes the encoding of queries, or of documents, with a model that reads texts."""
    if model is None:
        return None
    from structkit.learning.encoding.encoding import Encoding
    from structkit.learning.encoding.settings import EncodingSettings

    settings = EncodingSettings(model=model, field=("text",), engine=engine.value)
    return lambda side: Encoding(replace(settings, as_=side))
