"""The place of an answer: its line, its sentence, the symbol around it, and what a list shows."""

import shutil

import numpy as np
import pytest
from terminals import plain, seen

import structkit
from structkit.asking.answers import MAX_QUOTE_CHARACTERS, best_places
from structkit.searching.lines import best_rows
from structkit.searching.listing import listing
from tests.jsonl import write_files

RETRY = '''\
class Retry:
    """Retry a call."""

    __hash__ = object.__hash__

    def __init__(self, limit):
        self.limit = limit

    # how often it was in vain
    @property
    def failures(self):
        return 0

    def call_with_retry(self, do, command):
        while True:
            try:
                return do(command)
            except OSError:
                self.limit -= 1


LIMIT = 3  # of commands that failed
'''
GIT = """\
`TREE_SSH_COMMAND`::
	If this environment variable is set, then its value is used in place of
	ssh. It may have arguments.

`TREE_ASKPASS`::
	If this environment variable is set, a program asks for passwords of
	the environment. This variable has no default.
"""


@pytest.fixture
def ask(tmp_path):
    """The answers to a question about files, by words alone."""

    def ask(question, files, **options):
        write_files(tmp_path, files)
        return list(structkit.ask(tmp_path, question, no_cache=True, no_model=True, **options))

    return ask


@pytest.mark.parametrize(
    ("question", "line", "symbol", "lines"),
    [
        ("how does the client retry a failed command", 14, "Retry.call_with_retry", [14, 19]),
        ("which class is Retry", 1, "Retry", [1, 19]),
        ("how many failures were there", 11, "Retry.failures", [9, 12]),
        ("what is the hash of an object", 4, "Retry", [1, 19]),
        ("in vain", 9, "Retry.failures", [9, 12]),
        ("commands that failed", 22, None, None),
    ],
)
def test_the_one_symbol_around_the_line(ask, question, line, symbol, lines):
    (answer,) = ask(question, {"retry.py": RETRY})
    assert (line, symbol, lines) == tuple(
        answer.get(name) for name in ("line", "symbol", "symbol_lines")
    )
    assert "symbols" not in answer


def test_code_is_preferred_to_a_comment_with_the_same_words(ask):
    (answer,) = ask("flush the queue", {"a.py": "# flush queue\n\nx = 1\n\nqueue.flush()\n"})
    assert 5 == answer["line"]


def test_a_passage_inside_a_function_names_it(ask):
    body = "".join(f"    step_{n} = prepare(number_{n}, of_the_pot)\n" for n in range(120))
    answers = ask(
        "steep the tea", {"tea.py": f"class A:\n  def brew(self):\n{body}    steep(tea)\n"}
    )
    assert answers[0]["lines"][0] > 2
    assert ("A.brew", [2, 123]) == (answers[0]["symbol"], answers[0]["symbol_lines"])


@pytest.mark.parametrize(
    ("name", "text", "quote", "line"),
    [
        ("env.txt", GIT, "`TREE_SSH_COMMAND`::\n\tIf this environment variable", 1),
        ("env.md", "# Variables\n\n" + GIT, "`TREE_SSH_COMMAND`::\n\tIf this", 3),
        ("env.html", "<h1>Variables</h1><p>Many.</p><p>SSH_COMMAND sets the ssh.", "SSH", None),
    ],
)
def test_prose_has_the_sentence(ask, name, text, quote, line):
    (answer,) = ask("which environment variable sets the ssh command", {name: text})
    assert answer["quote"].startswith(quote)
    assert line == answer.get("line")
    rows = best_rows(answer, answer["query"], 3, 60)
    assert rows[0].text.startswith(quote[:3])  # it begins with the sentence
    assert line == rows[0].number


def test_a_long_sentence_is_quoted_in_parts():
    text = " ".join([*["leaves"] * 100, "steep", *["pots"] * 100])
    (place,) = best_places([{"text": text, "lines": [1, 1]}], "steep", {"steep": 1.0}, None)
    assert "steep" in place["quote"]
    assert len(place["quote"]) <= MAX_QUOTE_CHARACTERS
    assert [] == best_places([], "steep", {"steep": 1.0}, None)
    assert [{}] == best_places([{"text": ""}], "steep", {"steep": 1.0}, None)


def test_the_meaning_chooses_among_lines_without_a_word():
    code = "import os\n\n\ndef erase(path):\n    os.unlink(path)"
    directions = {"delete files": [1, 0], "os.unlink(path)": [1, 0]}

    def embed(texts):
        return np.array([directions.get(text.strip(), [0, 1]) for text in texts], np.float32)

    record = {"code": code, "lines": [1, 5], "symbols": [["erase", 4, 4, 5]]}
    asked = ("delete files", {"delete": 2.0, "files": 1.0})
    assert [{}] == best_places([record], *asked, None)
    (place,) = best_places([record], *asked, embed)
    assert place["line"] >= 4
    assert "erase" == place["symbol"]


def test_a_list_begins_with_the_signature_and_has_the_whole_name(tmp_path):
    name = "wait_for_the_answer_of_the_server_and_retry_it"
    lines = [f"    step_{n}(pot)" for n in range(9)]
    lines[6] = "    steep(tea, leaves)"
    folder = tmp_path / "a_folder_with_a_long_name_of_its_own"
    folder.mkdir()
    text = "\n".join(["class Server:", f"  def {name}(self):", *lines])
    (folder / "answers.py").write_text(text)
    question = ("ask", folder.name, "how is tea steeped in leaves", "-k", "1", "--no-model")
    for columns in (60, 80, 120):
        shown = plain(seen(tmp_path, *question, "--no-cache", "-q", columns=columns)).splitlines()
        assert f"Server.{name}" in "\n".join(shown)
        assert any(f"def {name}" in line for line in shown)
        assert any("steep(tea" in line for line in shown)
        assert max(map(len, shown)) <= columns
    shutil.rmtree(folder)


def test_a_name_that_is_too_long_lacks_its_beginning():
    hit = {"query_id": "1", "query": "tea", "doc_id": "a", "score": 1.0, "rank": 1}
    hit |= {"path": "a.py", "line": 1, "lines": [1, 1], "code": "tea = 1"}
    hit["symbol"] = f"{'outer.' * 20}the_name"
    shown = plain(listing([hit], {"1": "tea"}, {}, 60)).splitlines()
    line = next(line for line in shown if "the_name" in line)
    assert line.strip().startswith("…") and line.rstrip().endswith("outer.the_name")


@pytest.mark.parametrize("model", [False, True], ids=["words", "meaning"])
@pytest.mark.parametrize("odd", [":::", "***", "→", "_", "😀", "…"])
def test_prose_without_words_is_no_place_and_no_error(tmp_path, odd, model):
    for name in ("a.md", "a.txt", "a.rst", "a.html"):
        (tmp_path / name).write_text(f"<p>{odd}</p>" if name == "a.html" else f"{odd}\n")
        record = {"id": "a", "path": name, "text": odd}
        found = best_places([record], "tea", {}, None)
        assert all("quote" not in each or each["quote"] for each in found)
    (tmp_path / "tea.md").write_text("Pour the hot tea.\n")
    found = structkit.ask(tmp_path, f"hot tea {odd}", k=50, no_cache=True, no_model=not model)
    assert "tea.md" in {each["path"].split("/")[-1] for each in found}


def test_a_quote_begins_with_its_first_word_and_names_its_line():
    text = "kettle " * (MAX_QUOTE_CHARACTERS // 7) + "\nhot tea"
    (found,) = best_places([{"id": "a", "text": text, "lines": [1, 2]}], "hot", {"hot": 1.0}, None)
    assert {"line": 2, "quote": "hot tea"} == found
