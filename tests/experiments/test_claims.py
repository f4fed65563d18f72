"""Verdicts follow from the reports by one rule, and the pages say what the program derives."""

from pathlib import Path

import orjson
import pytest

from experiments.claims import (
    CANNOT_TELL,
    HELD,
    NOT_HELD,
    PAGE,
    REPORTS,
    RESULTS,
    Claim,
    Difference,
    claims,
    difference,
    doubt,
    judged,
    page,
    results,
    verdict,
)
from experiments.pooling import random_effects


def test_the_page_of_claims_is_what_the_reports_give():
    assert page() == PAGE.read_text("utf-8"), "run python -m experiments.claims"


def test_the_table_of_gains_is_what_the_reports_give():
    text = RESULTS.read_text("utf-8")
    assert results(text) == text, "run python -m experiments.claims"


@pytest.mark.parametrize(
    ("low", "high", "p", "expected"),
    [
        (0.001, 0.009, 0.04, HELD),  # small, and still on the claim's side
        (0.001, 0.02, 0.06, CANNOT_TELL),  # corrected p-value too large
        (0.001, 0.02, None, CANNOT_TELL),  # not stated
        (0.001, 0.009, None, NOT_HELD),  # nothing in the interval would matter
        (-0.001, 0.009, 0.04, NOT_HELD),
        (-0.001, 0.011, 0.04, CANNOT_TELL),
        (-0.03, -0.01, 0.001, NOT_HELD),
    ],
)
def test_a_verdict_follows_from_interval_and_p_value(low, high, p, expected):
    assert expected == verdict(Difference((low + high) / 2, low, high, p))[0]


@pytest.mark.parametrize(
    ("low", "high", "p", "expected"),
    [
        (-0.03, -0.01, 0.01, HELD),
        (-0.01, 0.009, 0.9, HELD),
        (-0.01, 0.009, None, CANNOT_TELL),
        (-0.01, 0.02, 0.9, CANNOT_TELL),
        (0.001, 0.02, 0.01, NOT_HELD),
        (0.001, 0.02, 0.2, CANNOT_TELL),
    ],
)
def test_a_claim_of_no_gain_holds_where_no_gain_fits(low, high, p, expected):
    found = Difference((low + high) / 2, low, high, p)
    assert expected == verdict(found, expect="no gain")[0]


def test_points_of_score_matter_from_one_and_a_half():
    assert NOT_HELD == verdict(Difference(0.1, -1.0, 1.4, matters=1.5))[0]
    assert CANNOT_TELL == verdict(Difference(0.1, -1.0, 1.6, matters=1.5))[0]


def test_what_was_not_learned_is_not_judged():
    learned = {"task": "prediction", "loss": 7.6, "unigram": 7.0}
    assert "unigram" in doubt(Claim("a", learned=learned))
    assert doubt(Claim("a", learned=learned | {"loss": 3.0})) == ""
    assert "no check" in doubt(Claim("a"))
    # EAL then SAL does not differ from its control, so it shows no treatment
    same = ["seal", "element-structure-untagged", "matched-untagged", "nDCG@10"]
    assert "nothing shows" in doubt(Claim("a", learned=same))


def test_a_pair_is_found_both_ways():
    there = difference("seal", "element-structure-untagged", "matched-untagged", "nDCG@10")
    back = difference("seal", "matched-untagged", "element-structure-untagged", "nDCG@10")
    assert (there.value, there.low, there.high) == (-back.value, -back.high, -back.low)
    assert there.p == back.p is not None
    with pytest.raises(LookupError, match=r"seal\.json compares no a with b"):
        difference("seal", "a", "b", "nDCG@10")


def test_no_verdict_is_typed_by_hand():
    typed = [*Path("experiments/reports").glob("*.md"), RESULTS]
    for path in typed:
        text = path.read_text("utf-8").lower()
        assert "not held:" not in text and "**held" not in text, path


def test_every_doubted_claim_says_why():
    for _, some in claims():
        for claim in some:
            found, why, _ = judged(claim)
            assert why, claim.claim
            assert found != NOT_HELD or claim.learned, claim.claim


def test_coverage_has_no_empty_cell():
    text = PAGE.with_name("coverage.md").read_text("utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    assert {4} == {len(row) for row in rows}
    assert all(cell.strip() for row in rows for cell in row)


@pytest.mark.parametrize(("paper", "last"), [("santa", 7), ("seal", 8), ("strae", 7)])
def test_coverage_has_every_table(paper, last):
    text = PAGE.with_name("coverage.md").read_text("utf-8")
    names = {"santa": "SANTA", "seal": "SEAL", "strae": "StrAE"}
    section = text.partition(f"## {names[paper]}\n")[2].partition("\n## ")[0]
    for number in range(1, last + 1):
        assert f"| Table {number} |" in section


def test_random_effects_are_dersimonian_and_lairds():
    """By hand: weights 1 and 1/4; Q = 1·3.2² + 0.25·12.8² = 51.2; tau² = 50.2 / (1.25 - 0.85)."""
    parts = [
        {"difference": 0.0, "difference_low": -1.96, "difference_high": 1.96, "queries": 1},
        {"difference": 16.0, "difference_low": 12.08, "difference_high": 19.92, "queries": 3},
    ]
    found = random_effects(parts)
    assert 3.2 == pytest.approx(found["fixed"])
    assert 51.2 == pytest.approx(found["Q"])
    between = 50.2 / (1.25 - (1 + 1 / 16) / 1.25)
    weights = 1 / (1 + between), 1 / (4 + between)
    assert 16 * weights[1] / sum(weights) == pytest.approx(found["difference"])
    assert 12.0 == pytest.approx(found["over_queries"])
    assert found["difference_high"] - found["difference"] == pytest.approx(
        1.96 / sum(weights) ** 0.5
    )


def test_the_mean_over_queries_stands_beside_the_random_effects_mean():
    there = difference("code", "sda", "start", "pooled")
    assert there.over_queries == -difference("code", "start", "sda", "pooled").over_queries
    assert 0.0925 == pytest.approx(there.over_queries, abs=1e-4)
    assert difference("seal", "raw-tagged", "matched-tagged", "nDCG@10").over_queries is None


def test_a_loss_is_read_from_the_training_of_a_report(tmp_path, monkeypatch):
    trained = {"model": "iornn-ce@0", "losses": {"loss": [8.1, 4.95]}}
    (tmp_path / REPORTS).mkdir(parents=True)
    (tmp_path / REPORTS / "trees.json").write_bytes(orjson.dumps({"trainings": [trained]}))
    monkeypatch.chdir(tmp_path)
    learned = {"task": "cross-entropy", "loss": ["trees", "iornn-ce@0", "loss"], "unigram": 5.6}
    assert "" == doubt(Claim("a", learned=learned))
    assert "5.0, a unigram" in doubt(Claim("a", learned=learned | {"unigram": 4.0}))
