"""`make soak`: every reader under atheris, a fuzzer that follows which branches an input reaches.

    python -m tests.soak.fuzz [READER …] [--seconds 20] [--jobs 2] [--keep FOLDER]

A reader may refuse an input with an error that has a remedy, nothing else: no other exception, no
wait above 10 s, no memory above 2 GB. What breaks this is kept in FOLDER, to become a fixture of
tests/hostile.
"""

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=20000", "-print_final_stats=1")
EXECUTED = re.compile(r"stat::number_of_executed_units: (\d+)")


def fuzz(reader: str, seconds: float, keep: Path) -> None:
    """This process's whole work: give a reader one input after the other, until time is up."""
    import atheris

    with TemporaryDirectory() as name, TemporaryDirectory() as scratch:
        place, corpus = Path(scratch), Path(name)
        with atheris.instrument_imports(include=["structkit", "structkit_plugins"]):
            from tests.soak.readers import READERS

            good, read = READERS[reader]
            for number, each in enumerate(good):
                (corpus / f"good-{number}").write_bytes(each)
                read(place, each)  # what is imported now is watched too
        flags = [f"-max_total_time={seconds:.0f}", f"-artifact_prefix={keep / reader}-", *LIMITS]
        atheris.Setup([sys.argv[0], *flags, name], lambda data: read(place, data))
        atheris.Fuzz()


def tried(reader: str, seconds: float, keep: Path) -> tuple[str, int, str]:
    """A reader, how many inputs it has read (0: one was found), and what the fuzzer tells."""
    command = [sys.executable, "-m", "tests.soak.fuzz", reader, "--seconds", str(seconds)]
    done = subprocess.run(
        [*command, "--keep", str(keep), "--child"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        timeout=seconds + 120,
    )
    count = EXECUTED.search(done.stdout)
    return reader, int(count[1]) if count and not done.returncode else 0, done.stdout


def main() -> None:
    """Fuzz the named readers, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", metavar="READER")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("runs/fuzz"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    keep = options.keep.resolve()
    if options.child:
        fuzz(options.readers[0], options.seconds, keep)
        return
    from tests.soak.readers import READERS

    names = options.readers or list(READERS)
    keep.mkdir(parents=True, exist_ok=True)
    failed = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for reader, count, told in pool.map(
            lambda reader: tried(reader, options.seconds, keep), names
        ):
            print(f"{reader:12} {count:9,} inputs" if count else f"{reader:12} FOUND", flush=True)
            if not count:
                failed.append(reader)
                print(told[-4_000:], flush=True)
    if failed:
        sys.exit(f"found something: {' '.join(failed)}; inputs are in {options.keep}")


if __name__ == "__main__":
    main()
