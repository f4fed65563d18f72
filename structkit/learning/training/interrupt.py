"""Ctrl-C and SIGTERM during a training: finish the step first."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from structkit.processes import ended_by, heard


class Interrupt:
    """Remembers the signal that asked the run to stop; a second signal stops it immediately."""

    def __init__(self) -> None:
        self.asked = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in heard()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise ended_by(number)
        self.asked = number

    def ending(self) -> BaseException:
        """The exception for the signal; another process may have received it instead."""
        return ended_by(self.asked or signal.SIGTERM)
