"""What the processes of test_distributed do: a module of its own, so that they import little."""

import os
import signal

from structkit.errors import UserError
from structkit.learning.training.distributed import rank, share, total
from structkit.learning.training.launching import restarts


def fails(*, device):
    if rank():
        raise UserError("the loss is nan", "lower it")
    return total(1)


def dies(*, device):
    if rank():
        os.kill(os.getpid(), signal.SIGKILL)
    return total(1)


def dies_once(*, device):
    if rank() and not restarts():
        os.kill(os.getpid(), signal.SIGKILL)
    return restarts(), total(1)


def returns(*, device):
    return device, rank(), total(rank() + 1), share(5)
