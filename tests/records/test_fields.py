"""Every command looks for the text of a document, or of a query, in the same fields."""

from itertools import pairwise

import pytest

from structkit import search
from structkit.commands.pair import Settings as PairSettings
from structkit.commands.pair import corpus_text, judged_query_text
from structkit.formats.interchange import Fields, FormatParts
from structkit.learning.training.method import Method
from structkit.records.fields import DOCUMENT_FIELDS, PAIRED_FIELDS, QUERY_FIELDS, text_name
from structkit.records.output import write_records


def searched(tmp_path, document, query):
    write_records([document], str(tmp_path / "corpus"))
    write_records([query], str(tmp_path / "queries"))
    corpus, queries = (str(tmp_path / name) for name in ("corpus", "queries"))
    return [hit["doc_id"] for hit in search([corpus], queries=[queries], method="bm25")]


@pytest.mark.parametrize(("earlier", "later"), list(pairwise((*DOCUMENT_FIELDS, None))))
def test_the_first_field_of_a_document_is_read(tmp_path, earlier, later):
    document = {"id": "1", **({later: "wrong"} if later else {}), earlier: "tea"}
    assert ["1"] == searched(tmp_path, document, {"query": "tea"})
    assert [] == searched(tmp_path, document, {"query": "wrong"})
    if earlier in PAIRED_FIELDS:
        assert "tea" == corpus_text(document, PairSettings())
    for name in ("beir", "pyserini"):
        write = FormatParts.load(name, "test").parts["corpus"].write
        assert write and "tea" in write(Fields(document)).values()
    assert earlier == text_name(document, Method.document_fields, "")


@pytest.mark.parametrize(("earlier", "later"), list(pairwise((*QUERY_FIELDS, None))))
def test_the_first_field_of_a_query_is_read(tmp_path, earlier, later):
    query = {"id": "q", **({later: "wrong"} if later else {}), earlier: "tea"}
    assert ["1"] == searched(tmp_path, {"id": "1", "text": "tea"}, query)
    assert "tea" == judged_query_text(query, PairSettings())
    write = FormatParts.load("beir", "test").parts["queries"].write
    assert write and "tea" in write(Fields(query)).values()
    assert earlier == text_name(query, Method.query_fields, "")


def test_pair_reads_no_positive_of_its_own():
    document = {"id": "1", "positive": "old", "code": "x = 1"}
    assert "x = 1" == corpus_text(document, PairSettings())


def test_null_is_no_text_where_there_is_another(tmp_path):
    document = {"id": "1", "code": None, "text": "tea"}
    assert ["1"] == searched(tmp_path, document, {"query": None, "text": "tea"})
