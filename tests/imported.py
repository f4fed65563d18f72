"""Which heavy packages a command imports: they cost its start."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from conftest import completed, environment

HEAVY = {
    *("torch", "transformers", "faiss", "nltk", "lxml", "numpy", "scipy"),
    *("pydantic", "concurrent.futures.process", "markdown_it"),
}
EACH = """
import json, os, sys
from pathlib import Path
sys.argv[0] = 'structkit'
from structkit.cli import main
from tests.cli.alone import alone
alone()
folder, lines = sys.argv[1:]
for number, words in enumerate(json.loads(lines)):
    if not os.fork():
        with open(f'{folder}/{number}', 'w') as output:
            os.dup2(output.fileno(), 1)
        sys.argv[1:] = words
        try: main()
        except SystemExit as exit: assert not exit.code, exit.code
        sys.stdout.flush()
        Path(folder, f'{number}.modules').write_text(' '.join(sys.modules))
        os._exit(0)
    assert os.wait()[1] == 0, words
"""


def imported_by_each(
    folder: Path, *lines: Sequence[str], input: bytes = b"", **changes: str
) -> list[tuple[set[str], bytes]]:
    """The heavy packages that each command imports, which says nothing on stderr; its output.

    They begin as copies of a program that was just started.
    """
    command = [sys.executable, "-c", EACH, str(folder), json.dumps(lines)]
    done = completed(command, input=input, env=environment(**changes), timeout=120)
    assert (0, b"") == (done.returncode, done.stderr), done.stderr
    outputs = [folder / str(number) for number in range(len(lines))]
    modules = [each.with_suffix(".modules").read_text().split() for each in outputs]
    return [(HEAVY & {*of}, each.read_bytes()) for of, each in zip(modules, outputs, strict=True)]


def imported(*arguments: str, input: bytes = b"", **changes: str) -> tuple[set[str], bytes]:
    """The same of one command."""
    with TemporaryDirectory() as folder:
        [found] = imported_by_each(Path(folder), arguments, input=input, **changes)
    return found
