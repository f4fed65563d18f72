"""Trees of long documents: each text is read once, and memory stays within a bound."""

import tracemalloc

import pytest
import structkit_plugins.parsers.dom as dom

from structkit.commands.parse_trees import Settings as ParseSettings
from structkit.commands.parse_trees import parse_trees
from structkit.structure.trees.parsers import Unparsed

PAGE = "<div><p>tea milk water house garden <b>stone</b> and river.</p></div>\n"
CODE = "def f(a, b):\n    x = a + b * 3\n    return g(x, 'text of it')\n\n"


def record(parser, times):
    if parser == "dom":
        return {"id": "1", "html": PAGE * times}
    return {"id": "1", "language": "python", "code": CODE * times}


@pytest.mark.parametrize(("parser", "text"), [("dom", PAGE), ("ast", CODE)])
def test_memory_is_some_bytes_for_each_character(parser, text):
    """20 MB of HTML, or 200,000 lines of code, stay below 1 GB."""
    most = {"dom": 50, "ast": 200}[parser]
    records = [record(parser, 800)]
    list(parse_trees([record(parser, 1)], ParseSettings(parser=parser)))  # what is loaded once
    tracemalloc.start()
    try:
        [found] = parse_trees(records, ParseSettings(parser=parser))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found["tree"]) > len(text) * 800
    assert peak < most * len(text) * 800


def test_dom_reads_each_text_once(monkeypatch):
    read = []

    def words_of(text, *, tokenized):
        read.append(text)
        return text.split()

    monkeypatch.setattr(dom, "words_of", words_of)
    text = "<div> <p>a <i>b</i> c</p><p>d</p>\n</div><hr><script>e</script>"
    [tree] = dom.Parser().trees([Unparsed(text)])
    assert ("a", "b", "c", "d") == tree.words
    assert ["a ", "b", " c", "d"] == read
