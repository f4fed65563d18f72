"""Formats and their parts: our own and those of plugins; which part a file holds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from structkit import registry
from structkit.errors import UserError, unknown
from structkit.formats.interchange import Options, Part, Parts, Row
from structkit.paths import is_pipe
from structkit.progress import say
from structkit.records.jsonl import Record, Rows
from structkit.records.lines import cannot_read, shown
from structkit.records.texts import DOCUMENT

OURS = "structkit"
KINDS = "corpus queries qrels run examples pairs embeddings trees sentences scores".split()
# the fields of records of a kind; a query alone is a query, everything else is a document
SIGNS = {
    "embeddings": ("embedding",),
    "qrels": ("query_id", "doc_id", "relevance"),
    "run": ("query_id", "doc_id", "score"),
    "pairs": ("text_a", "text_b"),
    "examples": ("query", "positive"),
    "sentences": ("words",),
    "trees": ("tree",),
    "scores": ("run", "queries", "missing"),
}
# a query with one of these is a document; a `text` may be the query's own
DOCUMENTS = {*DOCUMENT, "product", "title", "docstring"} - {"text"}


@dataclass(frozen=True)
class Format:
    """A format with its parts, the main one first."""

    name: str
    parts: Parts

    @classmethod
    def named(cls, name: str | None, options: Options) -> Format:
        """The format of a plugin; without a name our own, which holds everything."""
        if name is None:
            parts = {kind: Part((f"{kind}.jsonl",), dict, _all, as_is=True) for kind in KINDS}
            return cls(OURS, parts)
        return cls(name, registry.load("format", name)().parts(options))

    def part(self, name: str) -> Part:
        """The part of that name; a miss lists what exists."""
        if name not in self.parts:
            raise unknown(f"part of {self.name}", name, self.parts)
        return self.parts[name]

    def inside(self, folder: str, chosen: str | None = None) -> dict[str, list[str]]:
        """The parts that a folder has, or the chosen one, with their files."""
        files_of = {}
        for name, part in self.parts.items():
            if chosen == name or (chosen is None and not part.by_name):
                files = _files(Path(folder), part)
                if files:
                    files_of[name] = files
                elif chosen or "/" in part.files[0]:  # a split may have another name
                    _missing(Path(folder), name, part, must=chosen is not None)
        if not files_of:
            usual = ", ".join(dict.fromkeys(part.files[0] for part in self.parts.values()))
            raise UserError(f"holds none of {usual}", "name files and --part").at(folder)
        return files_of

    def opened(self, files: Sequence[str], known: Sequence[str]) -> tuple[str, Rows]:
        """The part that files hold, and its rows, not read before: of ours the first one tells it.

        Errors: of another format, `UserError` where the name tells none of the parts in `known`.
        """
        if self.name != OURS:
            name = self._named(files, known)
            return name, self.parts[name].rows(files)
        rows = self.parts[KINDS[0]].rows(files)  # all of ours are tables
        return content(rows.first(), _base(files)), rows

    def _named(self, files: Sequence[str], known: Sequence[str]) -> str:
        """The part, one of `known`, that files hold: by name, ending, or the only one."""
        base = _base(files)
        for name in known:
            if any(fnmatch(base, os.path.basename(usual)) for usual in self.parts[name].files):
                return name
        if len({self.parts[name].files for name in known}) == 1:
            return known[0]
        ending = os.path.splitext(base)[1]
        alike = [
            name
            for name in known
            if any(os.path.splitext(usual)[1] == ending for usual in self.parts[name].files)
        ]
        if len(alike) == 1 and ending:
            return alike[0]
        if base != "-":
            try:
                os.stat(files[0])
            except OSError as error:
                raise cannot_read(error).at(files[0]) from None
            base = "a pipe" if is_pipe(files[0]) else base  # whose name is a number
        raise UserError(
            f"{shown(base)} may be any part of {self.name}",
            f"name it with --part: {', '.join(known)}",
            status=2,
        )


def _all(record: Record) -> Row:
    row = dict(record)
    record.clear()
    return row


def _base(files: Sequence[str]) -> str:
    """The name of the first file without its folder; - is stdin."""
    return os.path.basename(files[0]).removesuffix(".gz") if files else "-"


def content(first: Record, name: str) -> str:
    """The kind of our own records, by the first one; where that is unclear, by their file's name.

    A document and a query may have the same fields: `queries.jsonl` holds queries.
    """
    for kind, names in SIGNS.items():
        if all(name in first for name in names):
            return kind
    usual = name.partition(".")[0]
    if usual in ("corpus", "queries"):
        return usual
    return "queries" if "query" in first and not any(map(first.get, DOCUMENTS)) else "corpus"


def _files(folder: Path, part: Part) -> list[str]:
    """The files of a part in a folder: those of the first usual name that has some."""
    for usual in part.files:
        for name in (usual, f"{usual}.gz"):
            try:
                paths = sorted(folder.glob(name))
            except OSError as error:  # a name that is too long
                raise cannot_read(error).at(str(folder / name)) from None
            if paths:
                return [str(path) for path in paths]
    return []


def _missing(folder: Path, name: str, part: Part, *, must: bool) -> None:
    """Report a missing part, and what may be meant."""
    usual = Path(part.files[0])
    others = sorted(path.name for path in (folder / usual.parent).glob(f"*{usual.suffix}"))
    hint = f"--split names another; there are: {', '.join(others)}" if others else "name its folder"
    error = UserError(f"has no {usual}, the file of {name}", hint).at(str(folder))
    if must:
        raise error
    say(str(error))
