"""benchmarks.json: what was measured, on which machine, and the table of it.

python -m tests.benchmarks.table           the table
python -m tests.benchmarks.table --readme  writes it between the marks BEGIN and END of each
                                           Markdown file that has them
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from structkit.commands.doctor import version

FILE = Path("benchmarks.json")
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
PACKAGES = (
    *("torch", "transformers", "sentence-transformers", "onnxruntime", "openvino", "faiss-cpu"),
    *("numpy", "orjson", "lxml", "tree-sitter", "beautifulsoup4", "pytrec_eval-terrier"),
)
# what makes numbers of one processor unlike another's
FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")


@dataclass(frozen=True)
class Given:
    """What a benchmark is given: the folder of the real data, and how many rounds."""

    data: Path | None = None
    rounds: int = 3


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
    def aim(self) -> str:
        """The target, and whether it is missed."""
        if self.target is None:
            return ""
        reached = self.median >= self.target if self.more else self.median <= self.target
        sign, missed = "≥" if self.more else "≤", "" if reached else ", missed"
        return f"{sign} {self.target:g}{self.unit}{missed}"

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
    unit: str = "x",
    more: bool = False,
    digits: int = 2,
    note: str = "",
) -> None:
    """Print a row as it comes and keep it; `note` is for the line alone."""
    row = Row(name, [round(value, digits + 2) for value in values], target, unit, more, digits)
    ROWS.append(row)
    print(f"{name:<62} {row.measured:>7}  {row.spread}  {row.aim}  {note}".rstrip(), flush=True)


def machine() -> dict[str, Any]:
    """The processor, and the versions that were measured."""
    known: dict[str, str] = {}
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        pairs = (line.partition(":") for line in lines)
        known = {name.strip(): value.strip() for name, _, value in reversed(list(pairs))}
    has = set(known.get("flags", "").split())
    return {
        "processor": known.get("model name", platform.processor() or platform.machine()),
        "flags": [flag for flag in FLAGS if flag in has],
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := version(name))},
    }


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
    """Keep rows with their medians; those of other benchmarks stay if the machine is the same."""
    here = machine()
    kept = dict[str, list[Row]]()
    if file.exists():
        there, before = read(file)
        kept = before if there["processor"] == here["processor"] else {}
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


def markdown(here: dict[str, Any], rows: Iterable[Row]) -> str:
    """The table, and the machine it was measured on."""
    lines = ["| measured, beside what | median | lowest … highest | target |"]
    lines += ["|---|---:|---:|---:|"]
    for row in rows:
        lines.append(f"| {row.name} | {row.measured} | {row.spread} | {row.aim} |")
    flags = f" ({', '.join(here['flags'])})" if here["flags"] else ""
    versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items())
    return "\n".join(
        [*lines, "", f"{here['processor']}{flags}, {here['cores']} cores, one thread; {versions}."]
    )


def replaced(text: str, table: str) -> str:
    """A text with the table between the marks.

    >>> replaced("a\\n<!-- bench -->\\nold\\n<!-- /bench -->\\nb", "new")
    'a\\n<!-- bench -->\\nnew\\n<!-- /bench -->\\nb'
    """
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def marked(folder: Path) -> list[Path]:
    """The Markdown files with the marks."""
    files = [*folder.glob("*.md"), *(folder / "docs").rglob("*.md")]
    texts = {file: file.read_text("utf-8") for file in sorted(files)}
    return [file for file, text in texts.items() if BEGIN in text and END in text]


def main() -> None:
    here, benchmarks = read(FILE)
    table = markdown(here, (row for rows in benchmarks.values() for row in rows))
    if sys.argv[1:] != ["--readme"]:
        print(table)
        return
    files = marked(Path())
    if not files:
        raise SystemExit(f"no Markdown file has {BEGIN} and {END}: put them where the table goes")
    for file in files:
        file.write_text(replaced(file.read_text("utf-8"), table), "utf-8")
        print(file)


if __name__ == "__main__":
    main()
