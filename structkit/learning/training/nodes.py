"""The machines ("nodes") of a training, and where they meet."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from structkit.errors import UserError

PATIENCE = 300  # seconds that nodes wait for one another, and their processes


@dataclass(frozen=True)
class Nodes:
    """How many there are, the number of this one, and the address of machine 0."""

    count: int = 1
    rank: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    patience: int = PATIENCE

    @classmethod
    def of(cls, count: int, rank: int, rendezvous: str | None, patience: int = PATIENCE) -> Nodes:
        """The nodes that flags describe. Errors: flags that do not fit together."""
        if count == 1 and (rank or rendezvous):
            raise UserError(
                "--node-rank and --rendezvous are for several machines", "add --nnodes", status=2
            )
        if count == 1:
            return cls(patience=patience)
        if rank >= count:
            raise UserError(
                f"--node-rank {rank} is not in 0 … {count - 1}", "count machines from 0", status=2
            )
        host, _, port = (rendezvous or "").rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise UserError(
                f"--nnodes {count} needs the address of machine 0",
                "give all machines the same --rendezvous HOST:PORT, with a free port of it",
                status=2,
            )
        return cls(count, rank, host.strip("[]"), int(port), patience)

    def address(self) -> str:
        """The address of this node, as the others reach it: waits until machine 0 is there."""
        if self.rank == 0:
            return self.host
        until = time.monotonic() + self.patience
        while True:
            try:
                with socket.create_connection((self.host, self.port), timeout=10) as connection:
                    return str(connection.getsockname()[0])
            except OSError as error:
                if time.monotonic() > until:
                    raise UserError(
                        f"machine 0 does not answer at {self.host}:{self.port}: {error}",
                        "start it with the same --rendezvous, and check its name and port",
                    ) from None
                time.sleep(0.5)

    def apart(self) -> UserError:
        """What is wrong where a process does not come, or is lost while all meet."""
        return UserError(
            f"not all processes of the training came in {self.patience} s, or one was lost",
            "see the errors of the other machines, and start all of them again; if they only are "
            "slow, raise --rendezvous-timeout",
        )


ALONE = Nodes()
