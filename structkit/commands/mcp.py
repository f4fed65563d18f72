"""Serve `ask` to coding agents over the Model Context Protocol."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from os.path import basename, realpath
from typing import Any, Literal, NamedTuple

from structkit.asking.agents import AGENTS, SERVER_NAME, add_server, path_for
from structkit.command import Command, command_of
from structkit.errors import Surface, UserError, unknown, use_surface
from structkit.extras import missing_training_package, require
from structkit.processes import POLL_SECONDS, end_now
from structkit.progress import printable
from structkit.records.jsonl import Record, refuse_closed_stdin
from structkit.searching import PreferredKind
from structkit.settings import make, offline_setting, setting, settings_class
from structkit.version import __version__

MAX_QUESTION_CHARACTERS = 100_000
ANSWER_GRACE_SECONDS = 1.0  # for answers under way when stdin ends
PARSE_ERROR = -32700  # of JSON-RPC
INVALID_REQUEST = -32600
TEXT_INDENT = (
    "    "  # before each line of a passage, so that it cannot look like another one's place
)
INSTRUCTIONS = (
    "Find code and documentation of a project by what it does. Ask before you read whole files. "
    "Answers are passages, best first; each begins with its path and lines, its text is indented. "
    "Folders: "
)
Globs = list[str] | str | None


class Argument(NamedTuple):
    """An argument of tools, as an agent reads it; one without a default is required."""

    type: Any
    description: str
    default: Any = ...


class Tool(NamedTuple):
    """A tool of the server and its own arguments; the first one is the setting of `ask`."""

    name: str
    description: str
    arguments: tuple[str, ...]


TOOL_ARGUMENTS = {
    "question": Argument(
        str, "A sentence, a few words or the name of a symbol; or a whole bug report."
    ),
    "place": Argument(
        str, "The passage: FILE:LINE, FILE:FIRST-LAST, or the place that begins an answer."
    ),
    "name": Argument(
        str,
        "The symbol as in the code: NAME alone, or with its class, file or folder to choose among "
        "several: Class.method, module::NAME, file.NAME.",
    ),
    "k": Argument(int, "Maximum number of answers.", 10),
    "glob": Argument(
        Globs,
        'Patterns of the files to search, as in .gitignore: "*.py", ["src", "!test_*"].',
        None,
    ),
    "folder": Argument(
        str, "Folder to search, one of those served or inside one. Default: all.", ""
    ),
    "kind": Argument(
        PreferredKind | None,
        "Kind of files: code, docs or tests; all prefers none. By default the question's words "
        "decide which kind counts more, and every kind may answer.",
        None,
    ),
    "tokens": Argument(
        int,
        "Length of all answers together, about four characters each. Passages are cut to their "
        "best lines, and the end says what was left out.",
        2000,
    ),
}
SHARED_ARGUMENTS = ("glob", "folder", "tokens")
TOOLS = {  # by the setting of `ask` that their first argument gives
    "questions": Tool(
        "ask",
        "Find the passages that answer a question about code or documentation, best first.\n\n"
        "Use it to find a place by what it does. Use `uses` for every line with a symbol, and "
        "`like` for code that resembles a passage.",
        ("question", "k", "kind"),
    ),
    "like": Tool(
        "like",
        "Find passages that are similar to the one at a place, by meaning and words.\n\n"
        "Use it before you write code that may exist already, or to change all code of one form.",
        ("place", "k"),
    ),
    "uses": Tool(
        "uses",
        "Find the definitions of a symbol, and every line of code that uses its name.\n\n"
        "Use it to learn who calls or imports a name that you know; names in comments and strings "
        "are no uses. Each answer says whether it is a definition, call, import or mention.",
        ("name",),
    ),
    "calls": Tool(
        "calls",
        "Find the names that the definitions of a symbol call, with the first line of each.\n\n"
        "Use it to follow a function into what it does; `uses` finds who calls it.",
        ("name",),
    ),
}


@dataclass(frozen=True)
class AnswerText:
    """A passage that answers."""

    path: str
    lines: list[int]
    text: str
    use: Literal["definition", "call", "import", "mention"] | None = None
    calls: str | None = None
    also_in: list[str] | None = None

    @classmethod
    def of(cls, answer: Record) -> AnswerText:
        """Return a record of `ask` as an agent reads it."""
        text = answer.get("code") or answer["text"]
        given = (answer.get(name) for name in ("use", "calls", "also_in"))
        return cls(answer["path"], answer["lines"], text, *given)

    def __str__(self) -> str:
        place = printable(f"{self.path}:{self.lines[0]}-{self.lines[1]}")
        for about in (self.use, self.calls and f"calls {self.calls}"):
            place += f" ({about})" if about else ""
        if self.also_in:
            place += f" (also in {printable(', '.join(self.also_in))})"
        return "\n".join([place, *(TEXT_INDENT + line for line in self.text.splitlines())])


@dataclass(frozen=True)
class Answers:
    """What a tool finds, and a note of what was left out, or why nothing answers."""

    answers: list[AnswerText]
    note: str

    def __str__(self) -> str:
        note = [f"({self.note})"] if self.note else []
        return "\n\n".join(map(str, [*self.answers, *note]))


@settings_class
class Settings:
    """Serve `ask` to a coding agent over the Model Context Protocol, on stdin and stdout.

    The agent starts the server and calls its tools: `ask` answers a question with passages, `like`
    finds passages similar to one, `uses` finds lines that use a symbol, and `calls` what it calls.
    Paths are relative to the folder in which the server starts.
    """

    folders: tuple[str, ...] = setting(
        (".",), "Folders to ask about.", argument=True, metavar="FOLDER", reads="walks"
    )
    model: str | None = setting(None, "Embedding model, as in `ask`.", short="-m", reads=True)
    offline: bool = offline_setting()
    secrets: bool = setting(False, "Read files of keys and passwords too, as in `ask`.")
    install: str | None = setting(None, "Agent to add the server to.", choices=tuple(AGENTS))


@dataclass(frozen=True)
class AgentSurface(Surface):
    """Names of the settings of `ask` in messages, as an agent gives them to the tools."""

    messages: list[str] = field(default_factory=list)

    def setting(self, name: str, value: object, argument: str = "") -> str:
        if name in TOOLS:
            name = TOOLS[name].arguments[0]
        return name if value is None else f"{name}={value!r}"

    def note(self, message: str) -> None:
        self.messages.append(message)


def call(
    settings: Settings,
    asked: str,
    text: str,
    glob: Globs,
    folder: str,
    tokens: int,
    **others: Any,
) -> Answers:
    """Return the answers of a tool, and a note of what was left out or why there are none.

    `asked` is the setting of `ask` that gets the text.
    """
    from structkit.asking.budget import shorten

    if len(text) > MAX_QUESTION_CHARACTERS:
        problem = f"the question has {len(text):,} characters"
        remedy = f"ask with at most {MAX_QUESTION_CHARACTERS:,}, and leave out logs"
        raise UserError(problem, remedy)
    if asked == "like":
        text = _existing_place(text, settings.folders)
    target, *more_folders = _searched_folders(settings.folders, folder)
    globs = [glob] if isinstance(glob, str) else glob or []
    ask, surface = command_of("ask"), AgentSurface()
    values = {"target": target, "also": more_folders, "glob": globs, **others}
    values[asked] = text.strip()
    for name in ("model", "offline", "secrets"):
        values[name] = getattr(settings, name)
    with use_surface(surface), redirect_stdout(sys.stderr):  # as a hook may print
        make(ask.settings, {"target": target, "tokens": tokens})  # checks the number
        answers = list(ask.work(make(ask.settings, values)))
        shown = shorten(answers, tokens)
        note = shown.note() if answers else "; ".join(surface.messages)
    return Answers([*map(AnswerText.of, shown.answers)], note)


def _existing_place(place: str, folders: Sequence[str]) -> str:
    """Return a place from here: an agent may write it from a folder that is served."""
    places = [place, *(os.path.join(folder, place) for folder in folders)]
    existing = (path for path in places if os.path.exists(re.split(r":\d|#", path)[0]))
    return next(existing, place)


def _searched_folders(folders: Sequence[str], name: str) -> Sequence[str]:
    """Return the folders to search: all that are served, or one of them or inside them."""
    if not name:
        return folders
    served_as = {realpath(served): served for served in folders}
    of_this_name = [served for top, served in served_as.items() if basename(top) == name]
    paths = [name, *(os.path.join(served, name) for served in folders)]
    if len(of_this_name) == 1:
        paths += of_this_name
    for path in filter(os.path.exists, paths):
        real = realpath(path)
        if any(f"{real}/".startswith(f"{top.rstrip('/')}/") for top in served_as):
            return [served_as.get(real, path)]
    raise unknown("folder", name, folders)


def mcp(settings: Settings) -> None:
    """Answer an agent's calls, which come on stdin, on stdout until stdin ends."""
    for folder in settings.folders:
        if not os.path.exists(folder):
            raise UserError("does not exist", "name a folder that does").at(folder)
    if settings.install:
        _install(settings, settings.install)
    else:
        _serve(settings)


def _serve(settings: Settings) -> None:
    """Run the server; a thread passes its messages on."""
    library = require("mcp.server.mcpserver", "mcp")
    refuse_closed_stdin()
    os.environ["PYDANTIC_ERRORS_INCLUDE_URL"] = "0"  # what is wrong is enough
    server = library.MCPServer(
        "structkit",
        version=__version__,
        instructions=INSTRUCTIONS + ", ".join(map(printable, settings.folders)),
        tools=[_tool(settings, asked, tool) for asked, tool in TOOLS.items()],
    )
    readable, writable = os.pipe()
    validate = require("mcp_types", "mcp").jsonrpc_message_adapter.validate_json
    arguments = os.dup(0), os.dup(1), readable, writable, validate
    threading.Thread(target=_pass_messages, args=arguments, daemon=True).start()
    os.dup2(readable, 0)
    with redirect_stdout(sys.__stdout__):  # the server speaks there
        server.run()


def _tool(settings: Settings, asked: str, tool: Tool) -> Any:
    """Return a tool as the library has it: it reads alone, and refuses unknown arguments."""
    types, library = require("mcp_types", "mcp"), require("mcp.server.mcpserver", "mcp")
    signatures = require("mcp.server.mcpserver.utilities.func_metadata", "mcp")
    pydantic = require("pydantic", "mcp")
    schema = pydantic.TypeAdapter(Answers)

    def answer(**given: Any) -> Any:
        try:
            answers = call(settings, asked, given.pop(tool.arguments[0]), **given)
        except (UserError, ModuleNotFoundError) as error:
            problem = str(missing_training_package(error) or error)
            raise library.exceptions.ToolError(problem) from None
        text = types.TextContent(type="text", text=str(answers))
        return types.CallToolResult(
            content=[text], structured_content=schema.dump_python(answers, exclude_none=True)
        )

    described = dict[str, Any]()
    for name in (*tool.arguments, *SHARED_ARGUMENTS):
        kind, description, default = TOOL_ARGUMENTS[name]
        described[name] = kind, pydantic.Field(default, description=description)
    arguments = pydantic.create_model(
        tool.name,
        __base__=signatures.ArgModelBase,
        __cls_kwargs__={"extra": "forbid"},
        **described,
    )
    return require("mcp.server.mcpserver.tools", "mcp").Tool(
        name=tool.name,
        description=tool.description,
        fn=answer,
        is_async=False,
        parameters=arguments.model_json_schema(),
        fn_metadata=signatures.FuncMetadata(
            arg_model=arguments, output_schema=schema.json_schema()
        ),
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _unread_bytes(pipe: int) -> int:
    """Return how many bytes of a pipe are still to be read; none at its end, unlike `select`."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _pass_messages(
    source: int,
    answers: int,
    readable: int,
    writable: int,
    validate: Callable[[bytes], object],
) -> None:
    """Pass messages on until they end, and then end the program, also amid an answer.

    A line that is no message is answered with an error. Half a surrogate pair becomes `?`.
    """
    with open(source, "rb") as lines, open(writable, "wb", buffering=0) as messages:
        for line in lines:
            message: Any = None
            try:
                message = json.loads(line)
                text = json.dumps(message, ensure_ascii=False).encode(errors="replace")
            except (ValueError, RecursionError):
                if line.strip():
                    _refuse(answers, None, PARSE_ERROR, "the line is no JSON")
                continue
            try:
                validate(text)
            except ValueError:
                name = message.get("id") if isinstance(message, dict) else None
                name = name if isinstance(name, int | str) else None
                _refuse(answers, name, INVALID_REQUEST, "the line is no request of JSON-RPC 2.0")
            else:
                messages.write(text + b"\n")
    while _unread_bytes(readable):
        time.sleep(POLL_SECONDS)
    time.sleep(ANSWER_GRACE_SECONDS)
    end_now(0)


def _refuse(answers: int, name: int | str | None, code: int, problem: str) -> None:
    """Answer a line with an error; one write is a line of its own among the server's."""
    error = {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": problem}}
    with suppress(OSError):  # nobody reads any more
        os.write(answers, json.dumps(error).encode() + b"\n")


def _install(settings: Settings, agent: str) -> None:
    """Show the lines for an agent's settings file and add them; a person is asked first."""
    beside_python = os.path.join(os.path.dirname(sys.executable), SERVER_NAME)
    path_in_agent = partial(path_for, AGENTS[agent])
    arguments = ["mcp", *map(path_in_agent, settings.folders)]
    for name in ("offline", "secrets"):
        if getattr(settings, name):
            arguments.append(Surface().setting(name, None))
    if model := settings.model:
        arguments += ["-m", path_in_agent(model) if os.path.exists(model) else model]
    change = add_server(
        agent, SERVER_NAME if shutil.which(SERVER_NAME) else beside_python, arguments
    )
    if change.text is None:
        print(f"{change.path} has this server already")  # noqa: T201 what it adds
        return
    asks = os.isatty(0)
    question = "\nAdd these lines? [y/N]" if asks else ""
    print(f"{change.path}:\n{change.lines}{question}")  # noqa: T201 what it adds
    if not asks or sys.stdin.readline().lower().startswith("y"):
        change.write()


PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
COMMAND = Command(mcp, Settings, mcp, examples=f"echo '{PING}' | structkit mcp src docs")
