"""The pages of the reference, made when the site is built: of --help, docstrings and the registry.

They are nowhere kept, so they cannot be out of date.
"""

from __future__ import annotations

import inspect
from itertools import groupby
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import structkit
from structkit.registry import KINDS, Plugin, plugins
from structkit.settings import COMMANDS, Program

HELP = Path("fixtures/help")  # what --help says; a test holds both together


def on_files(files: Files, config: Any) -> Files:
    """Add the pages to the site."""
    for name, page in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=page()))
    return files


def commands() -> str:
    """All commands with their help."""
    listed = [name for name in COMMANDS if (HELP / f"{name}.txt").exists()]
    parts = [f"- [`{name}`](#{name}): {Program().summary(name)}" for name in listed]
    sections = [f"## {name}\n\n{_shown(name)}" for name in listed]
    return _page("Commands", "\n".join(parts), *sections)


def methods() -> str:
    """All methods that come with structkit, with their settings."""
    listed = [plugin.name for plugin in _built_in() if plugin.kind == "method"]
    sections = [f"## {name}\n\n{_shown(f'train-{name}')}" for name in listed]
    return _page("Methods", "`structkit train METHOD`: the settings of each method.", *sections)


def listed() -> str:
    """All plugins that come with structkit."""
    sections = []
    for kind, some in groupby(_built_in(), key=lambda plugin: plugin.kind):
        rows = "\n".join(map(_row, some))
        page = f"[How to add one](../guide/plugin-{kind}.md)."
        sections.append(f"## {KINDS[kind].capitalize()}\n\n{page}\n\n{rows}")
    return _page("Plugins", "What `structkit plugins` lists, by kind.", *sections)


def python() -> str:
    """The functions of the Python interface."""
    sections = []
    for name in structkit.__all__:
        made = getattr(structkit, name)
        text = inspect.getdoc(made) or ""
        text, _, example = text.partition("\n\n>>>")
        code = f"{name}{_signature(made)}"
        shown = f"```pycon\n>>>{example}\n```" if example else ""
        sections.append(f"## {name}\n\n```python\n{code}\n```\n\n{text}\n\n{shown}")
    return _page("Python", "See the [guide](../guide/python.md) for an example of each.", *sections)


PAGES = {"commands": commands, "methods": methods, "plugins": listed, "python": python}


def _built_in() -> list[Plugin]:
    return [plugin for plugin in plugins() if plugin.pack == "structkit_plugins"]


def _signature(made: Any) -> str:
    """The parameters of a function, one on each line."""
    if isinstance(made, type):
        return "(Exception)"
    lines: list[str] = []
    listed = list(inspect.signature(made).parameters.values())
    for before, each in zip([None, *listed], [*listed, None], strict=True):
        if before and before.kind is before.POSITIONAL_ONLY and before.kind is not _kind(each):
            lines.append("/")
        if each and each.kind is each.KEYWORD_ONLY is not _kind(before):
            lines.append("*")
        if each:
            lines.append(_parameter(each))
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def _kind(parameter: inspect.Parameter | None) -> Any:
    return parameter and parameter.kind


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter with its type and default, as it is written."""
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    known = parameter.annotation is not parameter.empty
    typed = f": {parameter.annotation}" if known else ""
    default = parameter.default
    return f"{stars}{parameter.name}{typed}" + (
        "" if default is parameter.empty else f" = {default!r}"
    )


def _row(plugin: Plugin) -> str:
    also = f" (also {', '.join(plugin.signs.aliases)})" if plugin.signs.aliases else ""
    return f"- `{plugin.name}`{also}: {plugin.summary()}"


def _shown(name: str) -> str:
    return f"```text\n{(HELP / f'{name}.txt').read_text('utf-8').strip()}\n```"


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"
