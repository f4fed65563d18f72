"""A run: records are read, a method is trained on them, and a model folder and its card appear.

Tests: tests/commands/test_train.py.
"""

from __future__ import annotations

import os
import platform
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path

import orjson
import torch
from huggingface_hub import ModelCardData, metadata_load
from torch import distributed

from structkit.errors import Surface, UserError, flag, wrong_usage
from structkit.extras import MINILM
from structkit.learning.folders import content_hash, model_folder, read_json
from structkit.learning.metadata import (
    LIBRARY_PREFIX,
    METADATA_FILE,
    METADATA_FORMAT,
    MULTI_VECTOR_TYPE,
    is_multi_vector,
)
from structkit.learning.training.data import Spool
from structkit.learning.training.devices import (
    chosen_device,
    enough_memory,
    gather,
    rank,
    world_size,
)
from structkit.learning.training.launching import check_gpus, join, launch
from structkit.learning.training.method import Method, RunOptions
from structkit.learning.training.run_folder import RunFolder, differences
from structkit.learning.training.trainer import HeldOut, Trainer, TrainingModule
from structkit.paths import keep_apart
from structkit.processes import cores, repeatability_problem
from structkit.progress import quiet_block, say, waiting
from structkit.records.jsonl import Record
from structkit.records.output import beside, exclusive_lock, new_folders, write_json
from structkit.records.stream import Rejects, Stream
from structkit.settings import given_values, settings_of
from structkit.version import __version__

CARD_FILE = "README.md"
COMMAND_LINE = Surface()
GPU_DIFFERENCE = "a GPU adds gradients up in any order"
LIBRARY_USAGE = """With sentence-transformers:

```python
from sentence_transformers import {kind}

model = {kind}("{title}")
queries = model.encode_query(["a question"])
documents = model.encode_document(["a text", "another text"])
print(model.similarity(queries, documents))
```
"""


def train_method(
    name: str, method: Method, files: Sequence[str] = (), options: RunOptions | None = None
) -> Record:
    """Train `method` (an instance of a plugin's `Method`) on the records of files or stdin.

    The model folder appears when it is complete; the result is the summary of the run, of several
    processes of torchrun in the first only. Errors: `UserError` for records, settings and folders
    that do not fit; `KeyboardInterrupt` after Ctrl-C, `SystemExit` after SIGTERM, when a checkpoint
    is saved.
    """
    options = options or RunOptions()
    if not distributed.is_torchelastic_launched() or distributed.is_initialized():
        return _train_in_process(name, method, files, options)
    if options.nproc > 1:
        raise wrong_usage(f"torchrun starts the processes, not {flag('nproc')}", "leave it out")
    summary: Record = join(partial(_train_in_process, name, method, files, options))
    return summary


def _train_in_process(
    name: str, method: Method, files: Sequence[str], options: RunOptions
) -> Record:
    """Run the training in this process; among several, only rank 0 writes and reports."""
    started = time.monotonic()
    output = options.output or f"models/{name}"
    writes = [
        (flag("rejects"), options.rejects),
        (flag("output"), output),
        (flag("output"), f"{output}.partial"),
    ]
    keep_apart(writes, [*(files or ["-"]), *method.reads])
    rejected = Rejects(options.on_error, None if rank() else options.rejects)
    with quiet_block(options.quiet or rank() > 0), lock_output(output), rejected as rejects:
        if not files and method.without_records and os.isatty(0):
            files = [os.devnull]  # a person means the start model alone
        folder = run_folder(output, options)
        check_processes(name, method, files, options)
        if method.start:
            model_folder(method.start, offline=options.offline)  # from here on, it is on the disk
        complete = method.complete()
        spool = spool_records(complete, Stream(files), rejects)
        held_out = None
        if method.held_out:
            held_out = spool_records(complete, Stream([method.held_out], on_error=options.on_error))
        run = Training(name, complete, spool, held_out, options, folder)
        check_agreement(run.identity, folder, options)
        if folder.complete:
            return {} if rank() else folder.finished(run.identity)
        try:
            folder.open(run.identity)
            summary = run.fit() if world_size() > 1 else run.launch()
            if rank():
                return {}
            write_card(folder.model, name, method, spool, folder.final.name)
            folder.finish()
        except BaseException:
            folder.abandon()
            raise
        seconds = round(summary.pop("before") + time.monotonic() - started, 2)
        return {"folder": str(folder.final), "method": name, **summary, "seconds": seconds}


@contextmanager
def lock_output(output: str) -> Iterator[None]:
    """Hold the lock of a run's folder while the block runs, in the first process of the run.

    Errors: `UserError` where another run holds it.
    """
    folder = Path(output)
    if rank() or folder.name in ("", ".."):
        yield
        return
    remedy = f"wait for it, or name another folder with {flag('output')}"
    problem = f"another process is training into {output}"
    with new_folders(folder), exclusive_lock(beside(folder, ".", ".lock"), problem, remedy):
        yield


def run_folder(output: str, options: RunOptions) -> RunFolder:
    """Return the folder of the run; among several processes, rank 0 makes room for it."""
    folder = None
    if rank() == 0:
        folder = RunFolder(output, overwrite=options.overwrite, resume=options.resume)
    complete = gather(folder is not None and folder.complete)[0]
    if folder is None:
        folder = RunFolder(output, overwrite=False, resume=True)
        folder.complete = complete
    return folder


def check_processes(name: str, method: Method, files: Sequence[str], options: RunOptions) -> None:
    """Raise where there are not enough GPUs, or the processes cannot share the work."""
    if max(world_size(), options.nproc) > 1 and not method.shared:
        remedy = f"leave {flag('nproc')} out" if options.nproc > 1 else "start it without torchrun"
        raise wrong_usage(f"{name} is trained by one process", remedy)
    if world_size() > 1 and (not files or "-" in files):
        raise wrong_usage("several processes cannot read one stdin", "name a file")
    if options.nproc > 1:
        check_gpus(options.nproc)


def check_agreement(run: Record, folder: RunFolder, options: RunOptions) -> None:
    """Raise if a process differs from the first in settings, records or where it goes on."""
    latest = folder.latest()
    progress = {"save_every": options.save_every, "checkpoint": latest and latest.name}
    of_ranks = gather({**run, **progress})
    for number, run_of_rank in enumerate(of_ranks):
        if other := differences(of_ranks[0], run_of_rank):
            raise UserError(
                f"process {number} differs from the first in {', '.join(other)}",
                "start the same command on all machines; to go on, with one folder "
                f"{flag('output')} that they share",
            )


def spool_records(method: Method, stream: Stream, rejects: Rejects | None = None) -> Spool:
    """Read all records of files or stdin, checked, to disk."""
    with stream.reading("read", rejects) as (records, reject):
        return Spool(records, method.prepare, reject, empty=method.without_records)


@dataclass(frozen=True)
class Training:
    """Training of a method on records, in each of its processes."""

    name: str
    method: Method
    spool: Spool
    held_out: Spool | None
    options: RunOptions
    folder: RunFolder

    @cached_property
    def hashes(self) -> Record:
        """Of the records that choose the model, and of a start model that is not trained."""
        hashes = {"held_out": self.held_out.hash} if self.held_out else {}
        if start := self.method.frozen_start:
            hashes["start"] = content_hash(model_folder(start, offline=True))
        return hashes

    @property
    def identity(self) -> Record:
        """Identity of the run: the settings, and hashes of the records."""
        run = {"method": self.name, **asdict(self.method), "data": self.spool.hash, **self.hashes}
        identity: Record = orjson.loads(orjson.dumps(run))  # tuples become lists, as in a file
        return identity

    def launch(self) -> Record:
        """Train in this process, or in as many as have a record and a core (GPUs suffice)."""
        records = len(self.spool)
        asked = self.options.nproc
        batch = min(self.method.plan(records).batch_size, max(1, records))
        count = min(asked, batch, torch.cuda.device_count() or cores())
        if count < asked:
            reason = f"{batch:,} records in a batch, {cores()} cores"
            say(f"{flag('nproc', asked)} becomes {count}: {reason}")
        if count == 1:
            return self.fit()
        summary: Record = launch(self.fit, count)
        return summary

    def fit(self) -> Record:
        """Train in this process, and write the new model into the folder of the run.

        Only rank 0 writes and reports; returns the summary of a finished run.
        """
        method, spool = self.method, self.spool
        plan = method.plan(len(spool))
        with quiet_block(self.options.quiet or rank() > 0), enough_memory():
            with waiting("making the model"):
                module: TrainingModule = method.build(spool).to(chosen_device())
            held_out = None
            if self.held_out:
                held_out = HeldOut(module, self.held_out, plan.batch_size)
            trainer = Trainer(module, spool, plan, self.options, self.folder, held_out)
            trainer.run()
            truncation = trainer.truncation()
            if rank() == 0:
                with self.folder.writing() as target:
                    module.eval().save(target)
                    metadata = module.metadata() | {
                        "steps": trainer.steps_taken,
                        "losses": trainer.losses(),
                    }
                    self.write_metadata(target, metadata)
                    trainer.log.write(target)
                for message in truncation.messages():
                    say(message)
        why = repeatability_problem() if chosen_device().type == "cpu" else GPU_DIFFERENCE
        return {
            "steps": trainer.steps_taken,
            "records": len(spool),
            "parameters": sum(weight.numel() for weight in module.parameters()),
            "seen": module.seen + trainer.records,
            "losses": trainer.losses(),
            **({"held_out": held_out.summary()} if held_out and held_out.values else {}),
            "truncated": {kind: truncation.truncated[kind] for kind in truncation.texts},
            "texts": dict(truncation.texts),
            "seconds_per_step": round(trainer.seconds, 4),
            **({"bits": f"may differ in an equal run: {why}"} if why else {}),
            "before": trainer.earlier_seconds,
        }

    def write_metadata(self, folder: Path, metadata: Record) -> None:
        """Write `structkit.json`: all that is needed to load the model and to train it again."""
        content = {
            "format": METADATA_FORMAT,
            "method": self.name,
            "settings": asdict(self.method),
            "pooling": None,
            "normalize": None,
            "query_fields": self.method.query_fields,
            "document_fields": self.method.document_fields,
            **metadata,
            "data": {"records": len(self.spool), "sha256": self.spool.hash, **self.hashes},
            "versions": {
                "structkit": __version__,
                "torch": torch.__version__,
                "transformers": version("transformers"),
                "python": platform.python_version(),
            },
        }
        write_json(folder / METADATA_FILE, content)


def write_card(folder: Path, name: str, method: Method, spool: Spool, title: str) -> None:
    """Write the card: metadata for the Hub, the command that makes the model again, and its use."""
    flags: list[str] = []
    given = given_values(method)
    for setting in settings_of(type(method)):
        if setting.is_given(value := given[setting.name]):
            flags += _flag_words(setting.name, value)
    in_library = loads_in_library(folder)
    kind = MULTI_VECTOR_TYPE if in_library and is_multi_vector(folder) else "SentenceTransformer"
    lines = [
        f"---\n{card_metadata(name, method, in_library=in_library)}---\n",
        f"# {title}\n",
        f"Trained by structkit {__version__} on {len(spool):,} records of sha256 {spool.hash}:\n",
        f"    {shlex.join(['structkit', 'train', name, *flags])}\n",
        "To use it:\n",
        f"    structkit {method.usage.format(shlex.quote(title))}\n",
        *([LIBRARY_USAGE.format(title=title, kind=kind)] if in_library else ()),
    ]
    (folder / CARD_FILE).write_text("\n".join(lines), encoding="utf-8")


def loads_in_library(folder: Path) -> bool:
    """Return whether sentence-transformers knows all modules of a folder that was just written."""
    modules = read_json(folder / "modules.json") or []
    return bool(modules) and all(module["type"].startswith(LIBRARY_PREFIX) for module in modules)


def card_metadata(name: str, method: Method, *, in_library: bool) -> str:
    """Return the YAML of a card, as the Hub reads it; `in_library`: sentence-transformers loads it.

    The base model is a name on the Hub, with the license on its card, if they are known.
    """
    start = method.start
    start_card = Record()
    if start:
        with suppress(Exception):  # no card, or a stranger's, which may hold anything
            start_card = metadata_load(model_folder(start, offline=True) / CARD_FILE) or {}
        if start == MINILM:
            start_card["base_model"] = "sentence-transformers/all-MiniLM-L6-v2"
        elif not os.path.isdir(start) and "/" in start:
            start_card["base_model"] = start
    tags = (
        ["sentence-transformers", "sentence-similarity", "feature-extraction"] if in_library else []
    )
    data = ModelCardData(
        library_name="sentence-transformers" if in_library else "structkit",
        pipeline_tag="sentence-similarity" if in_library else None,
        **{
            key: start_card[key]
            for key in ("base_model", "license")
            if type(start_card.get(key)) is str
        },
        tags=[*tags, "structkit", name],
    )
    return f"{data.to_yaml()}\n"


def _flag_words(name: str, value: object) -> list[str]:
    """Return a setting as words of a command; of a place on this machine, only the name."""
    if isinstance(value, bool):
        return [COMMAND_LINE.setting(name, value)]
    local = isinstance(value, str) and Path(value).is_absolute()
    return [COMMAND_LINE.setting(name, None), Path(str(value)).name if local else str(value)]
