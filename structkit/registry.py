"""Find plugins: every pack is a package with the folders languages/, parsers/, methods/."""

from __future__ import annotations

import ast
from collections.abc import Collection
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

    def constant(self, name: str) -> tuple[str, ...]:
        """The words of a tuple in the file, such as `ALIASES`, read without importing the file."""
        return _constants(self.path).get(name, ())

    def load(self) -> ModuleType:
        return import_module(self.module)


@cache
def _constants(path: Path) -> dict[str, tuple[str, ...]]:
    """The tuples of words at the top of a file that say how a plugin is found."""
    found = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name):
            if name.id in ("ALIASES", "IMPLIED_BY"):
                found[name.id] = tuple(ast.literal_eval(node.value))
    return found


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
    """The plugin of that kind and name, in any case, or by an alias; a miss lists what exists."""
    found = _named(kind, name)
    if not found:
        raise unknown(kind, name, names(kind), status=status)
    if len(found) > 1:
        packs = " and ".join(plugin.pack for plugin in found)
        raise UserError(f"{kind} {name!r} is in {packs}", "uninstall one of the packs")
    return found[0]


@cache
def _named(kind: str, name: str) -> list[Plugin]:
    some = [plugin for plugin in plugins() if plugin.kind == kind]
    found = [plugin for plugin in some if plugin.name == name]
    wanted = name.casefold()
    return found or [
        plugin
        for plugin in some
        if wanted == plugin.name.casefold() or wanted in plugin.constant("ALIASES")
    ]


def canonical(kind: str, name: str) -> str:
    """The plugin's own name, whichever it is asked for by; an unknown one as it stands.

    >>> canonical("language", "JS"), canonical("language", "cobol")
    ('javascript', 'cobol')
    """
    found = _named(kind, name)
    return found[0].name if found else name


def implied(kind: str, fields: Collection[str]) -> str | None:
    """The first plugin of a kind whose `IMPLIED_BY` are all among the fields of a record.

    >>> implied("language", {"id": "1", "html": "<p>x</p>"})
    'html'
    """
    for plugin in plugins():
        signs = plugin.constant("IMPLIED_BY") if plugin.kind == kind else ()
        if signs and all(sign in fields for sign in signs):
            return plugin.name
    return None


@cache
def load(kind: str, name: str, *, status: int = 2) -> ModuleType:
    """Import the one plugin that is asked for."""
    return find(kind, name, status=status).load()
