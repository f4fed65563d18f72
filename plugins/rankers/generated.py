"""Demotes generated files, and files with nothing but declarations."""

from typing import ClassVar

from structkit import plugin
from structkit.ranking.folders import PutDown


class Ranker(PutDown, plugin.Ranker):
    """Files that a tool wrote, and files with nothing but declarations."""

    weight: ClassVar[float] = 1.0
    folders = frozenset("generated gen autogen __generated__".split())
    words = frozenset("generated".split())
    endings = (".d.ts", ".pyi", ".pb.go", "_pb2.py", ".g.cs", ".designer.cs", ".min.js")
