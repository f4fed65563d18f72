"""What a file of formats/ provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit.formats.interchange import Options, Parts


class Format(ABC):
    """A file of formats/: what another tool reads and writes, for `convert`."""

    @abstractmethod
    def parts(self, options: Options) -> Parts:
        """Its parts by name, the main one first: what its rows hold and where they are."""
