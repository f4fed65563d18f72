"""`structkit` in a process that has imported already what commands import: see `server.py`.

`python -S -E tests/warm/program.py ARGUMENT…` gives it this process's files, folder and
environment. Without a server, or with variables that are read when Python starts, it is
`python -m structkit`.
"""

import os
import sys
from _signal import SIG_DFL, SIGKILL, signal
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket  # sooner than `socket`


def main() -> None:
    try:
        status = warm(os.environ["STRUCTKIT_WARM"])
    except (KeyError, ConnectionError, FileNotFoundError):
        status = None
    if status is None:
        os.execv(sys.executable, [sys.executable, "-m", "structkit", *sys.argv[1:]])
    if status < 0:  # ended by a signal, as this process then is
        if -status != SIGKILL:
            signal(-status, SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def warm(place: str) -> int | None:
    """The status of the run; None if the server does not do it."""
    server = socket(AF_UNIX, SOCK_STREAM)
    server.connect(place)
    umask = os.umask(0)
    os.umask(umask)
    asked = (sys.executable, sys.argv[1:], dict(os.environ), os.getcwd(), umask)
    data = repr(asked).encode("utf-8", "surrogatepass")
    files = b"".join(each.to_bytes(4, sys.byteorder) for each in range(3))
    try:
        server.sendmsg([len(data).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, files)])
    except OSError:  # one of its files is closed
        return None
    server.sendall(data)
    told = server.recv(64)
    assert told, "the warm process is gone"
    return None if told == b"no" else int(told)


if __name__ == "__main__":
    main()
