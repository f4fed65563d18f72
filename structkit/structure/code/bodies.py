"""Bodies that a grammar cannot read: without them, it reads the definitions around them.

Tests: tests/structure/code/test_sweep.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from structkit.structure.code.grammar import CLASS, FLAGS, Grammar, nested, overwrite

BRACES = rb"(?P<brace>[{};])"
PARAMETERS = re.compile(nested(rb"\(", rb"\)", rb"[^()]*+"))  # may hold words of heads


class Body(NamedTuple):
    """What braces hold that are no container's: from the head of the statement to the brace."""

    head: int
    start: int
    end: int


def without_broken_bodies(data: bytes, grammar: Grammar, heads: re.Pattern[bytes]) -> bytes:
    """Return code with blanks for the bodies that have errors; every character keeps its place.

    `heads` matches words before braces; those with a `container` as the last one hold definitions.
    """
    kept = bytearray(data)
    for body in _bodies(data, grammar, heads):
        piece = data[body.head : body.end + 1 + data.startswith(b";", body.end + 1)]
        if grammar.member:
            piece = piece.join(CLASS)
        if grammar.parser.parse(piece).root_node.has_error:
            overwrite(kept, body.start + 1, body.end)
    return bytes(kept)


def _bodies(data: bytes, grammar: Grammar, heads: re.Pattern[bytes]) -> Iterator[Body]:
    """Yield the outermost bodies that are in containers alone."""
    tokens = re.compile(b"|".join((*grammar.opaque, BRACES)), FLAGS)
    head = start = body_head = 0
    depth = 0  # braces that are open, from that of a body on
    for token in tokens.finditer(data):
        brace, at = token["brace"], token.start()
        if brace is None:
            continue
        if brace == b"{" and not depth:
            words = list(heads.finditer(PARAMETERS.sub(b"", data[head:at])))
            if not words or words[-1]["container"] is None:
                depth, start, body_head = 1, at, head
        elif depth and brace != b";":
            depth += 1 if brace == b"{" else -1
            if not depth:
                yield Body(body_head, start, at)
        head = token.end()
