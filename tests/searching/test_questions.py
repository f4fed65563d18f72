"""search --query: questions of the command line; lists with the best lines of each hit."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminals import plain, seen

from structkit.searching.lines import best_rows
from structkit.searching.words import LUCENE_STOPWORDS, fold, folded_words, occurrences, same_stem
from tests.cli.complaints import complaint
from tests.jsonl import write

SIGNALS = 'def ending(number):\n    """Let signals raise."""\n    raise SystemExit(128 + number)'
TEA = {"path": "b.md", "lines": [1, 1], "headings": ["Drinks", "Tea"], "text": "Tea."}
RECORDS = [
    {"id": "a.py#L4-6", "path": "a.py", "lines": [4, 6], "names": ["ending"], "code": SIGNALS},
    {"id": "b.md#tea", **TEA},
    {"id": "bare", "text": "A bell gives signals.\nBells ring."},
]
BM25 = ("search", "corpus.jsonl", "--method", "bm25")
CODE = "import time\n\n\nclass Client:\n    def send(self):\n        retry(self.max_retries)\n\n"


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "corpus.jsonl", *RECORDS)
    (tmp_path / "a.py").write_text("\n\n\n" + SIGNALS)
    return tmp_path


def test_a_pipe_gets_a_run_of_numbered_questions(run, folder):
    done = run(*BM25, "--query", "signals", "--query", "bells", "-k", "1")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [("1", "bare"), ("2", "bare")] == [(hit["query_id"], hit["doc_id"]) for hit in found]
    queries = b'{"query":"signals"}\n{"query":"bells"}\n'
    assert done.stdout == run(*BM25, "-k", "1", input=queries).stdout
    done = run(*BM25, "--query", b"bells \xff".decode("utf-8", "surrogateescape"))
    assert 0 == done.returncode and b"bare" in done.stdout  # what is no text is replaced


def test_a_terminal_gets_a_list(folder):
    shown = seen(folder, *BM25, "--query", "signals")
    assert """\
 1  bare                                                                   0.212
    A bell gives signals.
    Bells ring.

 2  a.py:5  ending                                                         0.126
    4  def ending(number):
    5      ""\"Let signals raise.""\"
    6      raise SystemExit(128 + number)
""" == plain(shown)
    assert "\x1b[1;36m" in shown
    assert "36m" not in seen(folder, *BM25, "--query", "signals", NO_COLOR="1")
    assert "\x1b" not in seen(folder, *BM25, "--query", "signals", TERM="dumb")


def test_several_questions_stand_over_their_answers(folder):
    questions = ("signals", "tea", "zebra")
    shown = seen(folder, *BM25, *(word for each in questions for word in ("--query", each)))
    lines = plain(shown).splitlines()
    assert [*questions] == [line for line in lines if line in questions]
    assert ["nothing was found"] == lines[-1:]
    assert any(line.startswith(" 1  b.md:1  Drinks > Tea ") for line in lines)
    # a path leads to its file where there is one
    assert f"{folder}/a.py\x1b\\" in shown
    assert 1 == shown.count("\x1b]8;id=0;file://")


def test_a_named_format_is_written_to_a_terminal_too(folder):
    shown = seen(folder, *BM25, "--query", "bells", "--format", "trec")
    assert "1 Q0 bare 1 " == shown[:12]
    shown = seen(folder, *BM25, "--query", "bells", "--format", "jsonl")
    assert "bare" == json.loads(shown)["doc_id"]


def test_control_characters_are_shown_and_not_sent(folder):
    evil = {"id": "x\x1b[2J", "path": "a\x1b]0;t\x07.py", "code": "signals \x1b[31m"}
    (folder / "corpus.jsonl").write_text(json.dumps(evil) + "\n" + json.dumps(RECORDS[2]))
    shown = seen(folder, *BM25, "--query", "signals", TERM="dumb")
    assert "\x1b" not in shown and "\x07" not in shown
    assert r"a\x1b]0;t\x07.py" in shown and r"signals \x1b[31m" in shown


def test_texts_are_shown_of_what_holds_none(run, folder):
    assert 0 == run(*BM25, "--save-index", "index", "--query", "signals").returncode
    bare = plain(seen(folder, "search", "index", "--query", "signals"))
    assert "\n 2  a.py#L4-6 " in bare
    shown = plain(seen(folder, "search", "index", "--query", "signals", "--texts", "corpus.jsonl"))
    assert plain(seen(folder, *BM25, "--query", "signals")) == shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*BM25, "--query", "x", "--queries", "corpus.jsonl"), "--query and --queries exclude"),
        (("search", "e.jsonl", "--query", "x"), "--query needs --model, which encodes it; name"),
    ],
)
def test_wrong_usage(run, folder, arguments, expected):
    (folder / "e.jsonl").write_text('{"id": "1", "embedding": [1.0]}\n')
    assert complaint(run(*arguments), 2).startswith(expected)


def code(text, first=1):
    return {"id": "1", "code": text, "lines": [first, first + text.rstrip("\n").count("\n")]}


def test_lines_that_say_most_stand_in_the_middle():
    rows = best_rows(code(CODE, 11), "who sends", 3, 80)
    expected = [(14, "class Client:"), (15, "    def send(self):")]
    assert [*expected, (16, "        retry(self.max_retries)")] == [row[:2] for row in rows]
    assert [(8, 12)] == [*rows[1].spans]


def test_the_word_itself_counts_more_than_another_of_its_stem():
    text = "circles and areas\n\nthe area of a circle"
    for question, line in (("area of circles?", 1), ("area of a circle", 3)):
        assert [line] == [row.number for row in best_rows(code(text), question, 1, 80)]


def test_the_margin_that_all_have_is_cut_with_its_marks():
    rows = best_rows(code(CODE), "retries", 1, 80)
    assert [(6, "retry(self.max_retries)", ((0, 5), (15, 22)))] == [tuple(row) for row in rows]


def test_a_record_without_text_has_no_lines():
    for record in ({}, {"id": "1", "title": "tea"}, {"code": None, "text": 3}):
        assert [] == best_rows(record, "tea", 3, 80)


@pytest.mark.parametrize("lines", [None, [1], ["1", "2"], [1, 9], 4])
def test_lines_that_do_not_stand_so_in_the_file_have_no_numbers(lines):
    rows = best_rows({"code": "a\nb", "lines": lines}, "b", 2, 80)
    assert [None, None] == [row.number for row in rows]
    # nor does the text of a page, even where they would fit
    page = {"html": "<p>green\n<p>tea", "text": "green\ntea", "lines": [1, 2]}
    assert {None} == {row.number for row in best_rows(page, "tea", 3, 80)}


def test_prose_is_folded_and_keeps_the_number_of_its_line():
    record = {"text": "# Tea\n\n" + "green tea and milk " * 9 + "biscuits", "lines": [5, 7]}
    (row,) = best_rows(record, "biscuits", 1, 40)
    assert (7, True) == (row.number, "biscuits" in row.text)
    assert len(row.text) <= 40


@given(st.text(), st.text(), st.integers(1, 5), st.integers(20, 200))
def test_marks_are_words_of_the_question(text, question, maximum, width):
    for field in ("code", "text"):
        rows = best_rows({field: text}, question, maximum, width)
        assert len(rows) <= maximum
        for row in rows:
            for start, end in row.spans:
                marked = set(folded_words(row.text[start:end]))
                asked = folded_words(question)
                assert any(same_stem(each, word) for each in marked for word in asked)


@given(st.text(alphabet="aB_ .éß1", max_size=30))
def test_every_word_of_a_line_is_found_in_it(text):
    spans = occurrences(text, set(folded_words(text)))
    marked = {fold(text[start:end]) for start, end in spans}
    assert marked <= {*folded_words(text), *LUCENE_STOPWORDS}
    assert bool(marked) == bool(folded_words(text))
