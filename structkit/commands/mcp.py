"""Serve `ask` to coding agents over the Model Context Protocol."""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
import threading
import tomllib
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from os.path import basename, realpath
from pathlib import Path
from typing import Any

from structkit.command import Command, command_of
from structkit.errors import Surface, UserError, unknown, use_surface
from structkit.extras import missing_training_package, require
from structkit.processes import POLL_SECONDS, end_now
from structkit.records.jsonl import refuse_closed_stdin
from structkit.records.output import whole_file
from structkit.searching import Kind
from structkit.settings import make, offline_setting, setting
from structkit.version import __version__

LONGEST = 100_000  # characters of a question
GRACE = 0.5  # seconds for answers under way when stdin ends, and for the end of the server
# where agents look for servers, and the key of all servers there, as of November 2026
PLACES = {
    "claude": (".mcp.json", "mcpServers"),
    "codex": ("~/.codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
}
ABOUT = "Find code and documentation by what it does. Ask before reading whole files. Folders: "


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Serve `ask` to a coding agent over the Model Context Protocol, on stdin and stdout.

    The agent starts the server and calls its tools: `ask` answers a question with passages, `like`
    finds passages similar to one, `uses` finds lines that use a symbol. Paths are relative to the
    folder in which the server starts.
    """

    folders: tuple[str, ...] = setting(
        (".",), "Folders to ask about.", argument=True, metavar="FOLDER", reads="walks"
    )
    model: str | None = setting(None, "Embedding model, as in `ask`.", short="-m", reads=True)
    offline: bool = offline_setting()
    install: str | None = setting(None, "Agent to add the server to.", choices=tuple(PLACES))


class Arguments(Surface):
    """Names of the settings of `ask` in messages, as an agent gives them to the tools."""

    def setting(self, name: str, value: object, argument: str = "") -> str:
        name = {"questions": "question", "like": "place", "uses": "name"}.get(name, name)
        return name if value is None else f"{name}={value!r}"


@dataclass(frozen=True)
class Tools:
    """Tools of the server; an agent reads their signatures and docstrings."""

    served: Sequence[str]
    model: str | None
    error: type[Exception]
    offline: bool = False

    def ask(
        self,
        question: str,
        k: int = 10,
        glob: list[str] | None = None,
        folder: str = "",
        kind: Kind | None = None,
        tokens: int = 2000,
    ) -> str:
        """Find the passages that answer a question, best first, with path and lines.

        A question is a sentence, a few words or the name of a symbol. `glob` chooses files, as
        .gitignore does: ["*.py", "!test_*"]. `kind` leaves only files of that kind. Without
        `folder`, all folders are searched as one. Passages are cut to their best lines, so that
        they have `tokens` together.
        """
        if len(question) > LONGEST:
            size = f"the question has {len(question):,} characters"
            raise self.error(f"{size}; ask with at most {LONGEST:,}, and leave out logs")
        chosen = [at for at in self.served if not folder or realpath(at) == realpath(folder)]
        chosen = chosen or [at for at in self.served if basename(realpath(at)) == folder]
        if not chosen or (folder and len(chosen) > 1):
            raise self.error(str(unknown("folder", str(folder), self.served)))
        asked = {"questions": question.strip(), "glob": glob or [], "kind": kind}
        return self._passages(chosen, k, tokens, **asked)

    def like(self, place: str, k: int = 10, tokens: int = 2000) -> str:
        """Find passages that are similar to the one at a place, which is FILE:LINE."""
        files = [place, *(os.path.join(each, place) for each in self.served)]
        existing = (each for each in files if os.path.exists(each.rpartition(":")[0]))
        return self._passages(self.served, k, tokens, like=next(existing, place))

    def uses(self, name: str, tokens: int = 2000) -> str:
        """Find the definitions of a symbol, and the lines of code that use its name."""
        return self._passages(self.served, 1, tokens, uses=name)

    def _passages(self, folders: Sequence[str], k: int, tokens: int, **settings: Any) -> str:
        """Return answers: a line with the place of each, then its text."""
        ask = command_of("ask")
        values = {"target": folders[0], "also": folders[1:], "k": k, "tokens": tokens, **settings}
        values |= {"model": self.model, "offline": self.offline}
        try:
            with use_surface(Arguments()), redirect_stdout(sys.stderr):  # as a hook may print
                found = list(ask.work(make(ask.settings, values)))
        except (UserError, ModuleNotFoundError) as error:
            raise self.error(str(missing_training_package(error) or error)) from None
        best = (
            "{path}:{lines[0]}-{lines[1]}".format_map(each)
            + (f" (also in {', '.join(each['also_in'])})" if "also_in" in each else "")
            + "\n"
            + (each.get("code") or each["text"])
            for each in found
        )
        return "\n\n".join(best) or "nothing answers this; ask in other words"


def mcp(settings: Settings) -> None:
    """Answer an agent's calls, which come on stdin, on stdout until stdin ends."""
    for folder in settings.folders:
        if not os.path.exists(folder):
            raise UserError("does not exist", "name a folder that does").at(folder)
    if settings.install:
        return _install(settings, settings.install)
    library = require("mcp.server.mcpserver", "mcp")
    refuse_closed_stdin()
    about = ABOUT + ", ".join(settings.folders)
    server = library.MCPServer("structkit", version=__version__, instructions=about)
    error = library.exceptions.ToolError
    tools = Tools(settings.folders, settings.model, error, settings.offline)
    for each in (tools.ask, tools.like, tools.uses):
        server.add_tool(each, structured_output=False)
    call, invalid = server.call_tool, require("pydantic", "mcp").ValidationError

    async def call_tool(*given: Any, **named: Any) -> Any:
        try:
            return await call(*given, **named)
        except error as told:
            if not isinstance(cause := told.__cause__, invalid):
                raise
            wrong = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in cause.errors())
            raise error("; ".join(wrong)) from None

    server.call_tool = call_tool
    readable, writable = os.pipe()
    check = require("mcp_types", "mcp").jsonrpc_message_adapter.validate_json
    ended, ends = threading.Event(), (os.dup(0), readable, writable)
    threading.Thread(target=_mend, args=(*ends, check, ended), daemon=True).start()
    os.dup2(readable, 0)
    with redirect_stdout(sys.__stdout__):  # the server speaks there
        server.run()
    ended.set()


def _install(settings: Settings, agent: str) -> None:
    """Show the lines for an agent's configuration and add them; a person is asked first."""
    # editors start a server elsewhere; none of them sees a virtual environment
    here = "${workspaceFolder}" if agent in ("cursor", "vscode") else "."
    program = shutil.which("structkit", path=os.path.dirname(sys.executable)) or "structkit"
    words = [Surface().setting("offline", None)] * settings.offline + (
        ["-m", settings.model] if settings.model else []
    )
    words = ["mcp", *(here if each == "." else each for each in settings.folders), *words]
    entry, (place, key) = {"command": program, "args": words}, PLACES[agent]
    path, is_toml = Path(place).expanduser(), place.endswith(".toml")
    lines = f"[{key}.structkit]\ncommand = {json.dumps(program)}\nargs = {json.dumps(words)}"
    lines = lines if is_toml else json.dumps({key: {"structkit": entry}}, indent=2)
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        known: Any = tomllib.loads(text) if is_toml else json.loads(text or "{}")
        if known.setdefault(key, {}).setdefault("structkit", entry) is not entry:
            raise UserError("has a server structkit", "remove it first").at(str(path))
        whole = f"{text}\n{lines}" if is_toml else json.dumps(known, indent=2, ensure_ascii=False)
        known = tomllib.loads(whole) if is_toml else known  # another form of table refuses it
    except (ValueError, AttributeError):
        raise UserError(f"is not as {agent} reads it", f"add {lines}").at(str(path)) from None
    question = "\nAdd these lines? [y/N]" if os.isatty(0) else ""
    print(f"{path}:\n{lines}{question}")  # noqa: T201 what it adds
    if not question or sys.stdin.readline().lower().startswith("y"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(f"{whole}\n".lstrip().encode())


def _mend(
    messages: int,
    readable: int,
    writable: int,
    check: Callable[[bytes], object],
    ended: threading.Event,
) -> None:
    """Pass messages on until they end, and then end the program, also amid an answer."""
    with open(messages, "rb") as lines, open(writable, "wb", buffering=0) as out:
        for line in lines:
            mended = [line.rstrip(b"\n")]
            with suppress(ValueError, RecursionError):  # the server refuses it
                sent = json.loads(line)
                mended = [_mended(each, check) for each in (sent if type(sent) is list else [sent])]
            out.writelines(each + b"\n" for each in mended)
        while select.select([readable], [], [], 0)[0] and not ended.wait(POLL_SECONDS):
            pass
        ended.wait(GRACE)
    if not ended.wait(GRACE):
        end_now(0)


def _mended(message: Any, check: Callable[[bytes], object]) -> bytes:
    """Return the line of a message: half a surrogate pair becomes `?`.

    A request that the server could not read becomes one that it answers with an error.
    """
    line = json.dumps(message, ensure_ascii=False).encode(errors="replace")
    try:
        check(line)
    except ValueError:
        if isinstance(message, dict) and isinstance(message.get("id"), int | str):
            wrong = {"jsonrpc": "2.0", "id": message["id"], "method": "invalid request"}
            line = json.dumps(wrong).encode()
    return line


PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
COMMAND = Command(mcp, Settings, mcp, examples=f"echo '{PING}' | structkit mcp src docs")
