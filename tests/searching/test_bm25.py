"""BM25: the formula and bm25s, words, fields, ties; a saved index finds what a fresh one finds."""

import json
import os

import bm25s
import numpy as np
import pytest
from bm25s.stopwords import STOPWORDS_EN
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import UserError
from structkit.searching.lexical import LexicalIndex
from structkit.searching.options import WordOptions
from structkit.searching.words import LUCENE_STOPWORDS, folded_words
from tests.searching.index_runs import found as run_of
from tests.searching.index_runs import write

TEXTS = [
    f"def word{number % 7}(self): return the_{number} + readFile({number})" for number in range(50)
]
QUERIES = ("word3 read", "file", "the self the_7", "absent", "")
TOKENS = st.text(st.sampled_from("abAB_ é9\n"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Parse the Größe", ["parse", "grösse"]),
        ("self.maxSize2", ["self", "maxsize2", "max", "size2"]),
        ("XMLHttpRequest", ["xmlhttprequest", "xml", "http", "request"]),
        ("__init__ MAX_LEN", ["__init__", "max_len", "max", "len"]),
        ("a-b, c", ["b", "c"]),
        ("_", ["_"]),
    ],
)
def test_words(text, expected):
    assert expected == folded_words(text)


def test_stopwords_are_those_of_lucene():
    assert set(STOPWORDS_EN) == LUCENE_STOPWORDS


@given(
    st.lists(TOKENS.filter(folded_words), min_size=1, max_size=12),
    TOKENS,
    st.sampled_from([0.4, 1.5]),
    st.sampled_from([0.5, 0.75]),
)
def test_scores_are_those_of_bm25s_to_the_last_bit(texts, query, k1, b):
    library = bm25s.BM25(method="lucene", k1=k1, b=b)
    library.index(
        [folded_words(text) for text in texts], create_empty_token=False, show_progress=False
    )
    known = [word for word in folded_words(query) if word in library.vocab_dict]
    scores = library.get_scores(known) if known else np.zeros(len(texts))
    expected = {str(n): float(score) for n, score in enumerate(scores) if score > 0}
    ids = [str(number) for number in range(len(texts))]
    hits = LexicalIndex.of(ids, texts, WordOptions(k1=k1, b=b)).search(query, 99)
    assert expected == {hit.doc_id: hit.score for hit in hits}


def test_equal_scores_are_ordered_by_descending_id_also_at_the_cut():
    texts = ["same text"] * 4 + ["another one"]
    index = LexicalIndex.of(["b", "d", "a", "c", "z"], texts, WordOptions())
    assert ["d", "c", "b", "a"] == [hit.doc_id for hit in index.search("same", 9)]
    assert ["d", "c"] == [hit.doc_id for hit in index.search("same", 2)]


def test_a_query_or_document_without_a_known_word_finds_nothing():
    index = LexicalIndex.of(["1", "2"], ["", "some text of the corpus"], WordOptions())
    for query in ("absent", "", "the"):
        assert [] == index.search(query, 5)
    assert ["2"] == [hit.doc_id for hit in index.search("text", 5)]


@pytest.mark.parametrize(
    "record",
    [
        {"id": "x", "code": "wrong", "positive": "needle"},
        {"id": "x", "code": "needle", "docstring": "wrong"},
        {"_id": "x", "title": "needle", "text": "and more"},
        {"id": "x", "title": "wrong", "code": "needle"},
    ],
)
def test_the_document_field(tmp_path, record):
    other = {"id": "other", "code": "hay", "text": "hay", "positive": "hay"}
    queries = write(tmp_path / "q", [{"id": "q", "query": "needle"}])
    found = run_of(write(tmp_path / "c", [other, record]), queries, method="bm25")
    assert ["x"] == [result["doc_id"] for result in found]


def test_named_fields(tmp_path):
    records = [
        {"id": "1", "docstring": "sort a list", "body": "sorts list", "code": "-"},
        {"id": "2", "docstring": "list sorts", "body": "a list of many sorts", "code": "-"},
    ]
    path = write(tmp_path / "records", records)
    options = {"method": "bm25", "document_field": "body", "query_field": "docstring", "k": 1}
    first = [record["doc_id"] for record in run_of(path, path, **options)]
    assert ["1", "1"] == first  # the shorter body


@pytest.mark.parametrize(
    ("corpus", "query", "expected"),
    [
        ({"id": "2", "page": "x"}, {"query": "x"}, "c:2: the record has none of the fields posit"),
        ({"id": "2", "text": 1}, {"query": "x"}, 'c:2: field "text" is a JSON number'),
        ({"id": "1", "text": "x"}, {"query": "x"}, 'c:2: id "1" is repeated'),
        ({"id": "2", "text": "x"}, {"q": "x"}, "q:1: the record has none of the fields query"),
        ({"id": "2", "text": "x"}, {"query": None}, 'q:1: field "query" is a JSON null'),
        (None, {"query": "x"}, "c: the corpus holds no words"),
    ],
)
def test_bad_records_are_refused_with_their_place(tmp_path, corpus, query, expected):
    records = [{"id": "1", "text": "good"}, corpus] if corpus else [{"id": "1", "text": "…"}]
    path, queries = write(tmp_path / "c", records), write(tmp_path / "q", [query])
    with pytest.raises(UserError) as error:
        run_of(path, queries, method="bm25")
    assert str(error.value).startswith(f"{tmp_path}/{expected}")


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "c.jsonl", [{"id": f"d{i}", "code": text} for i, text in enumerate(TEXTS)])
    write(tmp_path / "q.jsonl", [{"id": f"q{i}", "query": text} for i, text in enumerate(QUERIES)])
    return tmp_path


def found(files, corpus, save=None, **options):
    if save:
        options["save_index"] = str(files / save)
    return run_of(str(files / corpus), str(files / "q.jsonl"), 20, **options)


@given(texts=st.lists(TOKENS, min_size=1, max_size=12), queries=st.lists(TOKENS, max_size=4))
def test_what_is_opened_finds_what_was_saved(tmp_path_factory, texts, queries):
    doc_ids = [f"d {number}\t" for number in range(len(texts))]
    try:
        fresh = LexicalIndex.of(doc_ids, texts, WordOptions(document_field="body", b=0.4))
    except UserError:
        return  # no words
    folder = str(tmp_path_factory.mktemp("index") / "words")
    fresh.save(folder)
    opened = LexicalIndex.open(folder)
    for query in [*queries, *texts]:
        assert fresh.search(query, 5) == opened.search(query, 5)
    assert {"k1": 1.5, "b": 0.4, "document_field": "body"} == opened.built


def test_an_older_index_is_replaced_and_nothing_else(files):
    found(files, "c.jsonl", "words", method="bm25", document_field="id")
    found(files, "c.jsonl", "words", method="bm25")
    assert {"k1": 1.5, "b": 0.75} == LexicalIndex.open(str(files / "words")).built
    assert {"c.jsonl", "q.jsonl", "words"} == {path.name for path in files.iterdir()}
    (files / "other").mkdir()
    (files / "other/mine").write_text("x")
    for name in ("other", "q.jsonl"):
        with pytest.raises(UserError, match=f"{name} exists; name a new folder with --save-index"):
            found(files, "c.jsonl", name, method="bm25")
    assert ["mine"] == os.listdir(files / "other")
    (files / "words/mine.txt").write_text("kept")
    with pytest.raises(UserError, match="words exists; name a new folder with --save-index"):
        found(files, "c.jsonl", "words", method="bm25")
    assert "kept" == (files / "words/mine.txt").read_text()


def test_what_cannot_be_written_leaves_the_older_index(files):
    found(files, "c.jsonl", "words", method="bm25")
    before = {path.name: path.read_bytes() for path in (files / "words").iterdir()}
    write(files / "c.jsonl", [{"id": "a\nb", "code": "some words"}])
    with pytest.raises(UserError, match=r"id 'a\\nb' holds a line break; change the id"):
        found(files, "c.jsonl", "words", method="bm25")
    assert before == {path.name: path.read_bytes() for path in (files / "words").iterdir()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"document_field": "x"}, "words: was not built with --document-field x; leave it out, or"),
        ({"k1": 0.9}, "words: was not built with --k1 0.9; leave it out, or"),
        ({"method": "dense"}, "words: is an index for --method bm25; leave out --method"),
        ({"save": "again"}, "is an index already; leave --save-index out"),
    ],
)
def test_other_settings_than_those_of_the_index_are_refused(files, given, expected):
    fresh = found(files, "c.jsonl", "words", method="bm25", document_field="code")
    same = found(files, "words", method="bm25", document_field="code")
    assert fresh == same == found(files, "words") == found(files, "c.jsonl", method="bm25") != []
    with pytest.raises(UserError, match=expected):
        found(files, "words", **given)


def test_a_damaged_index_is_refused(files):
    """Spoil each file in turn, and restore it."""
    (files / "empty").mkdir()
    with pytest.raises(UserError, match=r"empty: holds no index for BM25 \(no words.txt\); build"):
        found(files, "empty", method="bm25")
    found(files, "c.jsonl", "words", method="bm25")
    folder = files / "words"
    meta = json.loads((folder / "meta.json").read_text())
    ids, known = ((folder / f"{name}.txt").read_text() for name in ("ids", "words"))
    documents, scores = ((folder / f"{name}.npy").read_bytes() for name in ("documents", "scores"))
    unfit = r"words: cannot be read: its files do not fit together; build the index again with --"
    spoiled = [
        ("ids.txt", ids.replace("d49\n", ""), unfit),
        ("ids.txt", ids.replace("d49", "d0"), unfit),
        ("ids.txt", b"\xff" * 9, r"words: cannot be read: .*decode"),
        ("meta.json", "[1]", "words: cannot be read: "),
        ("meta.json", "{", "words: cannot be read: "),
        ("meta.json", json.dumps({**meta, "files": {}}), unfit),
        ("meta.json", json.dumps({"files": meta["files"]}), "words: cannot be read: "),
        ("words.txt", known.replace("file\n", ""), unfit),
        ("words.txt", known.replace("file\n", "def\n"), unfit),
        ("scores.npy", scores[:-3], "words: cannot be read: "),
        ("scores.npy", b"", "words: cannot be read: "),
        ("scores.npy", documents, unfit),
        ("documents.npy", documents[:-4] + (50).to_bytes(4, "little"), unfit),
        ("starts.npy", documents, unfit),
    ]
    for name, content, expected in spoiled:
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(UserError, match=expected) as caught:
            found(files, "words")
        assert "build the index again with --save-index" == caught.value.remedy
        (folder / name).write_bytes(before)
    for path in sorted(folder.iterdir()):
        path.rename(folder / "away")
        expected = rf"words/{path.name}: cannot be read: No such file|holds no index for"
        with pytest.raises(UserError, match=expected):
            found(files, "words", method="bm25")
        (folder / "away").rename(path)
    assert found(files, "words")
