"""Statements that a grammar cannot read: without them, it reads the definitions around them.

Tests: tests/structure/code/test_sweep.py.
"""

import re
from collections.abc import Iterator

from structkit.structure import Span
from structkit.structure.code.grammar import (
    CLASS_FRAME,
    OPAQUE_FLAGS,
    PARENTHESES,
    Grammar,
    overwrite,
)

SIGNS = rb"(?P<sign>[{}();]|\n[ \t]*+(?=\n))"


def without_broken_pieces(data: bytes, grammar: Grammar, heads: re.Pattern[bytes]) -> bytes:
    """Return code with blanks for what has errors; every character keeps its place.

    `heads` matches words before braces; those with a `container` as the last one hold definitions.
    """
    kept = bytearray(data)
    for code, blank in _statements(data, grammar, heads):
        text = data[slice(*code)]
        if grammar.member:
            text = text.join(CLASS_FRAME)
        if grammar.parser.parse(text).root_node.has_error:
            overwrite(kept, *blank)
    return bytes(kept)


def _statements(
    data: bytes, grammar: Grammar, heads: re.Pattern[bytes]
) -> Iterator[tuple[Span, Span]]:
    """Yield statements of containers, and the part to blank in case of errors: a body, or all.

    A statement goes to the end of its body, to a semicolon, or to a blank line.
    """
    start = body = 0
    braces = 0  # that are open, from that of a body on
    parentheses = 0  # in a head: braces in them are no body
    for token in re.finditer(b"|".join((*grammar.opaque, SIGNS)), data, OPAQUE_FLAGS):
        sign, at = token["sign"], token.start()
        if sign is None:
            continue
        if braces:
            braces += (sign == b"{") - (sign == b"}")
            if braces:
                continue
            end = at + 1 + data.startswith(b";", at + 1)
            yield (start, end), (body, at)
        elif sign in b"()":
            parentheses = max(0, parentheses + (1 if sign == b"(" else -1))
            continue
        elif parentheses:
            continue
        else:
            words = list(heads.finditer(re.sub(PARENTHESES, b"", data[start:at])))
            is_container = bool(words) and words[-1]["container"] is not None
            if sign == b"{" and not is_container:
                braces, body = 1, at + 1
                continue
            if sign != b"{" and not is_container:
                yield (start, at + (sign == b";")), (start, at)
        start = token.end()
