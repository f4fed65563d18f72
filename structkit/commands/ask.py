"""Answer a question about a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from structkit.collecting.ignoring import file_filter
from structkit.collecting.walking import Walk, WalkOptions, glob_setting
from structkit.command import Command
from structkit.errors import UserError, flag, program
from structkit.extras import BUILTIN
from structkit.learning.encoding.settings import (
    EncodingSettings,
    EngineName,
    engine_setting,
    usual_model,
)
from structkit.paths import cache_folder, keep_apart
from structkit.progress import printable, say
from structkit.records.jsonl import Record, read_stdin
from structkit.records.output import Output, format_table, write_drawn, write_records
from structkit.records.stream import OutputOptions
from structkit.searching import PreferredKind
from structkit.settings import files_of, offline_setting, setting, settings_class, unicode

if TYPE_CHECKING:
    from structkit.asking.answers import Answer
    from structkit.asking.cache import Store, Target
    from structkit.asking.folder import Folder
    from structkit.asking.meaning import Meaning
    from structkit.asking.similar import Place
    from structkit.embeddings.vectors import TextEncoding

INSTEAD_OF_QUESTIONS = ("like", "uses", "calls")
# `list` and `clear` exclude them
ANSWER_SETTINGS = ("questions", *INSTEAD_OF_QUESTIONS, "no_cache")


def usual_cache(settings: Settings) -> str:
    """structkit/ask in $XDG_CACHE_HOME or ~/.cache"""
    return str(cache_folder("ask"))


@settings_class
class Settings(WalkOptions):
    """Answer questions about a folder with its passages: path, line and text.

    The first run reads all files, later runs only those that changed. A terminal gets a list, a
    pipe JSONL with one line per answer, best first. An answer shares a word with the question, or
    matches it better than random text. Exit status 1 means that there are no answers.
    """

    target: str = setting(
        ".", "Folder, file or archive to ask about.", argument=True, metavar="FOLDER", reads=True
    )
    also: tuple[str, ...] = setting(
        (),
        "More folders, searched together with FOLDER. On the command line they may stand before "
        "the question.",
        metavar="FOLDER",
        reads="walks",
    )
    questions: tuple[str, ...] = setting(
        (),
        "Question, or a whole bug report. Words without quotes form one question; each quoted "
        "text is its own. Without one, or with -, each line of stdin is a question; a report "
        "with code, a stack trace or paragraphs counts as one.",
        argument=True,
        metavar="QUESTION",
        parse=unicode,
    )
    like: str | None = setting(
        None,
        "Find passages similar to the one with this line, by meaning and words, instead of a "
        "question.",
        metavar="FILE:LINE",
    )
    uses: str | None = setting(
        None,
        "Find the definitions of a symbol and the lines of code that use its name, instead of a "
        "question.",
        metavar="NAME",
        excludes="like",
    )
    calls: str | None = setting(
        None,
        "Find the names that the definitions of a symbol call, with the first line of each, "
        "instead of a question.",
        metavar="NAME",
        excludes=("like", "uses"),
    )
    k: int = setting(10, "Answers per question.", short="-k", low=1)
    tokens: int | None = setting(
        None,
        "Tokens of text per question, about four characters each: passages are cut to their best "
        "lines.",
        low=1,
    )
    model: str | None = setting(
        None,
        "Embedding model for semantic search; one of rows scores the best passages by maxsim.",
        inferred="structkit/ask-model in $XDG_DATA_HOME or ~/.local/share if it exists, otherwise "
        "builtin, the bundled token vectors",
        short="-m",
        reads=True,
    )
    no_model: bool = setting(False, "Search by words alone, without a model.", excludes="model")
    engine: EngineName = engine_setting()
    offline: bool = offline_setting()
    glob: tuple[str, ...] = glob_setting()
    kind: PreferredKind | None = setting(
        None,
        "Kind of files that answer; all prefers none.",
        inferred="all, with more weight for kinds that the question names",
    )
    secrets: bool = setting(
        False,
        "Read files that usually hold keys or passwords too, as *.pem and credentials.json. Those "
        "that are named are always read.",
        group="Files",
    )
    cache: str = setting(
        None, "Folder of the cache.", usual=usual_cache, metavar="DIR", group="run"
    )
    no_cache: bool = setting(False, "Read all files anew and cache nothing.", group="run")
    list: bool = setting(
        False,
        "List all caches with folder and size, instead of answering.",
        excludes=("target", *ANSWER_SETTINGS),
        group="run",
    )
    clear: bool = setting(
        False,
        "Remove the caches of FOLDER, which may no longer exist, instead of answering.",
        excludes=("list", *ANSWER_SETTINGS),
        group="run",
    )

    @property
    def instead(self) -> str:
        """The setting that is given instead of a question, if any."""
        return next((name for name in INSTEAD_OF_QUESTIONS if getattr(self, name)), "")

    @property
    def named_model(self) -> str | None:
        """The model that reads texts, if any: as named, or the user's own, or the built-in one."""
        return None if self.no_model else self.model or usual_model()


def ask(settings: Settings) -> Iterator[Record]:
    """Yield records of the answers to each question, best first, in the order of the questions.

    Each is a record of a run, with the `query` and the fields of its passage: `path`, `lines`,
    `language` and more. A question without an answer is reported on stderr. With `list` or `clear`,
    yield records of caches: `folder`, `exists`, `bytes`, `cache`.
    """
    from structkit.asking.answers import is_report
    from structkit.asking.cache import Target, cache_file, caches, clear, files_of_cache, with_cache
    from structkit.asking.folder import Folder
    from structkit.asking.meaning import MaxsimScorer, Meaning, passage_embedder

    if settings.questions and settings.instead:
        asked = flag("questions", argument="QUESTION")
        problem = f"{flag(settings.instead)} and {asked} exclude each other"
        raise UserError(problem, "leave one out", status=2)
    cache = Path(settings.cache)
    if settings.list or settings.clear:
        yield from caches(cache) if settings.list else clear(cache, settings.target)
        return
    if not (settings.questions or settings.instead):
        raise UserError("there is no question", f"give {flag('questions')}", status=2)
    target = Target.of(settings.target, *settings.also)
    example = None
    if settings.like:
        from structkit.asking.similar import Place

        example = Place.of(settings.like)
    file_filter(settings.glob)  # refuses a wrong one
    read_as = {each.name: getattr(settings, each.name) for each in fields(WalkOptions)}
    read_as["secrets"] = settings.secrets
    cache_path = None if settings.no_cache else cache_file(cache, target, read_as)
    # a cache inside the folder is not one of its files
    outputs = files_of_cache(cache_path) if cache_path else ()
    walk = Walk(settings, frozenset(map(os.path.realpath, outputs)))

    def work(store: Store) -> list[Record]:
        with _encodings(settings) as encodings:
            embeds = encodings and (settings.like or not all(map(is_report, settings.questions)))
            embed = partial(passage_embedder, encodings[0]) if embeds else lambda: None
            folder = Folder.read(store, target, walk, embed, secrets=settings.secrets)
            if not len(folder):
                problem = UserError("holds no searchable text", "name another folder")
                raise problem.at(str(target))
            meaning = Meaning(folder, encodings[0]) if encodings else None
            if meaning and len(encodings) > 1:
                meaning.maxsim = MaxsimScorer(folder, encodings[1])
            return [*_found(settings, folder, target, meaning, example)]

    yield from with_cache(cache_path, target, work)


def _found(
    settings: Settings,
    folder: Folder,
    target: Target,
    meaning: Meaning | None,
    example: Place | None,
) -> Iterator[Record]:
    """Yield the answers to each question, or the passages like the example."""
    from structkit.asking.answers import answers, chosen_passages, nothing_chosen, with_places
    from structkit.asking.budget import shorten
    from structkit.ranking.reranking import choose

    k = settings.k
    chosen = chosen_passages(folder, settings.glob, settings.kind)
    if not chosen.any():
        say(str(nothing_chosen(folder, settings.glob, settings.kind).at(str(target))))
        return
    weights = choose("pages" if folder.is_mostly_pages(chosen) else "code")
    # the search itself scores pages, and weighs kinds of files by the question
    built_in = ("pages", "path-kinds")
    rankers = {name: each for name, each in weights.rankers.items() if name not in built_in}
    ranking = replace(weights, rankers=rankers).ranking()
    answered: list[tuple[str, list[Answer]]] = []
    if symbol := settings.uses or settings.calls:
        from structkit.asking.uses import calls, not_found, uses

        found = (uses if settings.uses else calls)(folder, symbol, chosen)
        if not found:
            say(str(not_found(folder, symbol, chosen).at(str(target))))
            return
        answered.append((symbol, found))
    elif example:
        from structkit.asking.similar import similar

        answered.append(similar(folder, example.passage(folder, target), k, chosen, meaning))
    for question in settings.questions:
        found = answers(folder, question, k, ranking, chosen, meaning, settings.kind)
        answered.append((question, found))
    for number, (question, best) in enumerate(answered, 1):
        if not symbol:
            best = with_places(folder, question, best, meaning)
        records = [*_records(str(number), question, best, target)]
        if settings.tokens:
            shown = shorten(records, settings.tokens)
            records = shown.answers
            if note := shown.note():
                say(note)
        yield from records
        if not best:
            say(str(_nothing(settings, question, meaning is not None).at(str(target))))


def _records(
    query_id: str, question: str, best: Iterable[Answer], target: Target
) -> Iterator[Record]:
    """Yield records of the answers to a question, best first."""
    for rank, (hit, record) in enumerate(best, 1):
        path = target.from_here(record["path"])
        doc_id = path + record["id"][len(record["path"]) :]
        answer = {"query_id": query_id, "query": question, "doc_id": doc_id}
        left_out = {"id", "hash", "symbols"}
        if "text" in record:
            left_out.add("html")
        kept = {name: value for name, value in record.items() if name not in left_out}
        if "also_in" in kept:
            kept["also_in"] = [*map(target.from_here, kept["also_in"])]
        yield {**answer, "score": hit.score, "rank": rank, **kept, "path": path}


def _nothing(settings: Settings, question: str, by_meaning: bool) -> UserError:
    """Return the error for a question without answers."""
    if settings.like:
        return UserError(f"nothing is similar to {settings.like}", "name a longer passage")
    why = "none of its words occurs"
    if settings.glob or settings.kind:
        why += f" in the files of {flag('glob' if settings.glob else 'kind')}"
    if by_meaning:
        why += ", and no passage matches it better than random text"
    return UserError(f'nothing answers "{question}": {why}', "ask in other words")


@contextmanager
def _encodings(settings: Settings) -> Iterator[Sequence[Callable[[str], TextEncoding]]]:
    """Yield the encodings by the model, if any; the built-in one precedes one of several rows."""
    if settings.named_model is None:
        yield ()
        return
    from structkit.learning.encoding.encoding import idle_encodings, metadata_of

    named, engine, offline = settings.named_model, settings.engine, settings.offline
    reads = EncodingSettings(model=named, field=("text",), engine=engine, offline=offline)
    models = [replace(reads, model=BUILTIN), reads] if metadata_of(reads).get("part") else [reads]
    with ExitStack() as stack:
        yield [stack.enter_context(idle_encodings(each)) for each in models]


@settings_class
class ListOutput(OutputOptions):
    """Settings of the output: its file, and how a list shows answers."""

    context: int = setting(
        1,
        "Context lines on each side of the best line, in a list; they start where a block begins.",
        short="-C",
        low=0,
        high=1000,
    )
    files: bool = setting(
        False,
        "Print only the paths of answers, each once, best first, one per line.",
        short="-l",
        excludes="context",
    )


def draw_caches(caches: Iterable[Record], width: int | None) -> str:
    """Return caches as a table, the largest first."""
    rows = [
        {**each, "is": "here" if each["exists"] else "gone", "folder": printable(each["folder"])}
        for each in sorted(caches, key=lambda each: -each["bytes"])
    ]
    return format_table(rows, ("bytes", "is", "folder"), width)


def _main(settings: Settings, output: ListOutput) -> None:
    if settings.list or settings.clear:
        write_drawn(ask(settings), output.output, draw_caches)
        return
    settings = with_questions(settings)
    keep_apart(files_of([output], "writes"), [settings.target, *settings.also])
    found = list(ask(settings))
    questions = settings.questions or [each["query"] for each in found[:1]]
    is_terminal = output.output == "-" and os.isatty(1)
    if output.files:
        paths = (printable(each["path"]) if is_terminal else each["path"] for each in found)
        with Output(output.output) as file:
            file.write(b"".join(os.fsencode(path) + b"\n" for path in dict.fromkeys(paths)))
    elif found and is_terminal:
        from structkit.asking.answers import short_question
        from structkit.searching.listing import write_answers

        write_answers(found, [*map(short_question, questions)], rows=2 * output.context + 1)
    else:
        write_records(found, output.output)
    if not found:
        raise SystemExit(1)


def with_questions(settings: Settings) -> Settings:
    """Return settings completed from the words of the command line and the questions on stdin.

    A question alone is about the current folder. Arguments before the last one that exist are
    folders. Words without quotes are one question. Without a question, or with `-`, each line of
    stdin is one.
    """
    target, also, questions = settings.target, settings.also, settings.questions
    instead = bool(settings.instead)
    if not (questions or instead) and (target == "-" or not os.path.exists(target)):
        target, questions = ".", (unicode(target),)
    if not os.path.exists(target):
        remedy = "write structkit ask FOLDER QUESTION"
        words = [target, *also, *questions]
        if not (instead or "/" in target) and all(len(word.split()) == 1 for word in words):
            remedy = f"name a folder, or quote the question: {program('ask', ' '.join(words))}"
        raise UserError("does not exist", remedy).at(target)
    needed = 0 if instead else 1
    while len(questions) > needed and os.path.exists(questions[0]):
        also, questions = (*also, questions[0]), questions[1:]
    if instead:
        return replace(settings, also=also, questions=questions)
    if questions == ("-",) or not (questions or os.isatty(0)):
        from structkit.asking.report import is_report_text

        text = read_stdin().decode("utf-8-sig", "replace")
        questions = (text,) if is_report_text(text) else tuple(text.splitlines())
    elif all(len(each.split()) < 2 for each in questions):  # a shell took a sentence apart
        questions = (" ".join(questions),)
    questions = tuple(filter(None, map(str.strip, questions)))
    if not questions:
        remedy = 'write structkit ask FOLDER "QUESTION"'
        raise UserError("there is no question", remedy, status=2)
    return replace(settings, target=target, also=also, questions=questions)


COMMAND = Command(
    ask,
    Settings,
    _main,
    also=(ListOutput,),
    writes="`query_id`, `query`, `doc_id`, `score`, `rank`, `line`, `path`, `language`, `lines`; "
    "if the passage has them: `use`, `calls`, `symbol`, `symbol_lines`, `quote`, `also_in`, "
    "`scope`, `names`, `code`, `title`, `headings`, `text`; with {list} and {clear}: `folder`, "
    "`exists`, `bytes`, `cache`",
    examples="""
structkit ask src "how is the area of a circle computed"
structkit ask "where is a radius read" --glob '*.py' -k 3
structkit ask --like src/shapes.py:4
structkit ask src --uses Circle
""",
)
