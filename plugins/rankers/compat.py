"""Code for compatibility and deprecated code put down, unless the query asks for it."""

from typing import ClassVar

from structkit import plugin
from structkit.ranking.folders import PutDown


class Ranker(PutDown, plugin.Ranker):
    """Files that stay for old users."""

    weight: ClassVar[float] = 1.0
    folders = frozenset("compat _compat legacy deprecated".split())
    words = frozenset("compat legacy deprecated".split())
