"""Verdicts follow from the reports by one rule, and the pages say what the program derives."""

import re
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


def test_the_pages_are_what_the_reports_give():
    again = "run python -m experiments.claims"
    assert page() == PAGE.read_text("utf-8"), again
    text = RESULTS.read_text("utf-8")
    assert results(text) == text, again
    for path in (*Path("experiments/reports").glob("*.md"), RESULTS):
        typed = path.read_text("utf-8").lower()
        assert "not held:" not in typed and "**held" not in typed, f"{path}: typed by hand"


@pytest.mark.parametrize(
    ("low", "high", "p", "gain", "none"),
    [
        (0.001, 0.009, 0.04, HELD, HELD),  # small: on either side, and none that would matter
        (0.001, 0.02, 0.06, CANNOT_TELL, CANNOT_TELL),  # corrected p-value too large
        (0.001, 0.02, None, CANNOT_TELL, CANNOT_TELL),  # not stated
        (0.001, 0.009, None, NOT_HELD, CANNOT_TELL),  # nothing in the interval would matter
        (0.001, 0.02, 0.01, HELD, NOT_HELD),
        (-0.001, 0.009, 0.04, NOT_HELD, HELD),
        (-0.001, 0.011, 0.04, CANNOT_TELL, CANNOT_TELL),
        (-0.01, 0.009, None, NOT_HELD, CANNOT_TELL),
        (-0.03, -0.01, 0.001, NOT_HELD, HELD),
    ],
)
def test_a_verdict_follows_from_interval_and_p_value(low, high, p, gain, none):
    for scale in (1, 150):  # of points of score, what matters is 1.5, and not 0.01
        found = Difference(scale * (low + high) / 2, scale * low, scale * high, p, 0.01 * scale)
        assert (gain, none) == (verdict(found)[0], verdict(found, expect="no gain")[0])


def test_what_was_not_learned_is_not_judged(tmp_path, monkeypatch):
    learned = {"task": "prediction", "loss": 7.6, "unigram": 7.0}
    assert "unigram" in doubt(Claim("a", learned=learned))
    assert doubt(Claim("a", learned=learned | {"loss": 3.0})) == ""
    assert "no check" in doubt(Claim("a"))
    # EAL then SAL does not differ from its control, so it shows no treatment
    same = ["seal", "element-structure-untagged", "matched-untagged", "nDCG@10"]
    assert "nothing shows" in doubt(Claim("a", learned=same))
    for _, some in claims():
        for claim in some:
            found, why, _ = judged(claim)
            assert why and (found != NOT_HELD or claim.learned), claim.claim
    # a loss is read from the training of a report
    trained = {"model": "iornn-ce@0", "losses": {"loss": [8.1, 4.95]}}
    (tmp_path / REPORTS).mkdir(parents=True)
    (tmp_path / REPORTS / "trees.json").write_bytes(orjson.dumps({"trainings": [trained]}))
    monkeypatch.chdir(tmp_path)
    learned = {"task": "cross-entropy", "loss": ["trees", "iornn-ce@0", "loss"], "unigram": 5.6}
    assert "" == doubt(Claim("a", learned=learned))
    assert "5.0, a unigram" in doubt(Claim("a", learned=learned | {"unigram": 4.0}))


def test_a_pair_is_found_both_ways():
    pair = ("element-structure-untagged", "matched-untagged")
    there, back = (difference("seal", *each, "nDCG@10") for each in (pair, pair[::-1]))
    assert (there.value, there.low, there.high) == (-back.value, -back.high, -back.low)
    assert there.p == back.p is not None
    there = difference("code", "sda", "start", "pooled")
    assert 0.0925 == pytest.approx(there.over_queries, abs=1e-4)
    assert -there.over_queries == difference("code", "start", "sda", "pooled").over_queries
    with pytest.raises(LookupError, match=r"seal\.json compares no a with b"):
        difference("seal", "a", "b", "nDCG@10")


def test_coverage_has_every_table_and_no_empty_cell():
    text = PAGE.with_name("coverage.md").read_text("utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    assert {4} == {len(row) for row in rows} and all(cell.strip() for row in rows for cell in row)
    for name, last in {"SANTA": 7, "SEAL": 8, "StrAE": 7}.items():
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert {*range(1, last + 1)} <= {*map(int, re.findall(r"\| Table (\d+) \|", section))}


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
    half = found["difference_high"] - found["difference"]
    assert half == pytest.approx(1.96 / sum(weights) ** 0.5)
