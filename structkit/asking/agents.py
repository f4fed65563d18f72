"""Settings files of coding agents: an entry is added to one, and every other byte stays.

Tests: tests/asking/test_agents.py.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from structkit.errors import UserError
from structkit.records.jsonl import cannot_read
from structkit.records.output import Output, cannot_write
from structkit.structure import Span

SERVER_NAME = "structkit"
BYTE_ORDER_MARK = "\ufeff"
USUAL_INDENT = "  "
INDENT = re.compile(r'\n([ \t]+)"')
JSON_TOKEN = re.compile(
    r"""
    "(?: [^"\\]++ | \\. )*+ "?  # a string; without its end, the rest of the text
    | // [^\n]*
    | /\* (?: [^*]++ | \*(?!/) )*+ (?:\*/)?
    | [][{}:,]
    | [^][{}:,"\s]++
    """,
    re.VERBOSE | re.DOTALL,
)
CLOSING = {"{": "}", "[": "]"}


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


class Change(NamedTuple):
    """A settings file, the lines of an entry, and the text with it; None if it is there already."""

    path: Path
    lines: str
    text: str | None

    def write(self) -> None:
        """Write the file. Errors: `UserError` if the system refuses."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(error).at(str(self.path)) from None
        if self.text is not None:
            with Output(str(self.path)) as file:
                file.write(self.text.encode())


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


def add_server(agent: str, command: str, arguments: Sequence[str]) -> Change:
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
        return Change(path, lines, add(text, where.key, entry, lines))
    except RecursionError:
        raise UserError("is nested too deeply", f"add {lines}").at(str(path)) from None
    except ValueError:
        raise UserError(f"is not as {agent} reads it", f"add {lines}").at(str(path)) from None
    except UserError as error:
        raise error.at(str(path)) from None


def _read(path: Path) -> str:
    """Return the text of a settings file, empty if there is none."""
    if not os.path.lexists(path):
        return ""
    try:
        if path.exists() and not path.is_file():  # a pipe or device may have no end
            raise UserError("is no regular file", "name the server there by hand").at(str(path))
        return path.read_bytes().decode()
    except FileNotFoundError:  # a link to what is yet to come
        return ""
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

    The text may have comments; nothing else of it changes.
    """
    body = text.removeprefix(BYTE_ORDER_MARK)
    mark = text[: len(text) - len(body)]
    if not body.strip():
        return f"{mark}{lines}\n"
    whole = next((token for token in JSON_TOKEN.finditer(body) if not _is_comment(token[0])), None)
    if whole is None or whole[0] != "{":
        raise ValueError("no object")
    start = whole.start()
    sections, end = _members(body, start)
    if any(not _is_comment(token[0]) for token in JSON_TOKEN.finditer(body, end)):
        raise ValueError("more than an object")
    if key not in sections:
        return mark + _with_member(body, start, 1, key, {SERVER_NAME: entry})
    servers_start, _ = sections[key]
    servers, _ = _members(body, servers_start)
    if SERVER_NAME in servers:
        first, last = servers[SERVER_NAME]
        _refuse_other(json.loads(body[first:last]), entry)
        return None
    return mark + _with_member(body, servers_start, 2, SERVER_NAME, entry)


def _is_comment(token: str) -> bool:
    return token.startswith(("//", "/*"))


def _members(text: str, start: int) -> tuple[dict[str, Span], int]:
    """Return the place of each value of the object that begins at a place, and the object's end.

    Of equal keys the last counts, as in readers of JSON.
    """
    members: dict[str, Span] = {}
    open_brackets = list[str]()
    key, before, value_start, value_end = None, "", -1, -1
    for token in JSON_TOKEN.finditer(text, start):
        sign = token[0]
        if _is_comment(sign):
            continue
        if not open_brackets and sign != "{":
            raise ValueError("no object")
        depth = len(open_brackets)
        if key is not None and (depth, sign) in ((1, ","), (1, "}")):
            members[key] = value_start, value_end
            key, value_start = None, -1
        elif key is not None and value_start < 0:
            value_start = token.start()
        if (depth, sign) == (1, ":") and key is None:
            key = json.loads(before)
        if sign in CLOSING:
            open_brackets.append(sign)
        elif sign in CLOSING.values():
            if sign != CLOSING[open_brackets.pop()]:
                raise ValueError("brackets do not match")
            if not open_brackets:
                return members, token.end()
        before, value_end = sign, token.end()
    raise ValueError("the object has no end")


def _with_member(text: str, start: int, depth: int, key: str, value: Any) -> str:
    """Return the text with a member at the start of the object that begins at a place."""
    found = INDENT.search(text)
    indent = found[1] if found else USUAL_INDENT
    line_end = _line_end(text)
    dumped = json.dumps({key: value}, indent=indent, ensure_ascii=False)
    member = f"\n{indent * (depth - 1)}".join(dumped.splitlines()[:-1]).removeprefix("{")
    rest = text[start + 1 :]
    members, _ = _members(text, start)
    if members:
        member += ","
    if not rest.startswith(("\n", "\r")):
        member += f"\n{indent * (depth if members else depth - 1)}"
    return text[: start + 1] + member.replace("\n", line_end) + rest


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
