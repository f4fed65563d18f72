"""Stanford CoreNLP's constituency parser: a server that you start."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from structkit import plugin
from structkit.errors import UserError, flag, wrong_usage
from structkit.settings import settings_class
from structkit.structure.trees.brackets import clean, read_tree, unescaped
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import same

START_COMMAND = "java -mx4g -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port {port}"
BUSY_STATUSES = (429, 503)  # too many requests, or not yet ready
MODELS_REMEDY = "start a CoreNLP server with the English models"


@settings_class
class Parser(plugin.Parser):
    """Trees of a CoreNLP server, which parses each text as one sentence.

    A sentence is a request, whose time is nearly all parsing; a failed one costs no other its tree.

    Source: recordings of a server's answers; the options of its `parse` annotator.
    """

    timeout = 60.0  # seconds of a request
    url: str
    tokenized: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise wrong_usage(
                f"{flag('url', self.url)} is not an address", "write http://HOST:PORT"
            )

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """Yield the tree of each text.

        Errors: the server is down, does not answer in time, or gives an invalid answer.
        """
        for each in texts:
            line = " ".join(each.text.split())
            status, body = self.answer(line)
            if status == 200:
                yield tree_of(body, line)
            else:
                said = " ".join(body.decode("utf-8", "replace").split())[:200]
                problem = f"the CoreNLP server says: {said} (status {status})"
                yield UserError(problem, "leave the record out, or split its text")

    def answer(self, line: str) -> tuple[int, bytes]:
        """Return status and body of an answer. Errors: the server is down, or busy."""
        properties = {
            "outputFormat": "json",
            "annotators": "tokenize,pos,lemma,ssplit,parse",
            "ssplit.eolonly": "true",
            "tokenize.whitespace": "true" if self.tokenized else "false",
            "timeout": f"{self.timeout * 1000:.0f}",
        }
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/") + "/?" + urlencode({"properties": json.dumps(properties)})
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        # the server's own timeout comes before ours, and explains more
        connection = kind(parts.hostname or "", parts.port, timeout=self.timeout * 1.2)
        try:
            headers = {"Content-Type": "text/plain; charset=utf-8"}
            connection.request("POST", path, line.encode("utf-8"), headers)
            answer = connection.getresponse()
            if answer.status not in BUSY_STATUSES:
                return answer.status, answer.read()
            problem = f"it is not ready (status {answer.status})"
        except (OSError, HTTPException) as error:
            problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
        finally:
            connection.close()
        raise UserError(
            f"the CoreNLP server cannot be reached ({problem})",
            f"start it in CoreNLP's folder: {START_COMMAND.format(port=parts.port or 9000)}",
        ).at(self.url)


def tree_of(body: bytes, line: str) -> Tree | UserError:
    """Return the tree in an answer, or the error that rejects the text.

    Errors: the answer is not from a CoreNLP server.
    """
    try:
        sentences: list[Mapping[str, Any]] = json.loads(body)["sentences"]
    except (ValueError, KeyError, TypeError):
        start = body[:60].decode("utf-8", "replace").strip()
        raise UserError(
            f"the CoreNLP server answers {start!r}, not JSON with trees", MODELS_REMEDY
        ) from None
    if not sentences or not isinstance(sentences[0].get("parse"), str):
        return UserError("the CoreNLP server finds no tree for the text", "leave the record out")
    try:
        tree = clean(read_tree(sentences[0]["parse"]))
    except UserError as error:
        return UserError(
            f"the CoreNLP server's answer is not a tree: {error.problem}", MODELS_REMEDY
        )
    words = _original_words(sentences[0].get("tokens"))
    if len(words) == len(tree.words):
        tree = replace(tree, words=words)  # without the server's normalization
    if not same(tree.words, line):
        return UserError(
            "the CoreNLP server answers with words that are not the text's", MODELS_REMEDY
        )
    return tree


def _original_words(tokens: Any) -> tuple[str, ...]:
    """Return the tokens as in the text, brackets decoded; none if the answer lacks them."""
    try:
        # a token may hold a space, a leaf may not
        words = [unescaped("".join(str(each["originalText"]).split())) for each in tokens]
    except (TypeError, KeyError):
        return ()
    return tuple(words) if all(words) else ()
