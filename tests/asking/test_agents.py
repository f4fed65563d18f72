"""Settings files of agents: an entry is added, and every other byte stays."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from structkit.asking.agents import AGENTS, add_server, path_for
from structkit.errors import UserError

ENTRY = {"command": "structkit", "args": ["mcp", "."]}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def added(agent, before):
    """The bytes of a settings file to which our server is added."""
    path = Path(AGENTS[agent].settings).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before)
    add_server(agent, "structkit", ["mcp", "."]).write()
    return path.read_bytes()


@pytest.mark.parametrize(
    "before",
    [
        b'{"a": 1, "a": 2, "n": NaN, "i": -Infinity, "s": "\\ud800"}',
        b'{\r\n\t"servers": {\r\n\t\t"tea": {"command": "t"}, // mine, "b": {\r\n\t},\r\n}\r\n',
        b'/* { */ {"servers": {} } // }\n',
        b'\xef\xbb\xbf{"x": "servers", "y": {"servers": {"structkit": 3}}}',
        b'{"servers": {"structkit": 1}, "servers": {}}',
    ],
)
def test_every_other_byte_of_json_stays(before):
    after = added("vscode", before)
    pieces = after.split(b'"structkit": {', 1)
    start, end = (after.index(pieces[1]), after.rindex(before[-1:]))
    assert before.startswith(pieces[0].rstrip().removesuffix(b'"servers": {').rstrip())
    assert start < end and after.endswith(before[-2:])
    assert len(before) <= len(after) - len(json.dumps(ENTRY)) + 40
    assert after == added("vscode", after)  # it is there already
    if b"//" not in before and not before.startswith(b"\xef"):
        assert ENTRY == json.loads(after)["servers"]["structkit"]


@pytest.mark.parametrize("before", [b"", b"# mine\r\nmodel = 'o'\r\n", b"x = nan"])
def test_toml_gets_a_table_at_its_end(before):
    after = added("codex", before)
    assert after.startswith(before)
    assert ENTRY == tomllib.loads(after.decode())["mcp_servers"]["structkit"]
    assert after.count(b"\n") == after.count(b"\r\n") or b"\r" not in after


def test_words_of_toml_are_toml(project):
    words = ["mcp", "\U0001f600", 'a"b\\c', "\x7f\t"]
    add_server("codex", "structkit", words).write()
    text = (project / "home/.codex/config.toml").read_text("utf-8")
    assert words == tomllib.loads(text)["mcp_servers"]["structkit"]["args"]
    with pytest.raises(UserError, match="UTF-8"):
        add_server("claude", "structkit", ["\udcff"])


@pytest.mark.parametrize(
    "before", [b"[1]", b'{"servers": 3}', b'{"a": [}', b'{"a": 1}}', b"{", b"\0", b"[" * 10**5]
)
def test_what_is_no_settings_file_is_refused(before):
    with pytest.raises(UserError, match="is not as vscode reads it; add {"):
        added("vscode", before)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "parent"])
def test_what_is_no_file_is_refused_and_stays(project, kind):
    path = project / ".mcp.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/null")
    else:
        path.symlink_to("none/such/file")
    with pytest.raises(UserError, match=r"\.mcp\.json|none/such"):
        add_server("claude", "structkit", ["mcp", "."]).write()
    assert path.is_symlink() or not path.is_file()
    assert not os.path.isfile("/dev/null")


def test_a_link_to_a_file_stays_a_link(project):
    (project / "real.json").write_text("{}")
    (project / ".mcp.json").symlink_to("real.json")
    add_server("claude", "structkit", ["mcp", "."]).write()
    assert (project / ".mcp.json").is_symlink()
    assert "structkit" in json.loads((project / "real.json").read_text())["mcpServers"]


@pytest.mark.parametrize(
    ("agent", "path", "expected"),
    [
        ("claude", "src", "src"),
        ("claude", "-x", "./-x"),
        ("gemini", "./-x/", "./-x"),
        ("cursor", ".", "${workspaceFolder}"),
        ("vscode", "../lib", "${workspaceFolder}/../lib"),
        ("vscode", "-x", "${workspaceFolder}/-x"),
        ("vscode", "/srv/lib", "/srv/lib"),
        ("codex", ".", "."),
    ],
)
def test_a_server_finds_its_folder(agent, path, expected):
    assert expected == path_for(AGENTS[agent], path)
    assert os.path.isabs(path_for(AGENTS["codex"], "src"))
