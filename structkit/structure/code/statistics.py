"""What masking did to a collection, by language: `mask-entities --stats`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from structkit.errors import UserError
from structkit.records.table import rows
from structkit.structure.code.sentinels import COUNT, Masked
from structkit.structure.code.spans import Span

TARGET_TOKENS = 35  # what the released code of SANTA keeps of a target
PIECE = re.compile(r"<extra_id_\d+>|\w{1,4}|[^\w\s]")


def tokens(target: str) -> int:
    """About how many tokens a target has, without a tokenizer.

    A sentinel is one, every started four letters of a word are one, every punctuation mark is one.

    >>> tokens("<extra_id_0> identifier <extra_id_1>")
    5
    """
    return len(PIECE.findall(target))


@dataclass
class Language:
    """The counts of one language; `distinct` is records by their number of distinct entities."""

    characters: int = 0
    in_entities: int = 0
    cut: int = 0
    distinct: Counter[int] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)


class Statistics:
    """Counts of a stream of masked records; those of several workers add up."""

    def __init__(self) -> None:
        self.languages: dict[str, Language] = {}

    def language(self, name: str) -> Language:
        return self.languages.setdefault(name, Language())

    def add(self, name: str, text: str, spans: Sequence[Span], masked: Masked) -> None:
        """Count one record: all its entities, masked or not."""
        counts = self.language(name)
        counts.characters += len(text)
        counts.in_entities += sum(end - start for start, end in spans)
        counts.distinct[len({text[start:end] for start, end in spans})] += 1
        counts.cut += tokens(masked.target) > TARGET_TOKENS

    def reject(self, name: str, error: UserError) -> None:
        self.language(name).rejected[error.problem] += 1

    def merge(self, other: Statistics) -> None:
        """Add what another worker counted."""
        for name, theirs in other.languages.items():
            ours = self.language(name)
            ours.characters += theirs.characters
            ours.in_entities += theirs.in_entities
            ours.cut += theirs.cut
            ours.distinct += theirs.distinct
            ours.rejected += theirs.rejected

    def lines(self) -> list[str]:
        """The table, and the reasons of rejected records below it."""
        ordered = sorted(self.languages.items())
        table = rows((_row(_short(name), counts) for name, counts in ordered), COLUMNS)
        reasons = [
            f"{_short(name)}: {count:,} rejected: {_short(problem)}"
            for name, counts in ordered
            for problem, count in counts.rejected.most_common()
        ]
        return [*table, *reasons]


WIDEST = 120
COLUMNS = (
    "language", "records", "rejected", "entities", "distinct", "p50", "p95",
    f">{COUNT - 1}", f"target>{TARGET_TOKENS}",
)  # fmt: skip


def _short(text: str) -> str:
    """A name or a problem for one line, whatever a record has for its language."""
    return text if len(text) <= WIDEST else f"{text[:WIDEST]} …"


def _row(name: str, counts: Language) -> dict[str, object]:
    records = counts.distinct.total()
    total = sum(number * count for number, count in counts.distinct.items())
    above = sum(count for number, count in counts.distinct.items() if number >= COUNT)
    cells = (
        name,
        f"{records:,}",
        f"{counts.rejected.total():,}",
        _percent(counts.in_entities, counts.characters),
        f"{total / records:.1f}" if records else "-",
        quantile(counts.distinct, 0.5),
        quantile(counts.distinct, 0.95),
        _percent(above, records),
        _percent(counts.cut, records),
    )
    return dict(zip(COLUMNS, cells, strict=True))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def quantile(counts: Counter[int], share: float) -> int | str:
    """The smallest number that at least that share of the records does not exceed.

    >>> quantile(Counter({1: 50, 2: 45, 9: 5}), 0.95)
    2
    """
    left = share * counts.total()
    for number in sorted(counts):
        left -= counts[number]
        if left <= 1e-9:
            return number
    return "-"
