"""The verdicts on the papers' claims, derived from reports/*.json by one rule.

    python -m experiments.claims

writes docs/explanation/claims.md and the table at the top of docs/results.md. claims.yaml has the
rule in words, the tables and figures of the papers, the difference that tests each claim, and the
one that shows that its treatment took place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median, stdev
from typing import Any

import orjson
import yaml
from scipy.stats import t

from experiments.kept import Record
from experiments.report import holm, measured

CLAIMS, REPORTS = Path("experiments/claims.yaml"), Path("experiments/reports")
PAGE, RESULTS = Path("docs/explanation/claims.md"), Path("docs/results.md")
BEGIN, END = "<!-- written by experiments/claims.py -->\n", "<!-- until here -->\n"
ALPHA = 0.05  # of the p-value corrected for a report's hypotheses
MATTERS = {"Score": 1.5}  # smallest difference that would matter, in points of Score
MATTERS_ELSE = 0.01  # in RR@100 and nDCG@10
LEAST = 1e-12  # standard error of systems that differ equally in all queries
UNTRAINED = re.compile(r"(bm25|start)(-.*)?|words")  # systems that no seed changes
RATE = re.compile(r"-\d+_\d+$")  # at the end of the name of a tuned system
HELD, NOT_HELD, CANNOT_TELL = "held", "not held", "cannot tell"
MARKS = {HELD: "✔", NOT_HELD: "✘", CANNOT_TELL: "?"}
COLUMNS = ("it shows", "here", "command", "claims, and what is missing")


@dataclass(frozen=True)
class Difference:
    """One system minus another, with its 95 % interval."""

    value: float
    low: float
    high: float
    p: float = 1.0
    stated: bool = False  # before the run or after it; then p is corrected
    matters: float = MATTERS_ELSE
    seeds: str = ""  # why the interval lacks the variance between seeds

    def __str__(self) -> str:
        digits = 1 if self.matters >= 1 else 3
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"

    def __neg__(self) -> Difference:
        return replace(self, value=-self.value, low=-self.high, high=-self.low)


@dataclass(frozen=True)
class Claim:
    """A claim with the names of the comparison that tests it; claims.yaml explains the fields."""

    claim: str
    test: Sequence[str] = ()
    check: Sequence[str] = ()
    expect: str = "gain"
    learned: Sequence[float] = ()  # the loss at the end of training, and that of guessing
    confounded: str = ""
    missing: str = ""
    queued: str = ""
    written_after: bool = False


@cache
def content() -> Any:
    """The content of claims.yaml."""
    return yaml.safe_load(CLAIMS.read_text("utf-8"))


def claims() -> Iterator[tuple[str, list[Claim]]]:
    """Yield the claims of each paper."""
    for paper in content()["papers"]:
        found = [each for row in paper["rows"] for each in row.get("claims", [])]
        yield paper["paper"], [Claim(**each) for each in found]


@cache
def report(name: str) -> Any:
    """The content of a report."""
    return orjson.loads((REPORTS / f"{name}.json").read_bytes())


def with_seeds(compared: Record, rows: Mapping[str, Record]) -> Difference:
    """Return a difference over queries with the variance between seeds in its interval.

    The variances of queries and of seeds add up. Two systems that were trained with the same seeds
    have the variance of their differences, seed by seed; otherwise, each has that of its own seeds.
    The degrees of freedom are those of Welch, The generalization of Student's problem, Biometrika
    34, 1947.

    >>> seal = {"system": "seal", "against": "bm25", "measure": "nDCG@10", "difference": 0.02}
    >>> seal |= {"difference_low": 0.01, "difference_high": 0.03}
    >>> str(with_seeds(seal, {"seal": {"seeds": 3, "nDCG@10_deviation": 0.01}}))
    '0.020 [0.001, 0.039]'
    >>> with_seeds(seal, {"seal": {"seeds": 1}}).seeds
    'one seed'
    >>> rows = {"seal": {"seeds": 2, "nDCG@10_seeds": {"0": 0.52, "1": 0.62}}}
    >>> rows["raw"] = {"seeds": 2, "nDCG@10_seeds": {"0": 0.50, "1": 0.60}}
    >>> str(with_seeds(seal | {"against": "raw"}, rows))  # the difference is the same in both seeds
    '0.020 [0.010, 0.030]'
    """
    half, on = (compared["difference_high"] - compared["difference_low"]) / 2, measured(compared)
    freedom = compared.get("degrees", float("inf"))  # of a mean over languages, one less than these
    parts: list[tuple[float, float]] = [
        (max(half / float(t.ppf(0.975, freedom)), LEAST) ** 2, freedom)
    ]
    lacking = ""
    trained = [
        rows[system]
        for system in (compared["system"], compared["against"])
        if not UNTRAINED.fullmatch(system)
    ]
    seeded = [row.get(f"{on}_seeds", {}) for row in trained]
    if len(seeded) == 2 and len(seeded[0]) > 1 and seeded[0].keys() == seeded[1].keys():
        paired = [value - seeded[1][seed] for seed, value in seeded[0].items()]
        parts.append((stdev(paired) ** 2 / len(paired), len(paired) - 1))
    else:
        for row in trained:
            seeds, deviation = row["seeds"], row.get(f"{on}_deviation")
            if deviation is None:
                lacking = "one seed" if seeds < 2 else "seeds not kept"
            else:
                parts.append((deviation**2 / seeds, seeds - 1))
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / max(sum(part**2 / each for part, each in parts), LEAST**4)
    half, value = float(t.ppf(0.975, freedom)) * variance**0.5, compared["difference"]
    p = float(2 * t.sf(abs(value) / variance**0.5, freedom))
    matters = MATTERS.get(on, MATTERS_ELSE)
    return Difference(value, value - half, value + half, p, matters=matters, seeds=lacking)


@cache
def differences(name: str) -> Mapping[tuple[str, str, str], Difference]:
    """All differences of a report, in both directions, the stated ones with corrected p-values."""
    rows = {row["system"]: row for row in report(name)["rows"]}
    # the same pair may be there both ways, and stated in one of them
    compared = sorted(report(name)["comparisons"], key=lambda each: "p_holm" in each)
    found = [with_seeds(each, rows) for each in compared]
    stated = [place for place, each in enumerate(compared) if "p_holm" in each]
    for place, p in zip(stated, holm([found[each].p for each in stated]), strict=True):
        found[place] = replace(found[place], p=p, stated=True)
    known = {}
    for each, one in zip(compared, found, strict=True):
        known[each["system"], each["against"], measured(each)] = one
        known[each["against"], each["system"], measured(each)] = -one
    return known


def difference(name: str, system: str, against: str, on: str) -> Difference:
    """Find the difference of two systems in a report that compares them, in either order."""
    found = differences(name).get((system, against, on))
    if found is None:
        raise LookupError(f"{name}.json compares no {system} with {against} on {on}")
    return found


def doubts(claim: Claim) -> str:
    """Why a difference says nothing about the claim; empty if it does."""
    found = [each for each in (claim.confounded, difference(*claim.test).seeds) if each]
    if claim.learned:
        loss, guessing = claim.learned
        if loss >= guessing:
            found.append(f"check: loss {loss}, of guessing by frequency {guessing}")
    elif claim.check:
        check = difference(*claim.check)
        if check.low <= 0:
            trained, start = (RATE.sub("", each) for each in claim.check[1:3])
            found.append(f"check: {trained} − {start} {check}")
        elif check.seeds and not found:
            found.append(f"check: {check.seeds}")
    elif not found:
        found.append("check: none")
    return "; ".join(found)


def verdict(found: Difference, *, expect: str = "gain", doubt: str = "") -> tuple[str, str]:
    """The verdict on a claim, and why it is open.

    >>> verdict(Difference(0.03, 0.02, 0.04, p=0.01, stated=True))
    ('held', '')
    >>> verdict(Difference(0.03, 0.02, 0.04, p=0.01, stated=True), expect="no gain")
    ('not held', '')
    >>> verdict(Difference(0.001, -0.002, 0.004, stated=True))
    ('not held', '')
    >>> verdict(Difference(0.03, 0.02, 0.04, stated=True), doubt="one seed")
    ('cannot tell', 'one seed')
    """
    if doubt or not found.stated:
        return CANNOT_TELL, doubt or "not stated"
    sides = [found.low > 0 and found.p < ALPHA, found.high < found.matters]
    says, opposite = sides if expect == "gain" else sides[::-1]
    if says or opposite:
        return (HELD if says else NOT_HELD), ""
    return CANNOT_TELL, f"p = {found.p:.2f}" if found.low > 0 else "wide"


def judged(claim: Claim) -> tuple[str, str, Difference | None]:
    """The verdict on a claim, why it is open, and the difference that tests it."""
    if not claim.test:
        return CANNOT_TELL, claim.missing, None
    found = difference(*claim.test)
    result, why = verdict(found, expect=claim.expect, doubt=doubts(claim))
    return result, why, found


def gains() -> str:
    """Return the table of what each method gains, from which start, at which cost."""
    lines = [
        "| method | start | compared with | difference | training | advice |",
        "|---|---|---|---:|---:|---|",
    ]
    for row in content()["gains"]:
        cells = (
            *(row[name] for name in ("method", "start", "against")),
            difference(*row["test"]),
            training_time(*row["cost"]),
        )
        lines.append(f"| {' | '.join(map(str, cells))} | {row['advice']} |")
    return "\n".join(lines) + "\n"


def training_time(name: str, model: str) -> str:
    """Return the median time of a model's trainings in a report."""
    seconds = median(
        each["seconds"]
        for each in report(name)["trainings"]
        if each["model"].partition("@")[0] == model
    )
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


def lead() -> str:
    """Return the table of the main claims: verdict, start, difference and cost."""
    of_test = {tuple(each.test): each for _, some in claims() for each in some}
    every = [judged(each)[0] for each in of_test.values() if each.test]
    counts = ", ".join(f"{every.count(result)} {result}" for result in MARKS)
    lines = [
        f"Of {len(every)} measured claims: {counts}. The main ones:\n",
        row_of("", "claim", "start", "difference", "training"),
        "|---|---|---|---:|---:|",
    ]
    for row in content()["lead"]:
        result, _, found = judged(of_test[tuple(row["test"])])
        mark = f"{MARKS[result]} {result}"
        cells = mark, row["claim"], row["start"], f"{found}", training_time(*row["cost"])
        lines.append(row_of(*cells))
    return "\n".join(lines) + "\n"


def results(text: str) -> str:
    """Return the page of results with its table of gains made again."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{gains()}\n{end}{after}"


def line(claim: Claim) -> str:
    """Return a claim with its mark, its difference, and why it is open."""
    result, why, found = judged(claim)
    if found is None:
        return f"{MARKS[result]} {claim.claim}: {why}"
    after = claim.written_after or claim.test[0] in content()["written_after"]
    star = "\\*" if after else ""
    parts = [f"{MARKS[result]} {claim.claim}{star}: {found} (`{Path(claim.test[0]).name}`)"]
    if why:
        parts.append(why)
    if claim.queued:
        parts.append(f"queue: `{claim.queued}`")
    return "; ".join(parts)


def row_of(*cells: str) -> str:
    """Return a row of a wide table, without the blanks that would align nothing."""
    return f"|{'|'.join(cells)}|"


def page() -> str:
    """Return the page of all tables and figures with their claims."""
    parts = [content()["head"].replace("LEAD\n", lead())]
    for paper in content()["papers"]:
        parts += [f"## {paper['title']}\n", f"{paper['scale']}\n"]
        lines = [row_of(*COLUMNS), f"|{'---|' * len(COLUMNS)}"]
        for row in paper["rows"]:
            told = [line(Claim(**each)) for each in row.get("claims", [])]
            told += [f"Missing: {row['missing']}"] if "missing" in row else []
            cells = row["shows"], row["here"], row.get("run", "–"), "<br>".join(told) or "no claim"
            lines.append(row_of(*cells))
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    RESULTS.write_text(results(RESULTS.read_text("utf-8")), "utf-8")
