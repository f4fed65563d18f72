"""Serve `ask` to coding agents over the Model Context Protocol."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from itertools import chain, zip_longest
from os.path import realpath
from typing import Any

from structkit.command import Command, command_of
from structkit.errors import Surface, UserError, spelled_for, unknown
from structkit.extras import missing, require
from structkit.settings import make, setting
from structkit.version import __version__

ABOUT = "Find code and documentation by what it does. Ask before reading whole files. Folders: "


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Serve `ask` to a coding agent over the Model Context Protocol, on stdin and stdout.

    The agent starts the server and calls two tools: `ask` answers a question with passages, `like`
    finds passages similar to one. Paths are relative to the folder in which the server starts.
    """

    folders: tuple[str, ...] = setting(
        (".",), "Folders to ask about.", argument=True, metavar="FOLDER", reads="walks"
    )
    model: str | None = setting(None, "Embedding model, as in `ask`.", short="-m", reads=True)


class Arguments(Surface):
    """Names of the settings of `ask` in messages, as an agent gives them to the tools."""

    def setting(self, name: str, value: object, argument: str = "") -> str:
        name = {"questions": "question", "like": "place"}.get(name, name)
        return name if value is None else f"{name}={value!r}"


@dataclass(frozen=True)
class Tools:
    """Tools of the server; an agent reads their signatures and docstrings."""

    served: Sequence[str]
    model: str | None
    error: type[Exception]

    def ask(
        self, question: str, k: int = 5, glob: list[str] | None = None, folder: str = ""
    ) -> str:
        """Find the passages that answer a question, best first, with path and lines.

        A question is a sentence, a few words or the name of a symbol. `glob` chooses files, as
        .gitignore does: ["*.py", "!test_*"]. Without `folder`, all folders answer in turn.
        """
        chosen = [at for at in self.served if not folder or realpath(at) == realpath(folder)]
        if not chosen:
            raise self.error(str(unknown("folder", str(folder), self.served)))
        return self._passages(chosen, k, questions=question.strip(), glob=glob or [])

    def like(self, place: str, k: int = 5) -> str:
        """Find passages that are similar to the one at a place, which is FILE:LINE."""
        file = realpath(place.rpartition(":")[0]) + "/"
        within = [each for each in self.served if file.startswith(os.path.join(realpath(each), ""))]
        return self._passages(within[:1] or self.served, k, like=place)

    def _passages(self, folders: Sequence[str], k: int, **settings: Any) -> str:
        """Yield answers of the folders in turn: a line with the place of each, then its text."""
        ask, found, problems = command_of("ask"), [], list[str]()
        for folder in folders:
            values = {"target": folder, "k": k, "model": self.model, **settings}
            try:
                with spelled_for(Arguments()):
                    found.append(list(ask.work(make(ask.settings, values))))
            except (UserError, ModuleNotFoundError) as error:  # of one: the others may answer
                problems.append(str(missing(error) or error))
        in_turn = list(filter(None, chain.from_iterable(zip_longest(*found))))
        best = [
            "{path}:{lines[0]}-{lines[1]}\n".format_map(each) + (each.get("code") or each["text"])
            for each in in_turn[:k]
        ]
        if problems and not best:
            raise self.error("\n".join(dict.fromkeys(problems)))
        return "\n\n".join(best + problems) or "nothing answers this; ask in other words"


def mcp(settings: Settings) -> None:
    """Answer an agent's calls, which come on stdin, on stdout until stdin ends."""
    for folder in settings.folders:
        if not os.path.exists(folder):
            raise UserError("does not exist", "name a folder that does").at(folder)
    library = require("mcp.server.mcpserver", "mcp")
    about = ABOUT + ", ".join(settings.folders)
    server = library.MCPServer("structkit", version=__version__, instructions=about)
    tools = Tools(settings.folders, settings.model, library.exceptions.ToolError)
    for each in (tools.ask, tools.like):
        server.add_tool(each, structured_output=False)
    readable, writable = os.pipe()
    threading.Thread(target=_mend, args=(os.dup(0), writable), daemon=True).start()
    os.dup2(readable, 0)
    with redirect_stdout(sys.__stdout__):  # the server speaks there
        server.run()


def _mend(messages: int, mended: int) -> None:
    """Pass messages on; half a surrogate pair, which the server would not answer, becomes `?`."""
    with open(messages, "rb") as lines, open(mended, "wb", buffering=0) as out:
        for line in lines:
            with suppress(ValueError, RecursionError):  # the server refuses it
                line = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
            out.write(line.rstrip(b"\n") + b"\n")


PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
COMMAND = Command(mcp, Settings, mcp, examples=f"echo '{PING}' | structkit mcp src docs")
