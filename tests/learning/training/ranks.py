"""What the processes of test_launching do: a module of its own, so that they import little."""

import os
import signal
import time
from pathlib import Path

import torch
from threadpoolctl import threadpool_info

from structkit.errors import UserError
from structkit.learning.training.devices import (
    gather,
    rank,
    share,
    sum_gradients,
    total,
    world_size,
)
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import check_agreement, check_processes, run_folder
from structkit.learning.training.run_folder import RunFolder
from structkit.processes import handled_signals
from structkit.registry import load


def lives(number):
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def fails():
    if rank():
        raise UserError("the loss is nan", "lower it")
    return total(1)


def dies():
    if rank():
        os.kill(os.getpid(), signal.SIGKILL)
    return total(1)


def outlives(folder):
    """Lose the launcher while a signal to end is only noted, as it is while a step is finished."""
    for number in handled_signals():
        signal.signal(number, lambda *_: None)
    (folder / str(os.getpid())).touch()
    total(1)
    if rank() == 0:
        os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(0.5)
    return total(1)


def gradients(cases):
    """For every method, and every step: the loss and all gradients, added up."""
    found = []
    for name, values, spool in cases:
        module, plan = _built(name, values, spool)
        found.append(_steps(module, plan, spool))
    return found


def agreed(folder):
    """What two processes find of folders, and what is wrong with those that differ."""
    complete = [
        gather(run_folder(str(folder / name), options).complete)
        for name, options in (
            ("finished", RunOptions(resume=True)),
            ("older", RunOptions(overwrite=True)),
        )
    ]
    run = {"method": "seal", "epochs": 3, "data": "e3b0"}
    own = RunFolder(str(folder / f"of {rank()}"), overwrite=False, resume=False)
    errors = [error_of(check_agreement, {**run, "epochs": 3 + rank()}, own, RunOptions())]
    if rank():
        own.partial.mkdir(exist_ok=True)
        (own.partial / "step-8").touch()
    errors.append(error_of(check_agreement, run, own, RunOptions()))
    for name, files in (
        ("contrastive", ()),
        ("contrastive", ("a.jsonl", "-")),
        ("banyan", ("a.jsonl",)),
    ):
        method = load("method", name)()
        errors.append(error_of(check_processes, name, method, files, RunOptions()))
    return complete, errors


def error_of(call, *arguments):
    """What a call raises, as text."""
    try:
        call(*arguments)
    except UserError as error:
        return str(error)
    return ""


def everything(folder):
    """What this process is, its threads, and on what it agrees with the others."""
    return (rank(), total(rank() + 1), share(5)), threads(), agreed(folder)


def threads():
    """How many threads each library of a process computes with."""
    found = {each["internal_api"]: each["num_threads"] for each in threadpool_info()}
    return {**found, "torch": torch.get_num_threads(), "rayon": os.environ["RAYON_NUM_THREADS"]}


def _built(name, values, spool):
    method = load("method", name)(**values).complete()
    # without dropout, which differs between processes
    return method.build(spool).eval(), method.plan(len(spool))


def _steps(module, plan, spool):
    steps = []
    for number in range(plan.steps):
        step = plan.step(number)
        module.zero_grad(set_to_none=True)
        records = [spool[index] for index in step.indices]
        read = module.backward(module.batch(records, step))
        if world_size() > 1:
            sum_gradients(module)
        grads = [each.grad for each in module.parameters() if each.grad is not None]
        steps.append((read(), torch.cat([grad.flatten() for grad in grads]).numpy()))
    return steps
