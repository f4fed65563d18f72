"""Scores of embedding pairs: numbers worked by hand, scipy's, and the errors of bad pairs."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from structkit import score
from structkit.commands.score.table import score_table
from structkit.errors import UserError
from structkit.scoring.classification import classify, pair_features
from structkit.scoring.similarity import alignment, correlation, interval_ends, spearman, uniformity
from tests.scoring.embedding_pairs import EAST, ROUND, pairs
from tests.tolerances import bound

GOOD = pairs(EAST[:1], ROUND[:1], score=[1])


@pytest.fixture
def pairs_file(tmp_path):
    """A file of pairs with these fields."""

    def write(*, left=EAST, right=ROUND, name="pairs", **fields):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(pairs(left, right, **fields))
        return path

    return write


def test_similarity_is_a_hundred_times_spearmans_correlation(pairs_file):
    # cosines rank 4 3 2 1; the gold scores rank 3.5 3.5 1 2 (a tie shares its mean rank).
    # centered: (1.5 .5 -.5 -1.5) · (1 1 -1.5 -.5) = 3.5; squares 5 and 4.5
    (found,) = score(pairs_file(score=[9, 9.0, 1.5, 10 / 6]), task="similarity")
    assert 100 * 3.5 / math.sqrt(5 * 4.5) == pytest.approx(found["spearman"])
    assert (4, 0) == (found["pairs"], found["zero"])
    assert found["spearman_low"] <= found["spearman"] <= found["spearman_high"]
    # an embedding of zeros has cosine 0, and is counted; as text "10" would come before "2"
    zero = [(2.0, 0.0), (3.0, 4.0), (0.0, 0.0), (-1.0, 0.0)]
    (found,) = score(pairs_file(right=zero, score=[10, 9, 2, 1]), task="similarity")
    assert (1, pytest.approx(100)) == (found["zero"], found["spearman"])


@given(rows=st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=3, max_size=30))
def test_spearman_equals_scipy(rows):
    first, second = (np.array(side, np.float64) for side in zip(*rows, strict=True))
    if len(set(first)) < 2 or len(set(second)) < 2:
        assert math.isnan(spearman(first, second))
        return
    assert spearmanr(first, second).statistic == pytest.approx(float(spearman(first, second)))


def test_the_interval_holds_the_truth_and_depends_on_the_seed_alone():
    generator = np.random.default_rng(0)
    gold = generator.normal(size=400)
    noisy = gold + generator.normal(size=400)  # correlation 0.707; Spearman 6/π asin(ρ/2) = 0.69
    value, draws = correlation(noisy, gold, seed=1)
    low, high = interval_ends(draws)
    assert low < 0.69 < high
    assert 0.05 < high - low < 0.2
    again = correlation(noisy, gold, seed=1)
    assert (value, draws.tolist()) == (again[0], again[1].tolist())
    assert (low, high) != interval_ends(correlation(noisy, gold, seed=2)[1])


def test_space_by_hand(tmp_path):
    # |(1, 0) - (0, 1)|² = 2 and |(1, 0) - (0.6, 0.8)|² = 0.8
    left, right = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 3.0], [0.6, 0.8]])
    assert pytest.approx(1.4) == alignment(left, right)
    # squared distances of the three points: 2, 0.8 and 0.4
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    expected = math.log((math.exp(-4) + math.exp(-1.6) + math.exp(-0.8)) / 3)
    assert pytest.approx(expected) == uniformity(points)
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(pairs(np.tile([1.0, 0.0], (2, 1)), right / [[3], [1]], label=[1, 1]))
    (found,) = score(file, task="space")
    assert (2, 3) == (found["positives"], found["embeddings"])
    assert pytest.approx(1.4) == found["alignment"]
    # unit vectors are float32: lengths and products of 2 terms, in exp(4 · product)
    assert pytest.approx(expected, abs=bound(2 + 2, 4)) == found["uniformity"]


@pytest.mark.parametrize(
    ("fields", "count"), [({"label": [1, 0, 1, 0]}, 2), ({"score": [4.2, 4.0, 1, 5]}, 2), ({}, 4)]
)
def test_space_takes_labels_scores_or_all_pairs(pairs_file, fields, count):
    assert count == next(score(pairs_file(**fields), task="space"))["positives"]


def accuracies(train, test):
    """The share of right answers, of one seed."""
    return classify(train, test, [0]).mean(1).tolist()


def test_the_classifier_learns_what_the_features_show():
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(300, 8, generator=generator)
    right = torch.where(
        torch.arange(300)[:, None] % 2 == 1, left, torch.randn(300, 8, generator=generator)
    )
    labels = [number % 2 for number in range(300)]
    inputs = pair_features(left, right)
    train, test = (inputs[:200], labels[:200]), (inputs[200:], labels[200:])
    found = accuracies(train, test)
    assert min(found) > 0.95  # equal sides have |u - v| = 0
    assert found == accuracies(train, test)
    # the length of a model's embeddings does not matter
    small = pair_features(left * 1e-4, right * 1e-4)
    assert found == pytest.approx(
        accuracies((small[:200], labels[:200]), (small[200:], labels[200:])), abs=0.02
    )
    # nor does it learn where there is nothing to learn
    noise = torch.randn(300, 8, generator=generator)
    assert 0.35 < accuracies((noise[:200], labels[:200]), (noise[200:], labels[200:]))[0] < 0.65


def test_classification_says_mean_deviation_and_majority(pairs_file):
    generator = np.random.default_rng(0)
    labels = [int(number % 4 == 0) for number in range(400)]
    left = generator.normal(size=(400, 4))
    right = np.where(np.array(labels)[:, None] == 1, left, generator.normal(size=(400, 4)))
    split = ["train"] * 300 + ["test"] * 100
    file = pairs_file(left=left.tolist(), right=right.tolist(), label=labels, split=split)
    (found,) = score(file, task="classification")
    counts = ("train", "test", "classes", "majority")
    assert (300, 100, 2, 75) == tuple(found[name] for name in counts)
    assert 90 < found["accuracy"] <= 100
    assert 0 <= found["accuracy_deviation"] < 5
    assert "±" in score_table([found])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a_embedding": [1]}\n', "1: the record has 1 fields that end in _embedding, not 2"),
        (GOOD + b'{"text_a_embedding": [1, 2]}\n', '2: field "text_b_embedding" is missing'),
        (GOOD + pairs([[1.0]], [[1.0]]), '2: field "text_a_embedding" has 1 dimensions, not 2'),
        (b"", " there are no pairs"),
        (pairs(EAST, ROUND), ' the pair "p0": field "score" is missing; write a number'),
        (pairs(EAST, ROUND, score=["1"] * 4), ' the pair "p0": field "score" is a JSON string'),
        (pairs(EAST, ROUND, score=[3, 3, 3, 3]), " all 4 gold scores are equal"),
        (pairs(EAST, EAST, score=[3, 1, 3, 2]), " all 4 similarities are equal"),
    ],
)
def test_bad_pairs_are_named(tmp_path, content, problem):
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(UserError, match=f"bad.jsonl:{problem}"):
        list(score(tmp_path / "bad.jsonl", task="similarity"))


@pytest.mark.parametrize(
    ("labels", "split", "problem"),
    [
        ([0, 1, 2, 1], "train train test test", 'label "2" is not among the training pairs'),
        ([0, 1.5, 0, 1], "train train test test", '"label" is a JSON number; write a name or an'),
        ([0, 1, 0, 1], "train train train train", "all pairs are for training; give pairs of both"),
        ([0, 1, 0, 1], "a b c d", "all pairs are to test: none has"),
    ],
)
def test_bad_labels_are_named(pairs_file, labels, split, problem):
    with pytest.raises(UserError, match=problem):
        list(score(pairs_file(label=labels, split=split.split()), task="classification"))
    with pytest.raises(UserError, match="no positive pairs"):
        list(score(pairs_file(score=[1, 1, 1, 1]), task="space"))
