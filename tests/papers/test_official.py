"""What --profile official draws, and takes for a name."""

import random

import pytest

from structkit.registry import load
from tests.structure.code.sources import cases


def released(language):
    return load("profile", "official")().language(language)


@pytest.mark.parametrize(
    ("language", "count"), [("java", 4), ("go", 4), ("ruby", 4), ("javascript", 1)]
)
def test_official_samples_occurrences(language, count):
    # max(1, int(0.5 * 9)) = 4 and max(1, int(0.1 * 9)) = 1 of ten names that occur once
    found = [f"v{number}" for number in range(10)]
    drawn = released(language).draw(found, random.Random(0))
    assert len(drawn) == count
    frequent = ["a"] * 99 + ["b"]
    assert "a" in released(language).draw(frequent, random.Random(1))


def test_official_php_draws_until_half_is_covered():
    for seed in range(20):
        drawn = released("php").draw(list("aaabcdef"), random.Random(seed))
        counts = [3 if name == "a" else 1 for name in drawn]
        assert sum(counts) >= 4
        assert sum(counts) - max(counts) < 4
    assert released("php").draw(["a"], random.Random(0)) == set()


@pytest.mark.parametrize(("language", "code", "expected"), cases("official-names"))
def test_official_takes_exact_identifiers(language, code, expected):
    spans = released(language).entities(code, {})
    assert [code[start:end] for start, end in spans] == expected.split()
