"""Demotes tests, unless the query asks for them."""

from typing import ClassVar

from structkit import plugin
from structkit.ranking.folders import PutDown


class Ranker(PutDown, plugin.Ranker):
    """Files of tests, specifications, mocks and benchmarks."""

    weight: ClassVar[float] = 1.0
    folders = frozenset(
        "test tests __tests__ testing testdata spec specs mock mocks __mocks__ fixtures bench "
        "benches benchmark benchmarks".split()
    )
    words = frozenset("test tests spec specs mock mocks bench benchmark".split())
