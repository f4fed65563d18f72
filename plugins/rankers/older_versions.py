"""Demotes folders like v1 where there is a v2 beside them, unless the query names the version."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from structkit.ranking.demotion import Demotion

VERSION = re.compile(r"v(\d{1,4})", re.IGNORECASE)


class Ranker(Demotion):
    """Files of a version of which the hits have a newer one."""

    def demoted(self, paths: Collection[str], asked: Collection[str]) -> set[str]:
        newest: dict[PurePosixPath, int] = {}
        for path in paths:
            for folder, number in versions(path):
                newest[folder] = max(number, newest.get(folder, 0))
        return {
            path
            for path in paths
            for folder, number in versions(path)
            if number < newest[folder] and f"v{number}" not in asked
        }


def versions(path: str) -> Iterator[tuple[PurePosixPath, int]]:
    """The folders of a path that hold versions, and the version of each.

    >>> [(str(folder), number) for folder, number in versions("api/v2/pool/v1.py")]
    [('api', 2)]
    """
    for folder in PurePosixPath(path).parents:
        if version := VERSION.fullmatch(folder.name):
            yield folder.parent, int(version[1])
