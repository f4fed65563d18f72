"""A trial: kinds of files by what was found, and by fitted words instead of a list of cues.

    python -m experiments.ask_kinds --data FOLDER … [--labelled FOLDER] --folder FOLDER --aside …

Asks the questions of checkouts, and keeps for each its best passages before they are weighed by the
kinds of their files, with the best scores of each kind. A multinomial logistic model gives a weight
to prose, tests and examples beside code, from the question's words and from these scores. It is
fitted with the loss that counts: the rank of a right file after weighing. Prints RR@10 of today's
cue words and of the model: for repositories left out in turn, then for those set aside, which the
model never saw.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from experiments.checkouts import SYSTEMS, questions, unpacked
from structkit.asking import answers
from structkit.asking.path_kinds import KINDS, kind_weights, path_kind
from structkit.learning.folders import BUILTIN_FOLDER
from structkit.scoring.measures import compare_values
from structkit.searching.hits import Hit

GROUPS = ("code", "prose", "test", "example")
GROUP_OF = dict.fromkeys(KINDS, 0)
GROUP_OF |= {"manual": 1, "notes": 1, "translation": 1, "legal": 1, "test": 2, "example": 3}
# today's weights within a group
PRIOR = {"header": 0.8, "settings": 0.7, "compatibility": 0.5, "generated": 0.4, "copy": 0.4}
PRIOR |= {"example": 0.5, "notes": 0.5, "translation": 0.5, "legal": 0.5}
LOG_PRIOR = np.log([PRIOR.get(kind, 1.0) for kind in KINDS])
MIN_QUESTIONS = 6  # with a word that the model knows
MIN_WEIGHT = 0.35  # of a kind that does not answer
OTHER_QUESTIONS = 4.0  # the weight of questions that prose does not answer: most are these
SHARPNESS = 8.0  # of the softmax over passages that stands for their order
DECAY_OF_WORDS, DECAY = 0.01, 0.003
ABSENT = -30.0  # the logarithm of the score of a passage that does not answer
FOLDS = 5


@dataclass(frozen=True)
class Asked:
    """A question with the passages found for it: their files, kinds and scores, unweighed."""

    question: dict[str, Any]
    paths: list[str]
    scores: list[float]
    evidence: list[float]  # the best scores of each group, less those of code

    @property
    def words(self) -> set[str]:
        """Its words, cut to stems, and how it begins."""
        found = [stem(word) for word in re.findall(r"[a-z']+", self.question["query"].lower())]
        return {*found, *(f"^{word}" for word in found[:1])}

    def reciprocal_rank(self, weights: Sequence[float]) -> float:
        """RR@10 of its files with a weight for each kind."""
        best: dict[str, float] = {}
        for path, score in zip(self.paths, self.scores, strict=True):
            if score > 0:
                score *= weights[KINDS.index(path_kind(path))]
            best[path] = max(score, best.get(path, -math.inf))
        order = sorted(best, key=lambda path: -best[path])[:10]
        right = self.question["relevant"]
        return next((1 / rank for rank, path in enumerate(order, 1) if path in right), 0.0)


def stem(word: str) -> str:
    """Return a word without a usual ending.

    >>> stem("releases"), stem("run")
    ('releas', 'run')
    """
    return re.sub(r"(ing|ed|es|s)$", "", word) if len(word) > 4 else word


def found_for(data: Path, labelled: Path | None, parent: Path) -> Iterator[Asked]:
    """Ask all questions of a set, and yield what was found."""
    asked = list(questions(data, labelled))
    for name in dict.fromkeys(question["repository"] for question in asked):
        folder = unpacked(data, name, parent)
        answer = SYSTEMS["ask"](folder, str(BUILTIN_FOLDER))
        for question in (each for each in asked if each["repository"] == name):
            recorder = Recorder()
            with patch.object(answers, "rank_passages", recorder):
                answer(question["query"], 10)
            if recorder.search:
                records = [hit.best for hit in recorder.hits if hit.best]
                paths = [record["path"] for record in records]  # from the folder
                scores = [hit.score for hit in recorder.hits]
                yield Asked(question, paths, scores, evidence(recorder.search, paths, scores))


class Recorder:
    """Ranks passages, and keeps the first search with its hits as kinds do not weigh them."""

    def __init__(self) -> None:
        self.rank_passages = answers.rank_passages
        self.search: answers.Search | None = None
        self.hits: list[Hit] = []

    def __call__(self, search: answers.Search, depth: int) -> list[Hit]:
        if self.search is None:
            self.search = search
            unweighed = replace(search, kind_weights=dict.fromkeys(KINDS, 1.0))
            self.hits = self.rank_passages(unweighed, depth)
        return self.rank_passages(search, depth)


def evidence(search: answers.Search, paths: list[str], scores: list[float]) -> list[float]:
    """Return the best scores of prose, tests and examples, less those of code."""
    files = np.array([GROUP_OF[path_kind(file.path)] for file in search.folder.files])
    groups = files[search.folder.file_numbers]
    lexical = search.by_word / (search.by_word.max(initial=0) or 1.0)
    spread = search.by_meaning.std() or 1.0
    meaning = (search.by_meaning - search.by_meaning.mean()) / spread / 3
    columns = []
    for group in range(len(GROUPS)):
        own = groups == group
        before = [s for path, s in zip(paths, scores, strict=True) if group_of(path) == group]
        columns.append(
            [
                float(lexical[own].max(initial=0)),
                float(meaning[own].max(initial=0)),
                float(np.sort(lexical[own])[-5:].sum() / 5),
                float(np.sort(meaning[own])[-5:].sum() / 5),
                max(before, default=0.0),
            ]
        )
    others = np.array(columns[1:]) - columns[0]
    return [*others.ravel().tolist(), search.word_failure]


def group_of(path: str) -> int:
    """Return the number of the group of a file."""
    return GROUP_OF[path_kind(path)]


class KindModel:
    """Weights of kinds of files for a question, from its words and from what was found."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        counts = Counter(word for each in asked for word in each.words)
        known = sorted(word for word, count in counts.items() if count >= MIN_QUESTIONS)
        self.places = {word: place for place, word in enumerate(known)}
        self.matrix, self.prior = self._fit(asked)

    def features(self, asked: Asked) -> list[float]:
        """Return a constant, the evidence, and which known words the question has."""
        words = [0.0] * len(self.places)
        for word in asked.words & self.places.keys():
            words[self.places[word]] = 1.0
        return [1.0, *asked.evidence, *words]

    def _log_weights(self, rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        """Return the logarithms of the weights of all kinds, (questions, kinds)."""
        logits = torch.cat([torch.zeros(len(rows), 1, dtype=rows.dtype), rows @ matrix], dim=1)
        soft = MIN_WEIGHT + (1 - MIN_WEIGHT) * logits.softmax(dim=1)
        groups = [GROUP_OF[kind] for kind in KINDS]
        return soft.log()[:, groups] + torch.from_numpy(LOG_PRIOR)

    def _fit(self, asked: Sequence[Asked]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.tensor([self.features(each) for each in asked], dtype=torch.float64)
        width = max(len(each.paths) for each in asked)
        scores = torch.full((len(asked), width), ABSENT, dtype=torch.float64)
        kinds = torch.zeros((len(asked), width), dtype=torch.long)
        right = torch.zeros((len(asked), width), dtype=torch.bool)
        for row, each in enumerate(asked):
            for column, (path, score) in enumerate(zip(each.paths, each.scores, strict=True)):
                kinds[row, column] = KINDS.index(path_kind(path))
                if score > 0:
                    scores[row, column] = math.log(score)
                    right[row, column] = path in each.question["relevant"]
        answered = right.any(dim=1)
        is_prose = [each.question["kind"].startswith("docs") for each in asked]
        importance = torch.where(torch.tensor(is_prose), 1.0, OTHER_QUESTIONS)[answered]
        matrix = torch.zeros(rows.shape[1], 3, dtype=torch.float64, requires_grad=True)
        prior = torch.zeros(len(KINDS), dtype=torch.float64, requires_grad=True)
        first_word = 1 + len(asked[0].evidence)
        optimizer = torch.optim.LBFGS([matrix, prior], max_iter=100, line_search_fn="strong_wolfe")

        def step() -> torch.Tensor:
            optimizer.zero_grad()
            weights = self._log_weights(rows, matrix) + prior
            logits = SHARPNESS * (scores + weights.gather(1, kinds))
            logits = logits.masked_fill(scores <= ABSENT, -1e9)
            of_right = logits.masked_fill(~right, -1e9).logsumexp(dim=1)
            lost = (logits.logsumexp(dim=1) - of_right)[answered]
            loss = (lost * importance).mean() + 0.05 * prior.square().sum()
            loss = loss + DECAY_OF_WORDS * matrix[first_word:].square().sum()
            loss = loss + DECAY * matrix[1:first_word].square().sum()
            loss.backward()
            return loss

        optimizer.step(step)
        return matrix.detach(), prior.detach()

    def weights(self, asked: Asked) -> list[float]:
        """Return the weight of each of `KINDS` for a question."""
        row = torch.tensor([self.features(asked)], dtype=torch.float64)
        weights: list[float] = (self._log_weights(row, self.matrix) + self.prior).exp()[0].tolist()
        return weights


def cue_weights(asked: Asked) -> list[float]:
    """Return the weights of `ask`: of its list of cue words."""
    weights = kind_weights(asked.question["query"])
    return [weights[kind] for kind in KINDS]


def table(title: str, asked: Sequence[Asked], weights: Callable[[Asked], list[float]]) -> None:
    """Print RR@10 with today's weights and with the model's, and their difference."""
    pairs = defaultdict[str, list[tuple[float, float]]](list)
    for each in asked:
        pair = (each.reciprocal_rank(cue_weights(each)), each.reciprocal_rank(weights(each)))
        pairs[each.question["kind"]].append(pair)
        pairs["all"].append(pair)
    print(f"\n| {title} | questions | cue words | model | difference |")
    print("|---|---:|---:|---:|---:|")
    for kind, values in pairs.items():
        today, model = np.array(values).T
        found = compare_values(model, today)
        low, high = found["difference_low"], found["difference_high"]
        difference = f"{found['difference']:.3f} [{low:.3f}, {high:.3f}]"
        print(
            f"| {kind} | {len(values)} | {today.mean():.3f} | {model.mean():.3f} | {difference} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="ask_kinds", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", nargs="+", required=True, type=Path)
    parser.add_argument("--labelled", type=Path, help="the folder of `make repositories`")
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--aside", nargs="+", required=True)
    options = parser.parse_args()
    asked = list[Asked]()
    for number, data in enumerate(options.data):
        labelled = options.labelled if number == 0 else None
        asked += found_for(data, labelled, options.folder / str(number))
    seen = [each for each in asked if each.question["repository"] not in options.aside]
    repositories = sorted({each.question["repository"] for each in seen})
    chosen: dict[int, list[float]] = {}
    for first in range(FOLDS):
        out = {*repositories[first::FOLDS]}
        model = KindModel([each for each in seen if each.question["repository"] not in out])
        for each in seen:
            if each.question["repository"] in out:
                chosen[id(each)] = model.weights(each)
    table("repositories left out in turn", seen, lambda each: chosen[id(each)])
    final = KindModel(seen)
    table("set aside", [each for each in asked if each not in seen], final.weights)


if __name__ == "__main__":
    main()
