"""Find plugins: every pack is a package with the folders languages/, parsers/, methods/."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from structkit.errors import UserError, unknown

KINDS = {
    "language": "languages",
    "parser": "parsers",
    "method": "methods",
    "backend": "backends",
    "format": "formats",
}


@dataclass(frozen=True)
class Plugin:
    """A plugin that is installed; nothing of it is imported yet."""

    kind: str
    name: str
    pack: str
    path: Path

    @property
    def module(self) -> str:
        return f"{self.pack}.{KINDS[self.kind]}.{self.path.stem}"

    def summary(self) -> str:
        """The first line of the file's docstring, read without importing the file."""
        docstring = ast.get_docstring(ast.parse(self.path.read_text("utf-8"))) or ""
        return docstring.partition("\n")[0]

    def load(self) -> ModuleType:
        return import_module(self.module)


@cache
def plugins() -> tuple[Plugin, ...]:
    """All installed plugins, by kind and name."""
    found = []
    for entry in entry_points(group="structkit.plugins"):
        spec = find_spec(entry.value)
        if spec is None or not spec.submodule_search_locations:
            raise UserError(
                f"the plugin pack {entry.name!r} names the package {entry.value!r}, "
                "which cannot be found",
                f"install {entry.dist.name if entry.dist else entry.value} again",
            )
        for location in spec.submodule_search_locations:
            for kind, folder in KINDS.items():
                for path in Path(location, folder).glob("*.py"):
                    if not path.stem.startswith("_"):
                        name = path.stem.replace("_", "-")
                        found.append(Plugin(kind, name, entry.value, path))
    return tuple(sorted(set(found), key=lambda plugin: (plugin.kind, plugin.name, plugin.pack)))


def names(kind: str) -> list[str]:
    """The names of all plugins of a kind."""
    return sorted({plugin.name for plugin in plugins() if plugin.kind == kind})


def find(kind: str, name: str, *, status: int = 2) -> Plugin:
    """The plugin of that kind and name; a miss lists what exists."""
    found = [plugin for plugin in plugins() if (plugin.kind, plugin.name) == (kind, name)]
    if not found:
        raise unknown(kind, name, names(kind), status=status)
    if len(found) > 1:
        packs = " and ".join(plugin.pack for plugin in found)
        raise UserError(f"{kind} {name!r} is in {packs}", "uninstall one of the packs")
    return found[0]


@cache
def load(kind: str, name: str, *, status: int = 2) -> ModuleType:
    """Import the one plugin that is asked for."""
    return find(kind, name, status=status).load()
