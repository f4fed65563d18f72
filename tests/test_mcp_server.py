"""examples/mcp_server.py, asked by the client of the protocol's own package."""

import asyncio
import json
import subprocess
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


# what an agent may send, as JSON, and what it is answered with
SENT = [
    (b'"ask", "arguments": {"question": "area \\ud800 of", "k": 1}', "src/shapes."),
    (b'"ask", "arguments": {"question": "area \\ud83d\\ude00 of", "k": 1}', "src/shapes."),
    (b'"ask", "arguments": {"question": "\\udcff"}', "nothing answers this"),
    (b'"ask", "arguments": {"question": "area", "glob": ["\\udfff"]}', "nothing answers this"),
    (b'"like", "arguments": {"place": "\\udbff.py:2"}', "?.py: is no file with passages"),
    (b'"ask", "arguments": {"question": "area", "k": 0}', "k=0 is not 1 or more"),
    (b'"like", "arguments": {"place": "src/shapes.py:9", "k": -1}', "k=-1 is not 1 or more"),
    (b'"ask", "arguments": {"question": ""}', "is empty; give it a value"),
    (b'"ask", "arguments": {"question": "area", "glob": [""]}', "glob is empty; give it a value"),
    (b'"ask", "arguments": {"question": "area", "glob": ["!"]}', "glob='!' matches no path"),
    (b'"ask", "arguments": {"question": "area", "k": "many"}', "valid integer"),
    (b'"like", "arguments": {"place": "src"}', "is not FILE:LINE; write it as src/shapes.py:12"),
]
START = b"""{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": \
"2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
"""
CALL = b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": %s}}\n'


def test_each_message_is_answered_and_a_wrong_argument_with_its_reason(tmp_path):
    calls = [CALL % (number, sent) for number, (sent, _) in enumerate(SENT, 1)]
    server = subprocess.Popen(
        [sys.executable, SERVER, Path("fixtures/collect").absolute()],
        env=environment(XDG_CACHE_HOME=str(tmp_path), OMP_NUM_THREADS="1"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with server:
        server.stdin.write(START + b"".join([b"no JSON\n", b"[" * 100_000 + b"\n", *calls]))
        server.stdin.flush()
        found = {}
        while len(found) <= len(SENT):
            message = json.loads(server.stdout.readline())
            if message.get("id") is not None:
                found[message["id"]] = message["result"]
        server.stdin.close()
    for number, (sent, expected) in enumerate(SENT, 1):
        assert expected in found[number]["content"][0]["text"], sent


def test_it_is_short():
    assert len(SERVER.read_text("utf-8").splitlines()) < 80
