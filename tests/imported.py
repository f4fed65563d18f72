"""Which heavy packages a command imports: they cost its start."""

from __future__ import annotations

import sys

from conftest import completed, environment

HEAVY = {
    *("torch", "transformers", "faiss", "nltk", "lxml", "numpy", "scipy"),
    *("pydantic", "concurrent.futures.process", "markdown_it"),
}
SCRIPT = """
import sys
sys.argv[0] = 'structkit'
from structkit.cli import main
from tests.cli.alone import alone
alone()
try: main()
except SystemExit as exit: assert not exit.code, exit.code
print(*sys.modules, file=sys.stderr)
"""


def imported(*arguments: str, input: bytes = b"", **changes: str) -> tuple[set[str], bytes]:
    """The heavy packages that a command imports, which says nothing on stderr; and its output."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = completed(command, input=input, env=environment(**changes), timeout=120)
    assert 0 == done.returncode, done.stderr
    [modules] = done.stderr.decode().splitlines()
    return HEAVY & set(modules.split()), done.stdout
