"""Run a record-wise command: files in, file out, with shards, workers and rejected records."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from itertools import chain
from typing import Any, Literal, Self

from structkit.command import Command
from structkit.errors import flag
from structkit.paths import keep_apart
from structkit.processes import Result, Task, cores
from structkit.progress import Position, format_count, progress, say
from structkit.records.jsonl import Block, Lines, Records, Rejected, Shard, Stage
from structkit.records.output import Output
from structkit.settings import check_others, files_of, quiet_setting, setting, settings_class

MAX_WORKERS = 256
# bytes of input from which several processes are worth starting; of files that are collected, and
# of a stage that works on batches, which compute more for each byte
PARALLEL_BYTES = 2 << 20
PARALLEL_BATCH_BYTES = 1 << 19


def worker_count(given: int = 0) -> int:
    """Return the given number of processes, otherwise one per processor, up to a limit."""
    return given or min(cores(), MAX_WORKERS)  # for much input


def workers_setting() -> Any:
    """Declare the number of processes."""
    return setting(
        0,
        "Number of processes; the output is the same. auto: one, or for much input one per "
        "processor.",
        low=0,
        high=MAX_WORKERS,
        inferred="auto",
        metavar="N|auto",
        parse=lambda text: "0" if text == "auto" else text,
        group="run",
    )


def map_in_order(
    make: Callable[[], Callable[[Task], Result]],
    tasks: Iterable[Task],
    workers: int,
    size: Callable[[Task], int],
) -> Generator[Result]:
    """Yield what work makes of each task, in order; processes of its own do it if it is much.

    `make` returns the work anew, for this process or others. Without a number of `workers`, tasks
    are worked on here until their bytes are many.
    """
    tasks = iter(tasks)
    work = make()
    processes = worker_count(workers)
    finished_bytes = 0
    while processes == 1 or not workers and finished_bytes <= PARALLEL_BATCH_BYTES:
        try:
            task = next(tasks)
        except StopIteration:
            return
        yield work(task)
        finished_bytes += size(task)
    from structkit.records.workers import Pool  # which little input does not need

    yield from Pool(processes, make()).results(tasks)


@settings_class
class OutputOptions:
    """Settings of a command's output and of its messages."""

    output: str = setting("-", "File to write, also .gz; - is stdout.", short="-o", writes=True)
    quiet: bool = quiet_setting()


@settings_class
class InputOptions:
    """Settings of a command's input."""

    files: tuple[str, ...] = setting(
        (),
        "JSONL files, also .gz; stdin if none, or for -.",
        argument=True,
        metavar="FILE",
        reads=True,
    )


@settings_class
class ErrorOptions:
    """Settings for invalid records."""

    on_error: Literal["fail", "skip"] = setting(
        "fail", "What to do with an invalid record.", group="run"
    )
    rejects: str | None = setting(
        None,
        "File for skipped records, with {on_error:skip}.",
        group="run",
        writes=True,
        requires="on_error",
    )


@settings_class
class Options(InputOptions, OutputOptions, ErrorOptions):
    """Settings of a record-wise command: its input, its output and its errors."""

    shard: str | None = setting(
        None,
        "Keep every N-th line, starting at line I, counted from 0.",
        metavar="I/N",
        group="run",
    )


@settings_class
class WorkerOptions(Options):
    """The same with several processes."""

    workers: int = workers_setting()


class Rejects:
    """Destination of rejected records: an error, a file, or a count on stderr."""

    noun = "record"
    verb = "rejected"
    max_reasons = 3  # reasons to name

    def __init__(self, on_error: str = "fail", path: str | None = None) -> None:
        self.skip = on_error == "skip"
        self.path = path
        self._silent = False
        self.reasons: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._output = Output(self.path, "rejects") if self.path else None
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if self._output:
            self._output.__exit__(kind, *error)
        if kind is None:
            self.tell()

    def tell(self) -> None:
        """Say how many records there are, and why, unless it was said."""
        if (total := self.reasons.total()) and not self._silent:
            self._silent = True
            common = self.reasons.most_common(self.max_reasons)
            reasons = [f"{count:,} x {text}" for text, count in common]
            if len(self.reasons) > len(common):
                reasons.append("…")
            say(f"{format_count(total, self.noun)} {self.verb} ({'; '.join(reasons)})")

    def add(self, rejected: Rejected) -> None:
        """Keep the rejected record, or stop."""
        if not self.skip:
            raise rejected.error
        self.keep(rejected)

    def keep(self, rejected: Rejected) -> None:
        """Count the record, and write it if there is a file for it."""
        # text in parentheses differs from line to line
        self.reasons[rejected.error.problem.partition(" (")[0]] += 1
        if self._output:
            self._output.write_records([rejected.record()])
            self._output.flush()  # report a failed write before the summary of records


def stage_of(command: Command, settings: Any) -> Stage:
    """Return the stage of a command: the one that it opens, or its work on one record."""
    if command.stage:
        opened: Stage = command.stage(settings)
        return opened
    return Stage(partial(command.work, settings=settings), batch=command.batch)


def run_stage(command: Command, settings: Any, options: Options) -> None:
    """Send the records that options name through the stage of a command."""
    stream = Stream.of(options, settings, numbered=command.numbered)
    stream.run(stage_of(command, settings), label=command.name)


def say_empty() -> None:
    """Say that the input holds no records."""
    say("no records; the output is empty")


@dataclass(frozen=True)
class Stream:
    """Input, output and errors of a record-wise command."""

    files: Sequence[str] = ()
    output: str = "-"
    on_error: str = "fail"
    rejects: str | None = None
    shard: Shard | None = None
    workers: int = 1
    beside: Sequence[str | None] = ()  # other inputs
    replaced: Sequence[str | None] = ()  # others that the output may replace
    together: Sequence[str] = ()  # files that are written with the output
    in_place: bool = True  # -o may be an input: it is replaced when all is written
    numbered: bool = True  # a record without an id gets its number

    @classmethod
    def of(cls, options: Options, settings: Any, **others: Any) -> Stream:
        """Return the stream of options; files that the settings read are never written."""
        check_others(settings, options)
        names = {field.name for field in fields(cls)}
        given = {name: value for name, value in vars(options).items() if name in names}
        given["shard"] = None if options.shard is None else Shard.parse(options.shard)
        given["beside"] = [path for _, path in files_of([settings], "reads")]
        return cls(**given | others)

    def __post_init__(self) -> None:
        files = self.files or ["-"]
        reads = [*self.beside]
        replaced = [*self.replaced]
        if self.in_place and not self.shard:  # a shard is a part, and the rest would be lost
            replaced += files
        else:
            reads += files
        outputs = [(flag("output"), path) for path in (self.output, *self.together)]
        keep_apart([(flag("rejects"), self.rejects), *outputs], reads, replaced=replaced)

    @contextmanager
    def reading(
        self, label: str, rejects: Rejects | None = None
    ) -> Iterator[tuple[Records, Callable[[Rejected], None]]]:
        """Yield the records and the function that takes rejected ones, while progress is shown.

        A stage takes both: `stage.results(records, reject)`. Work that goes on after reading passes
        `rejects`, whose file appears when that work is done.
        """
        lines = Lines(self.files)
        records = Records(lines, self.shard, numbered=self.numbered)
        own_rejects = Rejects(self.on_error, self.rejects)
        with own_rejects if rejects is None else nullcontext(rejects) as rejects:
            with progress(label, lambda: Position(records.count, lines.bytes, lines.total)):
                yield records, rejects.add
            rejects.tell()

    def run(self, stage: Stage, *, label: str = "") -> None:
        """Send every record through a stage to the output; its `then` runs in this process."""
        assert self.numbered or self.workers == 1
        then = stage.then
        stage = replace(stage, then=None)
        with self.reading(label) as (records, reject), Output(self.output) as output:
            if self.workers != 1:
                records.hands_over = self._handover_test(
                    records, PARALLEL_BATCH_BYTES if stage.batch else PARALLEL_BYTES
                )
            stage_of_others = replace(stage, first=None)
            with closing(
                self._elsewhere(stage_of_others, records, reject, parsed=bool(then))
            ) as later_results:
                results = chain(stage.results(records, reject), later_results)
                output.write_records(then(results) if then else results)
        if not records.count and not self.shard:
            say_empty()

    def _handover_test(self, records: Records, min_bytes: int) -> Callable[[], bool]:
        """Return a function that says whether other processes do the rest."""
        lines = records.lines
        if self.workers:
            return lambda: True
        has_processors = cache(lambda: worker_count() > 1)  # it is asked at each block
        if (lines.total or 0) > min_bytes:
            return has_processors
        # what torch computed with threads would hang in a process that is forked then
        return lambda: lines.bytes > min_bytes and "torch" not in sys.modules and has_processors()

    def _elsewhere(
        self, stage: Stage, records: Records, reject: Callable[[Rejected], None], *, parsed: bool
    ) -> Generator[Any]:
        """Yield what other processes make of the records that were not read here, if any."""
        if self.workers == 1 or not records.hands_over():
            return
        # 20 ms, needed only for several processes
        from structkit.records.workers import lines_by_workers

        workers, skip = worker_count(self.workers), self.on_error == "skip"
        with closing(lines_by_workers(workers, stage, records, reject, skip=skip)) as lines:
            for data in lines:
                if parsed:
                    yield from Records(Block("", 0, 0, data), numbered=False)
                else:
                    yield data
