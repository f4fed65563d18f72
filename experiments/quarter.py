"""The queue of `make gpu-quarter`: what waits for a GPU, in the minutes that one is at hand.

    python -m experiments.quarter pack FILE … --data ../shared/data [--wheels 3.12]
    python -m experiments.quarter run [--minutes 13] [--then 0] [--out FOLDER] [--tiny]

`pack` writes FOLDER.tar.xz, which is all that `run` needs on another machine with the checkout: the
files that the entries read, and wheels of the packages that a Python with torch and transformers
lacks. `run` takes the entries in order. It leaves out those whose report is there, and those that
do not fit into what is left. At its limit an entry is stopped as by Ctrl-C: trainings keep a
checkpoint, and the next run on the same machine goes on from there. This file imports the standard
library alone, because nothing else may be installed yet.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

EXPERIMENTS = "EXPERIMENTS=experiments/*.mk"  # as experiments/Makefile has it
GRACE = 40.0  # seconds in which a training keeps its checkpoint
TINY_MINUTES = 60  # of any entry
LATEST = 200  # lines of an entry's output that are brought back
OF_DATA = (
    *(f"codesearch/{name}.jsonl.gz" for name in ("train", "dev", "dev_adv_python")),
    *(f"cosqa/{name}.jsonl.gz" for name in ("corpus", "retrieval_dev")),
)
# what a Python with torch, transformers and their usual company lacks
LACKED = (
    *("floret", "ir-measures", "nltk", "orjson", "pytest-randomly", "pytrec-eval-terrier"),
    *("setuptools", "tree-sitter", "tree-sitter-python", "webencodings"),
)
WHEEL = "--no-deps --only-binary=:all: --implementation=cp".split()
PLATFORMS = [
    f"--platform=manylinux{each}_x86_64" for each in ("2014", "_2_17", "_2_27", "_2_28", "_2_34")
]


@dataclass(frozen=True)
class Entry:
    """One question: what answers it, and how long that may take.

    A report's seeds say what it has; without a report, an entry is done in every quarter.
    """

    name: str
    minutes: float
    command: Sequence[str]  # words of `make`
    report: str = ""  # its name in experiments/reports
    made: str = ""  # what the command writes, in the folder of the queue
    seeds: tuple[str, ...] = ()
    question: str = ""

    def done(self, reports: Path) -> bool:
        """Return whether its report is there, with all of its seeds."""
        path = reports / f"{self.report}.json"
        return path.is_file() and {*self.seeds} <= {*json.loads(path.read_bytes())["seeds"]}


def decoder(seed: str) -> Entry:
    """Return the entry of a T5 that learns spans, then aligns code with and without prediction."""
    return Entry(
        f"decoder-{seed}",
        10,
        ("-j8", "quarter-decoder", f"SEED={seed}"),
        "code-decoder",
        f"code-{seed}/report.json",
        (seed,),
        "Does entity prediction add to alignment where the decoder can predict?",
    )


def trees(method: str, seeds: str, minutes: float, question: str) -> Entry:
    """Return the entry of models of StrAE's family after the paper's passes, side by side."""
    words = ("-j4", "quarter-strae", f"METHOD={method}", f"SEEDS={seeds}")
    made = "strae/scaled/report.json"
    return Entry(method, minutes, words, f"{method}-seeds", made, (*seeds.split(),), question)


CHECKS = (
    Entry("gpu-check", 1, ("gpu-check",)),
    Entry("bench-gpu", 1, ("bench-gpu",)),
)
# in the order of what they settle; late interaction over tokens has its place after the decoders,
# one seed an entry, when that method is there. The checks stay below 2 minutes together, or no
# decoder fits beside them. Trees need a longer loan than a quarter of an hour: two seeds side by
# side took 0.048 s a step on an H100 (2026-11-28), of 25,341 steps.
ENTRIES = (
    *CHECKS,
    decoder("0"),
    decoder("1"),
    trees("strae", "1 2", 24, "Is StrAE above the mean of its words with other seeds, too?"),
    trees("self-strae", "1", 24, "Is Self-StrAE above the mean of its words with another seed?"),
)


@dataclass
class Queue:
    """One run of the entries: the time that it has, where it works, and what became of each."""

    folder: Path
    reports: Path
    minutes: float
    then: float = 0.0  # minutes that follow on the same machine
    words: Sequence[str] = ()  # of every `make`
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds until the end of this run."""
        return self.started + 60 * self.minutes - time.monotonic()

    @property
    def state(self) -> list[dict[str, Any]]:
        """What became of entries, in this run and earlier ones."""
        path = self.folder / "state.json"
        return json.loads(path.read_bytes()) if path.is_file() else []

    def note(self, entry: Entry, became: str, seconds: float) -> None:
        """Keep what became of an entry, and print it."""
        line = {"entry": entry.name, "date": f"{date.today()}", "became": became}
        state = [*self.state, line | {"seconds": round(seconds)}]
        (self.folder / "state.json").write_text(json.dumps(state, indent=1))
        print(f"{entry.name}: {became} ({seconds:.0f} s; {self.left:.0f} s are left)", flush=True)

    def run(self, entries: Sequence[Entry]) -> None:
        """Take every entry that is not done and fits into what is left."""
        for entry in entries:
            if entry.report and entry.done(self.reports):
                print(f"{entry.name}: done before", flush=True)
            elif self.left <= GRACE or 60 * entry.minutes > self.left + 60 * self.then:
                self.note(entry, f"not begun: it takes {entry.minutes:g} minutes", 0)
            else:
                began = time.monotonic()
                became = self.take(entry, min(60 * entry.minutes, self.left - GRACE))
                self.note(entry, became, time.monotonic() - began)

    def take(self, entry: Entry, limit: float) -> str:
        """Run an entry until it ends, or until its limit; return what became of it."""
        log = self.folder / f"{entry.name}.log"
        with log.open("wb") as output:
            command = ["make", "--no-print-directory", *entry.command, *self.words, EXPERIMENTS]
            ended = within(command, limit, output)
        if ended is None:
            return "stopped at its limit"
        if ended:
            print("".join(log.read_text("utf-8", "replace").splitlines(keepends=True)[-20:]))
            return f"failed with status {ended}"
        if entry.report:
            self.keep(entry)
        return "done"

    def keep(self, entry: Entry) -> None:
        """Put the report of an entry where all reports are, with its question."""
        made, kept = self.folder / entry.made, self.reports / f"{entry.report}.json"
        for ending in (".json", ".values.jsonl.gz"):
            if made.with_suffix(ending).is_file():
                shutil.copy(made.with_suffix(ending), kept.with_suffix(ending))
        words = kept.with_suffix(".md")
        if not words.exists():
            words.write_text(f"{entry.question} These numbers await a reading.\n")

    def give(self, out: Path, entries: Sequence[Entry]) -> None:
        """Write one file with all that is to be brought back, to be unpacked in the checkout."""
        out.mkdir(parents=True, exist_ok=True)
        with tarfile.open(out / "results.tar.gz", "w:gz") as archive:
            for path in sorted(self.reports.glob("*")):
                if path.name.partition(".")[0] in {entry.report for entry in entries}:
                    archive.add(path)
            for path in (self.folder / "state.json", self.reports / "tables/gpu-quarter.md"):
                if path.is_file():
                    archive.add(path)
        with (out / "logs.txt").open("wb") as file:
            for log in sorted(self.folder.glob("*.log")):
                lines = log.read_bytes().splitlines(keepends=True)[-LATEST:]
                file.writelines([f"== {log.stem}\n".encode(), *lines])


def within(
    command: Sequence[str], limit: float, output: Any, locks: Sequence[int] = ()
) -> int | None:
    """Run a command; at its limit stop it as by Ctrl-C. Returns its status; None if stopped.

    It holds the `locks`, descriptors of files, even if this process is killed before it.
    """
    # variables of this make are not those of the other
    own = {
        name: each for name, each in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    process = subprocess.Popen(
        command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=own,
        start_new_session=True, pass_fds=locks,
    )  # fmt: skip
    try:
        return process.wait(max(0.0, limit))
    except subprocess.TimeoutExpired:
        return None
    finally:  # also where this process is to end
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            with suppress(ProcessLookupError):  # what has not ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def rates(queue: Queue) -> None:
    """Write the table of what the checks said of this GPU."""
    logs = [queue.folder / f"{entry.name}.log" for entry in CHECKS]
    check, bench = (log.read_text("utf-8").splitlines() if log.is_file() else [] for log in logs)
    device, *rows = [json.loads(line) for line in bench if line.startswith("{")] or [{}]
    said = next((line.strip("= ") for line in reversed(check) if " in " in line), "not run")
    lines = [f"`make gpu-check` and `make bench-gpu`, {date.today()}. Tests: {said}.", ""]
    lines += [f"{name}: {value}" for name, value in device.items()]
    for number, row in enumerate(rows):
        if not number:
            lines += ["", f"| {' | '.join(row)} |", f"|{'---|' * len(row)}"]
        values = ("" if each is None else each for each in row.values())
        cells = (f"{each:.4g}" if isinstance(each, float) else f"{each}" for each in values)
        lines.append(f"| {' | '.join(cells)} |")
    path = queue.reports / "tables/gpu-quarter.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def install(folder: Path) -> list[str]:
    """Install structkit from packed wheels where it is not; return words of `make` for it."""
    if Path(sys.executable).with_name("structkit").exists():
        return [f"BIN={Path(sys.executable).parent}", "INSTALLED=", "RUNNABLE="]
    place = folder / "venv"
    if not (place / ".installed").exists():
        venv.create(place, symlinks=True)
        python = f"python{sysconfig.get_python_version()}"
        packages = place / "lib" / python / "site-packages"
        others = [each for each in sys.path if each.endswith("-packages")] or site.getsitepackages()
        of_parent = (f"import site; site.addsitedir({each!r})\n" for each in others)
        (packages / "parent.pth").write_text("".join(of_parent))
        pip = [sys.executable, "-m", "pip", "-q", "--python", str(place / "bin/python"), "install"]
        offline = ["--no-index", "--no-deps", "--no-compile"]
        wheels = [str(each) for each in sorted((folder / "wheels").glob("*.whl"))]
        subprocess.run([*pip, *offline, *wheels], check=True)
        subprocess.run([*pip, *offline, "--no-build-isolation", "--editable", "."], check=True)
        (place / ".installed").touch()
    return [f"BIN={place / 'bin'}", "INSTALLED=", "RUNNABLE="]


def pack(files: Sequence[Path], folder: Path, data: Path, python: str | None) -> None:
    """Write FOLDER.tar.xz: what the entries read, of the data what they hash, and wheels."""
    for name in OF_DATA:
        target = folder / "data" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (data / name).is_file():
            shutil.copy2(data / name, target)
    if python:
        pinned = Path("constraints.txt").read_text("utf-8").lower().replace("_", "-").splitlines()
        versions = dict(line.split(";")[0].strip().split("==") for line in pinned if "==" in line)
        for name in LACKED:
            wanted = f"{name}=={versions[name]}" if name in versions else name
            words = [*WHEEL, f"--python-version={python}", *PLATFORMS, "-d", str(folder / "wheels")]
            subprocess.run(
                [sys.executable, "-m", "pip", "-q", "download", *words, wanted], check=True
            )
    (folder / ".unpacked").touch()  # the files are here already
    packed = folder.with_suffix(".tar.xz")
    with tarfile.open(packed, "w:xz", preset=9) as archive:
        for path in (*files, *(folder / "data").rglob("*.gz"), *folder.glob("wheels/*.whl")):
            archive.add(path, path.relative_to(folder))
    print(f"{packed}: {packed.stat().st_size / 2**20:.1f} MiB")


def unpack(folder: Path) -> None:
    """Unpack what was packed elsewhere; times are kept, by which `make` sees what is made."""
    packed, seen = folder.with_suffix(".tar.xz"), folder / ".unpacked"
    if not packed.is_file() and not seen.exists():
        sys.exit(f"missing {packed}; run make gpu-quarter-pack where the data is")
    if not seen.exists():
        with tarfile.open(packed) as archive:
            archive.extractall(folder, filter="data")
        seen.touch()


def run(asked: argparse.Namespace) -> None:
    """Run the queue, write the tables, and give back what came out."""
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell's background ignores the second one
        signal.signal(number, signal.default_int_handler)
    asked.folder.mkdir(parents=True, exist_ok=True)
    queue = Queue(asked.folder, asked.reports, asked.minutes, asked.then)
    unpack(asked.folder)
    if asked.tiny:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    queue.words = [*install(asked.folder), f"QUARTER={asked.folder}", f"REPORTS={asked.reports}"]
    queue.words += [f"DATA={asked.folder / 'data'}", *(["TINY=1"] if asked.tiny else [])]
    asked.reports.mkdir(parents=True, exist_ok=True)
    # in small they take seconds, but on a busy CPU
    entries = [
        replace(each, minutes=TINY_MINUTES) if asked.tiny else each
        for each in ENTRIES
        if each.name in asked.only
    ]
    queue.run(entries)
    rates(queue)
    if asked.out:
        queue.give(asked.out, entries)


def steps(seconds: float, batch: int, lines: Sequence[str]) -> int:
    """Return how many steps fit into the seconds, from the log of a trial: its last line counts.

    >>> steps(240, 256, ['reading', '{"records_per_second": 512}', '{"records_per_second": 1024}'])
    960
    """
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    return int(seconds * logged[-1]["records_per_second"] / batch)


def main() -> None:
    """Pack, run, or count steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = parser.add_subparsers(required=True, dest="part")
    packing, running = parts.add_parser("pack"), parts.add_parser("run")
    counting = parts.add_parser("steps")
    for each in (packing, running):
        each.add_argument("--folder", type=Path, default=Path("runs/gpu-quarter"))
    packing.add_argument("--data", type=Path, required=True)
    packing.add_argument("files", nargs="+", type=Path)
    packing.add_argument("--wheels", metavar="PYTHON")
    running.add_argument("--minutes", type=float, default=13)
    running.add_argument("--then", type=float, default=0)
    running.add_argument("--out", type=Path)
    running.add_argument("--reports", type=Path, default=Path("experiments/reports"))
    running.add_argument("--only", nargs="+", default=[each.name for each in ENTRIES])
    running.add_argument("--tiny", action="store_true")
    counting.add_argument("seconds", type=float)
    counting.add_argument("batch", type=int)
    asked = parser.parse_args()
    if asked.part == "pack":
        pack(asked.files, asked.folder, asked.data, asked.wheels)
    elif asked.part == "run":
        run(asked)
    else:
        print(steps(asked.seconds, asked.batch, sys.stdin.readlines()))


if __name__ == "__main__":
    main()
