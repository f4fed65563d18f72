"""What the benchmarks measure: a line on stdout as it comes, and a row of the table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Measurements of one thing beside a peer: ratios, or numbers of a `unit`.

    `more` is whether more is better; `target` is what the median shall reach.
    """

    name: str
    values: list[float]
    target: float | None
    unit: str = "x"
    more: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> str:
        """From the lowest to the highest, where there are several."""
        low, high = min(self.values), max(self.values)
        return f"{low:.2f} … {high:.2f}" if low < high else ""

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
            return f"{self.name:<62} {self.median:6.2f}{self.unit}  {spread}"
        verdict = "ok" if self.reached else "MISSED"
        target = f"target {self.target:g}{self.unit}"
        return f"{self.name:<62} {self.median:6.2f}{self.unit}  {spread}  {target}  {verdict}"


ROWS: list[Row] = []


def tell(
    name: str,
    values: Sequence[float],
    target: float | None = None,
    *,
    unit: str = "x",
    more: bool = False,
    note: str = "",
) -> None:
    """Print a row and keep it; `note` is for the line alone."""
    row = Row(name, [round(value, 4) for value in values], target, unit, more)
    ROWS.append(row)
    print(f"{row}  {note}".rstrip(), flush=True)
