"""The training engine: the module that a method trains, its steps, and its held-out losses.

Tests: tests/learning/training/test_resume.py, tests/learning/training/test_held_out.py.
"""

from __future__ import annotations

import math
import signal
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from copy import copy, deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import compress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from structkit.errors import UserError, flag, wrong_usage
from structkit.learning.tokens import Truncation
from structkit.learning.training.data import Plan, Spool, Step
from structkit.learning.training.devices import (
    fastest_matmul,
    gather,
    load_trained,
    matmul,
    rank,
    same_parameters,
    sum_gradients,
    total,
    trained_state,
    with_tensors,
    world_size,
)
from structkit.learning.training.method import Method, RunOptions
from structkit.learning.training.run_folder import Log, RunFolder
from structkit.processes import exit_for, noting_signals
from structkit.progress import Position, progress, say
from structkit.records.jsonl import Record
from structkit.reproducibility import key

# reads the loss and its parts by name; it waits for the GPU
LossReader = Callable[[], dict[str, float]]
LossParts = dict[str, Tensor]  # by name
# attributes of a trainer that a checkpoint stores
PROGRESS_FIELDS = ("step", "records", "parts")
MAX_RANK = 10  # of documents that the measures of held-out records count


class TrainingModule(nn.Module):
    """Base class of every method's training: override `batch`, `loss`, `optimizer` and `save`.

    A method whose model is complete when it is built overrides `save` alone, one that needs
    gradients in chunks `backward`; the engine needs no change. With several processes, each
    computes the gradients of its share of a batch, and the engine adds them up.
    """

    allow_tf32 = False  # whether products on a GPU may round float32 to TF32, which is far faster
    prefetch = False  # whether `batch` returns tensors on the CPU, which a thread makes ahead
    seen = 0  # records read before the first step, each as often as it was read
    settings: Any  # a `Method`; of one that trains by steps, `GradientSettings`

    def __init__(self, settings: Method) -> None:
        super().__init__()
        self.settings = settings
        self.truncation = Truncation()

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return next(self.parameters()).device

    def batch(self, records: list[Record], step: Step) -> Any:
        """Return the inputs of one step, on the module's device; if `prefetch`, on the CPU."""
        raise NotImplementedError

    def texts_to_rank(self, record: Record) -> tuple[Hashable, list[Hashable]]:
        """Return the query of a held-out record and its documents, the positive first."""
        raise wrong_usage(
            f"{flag('validate_measure')} needs records with a query and its document",
            "leave it out",
        )

    def text_embeddings(self, texts: Sequence[Any], side: str) -> Tensor:
        """Return embeddings of such queries or documents, (texts, …), in all processes."""
        raise NotImplementedError

    def scores(self, queries: Tensor, documents: Tensor) -> Tensor:
        """Return the score of each query and each document, (queries, documents)."""
        return queries @ documents.T

    def loss(self, inputs: Any) -> tuple[Tensor, LossParts]:
        """Return the loss of a batch, and its parts by name for the log."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write all files of the model folder but `structkit.json`."""
        raise NotImplementedError

    def metadata(self) -> Record:
        """Return metadata, in addition to the settings, that load the model."""
        return {}

    def backward(self, inputs: Any) -> LossReader:
        """Add the gradients of a batch, if any are recorded; returns what reads its loss."""
        loss, parts = self.loss(inputs)
        self.pass_back(loss)
        named = {"loss": loss.detach(), **parts}
        return lambda: {name: part.item() for name, part in named.items()}

    def pass_back(self, loss: Tensor) -> None:
        """Add the gradients of a loss, which has none where held-out records are measured."""
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]

    def optimizer(self) -> torch.optim.Optimizer:
        """Return the optimizer: AdamW without weight decay, unless a method has another."""
        weights = [weight for weight in self.parameters() if weight.requires_grad]
        rate = self.settings.learning_rate
        return torch.optim.AdamW(weights, lr=rate, weight_decay=0.0, fused=True)


@dataclass
class Batches:
    """The batches of a run, in order; on a GPU, a thread makes each one during the step before.

    Its truncated texts are counted when it is used: a checkpoint holds no counts of a later step.
    """

    module: TrainingModule
    spool: Spool
    plan: Plan
    thread: Executor | None
    next: Future[Any] | None = None  # the batch of the next step, and its counts

    def batch(self, step: Step) -> Any:
        """Return the batch of a step, on the module's device. Errors: those of making it."""
        if self.thread is None:
            return self._make(step)
        made_batch = self.next or self.thread.submit(self._prefetch, step)
        inputs, counted = made_batch.result()
        self.module.truncation.merge(counted)
        self.next = None
        if step.number + 1 < self.plan.steps:
            self.next = self.thread.submit(self._prefetch, self.plan.step(step.number + 1))
        device = self.module.device
        return with_tensors(inputs, lambda tensor: tensor.to(device, non_blocking=True))

    def _make(self, step: Step) -> Any:
        return self.module.batch([self.spool[index] for index in step.indices], step)

    def _prefetch(self, step: Step) -> tuple[Any, dict[str, Counter[str]]]:
        """Return a batch in memory from which a GPU copies while it computes, and its counts."""
        truncation = self.module.truncation
        earlier_counts = truncation.drain()
        inputs = self._make(step)
        counted = truncation.drain()
        truncation.merge(earlier_counts)
        if self.module.device.type == "cuda":
            inputs = with_tensors(inputs, Tensor.pin_memory)
        return inputs, counted

    def wait_idle(self) -> None:
        """Wait until no batch is being made: the module's tokenizer and its counts are free."""
        if self.next:
            wait([self.next])


def seed_parameters(seed: int) -> None:
    """Make the random parameters of the next model depend on the settings' seed alone."""
    torch.manual_seed(key(seed, "parameters") >> 1)


@dataclass
class Trainer:
    """One run of a module over a spool.

    All randomness of a step is keyed by its number, so that a resumed run needs no more than the
    module's and the optimizer's state to continue: on a CPU bit for bit, on a GPU but for the
    order in which gradients are added up.
    """

    module: TrainingModule
    spool: Spool
    plan: Plan
    options: RunOptions
    folder: RunFolder
    held_out: HeldOut | None = None
    step: int = 0
    records: int = 0
    # of the loss and each of its parts: first, last, sum, count; stages may have different ones
    parts: dict[str, dict[str, float]] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    earlier_seconds: float = 0.0  # seconds of the runs that this one continues
    seconds: float = 0.0  # per step
    pending_loss: Callable[[], None] | None = None  # reads the loss of a step, and logs it

    def __post_init__(self) -> None:
        self.log = Log(self.options, silent=rank() > 0)

    @cached_property
    def optimizer(self) -> torch.optim.Optimizer:
        """Made for the first step: a model that needs no steps has none."""
        optimizer = self.module.optimizer()
        for group in optimizer.param_groups:
            group.setdefault("highest_lr", group["lr"])
        return optimizer

    @property
    def steps_taken(self) -> int:
        """The steps so far, without those of stages that ended early."""
        return int(self.parts["loss"]["count"]) if self.parts else 0

    @property
    def on_cpu(self) -> bool:
        """Whether nothing is gained by waiting less: a CPU does one thing after the other."""
        return self.module.device.type == "cpu"

    def run(self) -> None:
        """Train to the end. Errors: a loss that is not a number; Ctrl-C leaves a checkpoint."""
        self.module.train()
        self._restore()
        if rank() == 0:
            self.folder.check_room(trained_state(self.module))
        if world_size() > 1:
            same_parameters(self.module)
        with matmul(self._matmul()):
            self._steps()

    def _matmul(self) -> str:
        """Return the precision of float32 products, the same in all processes."""
        if not self.on_cpu:
            return "high" if self.module.allow_tf32 else "highest"
        return gather(fastest_matmul())[0]

    def _steps(self) -> None:
        start = self.steps_taken
        steps = self.plan.steps
        save_every = self.options.save_every
        with (
            noting_signals() as signals,
            progress("train", self._position),
            ThreadPoolExecutor(1) as reader,
        ):
            prefetch = self.module.prefetch and not self.on_cpu
            self.batches = Batches(self.module, self.spool, self.plan, reader if prefetch else None)
            while self.step < steps:
                self._train(self.plan.step(self.step))
                self.step += 1
                self._validate()
                # a signal reaches one process sooner than another: they agree
                stop = total(bool(signals)) > 0 and self.step < steps
                if stop or (save_every and self.step % save_every == 0 and self.step < steps):
                    self._save()
                if stop:
                    break
            self._read_loss()
            total(0)  # the others end when the last checkpoint is there
        if self.step < steps:
            say(f"stopped at step {self.step:,} of {steps:,}; add {flag('resume')} to continue")
            # where another process has received the signal, this one ends as by SIGTERM
            raise exit_for(signals[0] if signals else signal.SIGTERM)
        if self.steps_taken > start:
            self.seconds = (time.monotonic() - self.started) / (self.steps_taken - start)

    def _validate(self) -> None:
        """Measure the held-out records when it is due; a stage ends with its best model."""
        step = self.step
        held_out = self.held_out
        end = self.plan.end(step)
        if held_out and (step == end or step % self.plan.validate_every == 0):
            self._read_loss()
            self.batches.wait_idle()
            values = held_out.measure(step, self.plan.step(step - 1).stage)
            self.log.line({"step": step, **values})
            if held_out.without_gain == self.module.settings.patience and step < end:
                say(f"no gain since step {held_out.best_step:,}: the stage ends at step {step:,}")
                self.step = end
                self.batches.next = None
            if self.step == end:
                held_out.keep_best()

    def _train(self, step: Step) -> None:
        settings = self.module.settings
        process = (rank(),) if rank() else ()  # dropout differs between processes
        torch.manual_seed(key(settings.seed, "step", step.number, *process) >> 1)
        share = self.plan.learning_rate(step.number)
        for group in self.optimizer.param_groups:
            group["lr"] = group["highest_lr"] * share
        if step.number and step.number % self.plan.stage_steps == 0:
            self.optimizer.state.clear()  # each stage is a separate training (SEAL, section 4)
        self.optimizer.zero_grad(set_to_none=True)
        read_loss = self.module.backward(self.batches.batch(step))
        if world_size() > 1:
            sum_gradients(self.module)
        if max_norm := self.plan.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), max_norm)
        self.optimizer.step()
        self.records += len(step.indices)
        self._read_loss()  # the loss of the step before: a GPU is not waited for
        self.pending_loss = partial(
            self._count_loss, step, read_loss, self.optimizer.param_groups[0]["lr"]
        )
        if self.on_cpu:
            self._read_loss()

    def _read_loss(self) -> None:
        """Read the loss of the last step, and log it, if that is left to do."""
        read_loss, self.pending_loss = self.pending_loss, None
        if read_loss:
            read_loss()

    def _count_loss(self, step: Step, read_loss: LossReader, learning_rate: float) -> None:
        parts = read_loss()
        if not math.isfinite(parts["loss"]):
            raise UserError(
                f"the loss is {parts['loss']} at step {step.number + 1:,}",
                f"lower {flag('learning_rate')}, or raise {flag('warmup')}",
            )
        for name, value in parts.items():
            part = self.parts.setdefault(name, {"first": value, "sum": 0.0, "count": 0})
            part |= {"last": value, "sum": part["sum"] + value, "count": part["count"] + 1}
        self.log.add(step, parts, learning_rate, len(step.indices))

    def _save(self) -> None:
        """Write a checkpoint, by one process for all."""
        self._read_loss()
        self.batches.wait_idle()
        truncation = self.truncation()
        if rank():
            return
        state = {
            "module": trained_state(self.module),
            "optimizer": self.optimizer.state_dict(),
            "truncation": truncation.state(),
            **{name: getattr(self, name) for name in PROGRESS_FIELDS},
            "seconds": self.earlier_seconds + time.monotonic() - self.started,
            "log": self.log.state(),
            "held_out": self.held_out and self.held_out.state(),
        }
        self.folder.save(self.step, state)

    def truncation(self) -> Truncation:
        """Return the counts of cut texts over all processes."""
        local = self.module.truncation
        all_processes = copy(local)  # a method's other counts are kept
        all_processes.texts = sum(gather(local.texts), Counter())
        all_processes.truncated = sum(gather(local.truncated), Counter())
        return all_processes

    def _restore(self) -> None:
        state = self.folder.load()
        if state is None:
            return
        load_trained(self.module, state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        for name in PROGRESS_FIELDS:
            setattr(self, name, state[name])
        self.earlier_seconds = state["seconds"]
        self.log.load(state["log"])
        if self.held_out:
            self.held_out.load(state["held_out"])
        if rank() == 0:  # the counts of all processes
            self.module.truncation.merge(state["truncation"])

    def _position(self) -> Position:
        note = f"step {self.step:,}/{self.plan.steps:,}"
        if self.parts:
            note += f", loss {self.parts['loss']['last']:.4f}"
        return Position(self.records, self.step, self.plan.steps, note)

    def losses(self) -> dict[str, dict[str, float]]:
        """Return first, last and mean value of the loss and its parts."""
        return {
            name: {
                "first": part["first"],
                "last": part["last"],
                "mean": part["sum"] / part["count"],
            }
            for name, part in self.parts.items()
        }


class HeldOut:
    """Losses of held-out records, or measures of their ranking, and the weights with the best one.

    The loss is the training's, without dropout, in batches of the same size and in the file's
    order. Each stage of a training, whose losses differ, ends with its best model.
    """

    def __init__(self, module: TrainingModule, records: Spool, batch_size: int) -> None:
        self.module, self.records, self.batch_size = module, records, batch_size
        all_rows = range(len(records))
        self.batches = [all_rows[start : start + batch_size] for start in all_rows[::batch_size]]
        self.name = f"held_out_{module.settings.validate_measure}"
        self.is_ranking = self.name != "held_out_loss"
        if self.is_ranking:
            module.texts_to_rank(records[0])  # raises here, before any step
        self.values: list[float] = []
        self.best_step = 0
        self.without_gain = 0  # evaluations since the best one
        self.best, self.weights = math.inf, dict[str, Tensor]()

    def measure(self, steps: int, stage: str) -> dict[str, float]:
        """Measure the model after `steps` steps, and remember it if it is the best so far.

        Returns the loss, and the measure that chooses the model, if it is another, as in the log.
        """
        module = self.module
        training_counts = deepcopy(vars(module.truncation))
        module.eval()
        with torch.no_grad():
            losses = [self._loss(rows, stage) for rows in self.batches]
            ranking = self._ranking() if self.is_ranking else 0.0
        module.train()
        # held-out texts do not count as training texts
        vars(module.truncation).update(training_counts)
        sizes = list(map(len, self.batches))
        loss = sum(map(math.prod, zip(losses, sizes, strict=True))) / sum(sizes)  # per record
        loss, ranking = gather((loss, ranking))[0]  # all processes keep one model
        self.values.append(ranking if self.is_ranking else loss)
        self.without_gain += 1
        cost = -ranking if self.is_ranking else loss
        if cost < self.best:
            self.best, self.best_step, self.without_gain = cost, steps, 0
            weights = trained_state(module)
            self.weights = {name: part.to("cpu", copy=True) for name, part in weights.items()}
        return {"held_out_loss": loss} | ({self.name: ranking} if self.is_ranking else {})

    def _ranking(self) -> float:
        """Return the mean measure of the rankings of all documents of the file."""
        positives: dict[Hashable, set[Hashable]] = {}
        documents: dict[Hashable, None] = {}  # in the order of the file, which breaks ties
        for record in self.records:
            query, texts = self.module.texts_to_rank(record)
            positives.setdefault(query, set()).add(texts[0])
            documents |= dict.fromkeys(texts)
        texts = [*documents]
        embeddings = self._embed(texts, "document")
        queries = self._embed([*positives], "query")
        values = []
        for query, vector in zip(positives, queries, strict=True):
            scores = self.module.scores(vector[None], embeddings)[0]
            order = scores.argsort(descending=True, stable=True)[:MAX_RANK].tolist()
            is_relevant = [texts[place] in positives[query] for place in order]
            values.append(ranking_value(self.name, is_relevant, len(positives[query])))
        return sum(values) / len(values)

    def _embed(self, texts: list[Hashable], side: str) -> Tensor:
        """Return the embeddings of texts, (texts, …); of rows, with zeros behind the last."""
        size = self.batch_size
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        embedded = [row for part in parts for row in self.module.text_embeddings(part, side)]
        return pad_sequence(embedded, batch_first=True)

    def _loss(self, rows: range, stage: str) -> float:
        """Return the loss of a batch as in training, within its memory."""
        records = [self.records[row] for row in rows]
        torch.manual_seed(key(self.module.settings.seed, "held out", rows.start) >> 1)
        step = Step(0, stage, 0, list(range(len(records))))
        inputs = self.module.batch(records, step)
        if self.module.prefetch:
            inputs = with_tensors(inputs, lambda tensor: tensor.to(self.module.device))
        return self.module.backward(inputs)()["loss"]

    def keep_best(self) -> None:
        """Give the module the best weights, and start over: at the end of each stage."""
        if self.weights:
            load_trained(self.module, self.weights)
        self.best, self.weights, self.without_gain = math.inf, {}, 0

    def state(self) -> Record:
        """Return the state for a checkpoint."""
        names = ("values", "best_step", "without_gain", "best", "weights")
        return {name: getattr(self, name) for name in names}

    def load(self, state: Record) -> None:
        """Restore what `state` returned."""
        vars(self).update(state)

    def summary(self) -> Record:
        """Return first, best and last value, and the step of the kept model."""
        best = {"highest": max(self.values)} if self.is_ranking else {"lowest": min(self.values)}
        first, last = self.values[0], self.values[-1]
        return {"first": first, **best, "last": last, "step": self.best_step}


def ranking_value(measure: str, is_relevant: Sequence[bool], relevant: int) -> float:
    """Return the nDCG@10 or RR@10 of a query with so many relevant documents.

    `is_relevant` says which of the first ten are relevant.

    >>> ranking_value("nDCG@10", [True, False, True], 2), ranking_value("RR@10", [False, True], 1)
    (0.9197207891481876, 0.5)
    """
    if measure.endswith("RR@10"):
        return 1 / (is_relevant.index(True) + 1) if any(is_relevant) else 0.0
    discounts = [1 / math.log2(position + 1) for position in range(1, MAX_RANK + 1)]
    return sum(compress(discounts, is_relevant)) / sum(discounts[:relevant])
