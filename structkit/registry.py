"""Find plugins: a pack is a package with some of the folders languages/, parsers/, methods/ …"""

import ast
import re
import sys
from abc import ABCMeta
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from typing import Any, TypeVar

from structkit.errors import UserError, flag, unknown, wrong_usage
from structkit.progress import say
from structkit.settings import Texts, settings_of

OWN_PACKAGE = "structkit_plugins"  # of all our packs
PLUGIN_KINDS = (
    "language",
    "profile",
    "parser",
    "method",
    "backend",
    "ranker",
    "format",
)  # folders: languages/ …


class Contract(metaclass=ABCMeta):  # noqa: B024 each kind has methods of its own
    """Contract of a plugin file; the class of each kind extends it and bears the kind's name."""


@dataclass(frozen=True)
class Signs:
    """Signs of a plugin: literals of its class, read without importing the file."""

    aliases: Texts = ()
    """Other names, in lower case."""

    claims: Texts = ()
    """An extension, and a pattern of those files with it that are this plugin's."""

    encoding: Texts = ()
    """The pattern of the encoding that a file declares, if its language has a rule."""

    extensions: Texts = ()
    """The extensions of its files, or their whole names: `rb`, `Rakefile`."""

    implied_by: Texts = ()
    """A record that has all these fields needs no `language` to be of this one."""

    interpreters: Texts = ()
    """The programs that the first line of its files may name, after `#!`."""

    package_folders: Texts = ()
    """Folders in `src/` or `src/*/` below which folders are packages, whatever their names."""

    test_endings: Texts = ()
    """How paths of tests end: `Spec.kt`."""


@dataclass(frozen=True)
class Plugin:
    """An installed plugin; nothing of it is imported yet."""

    kind: str
    name: str
    pack: str
    path: Path

    @property
    def is_ours(self) -> bool:
        """Whether it ships with structkit."""
        return self.pack.partition(".")[0] == OWN_PACKAGE

    def summary(self) -> str:
        """Return the first line of the file's docstring without importing the file."""
        with self._skipped_if_unreadable():
            about = ast.get_docstring(ast.parse(self.path.read_bytes())) or ""
            return about.partition("\n")[0].rstrip()
        return ""

    @cached_property
    def signs(self) -> Signs:
        """The attributes of the file's class that say how the plugin is found."""
        literals: dict[str, Texts] = {}
        with self._skipped_if_unreadable():
            for node in ast.parse(self.path.read_bytes()).body:
                if isinstance(node, ast.ClassDef) and node.name == self.kind.capitalize():
                    literals = _literals_of(node, {field.name for field in fields(Signs)})
            return Signs(**literals)
        return Signs()

    @contextmanager
    def _skipped_if_unreadable(self) -> Iterator[None]:
        """Name a file that cannot be read, and go on without it."""
        try:
            yield
        except Exception as error:
            _report(str(self.path), f"cannot be read as a {self.kind} ({error})")

    def fault(self, error: Exception) -> UserError:
        """Return the error for one of the plugin's own."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return UserError(
            f"the {self.kind} {self.name} of the pack {self.pack} fails ({reason})",
            f"fix {self.path}, or take it out",
        )

    def load(self) -> Any:
        """Import and return the class named after its kind. Errors: it is missing or incomplete."""
        try:
            with redirect_stdout(sys.stderr):
                module = import_module(f"{self.pack}.{self.kind}s.{self.path.stem}")
        except Exception as error:
            if self.is_ours:
                raise
            raise self.fault(error) from error
        name = self.kind.capitalize()
        loaded = getattr(module, name, None)
        # a class of another base has no such attribute
        missing = getattr(loaded, "__abstractmethods__", [f"class {name}(plugin.{name})"])
        if missing:
            problem = f"lacks {', '.join(sorted(missing))}"
            raise wrong_usage(
                f"the {self.kind} {self.name} of the pack {self.pack} {problem}",
                f"python -m pydoc structkit.plugin.{name} says what it must have",
            ).at(str(self.path))
        return loaded


def _literals_of(node: ast.ClassDef, names: Collection[str]) -> dict[str, Texts]:
    """Return the values of a class's attributes with these names."""
    literals = {}
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            name = statement.targets[0]
            if isinstance(name, ast.Name) and name.id in names:
                literals[name.id] = tuple(ast.literal_eval(statement.value))
    return literals


def packs() -> Iterator[tuple[str, str]]:
    """Yield the entry point and the package of each installed pack.

    `importlib.metadata` would read about all packages, which takes a tenth of a second.
    """
    for folder in sys.path:
        for file in Path(folder).glob("*.*-info/entry_points.txt"):
            with suppress(OSError):
                text = file.read_text("utf-8", "replace")
                section = text.partition("[structkit.plugins]")[2].partition("\n[")[0]
                yield from re.findall(r"^\s*([^#\s=][^=]*?)\s*=\s*(\S+)", section, re.MULTILINE)


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return all installed plugins, by kind and name."""
    installed = []
    for pack, package in dict.fromkeys(packs()):
        spec = None
        with suppress(Exception):  # importing what is around it may raise anything
            spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            _report(f"the plugin pack {pack}", f"names {package!r}, which is no package")
            continue
        for location in spec.submodule_search_locations:
            for kind in PLUGIN_KINDS:
                for path in Path(location, f"{kind}s").glob("*.py"):
                    if path.name.startswith(".") or not path.is_file():
                        _report(str(path), "is no file of a plugin")
                    elif not path.stem.startswith("_"):
                        name = path.stem.replace("_", "-")
                        installed.append(Plugin(kind, name, package, path))
    return tuple(sorted(set(installed), key=lambda plugin: (plugin.kind, plugin.name, plugin.pack)))


def plugins_of(kind: str) -> list[Plugin]:
    """Return all installed plugins of a kind, by name."""
    return [plugin for plugin in plugins() if plugin.kind == kind]


def _report(what: str, problem: str) -> None:
    say(f"{what} {problem}; it is left out: fix it, or take it out of the pack")


def fault_of(error: Exception) -> UserError | None:
    """Return the error for an exception that came out of another pack's plugin, otherwise None."""
    files = {frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)}
    others = (plugin for plugin in plugins() if not plugin.is_ours and str(plugin.path) in files)
    return next((plugin.fault(error) for plugin in others), None)


def names(kind: str) -> list[str]:
    """Return the names of all plugins of a kind."""
    return sorted({plugin.name for plugin in plugins_of(kind)})


def find(kind: str, name: str) -> Plugin:
    """Return the plugin with that name, in any case, or alias. Errors: a miss lists what exists."""
    named = _matching(kind, name)
    if not named:
        raise unknown(kind, name, names(kind))
    if len(named) > 1:
        packs = " and ".join(plugin.pack for plugin in named)
        raise UserError(f"{kind} {name!r} is in {packs}", "uninstall one of the packs")
    return named[0]


@cache
def _matching(kind: str, name: str) -> list[Plugin]:
    exact = [plugin for plugin in plugins_of(kind) if plugin.name == name]
    folded = name.casefold()
    return exact or [
        plugin
        for plugin in plugins_of(kind)
        if folded == plugin.name.casefold() or folded in plugin.signs.aliases
    ]


def canonical(kind: str, name: str) -> str:
    """Return a plugin's own name for a name or an alias; an unknown one is returned unchanged.

    >>> canonical("language", "JS"), canonical("language", "cobol")
    ('javascript', 'cobol')
    """
    named = _matching(kind, name)
    return named[0].name if named else name


@lru_cache  # asked for every record, whose fields are few
def implied(kind: str, fields: frozenset[str]) -> str | None:
    """Return the first plugin of a kind whose `implied_by` are all among a record's fields.

    >>> implied("language", frozenset(("id", "html")))
    'html'
    """
    for plugin in plugins_of(kind):
        if plugin.signs.implied_by and fields.issuperset(plugin.signs.implied_by):
            return plugin.name
    return None


@cache
def load(kind: str, name: str) -> Any:
    """Import and return the class of one plugin."""
    return find(kind, name).load()


Configurable = TypeVar("Configurable")


def configure(kind: type[Configurable], name: str, flags: Mapping[str, Any]) -> Configurable:
    """Return the plugin with these flags. Errors: one that it does not take, or that is missing."""
    known = {setting.name: setting for setting in settings_of(kind)}
    plugin = f"the {kind.__name__.lower()} {name}"
    for given in flags:
        if given not in known:
            raise wrong_usage(f"{plugin} takes no {flag(given)}", "leave it out")
    for missing, setting in known.items():
        if missing not in flags and setting.required:
            raise wrong_usage(f"{plugin} needs {flag(missing)}", setting.remedy())
    return kind(**flags)
