"""Settings files of coding agents: an entry is added to one, and every other byte stays.

Tests: tests/asking/test_agents.py.
"""

import json
import os
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from structkit.errors import UserError
from structkit.records.jsonl import cannot_read
from structkit.records.output import Output

SERVER_NAME = "structkit"
BYTE_ORDER_MARK = "\ufeff"
USUAL_INDENT = "  "
INDENT = re.compile(r'\n([ \t]+)"')


class Agent(NamedTuple):
    """Where an agent looks for servers, as of November 2026."""

    settings: str  # its file, from the folder of a project or from the user's
    key: str  # of all servers there
    workspace: str = ""  # how the file names the project, where servers start elsewhere


AGENTS = {
    "claude": Agent(".mcp.json", "mcpServers"),
    "codex": Agent("~/.codex/config.toml", "mcp_servers"),
    "cursor": Agent(".cursor/mcp.json", "mcpServers", "${workspaceFolder}"),
    "gemini": Agent(".gemini/settings.json", "mcpServers"),
    "vscode": Agent(".vscode/mcp.json", "servers", "${workspaceFolder}"),
}


BY_HAND = "let it be written, or add the lines above by hand"


class SettingsChange(NamedTuple):
    """A settings file, the lines of an entry, and the text with it; None if it is there already."""

    path: Path
    lines: str
    text: str | None

    def write(self) -> None:
        """Write the file. Errors: `UserError` if the system refuses."""
        if self.text is None:
            return
        with suppress(OSError):  # writing tells why the folder is missing
            self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with Output(str(self.path)) as file:
                file.write(self.text.encode())
        except UserError as error:
            raise UserError(error.problem, BY_HAND).at(str(self.path)) from None


def path_for(agent: Agent, path: str) -> str:
    """Return a path as an agent's server finds it, which may start elsewhere.

    >>> path_for(AGENTS["claude"], "-x"), path_for(AGENTS["vscode"], "./src")
    ('./-x', '${workspaceFolder}/src')
    """
    inside = os.path.normpath(path)
    if os.path.isabs(path):
        return path
    if agent.workspace:
        return agent.workspace if inside == "." else f"{agent.workspace}/{inside}"
    if agent.settings.startswith("~") and inside != ".":  # it serves every project
        return os.path.abspath(path)
    return f"./{inside}" if inside.startswith("-") else inside


def add_server(agent: str, command: str, arguments: Sequence[str]) -> SettingsChange:
    """Return an agent's settings file with a server of ours. Errors: another server of our name."""
    where = AGENTS[agent]
    path = Path(where.settings).expanduser()
    entry = {"command": command, "args": [*arguments]}
    is_toml = path.suffix == ".toml"
    if is_toml:
        words = ", ".join(map(_toml_string, arguments))
        lines = f"[{where.key}.{SERVER_NAME}]\ncommand = {_toml_string(command)}\nargs = [{words}]"
    else:
        lines = json.dumps(
            {where.key: {SERVER_NAME: entry}}, indent=USUAL_INDENT, ensure_ascii=False
        )
    try:
        lines.encode()
    except UnicodeEncodeError:
        raise UserError(f"{agent} reads names in UTF-8 alone", "rename the folder") from None
    text = _read(path)
    try:
        add = _add_to_toml if is_toml else _add_to_json
        return SettingsChange(path, lines, add(text, where.key, entry, lines))
    except (ValueError, RecursionError):
        raise UserError(f"is not as {agent} reads it", f"add {lines}").at(str(path)) from None
    except UserError as error:
        raise error.at(str(path)) from None


def _read(path: Path) -> str:
    """Return the text of a settings file, empty if there is none."""
    try:
        if not path.exists():  # nor, of a link, what it leads to
            return ""
        if not path.is_file():  # a pipe or device may have no end
            raise UserError("is no regular file", "name the server there by hand").at(str(path))
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise UserError("is not UTF-8", "save it as UTF-8").at(str(path)) from None
    except OSError as error:
        raise cannot_read(error).at(str(path)) from None


def _refuse_other(known: Any, entry: Any) -> None:
    if known != entry:
        raise UserError(f"has a server {SERVER_NAME}", "remove it first")


def _toml_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _add_to_toml(text: str, key: str, entry: Any, lines: str) -> str | None:
    """Return the text with the table of a server at its end; None if it is there."""
    servers = tomllib.loads(text).get(key, {})
    if not isinstance(servers, dict):
        raise ValueError("no table of servers")
    if SERVER_NAME in servers:
        _refuse_other(servers[SERVER_NAME], entry)
        return None
    line_end = _line_end(text)
    start = f"{text}{line_end}" if text and not text.endswith("\n") else text
    blank = line_end if text.strip() else ""
    added = f"{start}{blank}" + f"{lines}\n".replace("\n", line_end)
    tomllib.loads(added)  # another form of table may refuse it
    return added


def _add_to_json(text: str, key: str, entry: Any, lines: str) -> str | None:
    """Return the text with the entry of a server as the first one; None if it is there.

    The text may have comments and a comma after the last member; nothing else of it changes.
    """
    if not text.lstrip(BYTE_ORDER_MARK).strip():
        return f"{text}{lines}\n"
    # JSON with comments and last commas is an expression of JavaScript
    tree = Parser(Language(tree_sitter_javascript.language())).parse(f"({text}\n)".encode())
    if tree.root_node.has_error:
        raise ValueError("no JSON")
    outer = tree.root_node
    while outer.type in ("program", "expression_statement", "parenthesized_expression"):
        outer = next(child for child in outer.named_children if child.type != "comment")
    depth, others, member = 1, _members(outer), {key: {SERVER_NAME: entry}}
    if key in others:
        outer = others[key]
        depth, others, member = 2, _members(outer), {SERVER_NAME: entry}
        if SERVER_NAME in others:
            _refuse_other(json.loads(others[SERVER_NAME].text or b""), entry)
            return None
    data = text.encode()
    # the parsed text begins with a bracket
    before, after = (part.decode() for part in (data[: outer.start_byte], data[outer.start_byte :]))
    indent = found[1] if (found := INDENT.search(text)) else USUAL_INDENT
    dumped = json.dumps(member, indent=indent, ensure_ascii=False).splitlines()[1:-1]
    added = "".join(f"\n{indent * (depth - 1)}{line}" for line in dumped)
    if others:
        added += ","
    if after[0] not in "\r\n":
        added += f"\n{indent * (depth if others else depth - 1)}"
    return before + added.replace("\n", _line_end(text)) + after


def _members(node: Node) -> dict[str, Node]:
    """Return the values of an object's members by name. Errors: `ValueError` of another value."""
    if node.type != "object":
        raise ValueError("no object")
    pairs = (child.named_children for child in node.named_children if child.type == "pair")
    # of equal names the last counts, as in readers of JSON
    return {json.loads(pair[0].text or b""): pair[-1] for pair in pairs}


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
