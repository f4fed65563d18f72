"""A function's docstring out of its code: a document must not contain its query."""

from __future__ import annotations

from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.structure.code.languages import language_named
from structkit.structure.code.spans import Span


def without_docstring(code: str, record: Record) -> str:
    """The code without the docstring of its function, where its language keeps it inside."""
    language = record.get("language")
    if not isinstance(language, str):
        return code
    span = language_named(language, status=1).docstring(code)
    if span is None:
        return code
    if not 0 <= span[0] < span[1] <= len(code):
        raise UserError(
            f"the language {language} gives the docstring {span}, which is empty or outside the "
            f"text of {len(code):,} characters",
            "mend it",
        )
    if "masked" in record:
        raise UserError(
            "the record is masked already, with the docstring inside",
            "run pair before mask-entities",
        )
    return cut(code, span)


def cut(text: str, span: Span) -> str:
    r"""The text without a statement: its whole lines, or itself and the semicolon after it.

    >>> cut("def f():\n    'doc'\n    return 1", (13, 18))
    'def f():\n    return 1'
    >>> cut("def f(): 'doc'; return 1", (9, 14))
    'def f(): return 1'
    """
    before, after = text[: span[0]], text[span[1] :]
    rest, newline, following = after.partition("\n")
    if rest.lstrip().startswith(";"):
        return before + after.lstrip().removeprefix(";").lstrip(" \t")
    line = before.rpartition("\n")[2]
    if not line.strip() and not rest.strip():
        return before[: len(before) - len(line)] + following
    return before + after
