"""Let a coding agent ask about a folder: a server of the Model Context Protocol over stdio.

python examples/mcp_server.py FOLDER

It needs `pip install "mcp>=2"`. An agent starts it, as its list of servers says: the command
`python` with the arguments `examples/mcp_server.py` and the folder.
"""

import json
import os
import sys
import threading
from typing import Any

if __name__ == "__main__" and len(sys.argv) != 2:
    sys.exit(__doc__)  # before anything slow is imported

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import structkit

server = MCPServer(
    "structkit",
    instructions="Find code and documentation by what it does. Ask before reading whole files.",
)


@server.tool(structured_output=False)
def ask(question: str, k: int = 5, glob: list[str] | None = None) -> str:
    """Find the passages that answer a question, best first, with path and lines.

    A question is a sentence, a few words or the name of a symbol. `glob` chooses files, as
    .gitignore does: ["*.py", "!test_*"].
    """
    return passages(questions=question, k=k, glob=glob or [])


@server.tool(structured_output=False)
def like(place: str, k: int = 5) -> str:
    """Find passages that are similar to the one at a place, which is FILE:LINE."""
    return passages(like=place, k=k)


def passages(**settings: Any) -> str:
    """Answers as text: a line that says where each is, then its text."""
    try:
        found = [
            "{path}:{lines[0]}-{lines[1]}\n".format_map(each) + (each.get("code") or each["text"])
            for each in structkit.ask(".", **settings)
        ]
    except structkit.UserError as error:  # a place that is not there, for example
        raise ToolError(str(error)) from error
    return "\n\n".join(found) or "nothing answers this; ask in other words"


def mend(messages: int, mended: int) -> None:
    """Pass messages on; half a surrogate pair, which the server would not answer, becomes `?`."""
    with open(messages, "rb") as lines, open(mended, "wb", buffering=0) as out:
        for line in lines:
            try:
                line = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
            except (ValueError, RecursionError):  # for the server to refuse
                pass
            out.write(line.rstrip(b"\n") + b"\n")


if __name__ == "__main__":
    os.chdir(sys.argv[1])  # paths of answers begin there
    readable, writable = os.pipe()
    threading.Thread(target=mend, args=(os.dup(0), writable), daemon=True).start()
    os.dup2(readable, 0)
    server.run()
