"""Demotes compatibility code and deprecated code, unless the query asks for it."""

from typing import ClassVar

from structkit import plugin
from structkit.ranking.folders import PutDown


class Ranker(PutDown, plugin.Ranker):
    """Files that are kept for compatibility."""

    weight: ClassVar[float] = 1.0
    folders = frozenset("compat _compat legacy deprecated".split())
    words = frozenset("compat legacy deprecated".split())
