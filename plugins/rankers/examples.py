"""Demotes examples and demonstrations, unless the query asks for them."""

from typing import ClassVar

from structkit import plugin
from structkit.ranking.folders import PutDown


class Ranker(PutDown, plugin.Ranker):
    """Files that show how something is used."""

    weight: ClassVar[float] = 1.0
    folders = frozenset(
        "example examples _examples sample samples demo demos tutorial tutorials doc docs".split()
    )
    words = frozenset("example examples sample demo".split())
