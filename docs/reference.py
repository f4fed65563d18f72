"""The pages of the reference, made when the site is built: of settings, examples and docstrings.

They are nowhere kept, so they cannot be out of date.
"""

from __future__ import annotations

import html
import inspect
import os
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import groupby
from operator import attrgetter
from typing import Any

from mkdocs.structure.files import File, Files

import structkit
from docs import terminal
from docs.help_examples import refusals, results
from docs.manual import commands, examples
from structkit.cli.main import sections
from structkit.command import COMMANDS, Program
from structkit.registry import Plugin, plugins
from tests.warm.starting import warm_process

WRONG = """A file that is not there, or a field that a record lacks, ends the command with one line:
the file and its line, the problem and the remedy. No output is left half written."""
FLAG = re.compile(r"`[^`]*`|(?<!\w)(--[a-z][a-z-]*)")  # outside of code
Row = tuple[str, str]
PICTURES = {"ask": ("terminal", "terminal-narrow")}  # of a command


def on_config(config: Any) -> Any:
    """Add the pages of commands and methods to the navigation, and the version to the footer."""
    config["copyright"] = f"structkit {version('structkit-retrieval')}, Apache-2.0"
    reference = next(part["Reference"] for part in config["nav"] if "Reference" in part)
    reference[:0] = [
        {
            title: [
                f"reference/{title.lower()}.md",
                *(f"reference/{before}{name}.md" for name in some),
            ]
        }
        for title, before, some in (("Commands", "", COMMANDS), ("Methods", "train-", methods()))
    ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages to the site."""
    pages = {name: page() for name, page in PAGES.items()}
    made = {name.removeprefix("structkit-"): rest for name, *rest in commands()}
    lines = [line for name in COMMANDS for line in examples(made[name][0])]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    with warm_process(variables) as address:  # commands share one import of torch
        variables |= {"STRUCTKIT_WARM": address}
        seen = results(lines, variables=variables)
        refused = refusals((examples(made[name][0])[0] for name in COMMANDS), variables=variables)
    for name in COMMANDS:
        parts = [each for each in made if each.startswith(f"{name}-") and name != "train"]
        pages[name] = "\n\n".join(
            [command(f"structkit {name}", *made[name], seen, refused)]
            + [_flags(f"## structkit {each.replace('-', ' ')}", *made[each]) for each in parts]
        )
    for name in methods():
        pages[f"train-{name}"] = command(f"structkit train {name}", *made[f"train-{name}"], {}, {})
    for name, page in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=page))
    return files


def command(
    title: str,
    made: Any,
    context: Any,
    seen: dict[str, tuple[str, str]],
    refused: dict[str, str],
) -> str:
    """What a command is for, its records, examples, errors and flags."""
    folded = title == "structkit ask"  # a person sees the list of its picture
    shown = [_example(line, *seen.get(line, ("", "")), folded) for line in examples(made)]
    records = "\n".join(f"- **{verb}** {names}" for verb, names in made.records.items())
    pictures = "\n".join(_pictures(title.removeprefix("structkit ")))
    about = [_with_code(made.help or ""), pictures, _with_code(records)]
    parts = [*filter(None, about), "## Examples", *shown]
    for line in filter(refused.get, examples(made)):
        told = f"```console\n$ {line}\n{refused[line]}\n```"
        parts += ["## When something is wrong", WRONG, told]
    return _page(f"`{title}`", *parts, _flags("## Flags", made, context))


def _pictures(name: str) -> Iterator[str]:
    """What a terminal shows of a command, where docs/terminal.py draws it."""
    for picture in PICTURES.get(name, ()):
        for theme in terminal.PICTURES:
            line = terminal.COMMANDS[picture]
            yield f"![{line}](../{picture}-{theme}.svg#gh-{theme}-mode-only)"


def _example(line: str, read: str, written: str, folded: bool) -> str:
    """A command line, with the first records that it reads and writes side by side."""
    parts = [f"```sh\n{line}\n```"]
    shown = {"First input record": read, "First output record": written}
    boxes = [
        f"{title}:\n\n```{'json' if text[0] == '{' else 'text'}\n{text}\n```"
        for title, text in shown.items()
        if text
    ]
    if boxes:
        held = "\n\n".join(f"<div markdown>\n\n{box}\n\n</div>" for box in boxes)
        grid = f'<div class="grid" markdown>\n\n{held}\n\n</div>'
        if folded:
            grid = f"<details markdown>\n<summary>In a pipe</summary>\n\n{grid}\n\n</details>"
        parts.append(grid)
    return "\n\n".join(parts)


def _flags(title: str, made: Any, context: Any) -> str:
    """The arguments and flags of a command in their groups, as tables."""
    tables = [
        f"### {heading}\n\n| name | meaning |\n|---|---|\n" + "\n".join(map(_cells, rows))
        for heading, rows in sections(made, context).items()
        if rows and heading != "Records"
    ]
    held = [f'<div class="flags" markdown>\n\n{table}\n\n</div>' for table in tables]
    return "\n\n".join([title, *held]) + "\n"


def _cells(row: Row) -> str:
    # a bar in a code span would begin a cell
    name, text = (html.escape(each, quote=False).replace("|", "&#124;") for each in row)
    return f"| <code>{name}</code> | {_with_code(' '.join(text.split()))} |"


def _with_code(text: str) -> str:
    """A text with its flags as code, which no line breaks apart."""
    return FLAG.sub(lambda found: f"<code>{found[1]}</code>" if found[1] else found[0], text)


def methods() -> list[str]:
    """The names of all methods that come with structkit."""
    return [plugin.name for plugin in built_in(plugins()) if plugin.kind == "method"]


def command_list() -> str:
    """All commands, with a page of each."""
    rows = [f"- [`{name}`]({name}.md): {Program().summary(name)}" for name in COMMANDS]
    return _page("Commands", "\n".join(rows))


def method_list() -> str:
    """All methods, with a page of each."""
    told = {
        plugin.name: plugin.summary() for plugin in built_in(plugins()) if plugin.kind == "method"
    }
    rows = [f"- [`{name}`](train-{name}.md): {summary}" for name, summary in told.items()]
    return _page("Methods", "`structkit train METHOD`, of which the registry has:", "\n".join(rows))


def listed() -> str:
    """All plugins that come with structkit."""
    sections = []
    for kind, some in groupby(built_in(plugins()), key=lambda plugin: plugin.kind):
        rows = "\n".join(map(_row, some))
        page = f"[How to add one](../guide/plugin-{kind}.md)."
        sections.append(f"## {kind.capitalize()}s\n\n{page}\n\n{rows}")
    return _page("Plugins", "What `structkit plugins` lists, by kind.", *sections)


def python() -> str:
    """The functions of the Python interface."""
    sections = []
    functions = (name.replace("-", "_") for name in COMMANDS)
    for name in (
        "UserError",
        "load",
        "LoadedModel.encode",
        "LoadedModel.similarity",
        *functions,
    ):
        made = attrgetter(name)(structkit)
        text = inspect.getdoc(made) or ""
        text, _, example = text.partition("\n\n>>>")
        code = f"{name}{_signature(made)}"
        shown = f"```pycon\n>>>{example}\n```" if example else ""
        sections.append(f"## {name}\n\n```python\n{code}\n```\n\n{text}\n\n{shown}")
    return _page("Python", "See the [guide](../guide/python.md) for an example of each.", *sections)


PAGES = {"commands": command_list, "methods": method_list, "built-in": listed, "python": python}


def built_in(found: Iterable[Plugin]) -> list[Plugin]:
    """Those of the plugins that come with structkit."""
    return [plugin for plugin in found if plugin.is_ours]


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
    typed = f": {inspect.formatannotation(parameter.annotation)}" if known else ""
    default = parameter.default
    return f"{stars}{parameter.name}{typed}" + (
        "" if default is parameter.empty else f" = {default!r}"
    )


def _row(plugin: Plugin) -> str:
    also = f" (also {', '.join(plugin.signs.aliases)})" if plugin.signs.aliases else ""
    return f"- `{plugin.name}`{also}: {plugin.summary()}"


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"
