"""Let a coding agent ask about a folder: a server of the Model Context Protocol over stdio.

python examples/mcp_server.py FOLDER

It needs `pip install "mcp>=2"`. An agent starts it, as its list of servers says: the command
`python` with the arguments `examples/mcp_server.py` and the folder.
"""

import os
import sys
from collections.abc import Iterable
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
    return passages(structkit.ask(".", [question], k=k, glob=glob or []))


@server.tool(structured_output=False)
def like(place: str, k: int = 5) -> str:
    """Find passages that are similar to the one at a place, which is FILE:LINE."""
    return passages(structkit.ask(".", like=place, k=k))


def passages(answers: Iterable[dict[str, Any]]) -> str:
    """Answers as text: a line that says where each is, then its text."""
    try:
        found = [
            "{path}:{lines[0]}-{lines[1]}\n".format_map(each) + (each.get("code") or each["text"])
            for each in answers
        ]
    except structkit.UserError as error:  # a place that is not there, for example
        raise ToolError(str(error)) from error
    return "\n\n".join(found) or "nothing answers this; ask in other words"


if __name__ == "__main__":
    os.chdir(sys.argv[1])  # paths of answers begin there
    server.run()
