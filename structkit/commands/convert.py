"""Convert other tools' formats to records, and back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby

from structkit.command import Command
from structkit.errors import UserError, flag, unknown, wrong_usage
from structkit.formats.interchange import (
    OUR_FORMAT,
    Fields,
    FormatParts,
    Part,
    convert_block,
    records_of_row,
)
from structkit.formats.rows import DelimitedRows, Row, RowOutput
from structkit.paths import keep_apart
from structkit.progress import Position, format_count, progress, say
from structkit.records.jsonl import Block, Record, Records, Rejected, accepted, max_record_bytes
from structkit.records.output import Output, keep_together, new_folders
from structkit.records.stream import ErrorOptions, Rejects, say_empty
from structkit.settings import quiet_setting, setting, settings_class


def our_format(settings: Settings) -> str:
    """structkit, our JSONL"""
    return OUR_FORMAT


@settings_class
class Settings:
    """Convert other tools' formats to records, and records to other tools' formats.

    `structkit plugins` lists the formats. The name of a table gives its format: JSONL, .csv, .tsv,
    .parquet.
    """

    files: tuple[str, ...] = setting(
        (),
        "Files, also .gz, or a folder in the format; stdin if none, or for -.",
        argument=True,
        metavar="FILE",
    )
    from_: str = setting(
        None, "Format of the input.", usual=our_format, metavar="FORMAT", complete="format"
    )
    to: str = setting(
        None, "Format of the output.", usual=our_format, metavar="FORMAT", complete="format"
    )
    part: str | None = setting(
        None,
        "Part to convert: corpus, queries, qrels, run, examples ….",
        inferred="inferred from name or content; all parts of a folder",
    )
    split: str = setting("test", "Split in file names.")
    output: str = setting(
        "-", "File to write, also .gz, or a folder for parts; - is stdout.", short="-o"
    )
    quiet: bool = quiet_setting()


def convert(settings: Settings, errors: ErrorOptions | None = None) -> None:
    """Convert files from one format to another; our own records are in the middle.

    Errors: `UserError` for wrong usage, and for malformed rows, unless they are
    rejected.
    """
    errors = errors or ErrorOptions()
    conversion = Conversion(settings)
    conversion.run(conversion.jobs(), Rejects(errors.on_error, errors.rejects))


@dataclass(frozen=True)
class Job:
    """One part of the conversion: files in, a file out."""

    part: str
    files: list[str]
    path: str
    rows: Records | None = None  # opened already, where the first one showed the part


class Conversion:
    """The work of one command: parts of the source become parts of the target."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.source = FormatParts.load(settings.from_, settings.split)
        self.target = FormatParts.load(settings.to, settings.split)
        self.kind = f"part of {self.source.name} that {self.target.name} can hold"
        self.common = [
            name
            for name, each in self.source.parts.items()
            if each.read and name in self.target.parts and self.target.parts[name].write
        ]

    def jobs(self) -> list[Job]:
        """Return the jobs, from the names of files and the parts that both formats have."""
        files, part, rows = self.settings.files, self.settings.part, None
        if not self.common:
            raise wrong_usage(f"there is no {self.kind}", "name another format")
        if part and part not in self.common:
            raise unknown(self.kind, part, self.common)
        if len(files) == 1 and os.path.isdir(files[0]):
            parts = self._inside(files[0], part)
        else:
            if not part:
                part, rows = self.source.open(files, self.common)
                if part not in self.common:
                    raise unknown(self.kind, part, self.common)
            parts = {part: list(files)}
        output, several = self.settings.output, len(parts) > 1
        into = output.endswith("/") or os.path.isdir(output)
        if several and not into and (output == "-" or os.path.exists(output)):
            raise wrong_usage(
                f"{files[0]} has several parts: {', '.join(parts)}",
                f"choose one with {flag('part')}, or name a folder with {flag('output')}",
            )
        jobs = []
        for name, each in parts.items():
            standard = self.target.parts[name].files[0]
            path = os.path.join(output, standard) if into or several else output
            jobs.append(Job(name, each, path, rows))
        return jobs

    def _inside(self, folder: str, chosen: str | None) -> dict[str, list[str]]:
        """Return the parts of a folder that the target can hold, and report the others."""
        parts = self.source.inside(folder, chosen)
        fits = {name: each for name, each in parts.items() if name in self.common}
        if rest := ", ".join(name for name in parts if name not in fits):
            problem = f"{self.target.name} cannot hold: {rest} of {folder}"
            if not fits:
                raise UserError(problem, f"its parts are: {', '.join(self.target.parts)}")
            say(problem)
        return fits

    def run(self, jobs: Sequence[Job], rejects: Rejects) -> None:
        """Convert all parts; their files appear together, or none does."""
        name = flag("output")
        writes = [(flag("rejects"), rejects.path), *((name, job.path) for job in jobs)]
        keep_apart(writes, [name for job in jobs for name in job.files or ["-"]])
        outputs: list[Output] = []
        with rejects as rejected, ExitStack() as stack:
            for job in jobs:
                stack.enter_context(new_folders(job.path))
                output = stack.enter_context(self.target.parts[job.part].output(job.path))
                outputs.append(output)
                self._convert(job, output, rejected.add)
            for each in outputs:
                each.close()
            keep_together([each.whole for each in outputs if each.whole])

    def _convert(self, job: Job, output: RowOutput, reject: Callable[[Rejected], None]) -> None:
        source, target = self.source.parts[job.part], self.target.parts[job.part]
        rows = job.rows or source.rows(job.files)
        losses = Counter[str]()  # of fields that the target cannot hold

        def write(row: Row) -> None:
            for record in records_of_row(source, row):
                output.add(record if target.as_is else row_of(target, [record], losses, rows.count))

        reads = source.block_form(job.files[0] if job.files else "-", target)
        writes = target.block_form(job.path, source)

        def is_converted(block: Block) -> bool:
            """Convert a block of plain rows; return whether that was possible."""
            if not (reads and writes) or len(block.data) > max_record_bytes():
                return False
            if isinstance(rows, DelimitedRows) and (rows.is_open or rows.header != [*source.names]):
                return False
            lines, count = convert_block(block.data, reads, writes)
            output.write(lines)
            rows.count += count
            return bool(count)

        rows.lines.is_done = is_converted
        with progress(f"convert {job.part}", lambda: Position(rows.count, noun="rows")):
            if target.group:
                every = accepted(partial(records_of_row, source), rows, reject)
                records = chain.from_iterable(every)
                for _, group in groupby(records, lambda record: record.get(target.group)):
                    try:
                        output.add(row_of(target, list(group), losses, 0))
                    except UserError as error:
                        raise rows.place(error) from None
            else:
                for _ in accepted(write, rows, reject):
                    pass
        if not rows.count:
            say_empty()
        if losses:
            lost = (f"{name} ({format_count(n, 'record')})" for name, n in losses.most_common())
            say(f"{self.target.name} {job.part} cannot hold: {', '.join(lost)}")


def row_of(target: Part, records: list[Record], losses: Counter[str], number: int) -> Row:
    """Return the row of one or several records, and count fields that it cannot hold.

    An id that the row's number gives back is not lost.
    """
    assert target.write
    left = [Fields(record) for record in records]
    for record in left:
        record.setdefault("id", str(number))
    row = target.write(*left)
    for record in left:
        for name, value in record.items():
            if value is not None and (name != "id" or value != str(number)):
                losses[name] += 1
    return row


COMMAND = Command(
    convert,
    Settings,
    convert,
    also=(ErrorOptions,),
    reads="records of the input format: corpus, queries, judgements, runs, examples",
    writes="corpus: `id`, `title`, `text`; queries: `id`, `text`; qrels: `query_id`, `doc_id`, "
    "`relevance`; run: `query_id`, `doc_id`, `score`, `rank`; examples: `query`, "
    "`positive`, `negatives`",
    examples="""
structkit convert functions.jsonl --to beir -o beir
structkit convert run.jsonl --to trec -o run.txt
""",
)
