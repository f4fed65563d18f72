"""The protocol of Stanford CoreNLP's server: requests, answers, and what they mean."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from structkit.errors import UserError
from structkit.structure.trees.brackets import clean, read, unescaped
from structkit.structure.trees.letters import same
from structkit.structure.trees.tree import Tree

START = "java -mx4g -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port {port}"
PAUSES = (0.2, 1.0)  # seconds between attempts
REFUSED = (429, 503)  # too busy, or not yet ready
GARBAGE = "start a CoreNLP server with the English models"


class Silence(Exception):
    """The server took a request but gave no complete answer in time."""


@dataclass(frozen=True)
class Server:
    """A CoreNLP server. `timeout` is its time for a request, in seconds.

    Source: recordings of a server's answers; the options of its `parse` annotator.
    """

    url: str
    timeout: float = 60.0
    tokenized: bool = False

    def wait(self) -> None:
        """Wait a little until it is up. Errors: it is not."""
        self._request("GET", "/ready", b"", min(self.timeout, 5.0))

    def ask(self, lines: Sequence[str]) -> tuple[int, bytes]:
        """Status and body of the answer to some sentences, one per line."""
        properties = {
            "outputFormat": "json",
            "annotators": "tokenize,pos,lemma,ssplit,parse",
            "ssplit.eolonly": "true",
            "tokenize.whitespace": "true" if self.tokenized else "false",
            "timeout": str(int(self.timeout * 1000)),
        }
        # its own timeout comes before ours, and says more
        path = "/?" + urlencode({"properties": json.dumps(properties)})
        return self._request("POST", path, "\n".join(lines).encode("utf-8"), self.timeout * 1.2)

    def _request(self, method: str, path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        """One request, tried again if the server is busy or refuses the connection."""
        problem = ""
        for pause in (*PAUSES, None):
            try:
                status, answer = self._once(method, path, body, timeout)
                if status not in REFUSED:
                    return status, answer
                problem = f"it is not ready (status {status})"
            except TimeoutError:
                raise Silence from None
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, http.client.BadStatusLine | http.client.IncompleteRead):
                    if not isinstance(error, http.client.RemoteDisconnected):
                        return 0, b""  # an answer, but not HTTP
                problem = getattr(error, "strerror", None) or str(error)
            if pause is not None:
                time.sleep(pause)
        raise self.down(problem or "no answer")

    def _once(self, method: str, path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        try:
            headers = {"Content-Type": "text/plain; charset=utf-8"}
            connection.request(method, parts.path.rstrip("/") + path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def down(self, problem: str) -> UserError:
        """The error for a server that cannot be reached: it says how to start one."""
        command = START.format(port=urlsplit(self.url).port or 9000)
        return UserError(
            f"the CoreNLP server cannot be reached ({problem})",
            f"start it in CoreNLP's folder: {command}",
        ).at(self.url)


def trees_of(body: bytes, lines: Sequence[str]) -> list[Tree | UserError]:
    """The trees in an answer, one for each line; lines without one get an error.

    Errors: the answer is not one of a CoreNLP server.
    """
    try:
        sentences: list[Mapping[str, Any]] = json.loads(body)["sentences"]
        # `line` counts the lines of the request; the server leaves out empty ones
        by_line = {int(each.get("line", number)): each for number, each in enumerate(sentences, 1)}
    except (ValueError, KeyError, TypeError, AttributeError):
        shown = body[:60].decode("utf-8", "replace").strip()
        raise UserError(
            f"the CoreNLP server answers {shown!r}, not JSON with trees", GARBAGE
        ) from None
    if len(by_line) < len(sentences) or any(not 1 <= line <= len(lines) for line in by_line):
        raise UserError("the CoreNLP server answers lines that it was not asked for", GARBAGE)
    return [_tree(by_line.get(number), line) for number, line in enumerate(lines, 1)]


def _tree(sentence: Mapping[str, Any] | None, line: str) -> Tree | UserError:
    if sentence is None or not isinstance(sentence.get("parse"), str):
        return UserError("the CoreNLP server finds no tree for the text", "leave the record out")
    try:
        tree = clean(read(sentence["parse"]))
    except UserError as error:
        return UserError(f"the CoreNLP server's answer is not a tree: {error.problem}", GARBAGE)
    words = _originals(sentence.get("tokens"))
    if len(words) == len(tree.words):
        tree = replace(tree, words=words)  # without the server's normalization
    if not same(tree.words, line):
        return UserError("the CoreNLP server answers words that are not the text's", GARBAGE)
    return tree


def _originals(tokens: Any) -> tuple[str, ...]:
    """The tokens as in the text, brackets decoded; none if the answer lacks them."""
    try:
        # a token may hold a space, a leaf may not
        words = [unescaped("".join(str(each["originalText"]).split())) for each in tokens]
    except (TypeError, KeyError):
        return ()
    return tuple(words) if all(words) else ()
