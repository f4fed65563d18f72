"""The verdicts on the papers' claims, derived from reports/*.json by one rule.

    python -m experiments.claims

writes docs/explanation/claims.md and the table at the top of docs/results.md. claims.yaml says
which comparison tests a claim, and what shows that the treatment took place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import orjson
import yaml

CLAIMS, REPORTS = Path("experiments/claims.yaml"), Path("experiments/reports")
PAGE, RESULTS = Path("docs/explanation/claims.md"), Path("docs/results.md")
BEGIN, END = "<!-- written by experiments/claims.py -->\n", "<!-- until here -->\n"
ALPHA = 0.05  # of the p-value corrected for a report's hypotheses
MATTERS = {"Score": 1.5}  # smallest difference that would matter, in points of Score
MATTERS_ELSE = 0.01  # in RR@100 and nDCG@10
RATE = re.compile(r"-\d+_\d+$")  # at the end of the name of a tuned system
HELD, NOT_HELD, CANNOT_TELL = "held", "not held", "cannot tell"
MARKS = {HELD: "✔ held", NOT_HELD: "✘ not held", CANNOT_TELL: "? cannot tell"}
POWER = 5 / 7  # width of a 95 % interval × this: the difference found four times in five
PAGE_HEAD = """---
hide:
  - toc
---

# Which claims of the papers held here

A program derives every verdict on this page from the measured differences
(`python -m experiments.claims`).

- **✔ held**: the hypothesis is stated, its corrected p-value is below 0.05, and the whole 95 %
  interval is on the claim's side. The last column says where it was written after the run.
- **✘ not held**: the interval excludes every difference that would matter, and a check shows that
  the treatment took place. A difference matters from 0.01 in RR@100 and nDCG@10, and from
  1.5 points of Score. A claim that something gains nothing is not held where a gain is found, by
  the same rule as above.
- **? cannot tell**: everything else. The last column says why.

*Detectable* is the smallest true difference that the test would find with 80 % power. It leaves
out the variance between seeds. Differences over six languages are random-effects means. The
numbers come from [the reports](https://github.com/structkit/structkit/tree/main/experiments/reports).
All models are small: MiniLM has 22 million parameters, and StrAE reads 30,000 sentences once
unless a row says otherwise.
"""


@dataclass(frozen=True)
class Difference:
    """One system minus another, with its 95 % interval."""

    value: float
    low: float
    high: float
    p: float | None = None  # corrected; none where the hypothesis was not stated
    matters: float = MATTERS_ELSE
    over_queries: float | None = None  # of several sets, the mean weighted by their queries

    def __str__(self) -> str:
        digits = 1 if self.matters >= 1 else 3
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"

    @property
    def is_gain(self) -> bool:
        """Whether it is a stated gain: corrected p and interval say so."""
        return self.low > 0 and self.p is not None and self.p < ALPHA

    @property
    def detectable(self) -> str:
        """The smallest true difference that the test finds with 80 % power."""
        return f"{(self.high - self.low) * POWER:.{1 if self.matters >= 1 else 3}f}"


@dataclass(frozen=True)
class Claim:
    """A claim with the names of the comparison that tests it; claims.yaml explains the fields."""

    claim: str
    setting: str = ""
    test: Sequence[str] = ()
    expect: str = "gain"
    learned: Any = None
    confounded: str = ""
    missing: str = ""
    also: Mapping[str, Sequence[str]] = field(default_factory=dict)


@cache
def content() -> Any:
    """The content of claims.yaml."""
    return yaml.safe_load(CLAIMS.read_text("utf-8"))


def scales() -> dict[str, str]:
    """What each paper trains, in a sentence."""
    return {group["paper"]: group.get("scale", "") for group in content()["papers"]}


def claims() -> Iterator[tuple[str, list[Claim]]]:
    """Yield the claims of each paper."""
    for group in content()["papers"]:
        yield group["paper"], [Claim(**each) for each in group["claims"]]


@cache
def report(name: str) -> Any:
    """The content of a report."""
    return orjson.loads((REPORTS / f"{name}.json").read_bytes())


def difference(name: str, system: str, against: str, on: str) -> Difference:
    """Find the difference of two systems in a report that compares them, in either order."""
    found = [
        each
        for each in report(name)["comparisons"]
        if {each["system"], each["against"]} == {system, against}
        and on in (each.get("measure"), each.get("task"))
    ]
    if not found:
        raise LookupError(f"{name}.json compares no {system} with {against} on {on}")
    # the same pair may be there both ways, and stated in one of them
    best = min(found, key=lambda each: each.get("p_holm", 2.0))
    value, low, high = (best[f"difference{end}"] for end in ("", "_low", "_high"))
    flipped = 1
    if best["system"] != system:
        flipped, value, low, high = -1, -value, -high, -low
    mean = flipped * best["over_queries"] if best.get("over_queries") is not None else None
    return Difference(value, low, high, best.get("p_holm"), MATTERS.get(on, MATTERS_ELSE), mean)


def last_loss(name: str, model: str, loss: str) -> float:
    """Where a loss of a report's training ended."""
    found = next(each for each in report(name)["trainings"] if each["model"] == model)
    return round(float(found["losses"][loss][1]), 1)


def doubt(claim: Claim) -> str:
    """Why a difference says nothing about the claim; empty if it does.

    >>> doubt(Claim("a", learned={"task": "prediction", "loss": 7.6, "unigram": 7.0}))
    'prediction was not learned: its loss ends at 7.6, a unigram model has 7.0'
    """
    if claim.missing or claim.confounded:
        return claim.missing or claim.confounded
    if isinstance(claim.learned, dict):
        task, loss, unigram = (claim.learned[key] for key in ("task", "loss", "unigram"))
        if isinstance(loss, list):
            loss = last_loss(*loss)
        if loss >= unigram:
            return f"{task} was not learned: its loss ends at {loss}, a unigram model has {unigram}"
    elif claim.learned:
        effect = difference(*claim.learned)
        if effect.low <= 0:
            trained, start = (RATE.sub("", each) for each in claim.learned[1:3])
            return f"nothing shows that training worked: {trained} − {start} is {effect}"
    else:
        return "no check that the treatment took place"
    return ""


def verdict(found: Difference, *, expect: str = "gain", doubts: str = "") -> tuple[str, str]:
    """The verdict on a claim, and why.

    >>> verdict(Difference(0.03, 0.02, 0.04, p=0.01))
    ('held', 'p = 0.010')
    >>> verdict(Difference(0.001, -0.002, 0.004))
    ('not held', 'a gain of 0.01 is outside the interval')
    >>> verdict(Difference(0.001, -0.002, 0.004), doubts="the loss did not fall")
    ('cannot tell', 'the loss did not fall')
    >>> verdict(Difference(0.03, 0.02, 0.04))
    ('cannot tell', 'not stated before the run')
    >>> verdict(Difference(0.01, -0.01, 0.03, p=0.4))
    ('cannot tell', 'the interval includes both 0 and gains that matter')
    >>> verdict(Difference(-0.02, -0.03, -0.01, p=0.01), expect="no gain")
    ('held', 'a gain of 0.01 is outside the interval')
    """
    if doubts:
        return CANNOT_TELL, doubts
    outside = f"a gain of {found.matters:g} is outside the interval"
    if expect == "no gain":
        stated = found.p is not None
        if stated and found.high < found.matters:
            return HELD, outside
        if found.is_gain:
            return NOT_HELD, f"a gain, {p_text(found.p)}"
        return CANNOT_TELL, "the interval includes gains that matter"
    if found.is_gain:
        return HELD, p_text(found.p)
    if found.high < found.matters:
        return NOT_HELD, outside
    if found.low > 0:
        return CANNOT_TELL, "not stated before the run" if found.p is None else f"p = {found.p:.2f}"
    return CANNOT_TELL, "the interval includes both 0 and gains that matter"


def p_text(p: float | None) -> str:
    """How a p-value is written.

    >>> p_text(0.0301), p_text(0.0001)
    ('p = 0.030', 'p < 0.001')
    """
    assert p is not None  # of a stated hypothesis
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def judged(claim: Claim) -> tuple[str, str, Difference | None]:
    """The verdict on a claim, why, and the difference that tests it."""
    found = difference(*claim.test) if claim.test else None
    if found is None:
        return CANNOT_TELL, doubt(claim), None
    result, why = verdict(found, expect=claim.expect, doubts=doubt(claim))
    if result == HELD and claim.test[0] in content()["written_after"]:
        why += "; hypothesis written after the run"
    return result, why, found


def gains() -> str:
    """Return the table of what each method gains, from which start, at which cost."""
    lines = [
        "| method | start | compared with | difference | training | advice |",
        "|---|---|---|---:|---:|---|",
    ]
    for row in content()["gains"]:
        name, model = row["cost"]
        seconds = median(
            each["seconds"]
            for each in report(name)["trainings"]
            if each["model"].partition("@")[0] == model
        )
        cost = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
        cells = (row["method"], row["start"], row["against"], difference(*row["test"]), cost)
        lines.append(f"| {' | '.join(map(str, cells))} | {row['advice']} |")
    return "\n".join(lines) + "\n"


def results(text: str) -> str:
    """Return the page of results with its table of gains made again."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{gains()}\n{end}{after}"


def page() -> str:
    """Return the page of all claims."""
    parts = [PAGE_HEAD]
    for paper, some in claims():
        lines = [
            f"## {paper if paper != 'Ours' else 'Questions of ours'}",
            "",
            *([scale, ""] if (scale := scales()[paper]) else []),
            "| claim | verdict | difference | detectable | tested with | why |",
            "|---|---|---:|---:|---|---|",
        ]
        for claim in some:
            result, why, found = judged(claim)
            others = [f"{label}: {difference(*names)}" for label, names in claim.also.items()]
            if found and found.over_queries is not None:
                others.insert(0, f"mean over queries: {found.over_queries:.3f}")
            numbers = (str(found), found.detectable) if found else ("", "")
            source = f"{claim.setting} (`{REPORTS / claim.test[0]}.json`)" if claim.test else ""
            cells = [claim.claim, MARKS[result], *numbers, source, "; ".join([why, *others])]
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    RESULTS.write_text(results(RESULTS.read_text("utf-8")), "utf-8")
