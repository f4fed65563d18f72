"""What tools for agents answer when the definition of a symbol is asked for, in tokens.

    python -m experiments.symbols FOLDER SYMBOL… [--semble PROGRAM] [--serena PROGRAM]

FOLDER is a checkout. Each tool is asked as an agent asks it: structkit and serena by the Model
Context Protocol, semble and ripgrep by their commands. An answer is right if it holds the first
line of a definition of that name. What a tool tells an agent first (descriptions, serena's manual)
counts apart, since it is read once. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from experiments.repositories import token_counter

SESSION = re.compile(r"session id is `(\w+)`")
SERENA = ["--context", "claude-code", "--enable-web-dashboard", "false", "--log-level", "ERROR"]
# a name, how it is asked, the answers to the symbols, what is read before
Row = tuple[str, str, list[str], str]


async def call(server: ClientSession, tool: str, **arguments: Any) -> str:
    """The text that a tool answers."""
    answer = await server.call_tool(tool, arguments)
    assert not answer.is_error, answer
    return "".join(getattr(part, "text", "") for part in answer.content)


async def connect(stack: AsyncExitStack, command: Sequence[str]) -> tuple[ClientSession, str]:
    """A session with a server, and the descriptions of its tools."""
    server = StdioServerParameters(command=command[0], args=[*command[1:]], env={**os.environ})
    streams = await stack.enter_async_context(stdio_client(server))
    session = await stack.enter_async_context(ClientSession(*streams[:2]))
    await session.initialize()
    tools = (await session.list_tools()).tools
    return session, "".join(tool.model_dump_json(exclude_none=True) for tool in tools)


async def servers(folder: str, symbols: Sequence[str], serena: str | None) -> list[Row]:
    """The rows of the servers."""
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        program = str(Path(sys.executable).with_name("structkit"))
        session, told = await connect(stack, [program, "mcp", folder])
        for how, tool, more in (
            ("`ask`", "ask", {}),
            ("`ask`, `tokens` 500", "ask", {"tokens": 500}),
            ("`uses`", "uses", {}),
        ):
            key = "name" if tool == "uses" else "question"
            answers = [await call(session, tool, **{key: name}, **more) for name in symbols]
            rows.append(("structkit `mcp`", how, answers, told))
        if serena:
            start = [serena, "start-mcp-server", "--project", folder, *SERENA]
            session, told = await connect(stack, start)
            manual = await call(session, "initial_instructions")
            found = SESSION.search(manual)
            assert found, manual
            for how, with_body in (
                ("`find_symbol`", ""),
                ("`find_symbol`, `include_body`", ", include_body=True"),
            ):
                asked = (f"s.lsp.find_symbol({symbol!r}{with_body})" for symbol in symbols)
                answers = [
                    await call(session, "serena_repl", session=found[1], code=code)
                    for code in asked
                ]
                rows.append(("serena", how, answers, told + manual))
    return rows


def output(command: Sequence[str], folder: str) -> str:
    """What a command prints."""
    return subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE).stdout


def commands(folder: str, symbols: Sequence[str], semble: str | None) -> Iterator[Row]:
    """The rows of the commands."""
    if semble:
        answers = [output([semble, "search", symbol, "."], folder) for symbol in symbols]
        yield "semble", "`semble search`", answers, ""
    answers = [output(["rg", "-n", "-w", symbol], folder) for symbol in symbols]
    yield "ripgrep", "`rg -n -w`", answers, ""


def table(rows: Sequence[Row], symbols: Sequence[str], size: Callable[[str], int]) -> Iterator[str]:
    """The lines of the table."""
    yield "| tool | call | tokens, mean | median | holds the definition | read once |"
    yield "|---|---|---:|---:|---:|---:|"
    for name, how, answers, before in rows:
        sizes = [size(answer) for answer in answers]
        right = sum(
            bool(re.search(rf"(?:class|def) {re.escape(symbol)}\b", answer))
            for symbol, answer in zip(symbols, answers, strict=True)
        )
        cells = [name, how, f"{np.mean(sizes):,.0f}", f"{np.median(sizes):,.0f}"]
        once = f"{size(before):,}" if before else ""
        yield f"| {' | '.join([*cells, f'{right} of {len(symbols)}', once])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("symbols", nargs="+")
    parser.add_argument("--semble")
    parser.add_argument("--serena")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    rows = asyncio.run(servers(folder, options.symbols, options.serena))
    rows += commands(folder, options.symbols, options.semble)
    print("\n".join(table(rows, options.symbols, token_counter())))


if __name__ == "__main__":
    main()
