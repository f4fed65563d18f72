"""What a soak found, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .soaking import Judged


def report(judged: Sequence[Judged]) -> int:
    """Print how many cases of each command ran, and with findings; the exit status."""
    bad = [each for each in judged if each.findings]
    commands, findings = Counter(), Counter()
    for each in judged:
        commands[each.command] += 1
        findings[each.command] += bool(each.findings)
    print()
    for command, count in sorted(commands.items()):
        print(f"{command:<20} {count:>6,} cases {findings[command]:>5,} with findings")
    statuses = Counter(each.outcome.status for each in judged)
    shown = ", ".join(f"{count:,} x {status}" for status, count in statuses.most_common())
    slowest = max((each.outcome.seconds for each in judged), default=0)
    print(f"{len(judged):,} cases, statuses {shown}, slowest {slowest:.1f} s")
    print(f"{len(bad):,} with findings" if bad else "no findings")
    return int(bool(bad))
