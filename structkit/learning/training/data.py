"""Training data: records on disk, and the plan of the steps that read them.

Records come from a pipe or files; they are read once, then again in any order.

Tests: tests/commands/test_train.py, tests/learning/training/test_train_settings.py.
"""

import hashlib
import math
import os
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from structkit.errors import UserError, flag, program
from structkit.records.fields import remedy_for
from structkit.records.jsonl import Record, Records, Rejected, accepted, raise_error, text_field
from structkit.reproducibility import key

MAX_VALIDATE_STEPS = 500  # maximum steps between two measurements of the held-out loss
MAX_SAMPLE_RECORDS = 100_000  # maximum records from which a tokenizer learns


def keep_fields(record: Record, needs: Sequence[str], optional: Sequence[str]) -> Record:
    """Return a record cut down to its id and the fields that a method uses.

    Errors: `UserError` if a needed field is missing, not a string or empty, or if an optional one
    is not a list of strings.
    """
    kept: Record = {"id": record["id"]}
    for name in needs:
        kept[name] = text_field(record, name, remedy_for(name))
        if not kept[name].strip():
            raise UserError(f'field "{name}" is blank', "leave the record out")
    for name in optional:
        texts = record.get(name)
        if texts is None:
            continue
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise UserError(
                f'field "{name}" is not a list of strings', 'write "negatives": ["…", "…"]'
            )
        kept[name] = texts
    return kept


def teacher_scores(record: Record, negatives: int) -> list[float]:
    """Return a record's `scores`: of its positive, then of each negative.

    Errors: they are missing, of another number, or not finite.
    """
    scores = record.get("scores")
    if scores is None:
        raise UserError(
            f'field "scores" is missing, which {flag("distill")} needs',
            f"add it with {program('pair')} {flag('teacher')}",
        )
    count = 1 + negatives
    if not isinstance(scores, list) or len(scores) != count:
        content = f"{len(scores)} numbers" if isinstance(scores, list) else "no list of numbers"
        raise UserError(
            f'field "scores" holds {content}, not {count} for positive and negatives',
            f"make them again with {program('pair')} {flag('teacher')}",
        )
    for score in scores:
        if type(score) not in (int, float) or not math.isfinite(score):
            raise UserError(
                f'field "scores" holds {score!r:.40}, which is no finite number',
                "leave the record out, or score it again",
            )
    return list(map(float, scores))


class Spool:
    """Records in a temporary file that vanishes with the process; memory holds only offsets.

    `spool[i]` is the i-th record, `hash` identifies the content, `source` is the last file,
    `fewest_negatives` is the smallest number of negatives and the id of a record that has no more.
    `prepare` returns the kept fields of a record, with its id, or raises `UserError`; so does an
    empty input, unless `empty`.
    """

    def __init__(
        self,
        records: Records,
        prepare: Callable[[Record], Record],
        reject: Callable[[Rejected], None] | None = None,
        *,
        empty: bool = False,
    ) -> None:
        prefix = "structkit-spool-"
        self._file: Any = tempfile.TemporaryFile("w+b", buffering=1 << 20, prefix=prefix)
        self._offsets = array("Q", [0])
        self.most_negatives = 0
        self.fewest_negatives: tuple[float, str] = (float("inf"), "")
        digest = hashlib.sha256()
        prepared = accepted(prepare, records, reject or raise_error)
        try:
            for record in prepared:
                line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
                self._file.write(line)
                self._offsets.append(self._offsets[-1] + len(line))
                digest.update(line)
                self._count_negatives(record)
            self._file.flush()
        except OSError as error:
            raise UserError(
                f"the records cannot be copied to {tempfile.gettempdir()}: {error.strerror}",
                "set TMPDIR to a folder with more space",
            ) from None
        self.hash = digest.hexdigest()
        self.source = records.lines.file
        if not len(self) and not empty:
            problem = UserError("there are no training records", "name a file that has some")
            raise problem.at(self.source)

    def _count_negatives(self, record: Record) -> None:
        # each variant has the same number of negatives
        name = next((name for name in record if name.startswith("negatives")), "negatives")
        count = len(record.get(name, ()))
        self.most_negatives = max(self.most_negatives, count)
        self.fewest_negatives = min(self.fewest_negatives, (count, record["id"]))

    def __getstate__(self) -> Record:
        # another process reads the same open file, which has no name
        return self.__dict__ | {"_file": DupFd(self._file.fileno())}

    def __setstate__(self, state: Record) -> None:
        self.__dict__ = state | {"_file": os.fdopen(state["_file"].detach(), "rb")}

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> Record:
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = self._offsets[index]
        # pread shares no file position, so that several readers do not disturb each other
        line = os.pread(self._file.fileno(), self._offsets[index + 1] - start, start)
        record: Record = orjson.loads(line)
        return record

    def __iter__(self) -> Iterator[Record]:
        return map(self.__getitem__, range(len(self)))

    def texts(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the texts of some fields, of records spread evenly over the whole."""
        step = max(1, -(-len(self) // MAX_SAMPLE_RECORDS))
        for index in range(0, len(self), step):
            record = self[index]
            for name in names:
                value = record.get(name, "")
                yield from value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class Step:
    """One step: its number from 0 over the whole run, its stage and epoch, and its records."""

    number: int
    stage: str
    epoch: int
    indices: list[int]


@dataclass(frozen=True)
class Plan:
    """All steps of a run: stages one after the other, each with all epochs, each epoch shuffled.

    >>> plan = Plan(records=5, batch_size=2, epochs=2, warmup=0.0, seed=0)
    >>> plan.steps, [len(plan.step(number).indices) for number in range(3)]
    (6, [2, 2, 1])
    """

    records: int
    batch_size: int
    epochs: int
    warmup: float
    seed: int
    max_steps: int | None = None
    stages: tuple[str, ...] = ("train",)
    constant: bool = False
    max_grad_norm: float = 0.0  # 0: no clipping

    @property
    def epoch_steps(self) -> int:
        return -(-self.records // self.batch_size)

    @property
    def validate_every(self) -> int:
        """The steps between two measurements of the held-out loss."""
        return min(MAX_VALIDATE_STEPS, self.epoch_steps)

    @property
    def stage_steps(self) -> int:
        return self.epoch_steps * self.epochs

    @property
    def steps(self) -> int:
        all_steps = self.stage_steps * len(self.stages)
        return all_steps if self.max_steps is None else min(all_steps, self.max_steps)

    def end(self, number: int) -> int:
        """Return the step at which the stage of the step before `number` ends.

        >>> plan = Plan(4, batch_size=1, epochs=1, warmup=0.0, seed=0, stages=("a", "b"))
        >>> [plan.end(number) for number in (1, 4, 5)]
        [4, 4, 8]
        """
        return min(self.steps, -(-number // self.stage_steps) * self.stage_steps)

    def step(self, number: int) -> Step:
        epoch, epoch_step = divmod(number, self.epoch_steps)
        stage = self.stages[epoch // self.epochs]
        order = _order(self.records, self.seed, epoch)
        batch = order[epoch_step * self.batch_size : (epoch_step + 1) * self.batch_size]
        return Step(number, stage, epoch % self.epochs, [int(index) for index in batch])

    def learning_rate(self, number: int) -> float:
        """Return the share of the peak learning rate: linear warm-up, then linear decay.

        A constant schedule stays at the top after the warm-up.

        >>> plan = Plan(records=5, batch_size=1, epochs=1, warmup=0.2, seed=0)
        >>> [plan.learning_rate(number) for number in range(5)]
        [0.5, 1.0, 0.75, 0.5, 0.25]
        """
        stage, stage_step = divmod(number, self.stage_steps)
        length = min(self.stage_steps, self.steps - stage * self.stage_steps)
        rising = min(round(self.warmup * length), length - 1)
        rise = (stage_step + 1) / (rising + 1)
        return min(rise, 1.0 if self.constant else (length - stage_step) / (length - rising))


@lru_cache(maxsize=2)
def _order(records: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng(key(seed, "order", epoch)).permutation(records)
