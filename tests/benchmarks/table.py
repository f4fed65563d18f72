"""tests/benchmarks/PROCESSOR.json: what was measured on a processor, and the table of all of them.

python -m tests.benchmarks.table           the table, the processors side by side
python -m tests.benchmarks.table --readme  writes it between the marks BEGIN and END of PAGE
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import orjson

from tests.benchmarks.processes import measured

FOLDER, PAGE = Path("tests/benchmarks"), Path("tests/benchmarks/README.md")
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
PACKAGES = (
    *("torch", "transformers", "sentence-transformers", "onnxruntime", "openvino", "faiss-cpu"),
    *("numpy", "orjson", "lxml", "tree-sitter", "beautifulsoup4", "pytrec_eval-terrier"),
)
# what makes numbers of one processor unlike another's
FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
# the name of a processor's file has the first of these
TELLING = ("amx_bf16", "avx512f", "avx2")


@dataclass(frozen=True)
class Given:
    """What a benchmark is given: the folder of the real data, and how many rounds."""

    data: Path | None = None
    rounds: int = 3


@dataclass(frozen=True)
class Row:
    """Measurements of one thing beside a peer: ratios, or numbers of a `unit`.

    `more` is whether more is better; `target` is what the median shall reach; `digits` are those
    after the point. `limits` are the shares of the physical limit: the time of what cannot be left
    out (the bare products, parse or read of the same input) over the time of all, in the same run;
    `least` is what their median shall reach.
    """

    name: str
    values: list[float]
    target: float | None
    unit: str = "x"
    more: bool = False
    digits: int = 2
    limits: list[float] = field(default_factory=list)
    least: float | None = None

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
        spread = f"{low:.{self.digits}f} … {high:.{self.digits}f}"
        return f" ({spread})" if low < high else ""

    @property
    def aim(self) -> str:
        """The targets."""
        sign = "≥" if self.more else "≤"
        own = [] if self.target is None else [f"{sign} {self.target:g}{self.unit}"]
        return "; ".join([*own, *([f"≥ {self.least:g} of the limit"] if self.least else [])])

    @property
    def cell(self) -> str:
        """The median with its unit and spread, and whether it misses the target."""
        target = self.median if self.target is None else self.target
        missed = self.median < target if self.more else self.median > target
        return f"{self.measured}{self.spread}{', missed' if missed else ''}"

    @property
    def share(self) -> str:
        """The median share of the limit, and whether it misses its target."""
        if not self.limits:
            return ""
        share = statistics.median(self.limits)
        return f"{share:.2f}{', missed' if share < (self.least or 0) else ''}"

    def fallen(self, before: Row) -> bool:
        """Whether it is worse than before by more than a third."""
        if self.more:
            return self.median < before.median * 2 / 3
        return self.median > before.median * 3 / 2


ROWS: list[Row] = []


def tell(
    name: str,
    values: Sequence[float],
    target: float | None = None,
    *,
    digits: int = 2,
    limits: Sequence[float] = (),
    note: str = "",
    **others: Any,
) -> None:
    """Print a row as it comes and keep it; `note` is for the line alone."""
    rounded = [round(value, digits + 2) for value in values]
    shares = [round(share, 4) for share in limits]
    row = Row(name, rounded, target, digits=digits, limits=shares, **others)
    ROWS.append(row)
    of_limit = f"{row.share} of the limit" if shares else ""
    print(f"{name:<62} {row.cell}  {of_limit}  {row.aim}  {note}".rstrip(), flush=True)


# a call, or the words of a command; and the file that the command reads
Way = Callable[[], Any] | list[str] | tuple[list[str], Path]


class Race:
    """Ways to do one thing, each run once a round; a row is the time of one over another's.

    Times are CPU seconds: of this process for calls, of all its processes for a command. `found`
    has what the calls gave last.
    """

    def __init__(self, given: Given, ways: Mapping[str, Way], *, clock: bool = False) -> None:
        self.times: dict[str, list[float]] = {name: [] for name in ways}
        self.found: dict[str, Any] = {}
        for _ in range(given.rounds):
            for name, way in ways.items():
                self.times[name].append(self.timed(name, way, clock))

    def timed(self, name: str, way: Way, clock: bool) -> float:
        """The seconds of a way."""
        if isinstance(way, list | tuple):
            command, source = way if isinstance(way, tuple) else (way, None)
            cost = measured(command, source)
            return cost.seconds if clock else cost.cpu
        now = time.perf_counter if clock else time.process_time
        start = now()
        self.found[name] = way()
        return now() - start

    def median(self, name: str) -> float:
        """The seconds of a way in the middle round."""
        return statistics.median(self.times[name])

    def ratios(self, one: str, other: str) -> list[float]:
        """The times of one way over those of another, round by round."""
        return [a / b for a, b in zip(self.times[one], self.times[other], strict=True)]

    def row(
        self,
        title: str,
        one: str,
        other: str,
        target: float | None = None,
        floor: str = "",
        **more: Any,
    ) -> None:
        """Tell the times of one way over another's: of ours over a peer's, or with `more` turned.

        `floor` is a way that does what cannot be left out.
        """  # fmt: skip
        limits = self.ratios(floor, other if more.get("more") else one) if floor else []
        tell(title, self.ratios(one, other), target, limits=limits, **more)


def machine() -> dict[str, Any]:
    """The processor, and the versions that were measured."""
    known: dict[str, str] = {}
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        pairs = (line.partition(":") for line in lines)
        known = {name.strip(): value.strip() for name, _, value in reversed(list(pairs))}
    has = set(known.get("flags", "").split())
    versions = {each.name: each.version for each in distributions()}
    return {
        "processor": known.get("model name", platform.processor() or platform.machine()),
        "flags": [flag for flag in FLAGS if flag in has],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: versions[name] for name in PACKAGES if name in versions},
    }


def file_of(here: dict[str, Any]) -> Path:
    """The file of a machine's processor.

    >>> file_of({"processor": "Intel(R) Xeon(R) Processor", "flags": ["avx2", "amx_bf16"]}).name
    'intel-xeon-amx.json'
    """
    words = re.sub(r"\(\w+\)|\b(processor|cpu)\b|@.*", " ", here["processor"].lower())
    best = next((flag for flag in TELLING if flag in here["flags"]), "").partition("_")[0]
    parts = [*re.findall(r"[a-z0-9]+", words), *([best.removesuffix("f")] if best else [])]
    return FOLDER / f"{'-'.join(parts)}.json"


def read(file: Path) -> tuple[dict[str, Any], dict[str, list[Row]]]:
    """The machine of a file and the rows of its benchmarks."""
    content = orjson.loads(file.read_bytes())
    rows = {
        name: [
            Row(**{each.name: row[each.name] for each in fields(Row) if each.name in row})
            for row in several
        ]
        for name, several in content["benchmarks"].items()
    }
    return content["machine"], rows


def write(file: Path, benchmarks: dict[str, list[Row]]) -> None:
    """Keep rows with their medians; those of other benchmarks stay."""
    here = machine()
    kept = read(file)[1] if file.exists() else {}
    file.parent.mkdir(exist_ok=True)
    rows = {
        name: [{**asdict(row), "median": round(row.median, row.digits + 2)} for row in several]
        for name, several in sorted({**kept, **benchmarks}.items())
    }
    text = orjson.dumps({"machine": here, "benchmarks": rows}, option=orjson.OPT_INDENT_2)
    file.write_bytes(text + b"\n")


def fallen(new: Iterable[Row], old: Iterable[Row]) -> list[str]:
    """The rows that are worse than before by more than a third."""
    before = {row.name: row for row in old}
    return [
        f"{row.name}: {before[row.name].measured} before, now {row.measured}"
        for row in new
        if row.name in before and row.fallen(before[row.name])
    ]


def markdown(measured: Mapping[str, tuple[dict[str, Any], Iterable[Row]]]) -> str:
    """The table, and the machines it was measured on, by the names of the processors."""
    rows = {name: {row.name: row for row in of} for name, (_, of) in measured.items()}
    first = {each: row for of in reversed(rows.values()) for each, row in of.items()}
    names = dict.fromkeys(each for of in rows.values() for each in of)
    heading = [cell for name in rows for cell in (f"`{name}`", "of the limit")]
    lines = [["measured, beside what", *heading, "target"], ["---", *["---:"] * (len(heading) + 1)]]
    for each in names:
        here = (of.get(each) for of in rows.values())
        cells = [cell for row in here for cell in ((row.cell, row.share) if row else ("", ""))]
        lines.append([each, *cells, first[each].aim])
    table = [f"| {' | '.join(line)} |" for line in lines]
    table[1] = table[1].replace(" ", "")
    return "\n".join([*table, *(f"\n{about(name, here)}" for name, (here, _) in measured.items())])


def about(name: str, here: dict[str, Any]) -> str:
    """A machine, and what was installed."""
    flags = f" ({', '.join(here['flags'])})" if here["flags"] else ""
    versions = ", ".join(f"{package} {number}" for package, number in here["versions"].items())
    processor = f"{here['processor']}{flags}, {here['cores']} cores, one thread"
    return f"`{name}`: {processor}; {versions}."


def replaced(text: str, table: str) -> str:
    """A text with the table between the marks.

    >>> replaced("a\\n<!-- bench -->\\nold\\n<!-- /bench -->\\nb", "new")
    'a\\n<!-- bench -->\\nnew\\n<!-- /bench -->\\nb'
    """
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def written() -> str:
    """The table of all files."""
    measured = {}
    for file in sorted(FOLDER.glob("*.json")):
        here, benchmarks = read(file)
        measured[file.stem] = here, [row for rows in benchmarks.values() for row in rows]
    return markdown(measured)


def main() -> None:
    if sys.argv[1:] == ["--readme"]:
        PAGE.write_text(replaced(PAGE.read_text("utf-8"), written()), "utf-8")
    else:
        print(written())


if __name__ == "__main__":
    main()
