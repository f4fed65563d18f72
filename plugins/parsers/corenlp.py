"""Stanford CoreNLP's constituency parser: a server that you start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from structkit import plugin
from structkit.errors import UserError
from structkit.structure.trees.tree import Tree

from ._corenlp import Server, Silence, trees_of

SENTENCES = 50  # of a request: its timeout covers all of them
CHARACTERS = 50_000  # of a request; the server takes 100,000


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """The trees of a CoreNLP server, which takes each text for one sentence.

    `timeout` is its time for a request, in seconds.
    """

    url: str = "http://localhost:9000"
    timeout: float = 60.0
    tokenized: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(
                f"--url {self.url} is not an address", "write http://HOST:PORT", status=2
            )
        if not 0 < self.timeout < 1e6:
            problem = f"--timeout {self.timeout:.15g} is not above 0 and below 1,000,000 seconds"
            raise UserError(problem, "60 is the default", status=2)

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """The tree of each text.

        A request that fails is split in two, so that one text does not cost the others their trees.
        Errors: the server is not up, or its answer makes no sense.
        """
        server = Server(self.url, self.timeout, self.tokenized)
        for lines in _requests(each.text for each in texts):
            yield from _answered(server, lines)


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


def _answered(server: Server, lines: list[str]) -> Iterator[Tree | UserError]:
    """The trees of some lines; where a request fails, its halves are asked for, and so on."""
    waiting = [lines]
    while waiting:
        lines = waiting.pop()
        try:
            status, body = server.ask(lines)
            if status == 200:
                yield from trees_of(body, lines)
                continue
            said = " ".join(body.decode("utf-8", "replace").split())[:200]
            error = UserError(f"the CoreNLP server says: {said} (status {status})", _remedy(said))
            if not status:
                error = UserError("the server does not answer in HTTP", f"check --url {server.url}")
                yield from [error] * len(lines)
                continue
        except Silence:
            error = UserError(
                f"the CoreNLP server gives no answer within {server.timeout:.15g} s",
                "start it again, or raise --timeout",
            )
            if not _alive(server):
                yield from [error] * len(lines)
                continue
        except UserError as fault:
            if fault.file:
                raise  # it is down: no text is to blame
            yield from [fault] * len(lines)
            continue
        if len(lines) == 1:
            yield error
        else:
            middle = len(lines) // 2
            waiting += [lines[middle:], lines[:middle]]


def _alive(server: Server) -> bool:
    try:
        server.wait()
    except Silence:
        return False
    return True


def _remedy(said: str) -> str:
    if "timed out" in said or "too long" in said:
        return "leave the record out, or split the text into sentences"
    return "leave the record out, or see the server's log"
