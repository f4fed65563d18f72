"""Words of all scripts: one form of each, without case; pairs of characters where no space is."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.searching.lines import best_rows
from structkit.searching.words import (
    IGNORED_PATTERN,
    fold,
    folded_words,
    name_parts,
    occurrences,
    symbols,
)
from tests.jsonl import write

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("cafe\u0301", "café"),
        ("CAFÉ", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("ſtraſſe", "strasse"),
        ("ΛΌΓΟΣ", "λόγος"),
        ("Ｐｙｔｈｏｎ３", "python3"),
        ("ｆｏｏ＿ｂａｒ", "foo_bar"),
        ("ﬁle ﬃ Ⅳ", "file ffi iv"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", "データベース"),
        ("か\u3099", "が"),
        ("5㎏ № ℃", "5kg no c"),
        ("⽇本", "日本"),  # a radical, as in text out of PDF
        ("co\u00adoperate", "cooperate"),
        ("long\u200cName w\u2060o\ufeffrd", "longName word"),
        ("React™ 's", "react s"),
        ("ẹ\u0300kọ\u0301", "E\u0323\u0300KO\u0323\u0301"),  # that no single character has
        ("हिन्दी", "हिन्दी"),
        (unicodedata.normalize("NFD", "기계학습"), "기계학습"),
    ],
)
def test_one_word_in_several_forms_is_one(text, query):
    assert folded_words(query) == folded_words(text) != []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("機械学習", ["機械", "械学", "学習"]),
        ("猫", ["猫"]),
        ("Python入門", ["python", "入門"]),
        ("HTTPクライアント2", ["http", "クラ", "ライ", "イア", "アン", "ント", "2"]),
        ("x_猫_id", ["x", "猫", "id"]),
        ("기계학습은", ["기계", "계학", "학습", "습은"]),
        ("東京・大阪、京都。", ["東京", "大阪", "京都"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("ภาษา", ["ภา", "าษ", "ษา"]),
        ("москва größe", ["москва", "grösse"]),
        *((f"data{seen}base", ["data", "base"]) for seen in ("\u200b", "\u2011", "-")),
    ],
)
def test_runs_without_spaces_are_pairs_of_characters(text, expected):
    assert expected == folded_words(text)


@given(TEXTS)
def test_all_forms_of_unicode_give_the_same_words(text):
    text = IGNORED_PATTERN.sub("", text)  # the signs of trade marks become letters in NFKC
    assert [folded_words(text)] * 4 == [
        folded_words(unicodedata.normalize(form, text)) for form in FORMS
    ]


@pytest.mark.parametrize("unseen", ["\u00ad", "\u2060", "\ufeff", "\u00ad\u00ad"])
def test_words_with_soft_hyphens_are_found_and_marked(unseen):
    text = f"A da{unseen}ta{unseen}base, con{unseen}fig{unseen} and read{unseen}Body{unseen}."
    assert folded_words("A database, config and readBody.") == folded_words(text)
    start, end = text.index("da"), text.index(",")
    assert ((start, end),) == occurrences(text, {"databases"})
    (row,) = best_rows({"text": text}, "Which database?", 1, 200)
    assert (text, ((start, end),)) == (row.text, row.spans)


def test_words_are_marked_where_they_stand():
    text = "機械学習 cafe\u0301 ﬁle STRASSE co\u00adop"
    spans = occurrences(text, {*folded_words("学習 café file straße coop")})
    assert ["学習", "cafe\u0301", "ﬁle", "STRASSE", "co\u00adop"] == [text[a:b] for a, b in spans]
    assert ((0, 4),) == occurrences("機械学習", {*folded_words("機械学習")})


def test_names_too():
    assert name_parts("機械学習") == name_parts("機械学習.MD")[:3]
    assert name_parts("cafe\u0301Menu") == name_parts("caféMenu")
    assert symbols("CAFÉ") == symbols("CAFE\u0301")


DOCUMENTS = {
    "zh": "机器学习的模型",
    "ja": "機械学習のモデルとPython入門",
    "ko": "기계학습은 재미있다",
    "cat": "黒猫です",
    "de": "Die Straße ist groß",
    "fr": unicodedata.normalize("NFD", "Le café fermé"),
    "en": "A plain text of words",
}
ASKED = [
    ("機械学習", "ja"),
    ("入門", "ja"),
    ("机器学习", "zh"),
    ("기계학습", "ko"),
    ("猫", "cat"),
    ("STRASSE", "de"),
    ("café", "fr"),
    ("ｐｌａｉｎ", "en"),
]


def test_search_finds_them(here, tmp_path: Path):
    texts = ({"id": name, "text": text} for name, text in DOCUMENTS.items())
    write(tmp_path / "corpus.jsonl", *texts)
    asked = (each for question, _ in ASKED for each in ("--query", question))
    done = here("search", "corpus.jsonl", "--method", "bm25", "-k", "1", *asked)
    found = [json.loads(line)["doc_id"] for line in done.stdout.splitlines()]
    assert [doc_id for _, doc_id in ASKED] == found


@pytest.mark.parametrize("ending", ["txt", pytest.param("md", marks=pytest.mark.long)])
def test_ask_finds_them(here, tmp_path: Path, ending):
    for name, text in DOCUMENTS.items():
        (tmp_path / f"{name}.{ending}").write_text(text)
    questions = "".join(f"{question}\n" for question, _ in ASKED)
    done = here("ask", ".", "-k", "1", "--no-model", "--no-cache", input=questions)
    found = [json.loads(line)["path"] for line in done.stdout.splitlines()]
    assert [f"{name}.{ending}" for _, name in ASKED] == found


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("كِتَابٌ", "كتاب"),  # with vowel marks
        ("مُحَمَّد", "محمد"),  # and a doubled letter
        ("هٰذا", "هذا"),
        ("كتـــاب", "كتاب"),  # drawn out
        ("İSTANBUL", "istanbul"),
        ("I\u0307stanbul", "istanbul"),
    ],
)
def test_marks_that_writers_leave_out_change_no_word(written, asked):
    assert folded_words(written) == folded_words(asked) == [fold(asked)]
