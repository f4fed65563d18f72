"""Stanford CoreNLP's constituency parser: a server that you start."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from structkit import plugin
from structkit.errors import UserError, flag
from structkit.structure.trees.brackets import clean, read, unescaped
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import same

SENTENCES = 50  # of a request
TIMEOUT = 60  # seconds of a request; one that takes longer is split
CHARACTERS = 50_000  # of a request; the server takes 100,000
START = "java -mx4g -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port {port}"
PAUSES = (0.2, 1.0)  # seconds between attempts
BUSY = (429, 503)  # too many requests, or not yet ready
MODELS = "start a CoreNLP server with the English models"


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """The trees of a CoreNLP server, which takes each text for one sentence.

    Source: recordings of a server's answers; the options of its `parse` annotator.
    """

    url: str = "http://localhost:9000"
    tokenized: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            problem = f"{flag('url', self.url)} is not an address"
            raise UserError(problem, "write http://HOST:PORT", status=2)

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """The tree of each text.

        A request that fails is split in two, so that one text does not cost the others their trees.
        Errors: the server is not up, does not answer in time, or its answer makes no sense.
        """
        for lines in _requests(each.text for each in texts):
            waiting = [lines]
            while waiting:
                lines = waiting.pop()
                status, body = self.answer(lines)
                if status == 200:
                    yield from trees_of(body, lines)
                elif len(lines) == 1:
                    said = " ".join(body.decode("utf-8", "replace").split())[:200]
                    problem = f"the CoreNLP server says: {said} (status {status})"
                    yield UserError(problem, "leave the record out, or split its text")
                else:
                    middle = len(lines) // 2
                    waiting += [lines[middle:], lines[:middle]]

    def answer(self, lines: Sequence[str]) -> tuple[int, bytes]:
        """Status and body of the answer to some sentences, one per line.

        It is asked again while it is busy or refuses the connection.
        """
        for pause in (*PAUSES, None):
            try:
                status, body = self._ask(lines)
                if status not in BUSY:
                    return status, body
                problem = f"it is not ready (status {status})"
            except (OSError, HTTPException) as error:
                problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
                if isinstance(error, TimeoutError):
                    break
            if pause is not None:
                time.sleep(pause)
        command = START.format(port=urlsplit(self.url).port or 9000)
        raise UserError(
            f"the CoreNLP server cannot be reached ({problem})",
            f"start it in CoreNLP's folder: {command}",
        ).at(self.url)

    def _ask(self, lines: Sequence[str]) -> tuple[int, bytes]:
        properties = {
            "outputFormat": "json",
            "annotators": "tokenize,pos,lemma,ssplit,parse",
            "ssplit.eolonly": "true",
            "tokenize.whitespace": "true" if self.tokenized else "false",
            "timeout": str(TIMEOUT * 1000),
        }
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/") + "/?" + urlencode({"properties": json.dumps(properties)})
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        # the server's own timeout comes before ours, and says more
        connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT * 1.2)
        try:
            headers = {"Content-Type": "text/plain; charset=utf-8"}
            connection.request("POST", path, "\n".join(lines).encode("utf-8"), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def _requests(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts, one line each, in lists that fit in a request."""
    lines: list[str] = []
    size = 0
    for text in texts:
        line = " ".join(text.split())
        if lines and (len(lines) == SENTENCES or size + len(line) > CHARACTERS):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield lines


def trees_of(body: bytes, lines: Sequence[str]) -> list[Tree | UserError]:
    """The trees in an answer, one for each line; lines without one get an error.

    Errors: the answer is not one of a CoreNLP server.
    """
    try:
        sentences: list[Mapping[str, Any]] = json.loads(body)["sentences"]
        # `line` counts the lines of the request; the server leaves out empty ones
        by_line = {int(each["line"]): each for each in sentences}
    except (ValueError, KeyError, TypeError):
        start = body[:60].decode("utf-8", "replace").strip()
        problem = f"the CoreNLP server answers {start!r}, not JSON with trees"
        raise UserError(problem, MODELS) from None
    return [_tree(by_line.get(number), line) for number, line in enumerate(lines, 1)]


def _tree(sentence: Mapping[str, Any] | None, line: str) -> Tree | UserError:
    if sentence is None or not isinstance(sentence.get("parse"), str):
        return UserError("the CoreNLP server finds no tree for the text", "leave the record out")
    try:
        tree = clean(read(sentence["parse"]))
    except UserError as error:
        return UserError(f"the CoreNLP server's answer is not a tree: {error.problem}", MODELS)
    words = _original_words(sentence.get("tokens"))
    if len(words) == len(tree.words):
        tree = replace(tree, words=words)  # without the server's normalization
    if not same(tree.words, line):
        return UserError("the CoreNLP server answers words that are not the text's", MODELS)
    return tree


def _original_words(tokens: Any) -> tuple[str, ...]:
    """The tokens as in the text, brackets decoded; none if the answer lacks them."""
    try:
        # a token may hold a space, a leaf may not
        words = [unescaped("".join(str(each["originalText"]).split())) for each in tokens]
    except (TypeError, KeyError):
        return ()
    return tuple(words) if all(words) else ()
