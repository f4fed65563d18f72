"""Start and end the warm process that `program.py` asks."""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

# a Python that starts quickly, for program.py imports almost nothing
PROGRAM = (sys.executable, "-S", "-E", str(Path(__file__).with_name("program.py")))


@contextmanager
def warm_process(variables: Mapping[str, str]) -> Iterator[str]:
    """The address of a warm process with these variables; it imports at its first run."""
    # a socket's name is short
    with tempfile.TemporaryDirectory(prefix="warm", dir="/tmp") as folder:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address := f"{folder}/socket")
            listener.listen(64)
            number = listener.fileno()
            server = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("server.py"), str(number)],
                stdin=subprocess.PIPE,
                env=variables,
                pass_fds=[number],
            )
        try:
            yield address
        finally:
            server.communicate()
