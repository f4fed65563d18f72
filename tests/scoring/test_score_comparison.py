"""score --compare and --by: paired tests against hand-worked and slow plain values, and groups."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from structkit import score
from structkit.errors import UserError
from structkit.scoring.measures import (
    PERMUTATIONS,
    compare_values,
    paired_t_test,
    randomization_test,
)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_few_differences_try_all_signs(numbers):
    sums = [
        abs(sum(sign * number for sign, number in zip(signs, numbers, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(numbers))
    ]
    expected = sum(found >= abs(sum(numbers)) for found in sums) / len(sums)
    assert expected == pytest.approx(randomization_test(np.array(numbers, float)))


def test_many_differences_draw_signs_as_scipy_does():
    differences = np.random.default_rng(0).normal(0.1, 1, 200)
    expected = stats.permutation_test(
        (differences,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        n_resamples=PERMUTATIONS,
        vectorized=True,
        rng=np.random.default_rng(1),
    ).pvalue
    error = 4 * (2 * expected * (1 - expected) / PERMUTATIONS) ** 0.5  # four standard deviations
    assert expected == pytest.approx(randomization_test(differences), abs=error)
    assert randomization_test(differences) == randomization_test(differences)


def test_student_equals_scipy_and_a_number_worked_by_hand():
    for count, shift in ((2, 0.01), (3, 1.0), (50_000, -3.0)):
        differences = np.random.default_rng(count).standard_normal(count) + shift
        expected = stats.ttest_1samp(differences, 0).pvalue
        assert expected == pytest.approx(paired_t_test(differences), rel=1e-6, abs=1e-300)
    # mean 1/2, deviation 1/√3, t = (1/2) / (1/√3 / 2) = √3, of which three degrees have an integral
    assert 1 / 2 - 1 / math.pi == pytest.approx(paired_t_test(np.array([0.0, 0.0, 1.0, 1.0])))
    assert 0.0 == paired_t_test(np.array([1.0, 1.0]))


def test_a_comparison_counts_wins_ties_and_losses():
    ours, theirs = np.array([1.0, 0.5, 0.2, 0.0]), np.array([0.5, 0.5, 0.0, 0.1])
    found, other = compare_values(ours, theirs), compare_values(theirs, ours)
    assert (2, 1, 1) == (found["wins"], found["ties"], found["losses"])
    assert 0.15 == pytest.approx(found["difference"]) == pytest.approx(-other["difference"])
    assert found["difference_low"] <= found["difference"] <= found["difference_high"]
    assert found["p_randomization"] == other["p_randomization"]


QRELS = [{"query_id": f"q{n}", "doc_id": f"d{n}", "relevance": 1} for n in range(4)]
GOOD = [{"query_id": f"q{n}", "doc_id": f"d{n}", "score": 1.0} for n in range(4)]
POOR = [{**row, "doc_id": row["doc_id"] if n else "other"} for n, row in enumerate(GOOD)]
GROUPS = [{"id": f"q{n}", "kind": ["go", "ruby"][n // 3], "words": 9 + n} for n in range(4)]


def test_compare_gives_one_record_for_each_run_and_measure():
    measures = ["RR@10", "Success@1"]
    first, second = score({"good": GOOD}, qrels=QRELS, measures=measures, compare={"poor": POOR})
    assert ("RR@10", "Success@1") == (first["measure"], second["measure"])
    assert ("good", "poor", 4) == (first["run"], first["against"], first["queries"])
    assert (1.0, 0.75, 0.25) == (first["value"], first["against_value"], first["difference"])
    assert (1, 3, 0) == (first["wins"], first["ties"], first["losses"])
    assert 1.0 == first["p_randomization"]  # one difference: its sign alone says nothing


def test_a_run_is_not_compared_with_itself(tmp_path):
    for name, rows in (("good", GOOD), ("poor", POOR)):
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    options = {"qrels": QRELS, "measures": ["RR"], "compare": tmp_path / "good"}
    found = score([tmp_path / "good", tmp_path / "poor"], **options)
    assert ["poor"] == [each["run"] for each in found]
    with pytest.raises(UserError, match="is the run itself; name another run") as error:
        list(score(tmp_path / "good", **options))
    assert 2 == error.value.status


@pytest.mark.parametrize(
    ("field", "records", "expected"),
    [
        ("kind", GROUPS, [("go", 3, pytest.approx(2 / 3)), ("ruby", 1, 1.0)]),
        ("kind", [*GROUPS[1:3], {"id": "q3"}], [("go", 2, 1.0), ("none", 2, 0.5)]),
        ("words", GROUPS, [("9", 1, 0.0), ("10", 1, 1.0), ("11", 1, 1.0), ("12", 1, 1.0)]),
    ],
)
def test_by_gives_one_record_for_each_group(field, records, expected):
    options = {"qrels": QRELS, "measures": ["RR"], "by": field, "queries": records}
    found = score(POOR, **options)
    assert expected == [(each[field], each["queries"], each["RR"]) for each in found]
    (mean,) = score(POOR, mean=True, **options)
    values = [getattr(value, "expected", value) for *_, value in expected]
    assert (len(values), pytest.approx(np.mean(values))) == (mean[field], mean["RR"])


@pytest.mark.parametrize(
    ("field", "records", "problem"),
    [
        ("x", GROUPS, 'field "x" is missing; the record has: id, kind'),
        ("kind", [{"id": "stranger", "kind": "go"}], "has none of the judged queries"),
    ],
)
def test_bad_groups_are_one_line(field, records, problem):
    with pytest.raises(UserError, match=problem):
        list(score(GOOD, qrels=QRELS, by=field, queries=records))
