"""Check the installation and suggest improvements."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from structkit import reproducibility
from structkit.command import Command
from structkit.errors import UserError, spelled
from structkit.extras import EXTRAS, install
from structkit.learning.encoding.settings import usual_model
from structkit.paths import cache_folder, data_folder
from structkit.processes import cores
from structkit.records.jsonl import Record
from structkit.records.output import table, write_drawn
from structkit.records.stream import OutputOptions
from structkit.settings import setting
from structkit.version import __version__

# packages that compute, in the order of a bug report
COMPUTING = ("torch", "transformers", "tokenizers", "numpy", "faiss-cpu", "lxml", "nltk", "typer")


def version(package: str) -> str:
    """Return the version of an installed package, or "" if it is not installed.

    >>> version("no-such-package")
    ''
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Settings:
    """Check packages, extras, folders, processor and GPU, and suggest remedies.

    A terminal gets a table, a pipe JSONL. The state is ok, missing, slow, or differs (equal runs
    may give other bits).
    """


def doctor(settings: Settings) -> Iterator[Record]:
    """Yield one record per check: `part`, `state`, `found`, `remedy`.

    `state` is ok, missing (something would work with the remedy), slow (it would be faster), or
    differs (equal runs may give other bits).
    """
    yield _finding("structkit", __version__)
    yield _finding("python", platform.python_version())
    for name in COMPUTING:
        yield _finding(name, version(name), install(name))
    yield from _extras()
    yield _finding("model of ask", usual_model())
    yield _finding("cache folder", str(cache_folder()))
    yield _finding("data folder", str(data_folder()))
    yield _finding("processor", _processor())
    yield arithmetic(reproducibility.processor_maker(), reproducibility.difference())
    yield _gpu()


def report(findings: Iterable[Record], width: int | None) -> str:
    """Return the findings as a table, with remedies."""
    rows = (
        {**each, "found": "; ".join(filter(None, (each["found"], each["remedy"])))}
        for each in findings
    )
    return table(rows, ("state", "part", "found"), width)


def _finding(part: str, found: str, remedy: str = "", state: str = "missing") -> Record:
    """Return a finding; one that was found is ok, unless its state is bad."""
    if found and state == "missing":
        return {"part": part, "state": "ok", "found": found, "remedy": ""}
    return {"part": part, "state": state, "found": found, "remedy": remedy}


def _extras() -> Iterator[Record]:
    """Yield the extras, with the versions of their packages if all are installed."""
    for extra, (packages, use) in EXTRAS.items():
        found = {name: version(name) for name in (each.partition("[")[0] for each in packages)}
        there = ", ".join(f"{name} {each}" for name, each in found.items() if each)
        remedy = f"{install(*packages)}: {spelled(use)}"
        yield _finding(f"extra {extra}", there if all(found.values()) else "", remedy)


def _processor() -> str:
    """Return the processor's cores and the instructions that matter for speed."""
    path = Path(reproducibility.CPUINFO)
    known = set(re.findall(r"\w+", path.read_text("utf-8"))) if path.exists() else set()
    flags = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in known]
    return f"{cores()} cores, {platform.machine()}, {' '.join(flags) or 'no vector flags known'}"


def arithmetic(maker: str, difference: str) -> Record:
    """Return how float32 matrices are multiplied, and whether equal runs give equal bits."""
    mode = reproducibility.MODE
    way = f"{maker or 'no x86'}: {mode} {os.environ.get(mode) or 'unset'}"
    if difference:
        why, _, remedy = difference.partition("; ")
        return _finding("arithmetic", f"{way}, equal runs may differ: {why}", remedy, "differs")
    large = ", large products by oneDNN where it has bf16" if reproducibility.is_slow() else ""
    return _finding("arithmetic", f"{way}, equal runs give equal bits{large}")


def _gpu() -> Record:
    """Return the GPUs, and whether the installed torch can use them."""
    tool, found = shutil.which("nvidia-smi"), ""
    if tool:
        options = ("query-gpu=name,memory.total", "format=csv,noheader")
        query = [tool, *(f"--{each}" for each in options)]
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
        found = "" if done.returncode else "; ".join(done.stdout.splitlines())
    if found and "+cpu" in version("torch"):
        remedy = "torch is built without CUDA: install it as pytorch.org/get-started says"
        return _finding("GPU", found, remedy, state="slow")
    return _finding("GPU", found or "none: training and encoding run on the processor")


@dataclass(frozen=True, kw_only=True)
class ReportOptions(OutputOptions):
    """Settings of the report: its file, and whether missing things are an error."""

    strict: bool = setting(False, "Exit with status 1 if anything is missing, including extras.")


def _main(settings: Settings, options: ReportOptions) -> None:
    found = list(doctor(settings))
    write_drawn(found, options.output, report)
    missing = [each["part"] for each in found if each["state"] == "missing"]
    if options.strict and missing:
        raise UserError(f"missing: {', '.join(missing)}", "install them as their remedies say")


COMMAND = Command(
    doctor,
    Settings,
    _main,
    also=(ReportOptions,),
    writes="`part`, `state`, `found`, `remedy`",
    examples="structkit doctor",
)
