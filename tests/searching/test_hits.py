"""Hits that explain themselves: the element, the lines or the phrase that a query was found by."""

import json
import shutil
from pathlib import Path

import numpy as np
import orjson
import pytest
from pyarrow import parquet

from structkit import encode
from structkit.commands.encode import write_embeddings
from structkit.errors import UserError
from structkit.records.stream import Stream
from tests.learning.encoders.zoo import edit
from tests.learning.strae.samples import TREES, trained
from tests.model_encodings import encoding_of
from tests.searching.index_runs import found as run_of
from tests.searching.index_runs import write as write_lines

PAGES = [
    "<title>Tea</title><h1>Tea</h1><section><p>Boil it.<p>Warm the pot.<p>Steep it for <b>three"
    "</b> minutes.</section>",
    "<h1>Coffee</h1><ul><li>Grind beans<li>Press <p>slowly</p></ul>",
]
CODE = "import re\n\n\ndef first(text):\n    return text[0]\n\n\ndef last(a):\n    return a[-1]\n"


def pages(tmp_path):
    return write_lines(
        tmp_path / "pages.jsonl",
        [{"id": f"d{n}", "html": page, "site": n} for n, page in enumerate(PAGES)],
    )


def written(source, target, model, **options):
    encoding = encoding_of(model, "document", **options)
    write_embeddings(encoding, Stream([source], str(target)))
    return str(target)


def best(corpus, vector, tmp_path, **options):
    """The best hit of a query, and by what it was found."""
    queries = write_lines(tmp_path / "queries.jsonl", [{"id": "q", "embedding": vector}])
    (hit,) = run_of(corpus, queries, 1, explain=True, **options)
    return hit["doc_id"], hit["best"]


@pytest.mark.parametrize(("name", "index"), [("v.npy", "hnsw"), ("v.jsonl", "flat")])
def test_a_hit_names_its_element(model, tmp_path, name, index):
    corpus = written(pages(tmp_path), tmp_path / name, model, rows="elements", keep=["site"])
    asked = {"id": "q", "text": "Steep it for three minutes."}
    (query,) = encode([asked], model=model, as_="document")
    expected = {
        "id": "d0#4",
        "site": 0,
        "xpath": "/html/body/section/p[3]",
        "start": PAGES[0].index("<p>Steep"),
        "end": PAGES[0].index("</section>"),
        "text": "Steep it for three minutes.",
    }
    assert ("d0", expected) == best(corpus, query["embedding"], tmp_path, index=index)
    # as many numbers as the index looks at, a document is there once
    found, _ = best(corpus, query["embedding"], tmp_path, index=index, filter=("site=1",))
    assert "d1" == found


def test_elements_in_parquet(model, tmp_path):
    source = pages(tmp_path)
    table = parquet.read_table(written(source, tmp_path / "v.parquet", model, rows="elements"))
    names = ["id", "embedding", "doc_id", "xpath", "start", "end", "text"]
    assert names == table.column_names
    last = table.slice(table.num_rows - 1).to_pylist()[0]
    assert ("d1#2", "d1", "/html/body/ul/li[2]", "Press slowly") == tuple(
        last[name] for name in ("id", "doc_id", "xpath", "text")
    )
    assert "<li>Press <p>slowly</p>" == PAGES[1][last["start"] : last["end"]]
    written(source, tmp_path / "v.npy", model, rows="elements")
    vectors = np.stack(table["embedding"].to_numpy(zero_copy_only=False))
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), vectors)


def test_a_model_of_tagged_texts_reads_elements_with_their_tags(model, tmp_path):
    copy = Path(shutil.copytree(model, tmp_path / "model"))
    edit(copy / "structkit.json", document_fields=["tagged"])
    read = [
        encoding_of(str(each), "document", rows="elements").read({"id": "d", "html": PAGES[1]})
        for each in (model, copy)
    ]
    assert ["Press slowly", "<li>Press<p>slowly</p></li>"] == [each.texts[-1] for each in read]
    plain, tagged = (each.places for each in read)
    assert plain == tagged and "Press slowly" == plain[-1]["text"]


def test_a_hit_in_code_names_its_lines(model, tmp_path):
    documents = [{"id": "f", "code": CODE, "language": "python"}]
    source = write_lines(tmp_path / "code.jsonl", documents)
    for name in ("v.npy", "v.jsonl"):
        corpus = written(source, tmp_path / name, model, chunk=8)
        found = list(encode(documents, model=model, as_="document", chunk=8))
        for record in found:
            # spaces are no part of a line span
            piece = CODE[record["start"] : record["end"]]
            first = CODE.count("\n", 0, record["end"] - len(piece.lstrip())) + 1
            last = CODE.count("\n", 0, record["start"] + len(piece.rstrip())) + 1
            assert [first, last] == record["lines"]
        assert [1, 9] == [found[0]["lines"][0], found[-1]["lines"][1]]
        chosen = found[3]
        _, row = best(corpus, chosen["embedding"], tmp_path)
        assert (chosen["id"], chosen["lines"]) == (row["id"], row["lines"])
    table = parquet.read_table(written(source, tmp_path / "v.parquet", model, chunk=8))
    assert "list<element: int64>" == str(table.schema.field("lines").type)


def test_a_hit_in_a_tree_names_its_phrase(tmp_path):
    folder = str(tmp_path / "model")
    trained("strae", tmp_path / "model", TREES, "tree", max_steps=0, minimum_count=1)
    corpus = written(
        str(tmp_path / "texts.jsonl"), tmp_path / "v.npy", folder, rows="nodes", normalize=True
    )
    (query,) = encode([{"id": "q", "tree": "(X (X black) (X cat))"}], model=folder, as_="query")
    hit = best(corpus, query["embedding"], tmp_path)
    assert ("0", {"id": "0#4", "node": 4, "span": [1, 3], "text": "black cat"}) == hit


def test_documents_without_elements_are_named(model, tmp_path):
    rows = [{"id": "1", "html": "<p>a"}, {"id": "2", "html": "<p> "}, {"id": "3", "html": 3}]
    source = write_lines(tmp_path / "in.jsonl", [*rows, {"id": "4", "text": "a"}])
    target, rejects = tmp_path / "out.jsonl", tmp_path / "rejects.jsonl"
    encoding = encoding_of(model, "document", rows="elements")
    with pytest.raises(UserError) as caught:
        write_embeddings(encoding, Stream([source], str(target)))
    expected = f"{source}:2: the document holds no text; leave the record out"
    assert (expected, 1) == (str(caught.value), caught.value.status)
    assert not target.exists()
    write_embeddings(encoding, Stream([source], str(target), "skip", str(rejects)))
    assert "1#0" == orjson.loads(target.read_bytes())["id"]
    hint = "--rows elements takes HTML: name its field with --field"
    expected = f'field "html" is a JSON number, not a string; {hint}'
    reasons = rejects.read_text().splitlines()
    assert expected == json.loads(reasons[1])["reason"]
    assert "none of the fields html, content (it has: id, text)" in reasons[2]
