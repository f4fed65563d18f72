"""The best lines of a document, their numbers and marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.searching.questions import best_rows, occurrences
from structkit.searching.words import same_stem, words

CODE = "import time\n\n\nclass Client:\n    def send(self):\n        retry(self.max_retries)\n\n"


def code(text, first=1):
    return {"id": "1", "code": text, "lines": [first, first + text.rstrip("\n").count("\n")]}


def test_lines_that_say_most_stand_in_the_middle():
    rows = best_rows(code(CODE, 11), "who sends", 3, 80)
    assert [(14, "class Client:"), (15, "    def send(self):")] == [row[:2] for row in rows[:2]]
    assert (16, "        retry(self.max_retries)") == rows[2][:2]
    assert [(8, 12)] == [*rows[1].spans]


def test_the_word_itself_counts_more_than_another_of_its_stem():
    rows = best_rows(code("circles and areas\n\nthe area of a circle"), "area of circles?", 1, 80)
    assert [1] == [row.number for row in rows]
    rows = best_rows(code("circles and areas\n\nthe area of a circle"), "area of a circle", 1, 80)
    assert [3] == [row.number for row in rows]


def test_the_margin_that_all_have_is_cut_with_its_marks():
    rows = best_rows(code(CODE), "retries", 1, 80)
    assert [(6, "retry(self.max_retries)", ((0, 5), (15, 22)))] == [tuple(row) for row in rows]


@pytest.mark.parametrize("record", [{}, {"id": "1", "title": "tea"}, {"code": None, "text": 3}])
def test_a_record_without_text_has_no_lines(record):
    assert [] == best_rows(record, "tea", 3, 80)


@pytest.mark.parametrize("lines", [None, [1], ["1", "2"], [1, 9], 4])
def test_lines_that_do_not_stand_so_in_the_file_have_no_numbers(lines):
    rows = best_rows({"code": "a\nb", "lines": lines}, "b", 2, 80)
    assert [None, None] == [row.number for row in rows]


def test_the_text_of_a_page_has_no_numbers_even_where_they_would_fit():
    page = {"html": "<p>green\n<p>tea", "text": "green\ntea", "lines": [1, 2]}
    assert {None} == {row.number for row in best_rows(page, "tea", 3, 80)}


def test_prose_is_folded_and_keeps_the_number_of_its_line():
    record = {"text": "# Tea\n\n" + "green tea and milk " * 9 + "biscuits", "lines": [5, 7]}
    (row,) = best_rows(record, "biscuits", 1, 40)
    assert (7, "biscuits") == row[:2] or (7, True) == (row.number, "biscuits" in row.text)
    assert len(row.text) <= 40


@given(st.text(), st.text(), st.integers(1, 5), st.integers(20, 200))
def test_marks_are_words_of_the_question(text, question, most, width):
    for field in ("code", "text"):
        rows = best_rows({field: text}, question, most, width)
        assert len(rows) <= most
        for row in rows:
            for start, end in row.spans:
                marked = row.text[start:end].lower()
                assert any(same_stem(marked, word) for word in words(question))


@given(st.text(alphabet="aB_ .éß1", max_size=30))
def test_every_word_of_a_line_is_found_in_it(text):
    marked = {text[start:end].lower() for start, end in occurrences(text, set(words(text)))}
    assert marked <= set(words(text, stopwords=False))
    assert bool(marked) == bool(words(text))
