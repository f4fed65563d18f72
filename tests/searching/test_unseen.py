"""What is not seen in a text hides no word of it."""

import pytest

from structkit.searching.lines import best_rows
from structkit.searching.words import occurrences, words


@pytest.mark.parametrize("unseen", ["\u00ad", "\u2060", "\ufeff", "\u00ad\u00ad"])
def test_words_with_soft_hyphens_are_found_and_marked(unseen):
    text = f"A da{unseen}ta{unseen}base, con{unseen}fig{unseen} and read{unseen}Body{unseen}."
    assert words("A database, config and readBody.") == words(text)
    start, end = text.index("da"), text.index(",")
    assert ((start, end),) == occurrences(text, {"databases"})
    (row,) = best_rows({"text": text}, "Which database?", 1, 200)
    assert (text, ((start, end),)) == (row.text, row.spans)


@pytest.mark.parametrize("seen", ["\u200b", "\u2011", "-"])
def test_what_parts_words_parts_them_still(seen):
    assert ["data", "base"] == words(f"data{seen}base")
