"""Models by name: what looks like a path is none, and the hub is asked once, not for long."""

import base64
import hashlib
import json
import shutil
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import completed, environment
from documents import FENCE, PROGRAM

from structkit.errors import UserError
from structkit.learning.folders import model_folder
from tests.learning.training.materials import train_on

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "owner/small"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    data = folder / "train.jsonl"
    data.write_text('{"query": "a", "positive": "b"}\n' * 2)
    values = {"size": "tiny", "vocabulary_size": 400, "max_steps": 0, "architecture": "bert"}
    train_on(data, "contrastive", folder / "model", pooling="mean", **values)
    (folder / "model" / "structkit.json").unlink()
    (folder / "model" / "onnx.bin").write_bytes(b"of another library")
    return folder / "model"


@pytest.fixture
def hub(model, tmp_path):
    """A hub that has one model; `hub.slow` seconds go by before an answer, `asked` is what came."""
    server = Server(("127.0.0.1", 0), Hub)
    server.model, server.asked, server.slow = model, [], 0.0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_port}"
    server.env = {"HF_ENDPOINT": place, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": ""}
    server.env |= {"no_proxy": "127.0.0.1", "HF_HUB_DISABLE_XET": "1"}
    yield server
    server.shutdown()


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that hung up is no news for the stderr of another test."""


class Hub(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.path)
        time.sleep(server.slow)
        files = {
            path.relative_to(server.model).as_posix(): path
            for path in server.model.rglob("*")
            if path.is_file()
        }
        path = self.path.partition("?")[0]
        if path.startswith(f"/api/models/{NAME}/tree/"):
            found = [
                {"type": "file", "path": name, "size": file.stat().st_size, "oid": tag(file)}
                for name, file in files.items()
            ]
            self.answer(json.dumps(found).encode())
        elif path.startswith(f"/api/models/{NAME}"):
            siblings = [{"rfilename": name} for name in files]
            self.answer(json.dumps({"id": NAME, "sha": COMMIT, "siblings": siblings}).encode())
        elif (name := path.removeprefix(f"/{NAME}/resolve/{COMMIT}/")) in files:
            self.answer(files[name].read_bytes(), ETag=f'"{tag(files[name])}"')
        else:
            self.send_response(404)
            known = path.startswith(f"/{NAME}/")
            self.send_header("X-Error-Code", "EntryNotFound" if known else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET

    def do_POST(self):
        """What `hf upload` asks: to make a repository, check the card, and how to send files."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/create"):
            found = {"url": f"http://127.0.0.1:{self.server.server_port}/{NAME}"}
        elif "/preupload/" in self.path:
            regular = {"uploadMode": "regular", "shouldIgnore": False}
            found = {"files": [{**each, **regular} for each in json.loads(content)["files"]]}
        elif self.path == "/api/validate-yaml":
            found = {"errors": [], "warnings": []}
        else:
            found = {"commitUrl": self.path, "commitOid": COMMIT}
            for each in map(json.loads, content.splitlines()):
                if each["key"] == "file":
                    file = self.server.model / each["value"]["path"]
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(base64.b64decode(each["value"]["content"]))
        self.answer(json.dumps(found).encode())

    def answer(self, content, **headers):
        self.send_response(200)
        for name, value in {"X-Repo-Commit": COMMIT, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def tag(file):
    return hashlib.sha1(file.read_bytes()).hexdigest()


TEXT = b'{"id": "1", "text": "some words"}\n'


@pytest.mark.long
def test_a_model_of_the_hub_is_downloaded_once(run, hub, model):
    command = ["encode", "--field", "text", "-m"]
    expected = run(*command, model, input=TEXT)
    found = run(*command, NAME, input=TEXT, env=hub.env)
    assert found.stdout == expected.stdout != b"", found.stderr
    assert f"there is no folder {NAME}: asking the model hub" in found.stderr.decode()
    assert not [path for path in hub.asked if "onnx" in path]
    again = run(*command, NAME, "--offline", "-q", input=TEXT, env=hub.env)
    assert (again.stdout, again.stderr) == (expected.stdout, b"")
    hub.shutdown()
    hub.server_close()
    later = run(*command, NAME, input=TEXT, env=hub.env)
    assert later.stdout == expected.stdout
    assert b"an earlier download of owner/small is used" in later.stderr


def test_a_name_that_the_hub_does_not_know(run, hub):
    found = run("encode", "-m", "nope/nope", input=TEXT, env=hub.env)
    assert 1 == found.returncode
    assert found.stderr.decode().splitlines()[-1] == (
        "structkit: there is no folder nope/nope, and the model hub has no model of that name; "
        "name a local model folder, or check the name and the network"
    )
    assert ["/api/models/nope/nope"] == [path for path in hub.asked if "nope" in path]


@pytest.mark.long
def test_a_hub_that_does_not_answer(run, hub):
    hub.slow = 60.0
    started = time.monotonic()
    found = run("encode", "-m", NAME, input=TEXT, env=hub.env)
    assert time.monotonic() - started < hub.slow - 5  # it was not waited for
    assert 1 == found.returncode
    assert b"the model hub cannot be asked: no answer within 5 s; name a local" in found.stderr


@pytest.mark.parametrize("name", ["./a", "../a", "/a/b", "~/a", "a/b/c", "a/", "models/b", "a\\b"])
def test_what_looks_like_a_path_is_never_asked_for(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        model_folder(name)
    told = f"there is no model folder {name}; check the path given as the model"
    assert (told, "") == (str(caught.value), capsys.readouterr().err)


@pytest.mark.long
def test_a_model_is_shared_as_its_page_shows(hub, model, tmp_path):
    """A folder that `hf upload` sends is one that structkit and the library load by its name."""
    page = Path("docs/guide/models.md").read_text("utf-8")
    section = page.partition("## Share a model on the Hub")[2].partition("\n## ")[0]
    section = section.replace("YOUR-NAME/my-retriever", NAME).replace("hf auth login\n", "")
    hub.model = tmp_path / "uploaded"
    shutil.copytree(model, tmp_path / "models/own")
    shutil.copytree("fixtures/collect/src", tmp_path / "src")
    (tmp_path / "src/retries.py").write_text("def count_retries():\n    return 3\n")
    variables = environment(**hub.env, HF_TOKEN="hf_a", PYTHON=sys.executable)
    program = f'{PROGRAM}hf() {{ "$PYTHON" -m huggingface_hub.cli.hf "$@"; }}\n'
    printed = []
    for _, kind, _, body in FENCE.findall(section):
        command = ["bash", "-ec", program + body] if kind == "sh" else [sys.executable, "-c", body]
        done = completed(command, cwd=tmp_path, env=variables, text=True)
        assert 0 == done.returncode, done.stderr
        printed.append(done.stdout)
    assert "Uploaded" in printed[0] and '"path":"src/retries.py"' in printed[1]
