"""corenlp: a stub that speaks the recorded protocol, and every way in which a server fails."""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from structkit_plugins.parsers.corenlp import Parser, tree_of

from structkit.errors import UserError
from structkit.registry import load
from structkit.structure.trees.brackets import write_tree
from structkit.structure.trees.parsers import Unparsed
from tests.structure.trees.parsed import parsed_texts

RECORDINGS = Path("../shared/data/corenlp_recordings")
TOKEN = re.compile(r"\w+|[^\w\s]")
ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
NO_HTTP = {
    "cut": b"HTTP/1.1 200 OK\r\nContent-length: 100\r\n\r\n{",
    "noise": b"\x00\x01 no http\r\n\r\n",
}


class Stub(ThreadingHTTPServer):
    """Answers as the server that was recorded; `fault` is what goes wrong."""

    daemon_threads = True

    def __init__(self, fault=""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.fault = fault
        self.requests = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_):
        """A client that hung up is no news for the stderr of another test."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        [properties] = parse_qs(urlsplit(self.path).query)["properties"]
        self.server.requests.append((json.loads(properties), body))
        fault = self.server.fault
        if fault == "busy":
            return self.answer(503, b"Service Unavailable", "text/plain")
        if fault == "hang":
            time.sleep(2)
        if fault == "garbage":
            return self.answer(200, b"<html>hello</html>", "text/html")
        if fault in NO_HTTP:
            self.wfile.write(NO_HTTP[fault])
            self.close_connection = True
            return None
        if len(body) > 100_000:
            return self.answer(400, b"Bad Request", "text/plain")
        if "unparsable" in body:
            return self.answer(500, b"Could not handle incoming annotation", "text/plain")
        self.answer(200, json.dumps({"sentences": self.sentences(body)}).encode())

    def sentences(self, body):
        found = []
        for number, line in enumerate(body.split("\n"), 1):
            words = TOKEN.findall(line)
            if not words:
                continue  # an empty line is left out
            sentence = {"index": len(found), "line": number}
            if "no parse" not in line:
                leaves = "".join(f" (NN {ESCAPES.get(word, word)})" for word in words)
                sentence["parse"] = f"(ROOT\n  (S{leaves}))"
            if self.server.fault == "other words":
                sentence["parse"] = "(ROOT (S (NN other)))"
            if self.server.fault == "no tree":
                sentence["parse"] = "(ROOT (S"
            found.append(sentence)
        return found

    def answer(self, status, body, kind="application/json;charset=UTF-8"):
        self.send_response(status)
        self.send_header("Content-type", kind)
        self.send_header("Content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def stub():
    server = Stub()
    yield server
    server.shutdown()
    server.server_close()


def parsed(stub, texts, **options):
    """The words of each tree, or the problem in its place."""
    trees = parsed_texts("corenlp", texts, url=stub.url, **options)
    return [tree.reason if isinstance(tree, UserError) else tree.words for tree in trees]


def test_a_text_a_request(stub):
    texts = [f"text number {number} (x)" for number in range(3)]
    assert parsed(stub, texts) == [tuple(TOKEN.findall(text)) for text in texts]
    assert texts == [body for _, body in stub.requests]
    assert stub.requests[0][0] == {
        "outputFormat": "json",
        "annotators": "tokenize,pos,lemma,ssplit,parse",
        "ssplit.eolonly": "true",
        "tokenize.whitespace": "false",
        "timeout": "60000",
    }
    parsed(stub, ["a\nb  c"], tokenized=True)
    assert stub.requests[-1][1] == "a b c"
    assert stub.requests[-1][0]["tokenize.whitespace"] == "true"
    [problem] = parsed(stub, ["word " * 25_000])
    assert problem.startswith("the CoreNLP server says: Bad Request (status 400)")


def test_texts_without_a_tree_cost_nobody_else_his(stub):
    texts = ["a b", "no parse here", "unparsable", "", "c d"]
    found = parsed(stub, texts)
    assert [("a", "b"), ("c", "d")] == [found[0], found[4]]
    none = "the CoreNLP server finds no tree for the text; leave the record out"
    assert (found[1], found[3]) == (none, none)
    assert "says: Could not handle incoming annotation (status 500)" in found[2]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("garbage", "answers '<html>hello</html>', not JSON with trees; start a CoreNLP server"),
        ("other words", "answers with words that are not the text's"),
        ("no tree", "answer is not a tree: 2 brackets are not closed"),
    ],
)
def test_a_server_that_answers_something_else(stub, fault, problem):
    stub.fault = fault
    found = parsed(stub, ["a b", "c"])
    assert len(found) == 2
    assert all(problem in each for each in found), found


class Hasty(Parser):
    timeout = 0.3


@pytest.mark.parametrize(
    ("parser", "fault", "problem"),
    [
        (Parser, "noise", "cannot be reached"),
        (Parser, "cut", "IncompleteRead"),
        (Parser, "busy", "not ready"),
        (Hasty, "hang", r"cannot be reached \(timed out\)"),
    ],
)
def test_a_server_that_does_not_speak_http(stub, parser, fault, problem):
    stub.fault = fault
    with pytest.raises(UserError, match=problem):
        list(parser(url=stub.url).trees([Unparsed("a b", "0", None)]))


def test_no_server(run):
    with Stub() as gone:
        url = gone.url
        gone.shutdown()
    options = ("parse-trees", "--parser", "corenlp", "--on-error", "skip", "--url")
    done = run(*options, url, input=b'{"text": "a b"}\n')
    port = url.rpartition(":")[2]
    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"structkit: {url}: the CoreNLP server cannot be reached (Connection refused); start it in "
        "CoreNLP's folder: java -mx4g -cp '*' "
        f"edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port {port}\n"
    )
    with pytest.raises(UserError, match="--url localhost:9000 is not an address"):
        load("parser", "corenlp")(url="localhost:9000")


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the answers of a real server are not there")
def test_answers_that_a_real_server_gave():

    def recorded(number):
        request = (RECORDINGS / f"{number}.req").read_bytes().partition(b"\r\n\r\n")[2]
        answer = (RECORDINGS / f"{number}.res").read_bytes().partition(b"\r\n\r\n")[2]
        lines = request.decode().split("\n")
        for each in json.loads(answer)["sentences"]:
            line = lines[each.get("line", 1) - 1]
            yield line, tree_of(json.dumps({"sentences": [each]}).encode(), line)

    [(_, tree)] = recorded(1)
    assert tree.words[:5] == ("The", "man", "(", "a", "chef")
    [(line, one), (_, two)] = recorded(2)
    assert [line, "Good ( x ) day"] == [" ".join(tree.words) for tree in (one, two)]
    [(_, one), (_, two)] = recorded(5)
    assert write_tree(one) == "(FRAG (NP (NN One) (NN dog)) (. .))"
    assert "".join(two.words) == "Twodogs.Threecats."
    assert all(isinstance(each, UserError) for _, each in [*recorded(4)][1:])
