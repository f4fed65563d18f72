"""score --compare and --by: paired tests against hand-worked and slow plain values, and groups."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from structkit import score
from structkit.errors import UserError
from structkit.scoring.comparison import PERMUTATIONS, compare, randomization, student


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_few_differences_try_all_signs(numbers: list[int]) -> None:
    differences = np.array(numbers, float)
    sums = [
        abs(sum(sign * number for sign, number in zip(signs, numbers, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(numbers))
    ]
    expected = sum(found >= abs(sum(numbers)) for found in sums) / len(sums)
    assert expected == pytest.approx(randomization(differences))


def test_many_differences_draw_signs_as_scipy_does() -> None:
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
    assert expected == pytest.approx(randomization(differences), abs=error)
    assert randomization(differences) == randomization(differences)


@pytest.mark.parametrize("count", [2, 3, 10, 1000, 50_000])
def test_student_equals_scipy(count: int) -> None:
    generator = np.random.default_rng(count)
    for shift in (0.0, 0.01, 1.0, -3.0):
        differences = generator.standard_normal(count) + shift
        expected = stats.ttest_1samp(differences, 0).pvalue
        assert expected == pytest.approx(student(differences), rel=1e-6, abs=1e-300)


def test_student_by_hand() -> None:
    # mean 1/2, deviation 1/√3, t = (1/2) / (1/√3 / 2) = √3, of which three degrees have an integral
    assert 1 / 2 - 1 / math.pi == pytest.approx(student(np.array([0.0, 0.0, 1.0, 1.0])))
    assert 0.0 == student(np.array([1.0, 1.0]))


def test_a_comparison_counts_wins_ties_and_losses() -> None:
    ours, theirs = np.array([1.0, 0.5, 0.2, 0.0]), np.array([0.5, 0.5, 0.0, 0.1])
    found = compare(ours, theirs)
    assert (2, 1, 1) == (found.wins, found.ties, found.losses)
    assert 0.15 == pytest.approx(found.difference)
    assert found.difference_low <= found.difference <= found.difference_high
    other = compare(theirs, ours)
    assert -found.difference == pytest.approx(other.difference)
    assert found.p_randomization == other.p_randomization


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    qrels = [{"query_id": f"q{n}", "doc_id": f"d{n}", "relevance": 1} for n in range(4)]
    good = [{"query_id": f"q{n}", "doc_id": f"d{n}", "score": 1.0} for n in range(4)]
    poor = [{**row, "doc_id": row["doc_id"] if n else "other"} for n, row in enumerate(good)]
    groups = [{"id": f"q{n}", "language": ["go", "ruby"][n // 3], "words": n} for n in range(4)]
    documents = [{"id": f"d{n}", "kind": "odd" if n % 2 else "even"} for n in range(3)]
    rows = {"qrels": qrels, "good": good, "poor": poor, "groups": groups, "documents": documents}
    return {name: write(tmp_path / f"{name}.jsonl", each) for name, each in rows.items()}


def test_compare_gives_one_record_for_each_run_and_measure(files: dict[str, str]) -> None:
    records = list(
        score(
            {"good": files["good"]},
            qrels=files["qrels"],
            measures=["RR@10", "Success@1"],
            compare={"poor": files["poor"]},
        )
    )
    assert ["RR@10", "Success@1"] == [record["measure"] for record in records]
    first = records[0]
    assert ("good", "poor", 4) == (first["run"], first["against"], first["queries"])
    assert (1.0, 0.75, 0.25) == (first["value"], first["against_value"], first["difference"])
    assert (1, 3, 0) == (first["wins"], first["ties"], first["losses"])
    assert 1.0 == first["p_randomization"]  # one difference: its sign alone says nothing


def test_by_gives_one_record_for_each_group(files: dict[str, str]) -> None:
    def by(field: str, name: str) -> list[tuple[object, int, float, int]]:
        found = score(
            {"poor": files["poor"]},
            qrels=files["qrels"],
            measures=["RR"],
            by=field,
            by_records=[files[name]],
        )
        return [(each[field], each["queries"], each["RR"], each["missing"]) for each in found]

    assert [("go", 3, pytest.approx(2 / 3), 0), ("ruby", 1, 1.0, 0)] == by("language", "groups")
    # the documents that answer: d3 has no record
    expected = [("even", 2, 0.5, 0), ("none", 1, 1.0, 0), ("odd", 1, 1.0, 0)]
    assert expected == by("kind", "documents")


def test_bad_comparisons_are_one_line(files: dict[str, str], tmp_path: Path) -> None:
    runs = {"good": files["good"]}
    with pytest.raises(UserError, match="no record has the field x of by; there are: id, lang"):
        list(score(runs, qrels=files["qrels"], by="x", by_records=[files["groups"]]))
    strangers = write(tmp_path / "s.jsonl", [{"id": "stranger", "language": "go"}])
    with pytest.raises(UserError, match="has neither the queries nor the documents"):
        list(score(runs, qrels=files["qrels"], by="language", by_records=[strangers]))
    with pytest.raises(UserError, match="by needs by_records; add it") as error:
        list(score(runs, qrels=files["qrels"], by="language"))
    assert 2 == error.value.status
