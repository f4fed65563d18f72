"""What the benchmarks measure: a line on stdout as it comes, and a row of the table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Measurements of one thing beside a peer: ratios, or numbers of a `unit`.

    `more` is whether more is better; `target` is what the median shall reach; `digits` are those
    after the point.
    """

    name: str
    values: list[float]
    target: float | None
    unit: str = "x"
    more: bool = False
    digits: int = 2

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def measured(self) -> str:
        """The median with its unit."""
        return f"{self.median:.{self.digits}f}{self.unit}"

    @property
    def spread(self) -> str:
        """From the lowest to the highest, where there are several."""
        low, high = min(self.values), max(self.values)
        return f"{low:.{self.digits}f} … {high:.{self.digits}f}" if low < high else ""

    @property
    def reached(self) -> bool:
        if self.target is None:
            return True
        return self.median >= self.target if self.more else self.median <= self.target

    def fallen(self, before: Row) -> bool:
        """Whether it is worse than before by more than a third."""
        if self.more:
            return self.median < before.median * 2 / 3
        return self.median > before.median * 3 / 2

    def __str__(self) -> str:
        spread = f"({self.spread})" if self.spread else ""
        if self.target is None:
            return f"{self.name:<62} {self.measured:>7}  {spread}"
        verdict = "ok" if self.reached else "MISSED"
        target = f"target {self.target:g}{self.unit}"
        return f"{self.name:<62} {self.measured:>7}  {spread}  {target}  {verdict}"


ROWS: list[Row] = []


def tell(
    name: str,
    values: Sequence[float],
    target: float | None = None,
    *,
    unit: str = "x",
    more: bool = False,
    digits: int = 2,
    note: str = "",
) -> None:
    """Print a row and keep it; `note` is for the line alone."""
    row = Row(name, [round(value, digits + 2) for value in values], target, unit, more, digits)
    ROWS.append(row)
    print(f"{row}  {note}".rstrip(), flush=True)
