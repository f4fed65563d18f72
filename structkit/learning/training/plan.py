"""The steps of a training: the records of each, and its learning rate.

Tests: tests/learning/training/test_train_settings.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.seeds import key

VALIDATE_EVERY = 500  # maximum steps between two measurements of the held-out loss


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
        return min(VALIDATE_EVERY, self.epoch_steps)

    @property
    def stage_steps(self) -> int:
        return self.epoch_steps * self.epochs

    @property
    def steps(self) -> int:
        whole = self.stage_steps * len(self.stages)
        return whole if self.max_steps is None else min(whole, self.max_steps)

    def end(self, number: int) -> int:
        """Return the step at which the stage of the step before `number` ends.

        >>> plan = Plan(4, batch_size=1, epochs=1, warmup=0.0, seed=0, stages=("a", "b"))
        >>> [plan.end(number) for number in (1, 4, 5)]
        [4, 4, 8]
        """
        return min(self.steps, -(-number // self.stage_steps) * self.stage_steps)

    def step(self, number: int) -> Step:
        epoch, place = divmod(number, self.epoch_steps)
        stage = self.stages[epoch // self.epochs]
        order = _order(self.records, self.seed, epoch)
        batch = order[place * self.batch_size : (place + 1) * self.batch_size]
        return Step(number, stage, epoch % self.epochs, [int(index) for index in batch])

    def learning_rate(self, number: int) -> float:
        """Return the share of the peak learning rate: linear warm-up, then linear decay.

        A constant schedule stays at the top after the warm-up.

        >>> plan = Plan(records=5, batch_size=1, epochs=1, warmup=0.2, seed=0)
        >>> [plan.learning_rate(number) for number in range(5)]
        [0.5, 1.0, 0.75, 0.5, 0.25]
        """
        stage, place = divmod(number, self.stage_steps)
        length = min(self.stage_steps, self.steps - stage * self.stage_steps)
        rising = min(round(self.warmup * length), length - 1)
        up = (place + 1) / (rising + 1)
        return min(up, 1.0 if self.constant else (length - place) / (length - rising))


@lru_cache(maxsize=2)
def _order(records: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng(key(seed, "order", epoch)).permutation(records)
