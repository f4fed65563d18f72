"""`structkit.collect`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Concatenate, ParamSpec

from structkit.api.arguments import check, in_python
from structkit.api.given import Held, Names, Rows
from structkit.commands import collect as command
from structkit.records.jsonl import Record

P = ParamSpec("P")


def _over(
    made: Callable[Concatenate[Sequence[str], P], command.Collection],
) -> Callable[Concatenate[Names | Rows, P], Iterator[Record]]:
    parameters = signature(made).parameters

    def collect(paths: Names | Rows, /, *args: P.args, **keywords: P.kwargs) -> Iterator[Record]:
        """The records of files, folders and archives, in the order of their paths.

        What the command leaves out and counts (binary files, links …) is left out; a file that
        cannot be read raises. With `records=True`, `paths` are JSONL files or dicts, each a file.
        """
        with in_python(parameters):
            check("collect", keywords, parameters)
        return records_of(paths, *args, **keywords)

    def records_of(paths: Names | Rows, *args: P.args, **keywords: P.kwargs) -> Iterator[Record]:
        with in_python(parameters), Held() as held:
            yield from command.collect(made(held.files(paths, "records"), *args, **keywords))

    collect.__signature__ = signature(made)  # type: ignore[attr-defined]
    return collect


collect = _over(command.Collection.of)
