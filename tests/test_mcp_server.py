"""examples/mcp_server.py, asked by the client of the protocol's own package."""

import asyncio
import sys
from pathlib import Path

import pytest
from conftest import environment

mcp = pytest.importorskip("mcp", reason="mcp is not installed: pip install 'mcp>=2'")

SERVER = Path("examples/mcp_server.py").absolute()
CALLS = [
    ("ask", {"question": "how is the area of a circle computed", "k": 2}),
    ("ask", {"question": "area", "glob": ["*.go"]}),
    ("ask", {"question": "zebra xylophone"}),
    ("like", {"place": "src/shapes.py:9", "k": 1}),
    ("like", {"place": "src/none.py:9"}),
]


async def answers(folder, cache):
    """The names of the tools, and for each call whether it failed and the text that came."""
    place = [str(SERVER), str(folder)]
    # what the client passes on of its own environment is not enough
    variables = environment(XDG_CACHE_HOME=str(cache), OMP_NUM_THREADS="1")
    server = mcp.StdioServerParameters(command=sys.executable, args=place, env=variables)
    async with mcp.Client(mcp.stdio_client(server)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        results = [await client.call_tool(*call) for call in CALLS]
    return tools, [(result.is_error, result.content[0].text) for result in results]


def test_an_agent_asks_about_a_folder(tmp_path):
    folder = Path("fixtures/collect").absolute()
    tools, told = asyncio.run(answers(folder, tmp_path))
    assert ["ask", "like"] == tools
    (_, two), (_, go), none, (_, like), wrong = told
    places = [text.partition("\n")[0] for text in two.split("\n\n") if text.startswith("src/")]
    assert 2 == len(places)
    assert "src/shapes.go:" in go and "src/shapes.py" not in go
    assert (False, "nothing answers this; ask in other words") == none
    assert like.startswith("src/") and not like.startswith("src/shapes.py")
    assert wrong[0] and "src/none.py: is no file with passages" in wrong[1]


def test_it_is_short():
    assert len(SERVER.read_text("utf-8").splitlines()) < 80
