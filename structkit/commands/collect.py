"""Turn files, folders and archives into records."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import orjson

from structkit.collecting.ignoring import file_filter
from structkit.collecting.walking import (
    Found,
    LeftOut,
    Walk,
    WalkOptions,
    glob_setting,
    named_paths,
    readable_path,
)
from structkit.command import Command
from structkit.errors import flag, wrong_usage
from structkit.progress import Position, progress
from structkit.records.jsonl import Record, Rejected, Shard
from structkit.records.output import Output
from structkit.records.stream import (
    ErrorOptions,
    OutputOptions,
    Rejects,
    map_in_order,
    say_empty,
    workers_setting,
)
from structkit.settings import setting, settings_class

if TYPE_CHECKING:
    from structkit.collecting.units import Collected, Units

UnitName = Literal[
    "file", "function", "chunk", "page", "section", "row", "passage", "sentence", "commit"
]


@settings_class
class Settings(WalkOptions):
    """Turn files into records: functions, chunks, pages, sections, rows, sentences, files.

    Each record has an `id` (path#unit), `path`, `language`, `lines` and the `hash` of its text.
    Records are sorted by path. Binary files, links, and archives and compressed files in folders
    are skipped, and counted at the end.
    """

    paths: tuple[str, ...] = setting(
        ...,
        "Folders, files, archives (.zip .whl .jar .tar.gz .warc …) or compressed files (.gz "
        ".bz2 .xz); - reads paths from stdin, separated by newlines or NUL.",
        argument=True,
        metavar="PATH",
        reads="walks",
        remedy=lambda: "name a folder, a file or an archive",
    )
    records: bool = setting(
        False,
        "Read PATHs as JSONL in which each record is a file: its text in `code`, `html` or "
        "`text`, its name in `path`. Its parts get its other fields, and its id as `doc_id`.",
        excludes="no_ignore",
    )
    unit: UnitName | None = setting(
        None,
        "Unit of a record. A row belongs to a table and has its headings and labels. A commit "
        "gives a pair for each function that it changed: its message, and the new "
        "function.",
        inferred="chunk for code, page for HTML and Markdown, sentence for other text",
    )
    chunk_chars: int = setting(1_500, "Maximum characters in a chunk, without white space.", low=1)
    glob: tuple[str, ...] = glob_setting()
    generated: bool = setting(False, "Include generated and minified code.", group="Files")
    shard: str | None = setting(
        None, "Keep part I of N of the files, counted from 0.", metavar="I/N", group="run"
    )
    workers: int = workers_setting()

    def __post_init__(self) -> None:
        self.part()
        file_filter(self.glob)
        if self.records and self.unit == "commit":
            raise wrong_usage(
                f"{flag('unit', 'commit')} reads no records",
                f"leave out {flag('records', True)}",
            )

    def part(self) -> Shard:
        """Return the part of the files to read."""
        return Shard.parse(self.shard or "0/1")

    def files(self, outputs: Collection[str] = ()) -> Iterable[Found]:
        """Return the files to read, in their order, without the outputs."""
        part = self.part()
        if not self.records:
            written = frozenset(map(os.path.realpath, outputs))
            return Walk(self, written, self.glob, part).sources(self.paths)
        from structkit.collecting.units import files_of_records

        is_chosen = file_filter(self.glob)
        return (
            each
            for each in files_of_records(self.paths)
            if (not self.glob or is_chosen(each.path)) and part.holds(each.path)
        )


@settings_class
class CollectOptions(OutputOptions, ErrorOptions):
    """Settings of the output of a collection and of its errors."""

    on_error: Literal["fail", "skip"] = setting(
        "skip", "What to do with a file that cannot be read."
    )
    rejects: str | None = setting(None, "File that lists what is skipped, and why.", writes=True)


def collect(settings: Settings, options: CollectOptions) -> Iterator[Record]:
    """Yield the records of files, folders and archives, in the order of their paths.

    Skipped files are counted on stderr. With `records=True`, `paths` are JSONL files or dicts, each
    a file.
    """
    with LeftOuts(options.on_error, options.rejects) as left_outs:
        for done in collected_batches(settings):
            for left in done.left_out:
                left_outs.leave(left)
            yield from map(orjson.loads, done.output.splitlines())


def collected_batches(settings: Settings, outputs: Collection[str] = ()) -> Generator[Collected]:
    """Yield batches of records as lines, with the files that each batch skips."""
    from structkit.collecting.units import Collector, Units, batches, report_missing_grammars

    names = ("unit", "chunk_chars", "max_file_bytes", "generated")
    units = Units(**{name: getattr(settings, name) for name in names})
    if settings.unit == "commit":
        yield from commit_parts(settings, replace(units, unit="function"))
        return
    endings = set()

    def files() -> Iterator[Found]:
        for found in settings.files(outputs):
            endings.add(os.path.splitext(found.path)[1])
            yield found

    yield from map_in_order(lambda: Collector(units), batches(files()), settings.workers, bytes_of)
    if settings.unit in (None, "chunk"):
        report_missing_grammars(endings)


def bytes_of(batch: Iterable[Found]) -> int:
    """Return the number of bytes of some files."""
    return sum(each.size for each in batch)


def commit_parts(settings: Settings, units: Units) -> Generator[Collected]:
    """Yield the records of each repository, commit by commit."""
    # imports parsers
    from structkit.collecting.history import CommitCollector, commit_tasks
    from structkit.collecting.units import Collector

    is_chosen = file_filter(settings.glob)
    for path in named_paths(settings.paths):

        def collector(root: str = "" if path == "." else readable_path(path)) -> CommitCollector:
            return CommitCollector(Collector(units), root)

        every = commit_tasks(path, is_chosen, settings.part(), settings.max_file_bytes)
        with closing(every):
            yield from map_in_order(
                collector,
                every,
                settings.workers,
                lambda task: sum(len(old) + len(new) for _, old, new in task.files),
            )


def write_collected(settings: Settings, options: CollectOptions) -> None:
    """Collect into a file, and report the number of skipped files on stderr."""
    count = files = 0
    outputs = [path for path in (options.output, options.rejects) if path and path != "-"]
    results = collected_batches(settings, outputs)
    with (
        LeftOuts(options.on_error, options.rejects) as left_outs,
        Output(options.output) as out,
        closing(results),
        progress("collect", lambda: Position(count, note=f"{files:,} files")),
    ):
        for done in results:
            for left in done.left_out:
                left_outs.leave(left)
            out.write(done.output)
            count += done.records
            files += done.files
    if not count and settings.shard is None:
        say_empty()


class LeftOuts(Rejects):
    """Skipped files, counted by reason; an unreadable one may end the command."""

    noun = "path"
    verb = "left out"
    max_reasons = 8

    def leave(self, left: LeftOut) -> None:
        """Count one, or stop."""
        rejected = Rejected(left.error, orjson.dumps({"path": left.path}))
        if left.fault:
            self.add(rejected)
        else:
            self.keep(rejected)


COMMAND = Command(
    collect,
    Settings,
    write_collected,
    also=(CollectOptions,),
    reads="with {records}: `code`, `html` or `text`, and `path`",
    writes="`id`, `path`, `language`, `lines`, `hash`; a function or chunk: `code`, `scope`, "
    "`name`, `names`, `docstring`; a page, section, row or sentence: `title`, `headings`, "
    "`html`, `text`, `xpath`; with {records}: `doc_id`",
    examples="""
structkit collect src docs -o corpus.jsonl
structkit collect src --unit function | structkit pair --on-error skip | structkit mask-entities
structkit collect package.zip --unit sentence --on-error fail
structkit collect --records functions.jsonl --chunk-chars 300
""",
)
