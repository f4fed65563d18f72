"""search --query: questions of the command line; a list on a terminal, JSONL in a pipe."""

import json

import pytest
from terminals import plain, seen

SIGNALS = 'def ending(number):\n    """Let signals raise."""\n    raise SystemExit(128 + number)'
RECORDS = [
    {"id": "a.py#L4-6", "path": "a.py", "lines": [4, 6], "names": ["ending"], "code": SIGNALS},
    {
        "id": "b.md#tea",
        "path": "b.md",
        "lines": [1, 1],
        "headings": ["Drinks", "Tea"],
        "text": "Tea.",
    },
    {"id": "bare", "text": "A bell gives signals.\nBells ring."},
]
PREFIX = "structkit: "
QUESTIONS = ("signals", "tea", "zebra")
BM25 = ("search", "corpus.jsonl", "--method", "bm25")


def complaint(done, status):
    """The one line on stderr of a command that ends with that status."""
    assert (status, b"") == (done.returncode, done.stdout)
    return done.stderr.decode().removeprefix(PREFIX).removesuffix("\n")


@pytest.fixture
def folder(tmp_path):
    lines = (json.dumps(record) + "\n" for record in RECORDS)
    (tmp_path / "corpus.jsonl").write_text("".join(lines))
    (tmp_path / "a.py").write_text("\n\n\n" + SIGNALS)
    return tmp_path


def test_a_pipe_gets_a_run_of_numbered_questions(run, folder):
    done = run(*BM25, "--query", "signals", "--query", "bells", "-k", "1")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [("1", "bare"), ("2", "bare")] == [(hit["query_id"], hit["doc_id"]) for hit in found]
    queries = b'{"query":"signals"}\n{"query":"bells"}\n'
    assert done.stdout == run(*BM25, "-k", "1", input=queries).stdout


def test_a_terminal_gets_a_list(folder):
    shown = plain(seen(folder, *BM25, "--query", "signals"))
    assert (
        shown
        == """\
 1  bare                                                                   0.212
    A bell gives signals.
    Bells ring.

 2  a.py:5  ending                                                         0.126
    4  def ending(number):
    5      ""\"Let signals raise.""\"
    6      raise SystemExit(128 + number)
"""
    )


def test_several_questions_stand_over_their_answers(folder):
    shown = plain(seen(folder, *BM25, "--query", "signals", "--query", "tea", "--query", "zebra"))
    shown = shown.splitlines()
    assert ["signals", "tea", "zebra"] == [line for line in shown if line in QUESTIONS]
    assert ["nothing was found"] == shown[-1:]
    assert any(line.startswith(" 1  b.md:1  Drinks > Tea ") for line in shown)


def test_a_path_leads_to_its_file_where_there_is_one(folder):
    shown = seen(folder, *BM25, "--query", "signals tea")
    assert f"{folder}/a.py\x1b\\" in shown
    assert 1 == shown.count("\x1b]8;id=0;file://")


def test_nothing_found_is_told_on_a_terminal(folder):
    assert "nothing was found\n" == seen(folder, *BM25, "--query", "zebra")


def test_a_named_format_is_written_to_a_terminal_too(folder):
    shown = seen(folder, *BM25, "--query", "bells", "--format", "trec")
    assert "1 Q0 bare 1 " == shown[:12]
    shown = seen(folder, *BM25, "--query", "bells", "--format", "jsonl")
    assert "bare" == json.loads(shown)["doc_id"]


def test_no_colors_where_none_are_wanted(folder):
    question = (*BM25, "--query", "signals")
    assert "\x1b[1;36m" in seen(folder, *question)
    assert "36m" not in seen(folder, *question, NO_COLOR="1")
    assert "\x1b" not in seen(folder, *question, TERM="dumb")


def test_control_characters_are_shown_and_not_sent(folder):
    evil = {"id": "x\x1b[2J", "path": "a\x1b]0;t\x07.py", "code": "signals \x1b[31m"}
    (folder / "corpus.jsonl").write_text(json.dumps(evil) + "\n" + json.dumps(RECORDS[2]))
    shown = seen(folder, *BM25, "--query", "signals", TERM="dumb")
    assert "\x1b" not in shown and "\x07" not in shown
    assert r"a\x1b]0;t\x07.py" in shown and r"signals \x1b[31m" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--query", "x", "--queries", "corpus.jsonl"), "--query and --queries exclude each other"),
        (("--query", "?!"), "--query '?!' holds no word; write a question"),
    ],
)
def test_wrong_usage(run, folder, arguments, told):
    assert told in complaint(run(*BM25, *arguments), 2)


def test_questions_about_embeddings_need_a_model(run, folder):
    (folder / "e.jsonl").write_text('{"id": "1", "embedding": [1.0]}\n')
    told = complaint(run("search", "e.jsonl", "--query", "x"), 2)
    assert told == "--query needs --model, which encodes it; name one, or search with --method bm25"


def test_a_corpus_that_is_not_there_is_told_first(run, folder):
    assert complaint(run("search", "nope", "--query", "x"), 1).startswith("nope: ")


def test_a_folder_without_an_index_is_told_first(run, folder):
    (folder / "index").mkdir()
    told = (
        "index: holds no index; save one with --save-index, or search the folder's "
        "files with structkit ask"
    )
    assert told == complaint(run("search", "index", "--query", "tea"), 1)


def test_a_corpus_of_two_kinds_is_told_by_its_file(run, folder):
    (folder / "e.jsonl").write_text('{"id": "1", "embedding": [1.0]}\n')
    (folder / "e.npy").write_bytes(b"")
    told = complaint(run("search", "e.npy", "e.jsonl", "--queries", "e.jsonl"), 1)
    assert told.startswith("e.jsonl: is not a matrix (.npy, .parquet), as other files")


def test_bytes_that_are_no_text_are_replaced(run, folder):
    done = run(*BM25, "--query", b"bells \xff".decode("utf-8", "surrogateescape"))
    assert 0 == done.returncode and b"bare" in done.stdout


def test_texts_are_shown_of_what_holds_none(run, folder):
    assert 0 == run(*BM25, "--save-index", "index", "--query", "signals").returncode
    bare = plain(seen(folder, "search", "index", "--query", "signals"))
    assert "\n 2  a.py#L4-6 " in bare
    shown = plain(seen(folder, "search", "index", "--query", "signals", "--texts", "corpus.jsonl"))
    assert shown == plain(seen(folder, *BM25, "--query", "signals"))
    told = complaint(run("search", "index", "--texts", "corpus.jsonl", input=b""), 2)
    assert "--texts goes with --method hybrid; leave it out, or ask with --query" == told
