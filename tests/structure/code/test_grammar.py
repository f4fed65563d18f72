"""Code of every language as a stream: workers, shards, and texts that would hold it up."""

from time import thread_time

import pytest
import tree_sitter_c_sharp
from tree_sitter import Language, Parser

from structkit import mask_entities
from structkit.errors import UserError
from structkit.registry import load
from structkit.structure.code.grammar import MAX_PARSE_SECONDS, parse
from tests.structure.code.sources import CODE

# this grammar takes 40 s for it, inside a class; the half of it takes 7 s
SLOW = "class A {" + "(a)-" * 2000 + "}"


def test_a_text_that_takes_too_long_is_rejected_and_the_next_one_is_read():
    parser = Parser(Language(tree_sitter_c_sharp.language()))
    start = thread_time()
    with pytest.raises(UserError) as error:
        parse(parser, SLOW.encode(), 0.2)
    assert str(error.value).startswith("parsing takes longer than 0.2 s, or too much memory; ")
    assert thread_time() - start < 2
    assert not parse(parser, b"x = y;").root_node.has_error
    assert load("language", "csharp")().names("x = y;") == [(0, 1), (4, 5)]


# what nests, repeats and stays open: in most grammars something of it is ambiguous
DEEP = [*"([{", "a<b", "a<b<", "(a)(", "a?(b):", "(a)=>", "a(b,", "if(a<b>(", "x=>", "\n \t{"]


# one for the quick tests: what differs between languages is in their laws
EACH = ["python", *(pytest.param(n, marks=pytest.mark.long) for n in CODE if n != "python")]


@pytest.mark.parametrize("language", EACH)
def test_no_text_holds_the_stream_up(language, monkeypatch):
    monkeypatch.setattr(parse, "__defaults__", (MAX_PARSE_SECONDS / 5,))
    for unit in DEEP:
        start = thread_time()
        records = [{"id": "1", "language": language, "code": unit * 3000 + "name"}]
        try:
            list(mask_entities(records))
        except UserError as error:
            assert error.problem.startswith(("parsing takes longer", "the text holds no entity"))
        assert thread_time() - start < MAX_PARSE_SECONDS, unit
