"""Verdicts follow from the reports by one rule, and the pages say what the program derives."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import orjson
import pytest
from scipy.stats import t, ttest_1samp, ttest_ind, ttest_rel

from experiments.claims import (
    CANNOT_TELL,
    HELD,
    MARKS,
    NOT_HELD,
    PAGE,
    REPORTS,
    RESULTS,
    Claim,
    Difference,
    claims,
    difference,
    doubts,
    judged,
    lead,
    page,
    results,
    verdict,
    with_seeds,
)
from experiments.kept import beside, kept
from experiments.pooling import pooled, random_effects


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
        (-0.03, -0.01, None, CANNOT_TELL, CANNOT_TELL),
        (0.001, 0.009, 0.06, NOT_HELD, HELD),
        (0.001, 0.02, 0.01, HELD, NOT_HELD),
        (-0.001, 0.009, 0.04, NOT_HELD, HELD),
        (-0.001, 0.011, 0.04, CANNOT_TELL, CANNOT_TELL),
        (-0.03, -0.01, 0.001, NOT_HELD, HELD),
    ],
)
def test_a_verdict_follows_from_interval_and_p_value(low, high, p, gain, none):
    for scale in (1, 150):  # of points of score, what matters is 1.5, and not 0.01
        ends = (scale * (low + high) / 2, scale * low, scale * high)
        found = Difference(*ends, p or 1.0, stated=p is not None, matters=0.01 * scale)
        assert (gain, none) == (verdict(found)[0], verdict(found, expect="no gain")[0])
        doubted = {verdict(found, expect=each, doubt="one seed")[0] for each in ("gain", "no gain")}
        assert {CANNOT_TELL} == doubted


HARD = ["code-masking", "hard", "again", "pooled"]
SECTIONS = ["seal-power", "eal-sal-untagged", "matched-untagged", "question"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"test": SECTIONS}, "check: none"),
        # raw text is no treatment that its control lacks
        ({"test": SECTIONS, "check": SECTIONS}, "check: eal-sal-untagged − matched-untagged -0.00"),
        ({"test": SECTIONS, "check": [*HARD[:2], "start", HARD[3]]}, "check: one seed"),
        ({"test": HARD}, "one seed"),
        ({"test": ["code", "sda", "start", "pooled"]}, "seeds not kept"),
        ({"test": SECTIONS, "confounded": "two passes"}, "two passes"),
    ],
)
def test_a_doubt_is_given_whatever_the_difference(fields, why):
    assert doubts(Claim("a", **fields)).startswith(why)


def test_all_claims_are_judged_alike():
    for _, some in claims():
        for claim in some:
            found, why, _ = judged(claim)
            assert (found == CANNOT_TELL) == bool(why), claim.claim
            if found != CANNOT_TELL:
                assert (claim.check or claim.learned) and not claim.confounded, claim.claim
                assert claim.check != claim.test, f"{claim.claim}: its check is its test"


def test_a_pair_is_found_both_ways():
    there, back = (
        difference("seal-power", *pair, "question") for pair in (SECTIONS[1:3], SECTIONS[2:0:-1])
    )
    assert (there.value, there.low, there.high) == (-back.value, -back.high, -back.low)
    assert there.stated and (there.p, there.stated) == (back.p, back.stated)
    with pytest.raises(LookupError, match=r"seal\.json compares no a with b"):
        difference("seal", "a", "b", "nDCG@10")


def test_the_page_has_every_table_and_no_empty_cell():
    text = PAGE.read_text("utf-8")
    assert len(text.split()) <= 2250
    lines = text.partition("\n## ")[2].splitlines()
    rows = [
        line.strip("|").split("|") for line in lines if line.startswith("|") and "---" not in line
    ]
    assert {4} == {len(row) for row in rows} and all(cell.strip() for row in rows for cell in row)
    for name, last in {"SANTA": (7, 7), "SEAL": (8, 4), "StrAE": (7, 7)}.items():
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        first = " ".join(re.findall(r"^\|(.*?):", section, re.M))
        for kind, count in zip(("Table", "Figure"), last, strict=True):
            named = " ".join(re.findall(rf"{kind}s? ((?:\d|, | and (?=\d))+)", first))
            assert {*range(1, count + 1)} == {*map(int, re.findall(r"\d+", named))}, (name, kind)


def test_random_effects_are_dersimonian_and_lairds_with_hartung_and_knapps_interval():
    """By hand: weights 1 and 1/4; Q = 1·3.2² + 0.25·12.8² = 51.2; tau² = 50.2 / (1.25 - 0.85).

    The interval is that of Student's t with one degree of freedom: 12.706 standard errors.
    """
    parts = [
        {"difference": 0.0, "difference_low": -1.96, "difference_high": 1.96, "queries": 1},
        {"difference": 16.0, "difference_low": 12.08, "difference_high": 19.92, "queries": 3},
    ]
    found = random_effects(parts)
    assert 3.2 == pytest.approx(found["fixed"])
    assert 51.2 == pytest.approx(found["Q"])
    between = 50.2 / (1.25 - (1 + 1 / 16) / 1.25)
    weights = np.array([1 / (1 + between), 1 / (4 + between)])
    mean = 16 * weights[1] / weights.sum()
    assert mean == pytest.approx(found["difference"])
    error = (weights @ (np.array([0.0, 16.0]) - mean) ** 2 / weights.sum()) ** 0.5
    assert 12.706 * error == pytest.approx(found["difference_high"] - mean, rel=1e-4)


def test_without_variance_between_queries_the_interval_is_welchs():
    first, second = [0.61, 0.64, 0.66], [0.55, 0.60, 0.50, 0.59]
    value = np.mean(first) - np.mean(second)
    pair = {"system": "a", "against": "b", "measure": "go", "difference": value}
    rows = {
        system: {"seeds": len(values), "go_deviation": np.std(values, ddof=1)}
        for system, values in (("a", first), ("b", second))
    }
    found = with_seeds(pair | {"difference_low": value, "difference_high": value}, rows)
    welch = ttest_ind(first, second, equal_var=False)
    assert [*welch.confidence_interval()] == pytest.approx([found.low, found.high])
    assert welch.pvalue == pytest.approx(found.p)


@pytest.mark.parametrize("names", ["0 1 2", "2 0 1"])
def test_the_same_seeds_are_paired(names):
    first, second = [0.61, 0.64, 0.66], [0.55, 0.60, 0.59]
    value = np.mean(first) - np.mean(second)
    pair = {"system": "a", "against": "b", "measure": "go", "difference": value}
    order = [names.split().index(seed) for seed in "012"]
    rows = {
        "a": {"seeds": 3, "go_seeds": dict(zip("012", first, strict=True))},
        "b": {"seeds": 3, "go_seeds": dict(zip(names.split(), second, strict=True))},
    }
    found = with_seeds(pair | {"difference_low": value, "difference_high": value}, rows)
    paired = ttest_rel(first, [second[place] for place in order])
    assert [*paired.confidence_interval()] == pytest.approx([found.low, found.high])
    assert paired.pvalue == pytest.approx(found.p)


LANGUAGES = "python java go php javascript ruby".split()
POOLS = {"pooled": LANGUAGES, "renamed": [f"renamed-{each}" for each in LANGUAGES]}


kept_once = cache(kept)


@cache
def report(name):
    return orjson.loads((REPORTS / f"{name}.json").read_bytes())


@cache
def seeds_of(name, system, on):
    """A system's values by seed, from the values of each query where a report has them."""
    path = REPORTS / f"{name}.json"
    row = next(each for each in report(name)["rows"] if each["system"] == system)
    if not beside(path).exists() or on == "Score":  # a mean of correlations
        return row.get(f"{on}_seeds")
    of_seed = {}
    for of_set, records in kept_once(path).items():
        for record in records:
            run, _, seed = record["run"].partition("@")
            value = record.get(on, record.get("RR@100", record.get("nDCG@10")))
            if run == system and of_set in POOLS.get(on, [on, "values"]):
                of_seed.setdefault(seed, {}).setdefault(of_set, []).append(value)
    means = {seed: np.mean([*map(np.mean, sets.values())]) for seed, sets in of_seed.items()}
    return None if "" in means else means


@cache
def measure_again(name, system, against, on):
    """A difference's ends, p-value and reason for doubt, computed from the report alone."""
    content = report(name)
    values, stated, asked = {}, [], None
    for each in content["comparisons"]:
        pair = each["system"], each["against"]
        key = (*sorted(pair), each.get("measure", each.get("task")))
        if key not in values or "p_holm" in each:
            values[key] = each
    for key, each in values.items():
        pair, measured = (each["system"], each["against"]), key[2]
        asking = {*pair} == {system, against} and measured == on
        if not asking and "p_holm" not in each:
            continue
        half = (each["difference_high"] - each["difference_low"]) / 2
        freedom = each.get("degrees", 10**9)
        errors, lacking = [(half / t.ppf(0.975, freedom), freedom)], ""
        trained = [one for one in pair if not re.match(r"(bm25|start)(-|$)|words$", one)]
        seeded = [seeds_of(name, one, measured) for one in trained]
        if len(trained) == 2 and all(seeded) and seeded[0].keys() == seeded[1].keys() > {"0"}:
            ours, theirs = ([one[seed] for seed in seeded[0]] for one in seeded)
            errors.append(
                (np.std(np.subtract(ours, theirs), ddof=1) / len(ours) ** 0.5, len(ours) - 1)
            )
        else:
            for one, of_seed in zip(trained, seeded, strict=True):
                row = next(row for row in content["rows"] if row["system"] == one)
                if of_seed and len(of_seed) > 1:
                    found = ttest_1samp([*of_seed.values()], 0)
                    error = np.mean([*of_seed.values()]) / found.statistic
                elif f"{measured}_deviation" in row:
                    error = row[f"{measured}_deviation"] / row["seeds"] ** 0.5
                else:
                    lacking = "one seed" if row["seeds"] == 1 else "seeds not kept"
                    continue
                errors.append((error, row["seeds"] - 1))
        variance = sum(error**2 for error, _ in errors)
        freedom = variance**2 / sum(error**4 / each for error, each in errors)
        low, high = t.interval(0.95, freedom, each["difference"], variance**0.5)
        p = 2 * t.sf(abs(each["difference"]) / variance**0.5, freedom)
        if "p_holm" in each:
            stated.append((p, asking))
        if asking:
            sign = 1 if pair == (system, against) else -1
            ends = sorted([sign * low, sign * high])
            asked = [*ends, p, lacking, "p_holm" in each]
    low, high, p, lacking, is_stated = asked
    smaller = sorted(each for each, _ in stated)
    holm = max(
        [(len(stated) - rank) * each for rank, each in enumerate(smaller) if each <= p], default=1
    )
    return low, high, min(1, holm) if is_stated else None, lacking


def verdict_again(claim):
    """The verdict of a claim by the rule in words."""
    low, high, p, lacking = measure_again(*claim.test)
    checked = bool(claim.check or claim.learned)
    if claim.check:
        least, _, _, unsure = measure_again(*claim.check)
        checked = least > 0 and not unsure
    if claim.learned:
        checked = claim.learned[0] < claim.learned[1]
    if lacking or claim.confounded or not checked or p is None:
        return CANNOT_TELL
    gain = low > 0 and p < 0.05
    no_gain = high < (1.5 if claim.test[3] == "Score" else 0.01)
    says, opposite = (gain, no_gain) if claim.expect == "gain" else (no_gain, gain)
    return HELD if says else NOT_HELD if opposite else CANNOT_TELL


def test_each_verdict_follows_from_the_reports_by_other_code():
    text, count = PAGE.read_text("utf-8"), 0
    for _, some in claims():
        for claim in (each for each in some if each.test):
            low, high, _, _ = measure_again(*claim.test)
            found = judged(claim)[2]
            assert (low, high) == pytest.approx((found.low, found.high)), claim.test
            expected = verdict_again(claim)
            assert expected == judged(claim)[0], claim
            assert f"{MARKS[expected]} {claim.claim}" in text
            count += 1
    assert count >= 60 and lead() in text


def compared(random, sizes, of_queries, of_seeds, of_languages, paired):
    """Two equal systems with three seeds each: their difference in each language, and their rows.

    A seed changes all queries of a system alike, and each query by itself. If `paired`, it changes
    both systems alike, but for a part.
    """
    seeds = random.normal(0, of_seeds, (2, 3, 1))  # (systems, seeds, queries)
    if paired:
        seeds = seeds / 2 + random.normal(0, of_seeds, (1, 3, 1))
    pairs, means = [], []
    for name, size in enumerate(sizes):
        values = seeds + random.normal(0, of_queries, (2, 1, size))
        values += random.normal(0, of_queries / 2, (2, 3, size))
        values[0] += random.normal(0, of_languages)
        gaps = values[0].mean(axis=0) - values[1].mean(axis=0)  # (queries,)
        value, half = gaps.mean(), 1.96 * gaps.std(ddof=1) / size**0.5
        pair = {"system": "a", "against": "b", "measure": str(name), "difference": value}
        pairs.append(pair | {"difference_low": value - half, "difference_high": value + half})
        means.append(values.mean(axis=2))
    by_seed = np.mean(means, axis=0)  # (systems, seeds)
    if paired:
        columns = [{"0_seeds": dict(enumerate(each.tolist()))} for each in by_seed]
    else:
        columns = [{"0_deviation": each.std(ddof=1)} for each in by_seed]
    return pairs, {name: {"seeds": 3} | each for name, each in zip("ab", columns, strict=True)}


@pytest.mark.long
@pytest.mark.parametrize("sizes", [[300], [474, 200, 200, 158, 111, 87]], ids=["one", "six"])
@pytest.mark.parametrize("deviations", [(1.0, 0.0), (1.0, 0.03), (1.0, 0.05), (0.3, 0.1)], ids=str)
@pytest.mark.parametrize("paired", [False, True], ids=["unpaired", "paired"])
def test_intervals_have_the_true_difference_in_93_of_100_simulations(sizes, deviations, paired):
    """Where seeds or languages differ, an interval of queries alone has it in 26 to 96."""
    random, held = np.random.default_rng(0), 0
    for _ in range(2000):
        between = deviations[1] if len(sizes) > 1 else 0.0
        pairs, rows = compared(random, sizes, *deviations, between, paired)
        if len(sizes) > 1:
            pairs = pooled(pairs, "0", *(each["measure"] for each in pairs))
        found = with_seeds(pairs[0], rows)
        held += found.low <= 0 <= found.high
    assert 0.93 <= held / 2000 <= 0.98
