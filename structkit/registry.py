"""Find plugins: a pack is a package with some of the folders languages/, parsers/, methods/ …"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Literal, overload

from structkit import plugin as contract
from structkit.errors import UserError, unknown

KINDS = {
    "language": "languages",
    "parser": "parsers",
    "method": "methods",
    "backend": "backends",
    "ranker": "rankers",
    "format": "formats",
}
BASES: dict[str, type] = {
    "language": contract.Language,
    "parser": contract.Parser,
    "method": contract.Method,
    "backend": contract.Backend,
    "ranker": contract.Ranker,
    "format": contract.Format,
}
SIGNS = ("aliases", "claims", "extensions", "implied_by", "interpreters")
# what plugin files of an earlier contract had
FUNCTIONS = ("entities", "record_entities", "trees", "open_corpus", "parts")


@dataclass(frozen=True)
class Plugin:
    """An installed plugin; nothing of it is imported yet."""

    kind: str
    name: str
    pack: str
    path: Path

    @property
    def module(self) -> str:
        return f"{self.pack}.{KINDS[self.kind]}.{self.path.stem}"

    def summary(self) -> str:
        """The first line of the file's docstring, read without importing the file."""
        with tokenize.open(self.path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.STRING:
                    return str(ast.literal_eval(token.string)).strip().partition("\n")[0].rstrip()
                if token.type not in (tokenize.COMMENT, tokenize.NL):
                    break
        return ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its other names, read without importing the file."""
        return _signs(self).get("aliases", ())

    @property
    def implied_by(self) -> tuple[str, ...]:
        """Fields of a record that implies it, read without importing the file."""
        return _signs(self).get("implied_by", ())

    @property
    def extensions(self) -> tuple[str, ...]:
        """The endings of its file names, read without importing the file."""
        return _signs(self).get("extensions", ())

    @property
    def claims(self) -> tuple[str, ...]:
        """An extension and a pattern of its files with it, read without importing the file."""
        return _signs(self).get("claims", ())

    @property
    def interpreters(self) -> tuple[str, ...]:
        """The programs that run its files, read without importing the file."""
        return _signs(self).get("interpreters", ())

    def imported(self) -> ModuleType:
        """The module, imported now; one for another version of structkit raises."""
        try:
            return import_module(self.module)
        except ImportError as error:
            if (error.name or "").partition(".")[0] == "structkit":
                raise self.outdated(str(error)) from error
            lacking = error.name if isinstance(error, ModuleNotFoundError) else None
            raise UserError(
                f"the {self.kind} {self.name} of the pack {self.pack} cannot be imported: {error}",
                f"install the package that has {lacking}" if lacking else f"mend {self.pack}",
            ).at(str(self.path)) from error

    def load(self) -> type:
        """The class named after its kind, imported now; raises if it is missing or incomplete."""
        module, name = self.imported(), self.kind.capitalize()
        plugin_class, base = getattr(module, name, None), BASES[self.kind]
        if not isinstance(plugin_class, type) or not issubclass(plugin_class, base):
            instead = [f"`{each}`" for each in FUNCTIONS if callable(getattr(module, each, None))]
            beside = f", but the function {instead[0]} of an earlier contract" if instead else ""
            raise self.outdated(f"it has no class {name}(plugin.{name}){beside}")
        if missing := sorted(getattr(plugin_class, "__abstractmethods__", ())):
            raise self.outdated(f"its class {name} lacks {', '.join(missing)}")
        return plugin_class

    def outdated(self, problem: str) -> UserError:
        """The error that such a plugin is not what this structkit needs."""
        return UserError(
            f"the {self.kind} {self.name} of the pack {self.pack} cannot be used: {problem}",
            f"install a version of {self.pack} for this structkit, whose structkit/plugin says "
            "what a plugin file provides",
            status=2,
        ).at(str(self.path))


@cache
def _signs(plugin: Plugin) -> dict[str, tuple[str, ...]]:
    """The attributes of a file's class that say how the plugin is found."""
    for node in ast.parse(plugin.path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == plugin.kind.capitalize():
            return {
                name.id: tuple(ast.literal_eval(each.value))
                for each in node.body
                if isinstance(each, ast.Assign)
                if isinstance(name := each.targets[0], ast.Name)
                if name.id in SIGNS
            }
    return {}


@cache
def plugins() -> tuple[Plugin, ...]:
    """All installed plugins, by kind and name."""
    listed = []
    from importlib.metadata import entry_points  # 15 ms that commands without plugins need not pay

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
                        listed.append(Plugin(kind, name, entry.value, path))
    return tuple(sorted(set(listed), key=lambda plugin: (plugin.kind, plugin.name, plugin.pack)))


def names(kind: str) -> list[str]:
    """The names of all plugins of a kind."""
    return sorted({plugin.name for plugin in plugins() if plugin.kind == kind})


def find(kind: str, name: str, *, status: int = 2) -> Plugin:
    """The plugin of that kind and name, in any case, or by an alias; a miss lists what exists."""
    named = _named(kind, name)
    if not named:
        raise unknown(kind, name, names(kind), status=status)
    if len(named) > 1:
        packs = " and ".join(plugin.pack for plugin in named)
        raise UserError(f"{kind} {name!r} is in {packs}", "uninstall one of the packs")
    return named[0]


@cache
def _named(kind: str, name: str) -> list[Plugin]:
    some = [plugin for plugin in plugins() if plugin.kind == kind]
    named = [plugin for plugin in some if plugin.name == name]
    wanted = name.casefold()
    return named or [
        plugin for plugin in some if wanted == plugin.name.casefold() or wanted in plugin.aliases
    ]


def canonical(kind: str, name: str) -> str:
    """The plugin's own name, given its name or an alias; an unknown one is returned as it is.

    >>> canonical("language", "JS"), canonical("language", "cobol")
    ('javascript', 'cobol')
    """
    named = _named(kind, name)
    return named[0].name if named else name


def implied(kind: str, fields: Collection[str]) -> str | None:
    """The first plugin of a kind whose `implied_by` are all among the fields of a record.

    >>> implied("language", {"id": "1", "html": "<p>x</p>"})
    'html'
    """
    for name, signs in _implying(kind):
        if all(sign in fields for sign in signs):
            return name
    return None


@cache  # asked for every record
def _implying(kind: str) -> list[tuple[str, tuple[str, ...]]]:
    some = (plugin for plugin in plugins() if plugin.kind == kind)
    return [(plugin.name, plugin.implied_by) for plugin in some if plugin.implied_by]


@overload
def load(kind: Literal["language"], name: str, *, status: int = 2) -> type[contract.Language]: ...


@overload
def load(kind: Literal["parser"], name: str, *, status: int = 2) -> type[contract.Parser]: ...


@overload
def load(kind: Literal["backend"], name: str, *, status: int = 2) -> type[contract.Backend]: ...


@overload
def load(kind: Literal["ranker"], name: str, *, status: int = 2) -> type[contract.Ranker]: ...


@overload
def load(kind: Literal["format"], name: str, *, status: int = 2) -> type[contract.Format]: ...


@overload
def load(kind: Literal["method"], name: str, *, status: int = 2) -> type[contract.Method]: ...


def load(kind: str, name: str, *, status: int = 2) -> type:
    """The class of the one plugin that is asked for, which is imported now."""
    return _loaded(kind, name, status)


@cache
def _loaded(kind: str, name: str, status: int) -> type:
    return find(kind, name, status=status).load()
