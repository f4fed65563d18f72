"""A process that has imported what commands import, and forks for each run of `program.py`.

Importing torch and transformers takes seconds, and the suite runs hundreds of commands. Where a
test is about the start, a signal, a terminal or imports, it runs `python -m structkit` itself.

`python tests/warm/server.py NUMBER` listens at the socket of this number until its standard input
ends. It imports at the first run.
"""

from __future__ import annotations

import ast
import atexit
import gc
import importlib
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
import weakref
from contextlib import suppress

# what transformers imports when a command first uses it
USED = (
    *("chardet", "faiss", "lxml.html", "markdown_it", "nltk", "numpy.ma"),
    *("rich.progress", "scipy.stats", "torch", "tree_sitter", "transformers"),
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.t5.modeling_t5",
)
# variables that are read when they are used; a run with any other variable than the server's needs
# a start of its own
LATE = {
    *("COLORTERM", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR"),
    *("TERM", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"),
    # set by what tests import
    *("KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "OMP_WAIT_POLICY", "ORT_DISABLE_TELEMETRY"),
    *("TORCHINDUCTOR_CACHE_DIR", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"),
    *("PWD", "OLDPWD", "SHLVL", "_", "PYTHON", "OUTER", "STRUCTKIT_WARM"),
    *("PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"),
    "PYTEST_XDIST_TESTRUNUID",
}
Asked = tuple[
    str, list[str], dict[str, str], str, int
]  # Python, arguments, variables, folder, umask


def serve(listener: socket.socket) -> None:
    """Answer every run with its status; in the process of a run, return for it."""
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    mine = dict(os.environ)
    runs: dict[socket.socket, int] = {}  # who waits for it, and its process
    imported = False
    while True:
        ready = select.select([listener, 0, told, *runs], [], [])[0]
        if 0 in ready:
            os._exit(0)
        if told in ready:
            os.read(told, 1 << 10)
            answer(runs)
        for client in runs.keys() & set(ready):
            os.kill(runs[client], signal.SIGKILL)  # who waited was killed
        if listener in ready:
            if not imported:
                import_all()
                imported = True
            client = listener.accept()[0]
            try:
                (python, *asked), files = request(client)
            except OSError:  # killed meanwhile
                client.close()
                continue
            if python != sys.executable or needs_a_start(mine, asked[1]):
                with suppress(OSError):
                    client.sendall(b"no")
                client.close()
            elif run := os.fork():
                runs[client] = run
            else:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (listener, client, *runs):
                    each.close()
                os.close(told)
                os.close(tell)
                become(files, *asked)
                return
            for each in files:
                os.close(each)


def answer(runs: dict[socket.socket, int]) -> None:
    """Send the exit status to clients whose runs have ended."""
    for client, run in list(runs.items()):
        ended, status = os.waitpid(run, os.WNOHANG)
        if ended:
            with suppress(OSError):
                client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            client.close()
            del runs[client]


def request(client: socket.socket) -> tuple[Asked, list[int]]:
    """What a client asks for, and its files."""
    header, files, _, _ = socket.recv_fds(client, 8, 3)
    data = b""
    while len(data) < int.from_bytes(header, "big"):
        if not (more := client.recv(1 << 16)):
            break
        data += more
    if not data:
        raise ConnectionError
    return ast.literal_eval(data.decode("utf-8", "surrogatepass")), files


def needs_a_start(mine: dict[str, str], variables: dict[str, str]) -> bool:
    names = {*mine, *variables} - LATE
    return any(mine.get(name) != variables.get(name) for name in names)


def import_all() -> None:
    import structkit

    gc.disable()  # what is imported stays
    for each in pkgutil.walk_packages(structkit.__path__, "structkit."):
        if not each.name.endswith("__main__"):
            importlib.import_module(each.name)
    for name in USED:
        importlib.import_module(name)
    # what torch takes apart at an end; each run would copy 30 MB for it, in a tenth of a second
    for each in list(weakref.finalize._registry):
        each.atexit = False
    gc.freeze()  # these objects stay in memory that the runs share
    gc.enable()


def become(
    files: list[int], arguments: list[str], variables: dict[str, str], folder: str, umask: int
) -> None:
    """Make this process what a start of the program would have been."""
    for number, each in enumerate(files):
        os.dup2(each, number)
        os.close(each)
    os.umask(umask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        old = getattr(sys, f"__{name}__")
        new = open(number, mode, encoding=old.encoding, errors=old.errors, closefd=False)
        if name == "stderr":
            new.reconfigure(line_buffering=True)
        setattr(sys, f"__{name}__", new)
        setattr(sys, name, new)
    sys.argv[1:] = arguments


def run() -> int:
    """The status of `python -m structkit`."""
    try:
        runpy.run_module("structkit", run_name="__main__", alter_sys=True)
    except SystemExit as exit:
        if exit.code is None or isinstance(exit.code, int):
            return exit.code or 0
        print(exit.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def leave(status: int) -> None:
    """End as Python ends, but for taking apart what was imported."""
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        status = status or 120
    os._exit(status)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        serve(listener)
    leave(run())
