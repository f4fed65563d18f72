"""Train a method on a stream of records and write a model folder."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structkit.arithmetic import DIFFERENT
from structkit.errors import UserError
from structkit.learning.encoders.model_folder import write_facts
from structkit.learning.folders.card import write_card
from structkit.learning.folders.hub import model_folder
from structkit.learning.training.checkpoints import RunFolder, differences
from structkit.learning.training.devices import chosen_device, enough_memory
from structkit.learning.training.distributed import gathered, rank
from structkit.learning.training.launching import check_ranks, launch, restarts, useful
from structkit.learning.training.module import HeldOut
from structkit.learning.training.settings import RunOptions
from structkit.learning.training.spool import Spool
from structkit.learning.training.trainer import Trainer
from structkit.paths import keep_apart
from structkit.plugin import Method
from structkit.progress import hushed, say, waiting
from structkit.records.jsonl import Record
from structkit.records.rejects import Rejects
from structkit.records.stream import Stream


def train(
    name: str, method: Method, files: Sequence[str] = (), options: RunOptions | None = None
) -> Record:
    """Train `method` (an instance of a plugin's `Method`) on the records of files or stdin.

    The model folder appears when it is complete; the result is the summary of the run. Errors:
    `UserError` for records, settings and folders that do not fit; `KeyboardInterrupt` after Ctrl-C,
    `SystemExit` after SIGTERM, when a checkpoint is saved.
    """
    options = options or RunOptions()
    with hushed(options.quiet):
        if options.node_rank:
            return _follow(name, method, options)
        output = options.output or f"models/{name}"
        writes = [("--rejects", options.rejects), ("-o", output), ("-o", f"{output}.partial")]
        keep_apart(writes, [*(files or ["-"]), *method.reads])
        with Rejects(options.on_error, options.rejects) as rejects:
            return _train(name, method, files, options, rejects)


def _train(
    name: str, method: Method, files: Sequence[str], options: RunOptions, rejects: Rejects
) -> Record:
    started = time.monotonic()
    if not files and method.without_records and sys.stdin.isatty():
        files = [os.devnull]  # a person means the start model alone
    output = options.output or f"models/{name}"
    folder = RunFolder(
        output, overwrite=options.overwrite, resume=options.resume, keep=options.keep
    )
    check_processes(name, method, options)
    chosen, method = method, settled(method, options)
    spool = read(method, Stream(files), rejects)
    run = {"method": name, **method.values(), "data": spool.hash}
    data = {"records": len(spool), "sha256": spool.hash}
    held_out = None
    if method.held_out:
        held_out = read(method, Stream([method.held_out], on_error=options.on_error))
        run["held_out"] = data["held_out"] = held_out.hash
    if folder.complete:
        return folder.finished(run)
    arguments = (name, method, (spool, held_out), options, folder, data)
    try:
        folder.open(run)
        summary = _fit(*arguments)
        card = {"method": name, **summary, "sha256": spool.hash}
        title = folder.final.name
        write_card(folder.model, chosen, card, title=title, files=files, license=options.license)
        folder.finish()
    except BaseException:
        folder.abandon()
        raise
    return {
        "folder": str(folder.final),
        "method": name,
        **summary,
        "seconds": round(time.monotonic() - started, 2),
    }


def _follow(name: str, method: Method, options: RunOptions) -> Record:
    """Train as another machine than the first, which has the records and writes the model."""
    output = options.output or f"models/{name}"
    check_processes(name, method, options)
    method = settled(method, options)
    settings = {"method": name, **method.values()}
    if options.resume:
        folder = RunFolder(output, overwrite=False, resume=True)
        if folder.complete:
            return folder.finished(settings)
    options.nodes.address()  # machine 0 is there when its records are
    folder = RunFolder(output, overwrite=False, resume=True)
    records, held_out = folder.shared(settings)
    spools = read_again(records), read_again(held_out) if held_out else None
    data = {"records": len(spools[0]), "sha256": spools[0].hash}
    summary = _fit(name, method, spools, options, folder, data)
    return {"folder": output, "method": name, **summary}


def _fit(
    name: str,
    method: Method,
    spools: tuple[Spool, Spool | None],
    options: RunOptions,
    folder: RunFolder,
    data: Record,
) -> Record:
    """Train in this process, or in as many as are wanted."""
    arguments = (name, method, spools, options, folder, data)
    count, nodes = options.nproc, options.nodes
    if nodes.count == 1:
        records = len(spools[0])
        count = useful(count, min(method.plan(records).batch_size, max(1, records)))
        if count == 1 and not options.max_restarts:
            return fit(*arguments, device=options.device)
    elif nodes.rank == 0:
        for spool in filter(None, spools):
            folder.share(spool)
    summary: Record = launch(
        fit_quietly,
        count,
        options.device,
        *arguments,
        nodes=nodes,
        max_restarts=options.max_restarts,
    )
    return summary


def settled(method: Method, options: RunOptions) -> Method:
    """The settings of a method with those of its start model, which is here then."""
    if method.start:
        model_folder(method.start, offline=options.offline)
    return method.settled(offline=options.offline)


def check_processes(name: str, method: Method, options: RunOptions) -> None:
    """Raise where the devices are not there, or the method cannot be shared."""
    if options.nproc == options.nnodes == 1:
        chosen_device(options.device)
        return
    if not method.shared:
        flag = "--nproc" if options.nproc > 1 else "--nnodes"
        raise UserError(f"{name} is trained by one process", f"leave {flag} out", status=2)
    check_ranks(options.nproc, options.device)


def fit(
    name: str,
    method: Method,
    spools: tuple[Spool, Spool | None],
    options: RunOptions,
    folder: RunFolder,
    data: Record,
    *,
    device: str | None,
) -> Record:
    """Train, and write the new model into the folder of the run: what each process does.

    The first one writes and tells; returns what a finished run says of itself.
    """
    chosen = chosen_device(device)
    spool, records = spools
    plan = method.plan(len(spool))
    with enough_memory():
        with waiting("making the model"):
            module = method.build(spool, offline=True).to(chosen)  # the hub's is here by now
        held_out = None
        if records:
            looks = plan.look_every, plan.batch_size, plan.patience
            held_out = HeldOut(module, records, *looks)
        trainer = Trainer(module, spool, plan, options, folder, held_out)
        trainer.run()
    truncation = trainer.truncation()
    if rank() == 0:
        with folder.writing(lambda: (trainer.step, trainer.end(truncation))) as target:
            module.eval().save(target)
            facts = module.facts() | {"steps": trainer.taken, "losses": trainer.losses()}
            write_facts(target, name, method, data, facts)
            trainer.log.write(target)
        for message in truncation.messages():
            say(message)
    return {
        "steps": trainer.taken,
        "records": len(spool),
        "parameters": sum(weight.numel() for weight in module.parameters()),
        "seen": module.seen + trainer.records,
        "losses": trainer.losses(),
        **({"held_out": held_out.facts()} if held_out and held_out.losses else {}),
        "truncated": {kind: truncation.truncated[kind] for kind in truncation.texts},
        "texts": dict(truncation.texts),
        "seconds_per_step": round(trainer.log.seconds, 4),
        **({"bits": f"may differ in an equal run: {DIFFERENT}"} if DIFFERENT else {}),
    }


def fit_quietly(*arguments: Any, device: str | None) -> Record:
    """The same in a process of its own, which does not know yet whether it may speak."""
    spools: tuple[Spool, Spool | None] = arguments[2]
    options: RunOptions = arguments[3]
    with hushed(options.quiet):
        if rank() == 0 and restarts():
            say(f"a process had ended: restart {restarts()} of {options.max_restarts}")
        agree(spools, options)
        return fit(*arguments, device=device)


def agree(spools: tuple[Spool, Spool | None], options: RunOptions) -> None:
    """Raise if a process has other records than the first, or would save at other steps."""
    hashes = [spool and spool.hash for spool in spools]
    facts = {"data": hashes[0], "held_out": hashes[1], "save_every": options.save_every}
    of_ranks = gathered(facts)
    for number, found in enumerate(of_ranks):
        if other := differences(of_ranks[0], found):
            raise UserError(
                f"process {number} differs from the first in {', '.join(other)}",
                "start the same command on all machines, with one folder -o that they share",
            )


def read(method: Method, stream: Stream, rejects: Rejects | None = None) -> Spool:
    """All records of files or stdin, checked, on disk."""
    with stream.reading("read", rejects) as (records, reject):
        return Spool(records, method.prepare, reject, empty=method.without_records)


def read_again(path: Path) -> Spool:
    """Records that were read and checked by another machine."""
    with Stream([str(path)]).reading("read") as (records, _):
        return Spool(records, dict, empty=True)
