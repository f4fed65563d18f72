"""Chance: how close passages come to questions that mean nothing, in numbers worked by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from structkit.asking.meaning import NONSENSE, Chance, nonsense


class Given:
    """An encoding of questions with given vectors."""

    def __init__(self, *vectors: Iterable[float]) -> None:
        self.vectors = np.array(vectors, np.float32)

    def embedded(self, records: Iterable[object], source: object = None) -> Iterator[object]:
        questions = list(records)
        assert NONSENSE == len(questions)
        yield [], np.resize(self.vectors, (len(questions), self.vectors.shape[1]))

    def meta(self) -> dict[str, object]:
        return {}


def test_standard_scores_by_hand() -> None:
    # half of the questions along the first axis, half along the second, whatever their lengths
    passages = np.array([[1, 0], [0.6, 0.8], [0, 0]], np.float32)
    chance = Chance.of(passages, Given([3, 0], [0, 0.5]))
    assert [0.5, 0.7, 0.0] == pytest.approx(chance.means.tolist())
    assert [0.5, 0.1, 0.0] == pytest.approx(chance.deviations.tolist())
    assert pytest.approx(1.0) == chance.least  # each question is one deviation above some mean
    again = Chance.read(chance.data())
    # the second passage is as close as the first, and unlike it never was; an empty one never is
    assert [False, True, False] == again.exceeded(np.array([0.9, 0.9, 9.0])).tolist()
    assert chance.least == again.least


def test_nonsense_is_always_the_same() -> None:
    questions = nonsense(NONSENSE)
    assert questions == nonsense(NONSENSE)
    assert NONSENSE == len(set(questions))
    assert {1, 2, 3, 4, 5, 6} == {len(question.split()) for question in questions}
