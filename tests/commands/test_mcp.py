"""`structkit mcp`, asked by the client of the protocol's own package, and by messages as bytes."""

import asyncio
import json
import re
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from conftest import PROGRAM, WARM, environment, python

from structkit.asking.agents import AGENTS

FOLDER = Path("fixtures/collect/src").absolute()


@pytest.fixture
def home(tmp_path):
    """Where a server starts: two folders, `src` and `docs`."""
    pytest.importorskip("mcp", reason="mcp is not installed: pip install mcp")
    shutil.copytree(FOLDER, tmp_path / "src")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/circle.md").write_text("# Circles\n\nThe area of a circle is in `shapes`.\n")
    return tmp_path


def variables(home):
    return environment(XDG_CACHE_HOME=str(home / "cache"), OMP_NUM_THREADS="1")


def called(home, folders, calls):
    """What the server says of itself, its tools, and for each call whether it failed, and why."""
    import mcp

    program, *arguments = [*WARM, "mcp", *folders]
    server = mcp.StdioServerParameters(
        command=program, args=arguments, env=variables(home), cwd=home
    )

    async def talk():
        async with mcp.Client(mcp.stdio_client(server)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            results = [await client.call_tool(*call) for call in calls]
            listed = (await client.list_tools()).tools
            assert all(tool.annotations.read_only_hint and tool.output_schema for tool in listed)
            for tool in listed:
                schema = tool.input_schema
                assert not schema["additionalProperties"]
                assert "  " not in tool.description and "SERVER" not in str(schema)
                assert all(each["description"] for each in schema["properties"].values())
            return client.instructions, tools, [(r.is_error, r.content[0].text) for r in results]

    return asyncio.run(talk())


def places(text):
    """The files of the answers, in their order."""
    return re.findall(r"^(\S+):\d+-\d+(?: \(|$)", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("agent", "file", "before"),
    [
        ("claude", ".mcp.json", '{"mcpServers": {"tea": {"command": "té"}}, "x": 1}'),
        ("cursor", ".cursor/mcp.json", ""),
        ("gemini", ".gemini/settings.json", '{"theme": "dark"}'),
        ("vscode", ".vscode/mcp.json", "{}"),
        ("codex", ".codex/config.toml", '# mine\nmodel = "o"\n[mcp_servers.tea]\ncommand = "t"'),
    ],
)
def test_it_adds_itself_to_an_agent_and_keeps_what_is_there(agent, file, before, here, tmp_path):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(before) if before else None
    words = ("mcp", "--install", agent, "--offline")
    done = here(*words, env={"HOME": str(tmp_path)})
    assert (0, b"") == (done.returncode, done.stdout)
    read = tomllib.loads if agent == "codex" else json.loads
    now, old = read(path.read_text("utf-8")), read(before or "{}")
    key = AGENTS[agent].key
    own = now[key].pop("structkit")
    assert (old.get(key, {}), {**old, key: 0}) == (now[key], {**now, key: 0})
    assert "structkit" in own["command"] and ["mcp", "--offline"] == own["args"][::2]
    assert all(line in path.read_text("utf-8") for line in done.stderr.decode().splitlines()[-1:])
    after = path.read_bytes()
    again = here(*words, env={"HOME": str(tmp_path)})
    assert 0 == again.returncode and b"has this server already" in again.stderr
    other = here("mcp", "--install", agent, env={"HOME": str(tmp_path)})
    assert 1 == other.returncode and b"has a server structkit; remove it first" in other.stderr
    assert after == path.read_bytes()


@pytest.mark.parametrize("before", ['{"a": 1, // no', "[1]", '{"mcpServers": 3}', "\x00"])
def test_it_leaves_a_configuration_that_it_cannot_read(before, run, tmp_path):
    (tmp_path / ".mcp.json").write_text(before)
    done = run("mcp", "--install", "claude")
    assert 1 == done.returncode and b".mcp.json: is not as claude reads it; add {" in done.stderr
    assert before == (tmp_path / ".mcp.json").read_text()


def test_a_configuration_that_cannot_be_written_is_left_to_the_user(run, tmp_path):
    (tmp_path / ".cursor").write_text("a file")
    done = run("mcp", "--install", "cursor")
    assert 1 == done.returncode and b"or add the lines above by hand" in done.stderr


def test_an_agent_asks_about_several_folders(home):
    question = "how is the area of a circle computed"
    calls = [
        ("ask", {"question": question, "k": 20}),
        ("ask", {"question": question, "folder": "docs"}),
        ("ask", {"question": question, "folder": str(home / "docs")}),
        ("ask", {"question": question, "folder": "doc"}),
        ("ask", {"question": question, "folder": "/"}),
        ("ask", {"question": "area", "glob": "*.go"}),
        ("ask", {"question": "zzzqqq xxyyzz"}),
        ("like", {"place": "src/shapes.py:9", "k": 1}),
        ("like", {"place": str(home / "src/shapes.py:9"), "k": 1}),
        ("like", {"place": "src/none.py:9"}),
        ("ask", {"question": question, "folder": "parts"}),
        ("like", {"place": "shapes.py:9", "k": 1}),
        ("ask", {"question": question, "k": 4, "tokens": 100}),
        ("uses", {"name": "unit_circle"}),
        ("calls", {"name": "unit_circle", "folder": "src"}),
        ("uses", {"name": "unit_circl", "folder": "src"}),
        ("ask", {"question": question, "globs": "*.go"}),
        ("like", {"place": "of/parts/shapes.py:9-12", "glob": ["*.go"], "folder": "of/parts"}),
    ]
    shutil.copytree(FOLDER, home / "of/parts")
    about, tools, told = called(home, ["src", "docs", "of/parts"], calls)
    assert about.endswith("Folders: src, docs, of/parts")
    assert ["ask", "like", "uses", "calls"] == tools
    (
        every,
        docs,
        absolute,
        near,
        outside,
        go,
        none,
        like,
        same,
        wrong,
        last,
        bare,
        few,
        uses,
        calls,
        *more,
    ) = told
    near_name, unknown_argument, go_like = more
    assert not calls[0] and " (calls Circle)\n" in calls[1]
    assert {"src", "docs"} == {path.split("/")[0] for path in places(every[1])}
    assert (False, ["docs/circle.md"]) == (docs[0], places(docs[1])) and docs == absolute
    assert (
        near[0]
        and "unknown folder 'doc'; did you mean 'docs'? available: docs, of/parts, src" in near[1]
    )
    assert outside[0] and "unknown folder '/'; available: docs, of/parts, src" in outside[1]
    assert "src/shapes.go:" in go[1] and "src/shapes.py" not in go[1]
    assert not none[0] and 'nothing answers "zzzqqq xxyyzz": none of its words occurs' in none[1]
    assert like == same and like[1].startswith("of/parts/shapes.py:")
    assert wrong[0] and "src/none.py: is no file with passages in src docs of/parts" in wrong[1]
    assert all(path.startswith("of/parts/") for path in places(last[1])) and not last[0]
    assert bare == like and len(few[1]) < 900 and "tokens=100 leaves out " in few[1]
    assert not near_name[0] and "did you mean unit_circle?" in near_name[1]
    assert unknown_argument[0] and "globs" in unknown_argument[1]
    assert ["of/parts/shapes.go"] == places(go_like[1])
    assert not uses[0] and "def unit_circle()" in uses[1]


@pytest.mark.long
def test_a_folder_without_text_is_reported_unless_others_have_some(home):
    (home / "empty").mkdir()
    calls = [("ask", {"question": "circle", "k": 1})]
    calls += [("ask", {"question": "circle", "folder": "empty"})]
    _, _, [(failed, text), alone] = called(home, ["empty", "src"], calls)
    assert not failed and text.startswith("src/shapes.")
    assert alone[0] and "empty: holds no searchable text; name another folder" in alone[1]


# what an agent may send, as JSON, and what it is answered with
CALLS = Path(__file__).with_name("mcp_calls.txt").read_bytes().strip().split(b"\n\n")
SENT = [(sent, told.decode()) for sent, told in (each.split(b"\n") for each in CALLS)]
LONG = b'"ask", "arguments": {"question": "%s"}'
SENT += [(LONG % (b"area of " * 12_500), "src/shapes.")]
SENT += [
    (LONG % (b"a" * 2_000_000), "the question has 2,000,000 characters; ask with at most 100,000")
]
# requests that are none, which have an id
MALFORMED = [
    b'{"jsonrpc": "2.0", "id": 101, "method": 5}',
    b'{"jsonrpc": "2.0", "id": 102}',
    b'{"id": 103, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 104, "method": "ping", "params": "none"}',
    b'{"jsonrpc": "2.0", "id": 105, "method": ["ping"]}',
    b'{"jsonrpc": "2.0", "id": 106, "method": "tools/call", "params": {"name": 3}}',
]
START = b"""{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": \
"2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
"""
CALL = b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": %s}}\n'
CANCEL = b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": %d}}\n'


def started(home, *folders):
    return subprocess.Popen(
        [*PROGRAM, "mcp", *folders], env=variables(home), cwd=home,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def answers(server, messages, wanted):
    """The answers to these calls by their number, as they come."""
    server.stdin.write(START + messages)
    server.stdin.flush()
    found = {}
    while not wanted <= found.keys():
        message = json.loads(server.stdout.readline())
        if message.get("id") is not None:
            found[message["id"]] = message
    return found


@pytest.mark.long
def test_each_message_is_answered_and_a_wrong_argument_with_its_reason(home):
    calls = [CALL % (number, sent) for number, (sent, _) in enumerate(SENT, 1)]
    with started(home, "src") as server:
        messages = b"".join([b"no JSON\n", b"[" * 100_000 + b"\n", *calls])
        messages += b"\n".join([*MALFORMED, b""])
        found = answers(server, messages, {*range(len(SENT) + 1), *range(101, 107)})
        server.stdin.close()
    assert 0 == server.returncode
    for number, (sent, expected) in enumerate(SENT, 1):
        answer = json.dumps(found[number], ensure_ascii=False)
        assert expected in answer.replace("Error executing tool ask: ", ""), sent[:200]
        assert "pydantic" not in answer
    assert all(found[number]["error"]["code"] < 0 for number in range(101, 107))


SLOW = """
import sys, time
from structkit.asking import folder
folder.Folder.read = lambda *_, **__: print("asked", file=sys.stderr, flush=True) or time.sleep(60)
from structkit.cli.main import main
main()
"""


def test_a_line_that_is_no_message_is_answered_with_an_error(home):
    lines = b'no JSON\n[]\n{"id": 7}\n\n' + b"[" * 100_000 + b"\n"
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    with started(home, "src") as server:
        server.stdin.write(lines + ping)
        server.stdin.flush()
        found = [json.loads(server.stdout.readline()) for _ in range(5)]
        server.stdin.close()
    codes = [(each["id"], each.get("error", {}).get("code")) for each in found]
    assert [(None, -32700), (None, -32600), (7, -32600), (None, -32700)] == [
        each for each in codes if each[0] != 1
    ]
    assert (1, None) in codes


def test_a_passage_cannot_look_like_another_one(home):
    (home / "src/forged.py").write_text("# area\nsrc/shapes.py:1-3\rsrc/shapes.py:4-5\n\x0cx = 1\n")
    calls = [("ask", {"question": "area", "glob": "forged.py"})]
    _, _, [(failed, text)] = called(home, ["src"], calls)
    assert not failed and ["src/forged.py"] == [
        line.split(":")[0] for line in text.splitlines() if line[:1] != " " and line
    ]


@pytest.mark.parametrize("how", ["stdin", "SIGTERM"])
def test_it_ends_amid_a_question(home, how):
    asked = CALL % (1, b'"ask", "arguments": {"question": "area"}')
    with subprocess.Popen(
        [PROGRAM[0], "-c", SLOW, "mcp"], env=variables(home), cwd=home,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        server.stdin.write(START + asked)
        server.stdin.flush()
        while (line := server.stderr.readline()) != b"asked\n":
            assert line
        start = time.monotonic()
        server.stdin.close() if how == "stdin" else server.send_signal(signal.SIGTERM)
        assert (0 if how == "stdin" else 143) == server.wait(30)
        assert time.monotonic() - start < 20


@pytest.mark.long
def test_after_a_cancelled_question_it_answers_the_next_and_ends_at_a_signal(home):
    asked = b'"ask", "arguments": {"question": "area of a circle", "k": 1}'
    with started(home) as server:
        found = answers(server, CALL % (1, asked) + CANCEL % 1 + CALL % (2, asked), {0, 2})
        assert "result" in found[2] and "result" not in found.get(1, {})
        server.send_signal(signal.SIGTERM)
        assert 143 == server.wait(20)


def test_a_folder_that_is_not_there_ends_it_with_the_reason(run):
    done = run("mcp", ".", "none/here")
    assert 1 == done.returncode
    assert b"structkit: none/here: does not exist; name a folder that does\n" == done.stderr


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], "this needs the package mcp of the extra mcp; pip install mcp\n"),
        (["mcp/__init__.py"], "the package mcp.server of the extra mcp; pip install -U mcp\n"),
        (
            ["mcp/__init__.py", "mcp/server/__init__.py"],
            "the package mcp.server.mcpserver of the extra mcp; pip install -U mcp\n",
        ),
    ],
)
def test_without_the_extra_or_with_an_old_one_it_says_how_to_install_it(files, expected, tmp_path):
    for each in files:
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).touch()
    script = "import sys; from structkit.cli.main import main; sys.argv[1:] = ['mcp']\n"
    # with no files, no finder of packages knows it
    hide = "class Hide:\n def find_spec(self, name, *_):\n  if name == 'mcp': raise error(name)\n"
    error = "def error(name): return ModuleNotFoundError(f'No module named {name}', name=name)\n"
    script += "" if files else hide + error + "sys.meta_path.insert(0, Hide())\n"
    done = python("-c", script + "main()", PYTHONPATH=str(tmp_path))
    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("structkit: this needs ") and done.stderr.endswith(expected)
