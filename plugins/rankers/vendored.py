"""Demotes copies of other projects and build products."""

from typing import ClassVar

from structkit import plugin
from structkit.ranking.folders import PutDown


class Ranker(PutDown, plugin.Ranker):
    """Files that were not written in this project."""

    weight: ClassVar[float] = 1.0
    folders = frozenset(
        "vendor vendored _vendor third_party thirdparty 3rdparty external node_modules dist".split()
    )
