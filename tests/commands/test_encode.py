"""encode: input order, the same vectors in any batch, and files that appear whole."""

import json
import re
from itertools import count

import numpy as np
import pytest

from structkit import encode
from structkit.commands.encode import encode_to_file, write_embeddings
from structkit.errors import UserError
from structkit.records.stream import Stream
from tests.model_encodings import encoding_of, records
from tests.tolerances import TINY, rounding


def vectors(found):
    return np.array([record["embedding"] for record in found])


def test_order_and_values_do_not_depend_on_batches(model):
    one_by_one = [
        next(encode([record], model=model, as_="document"))["embedding"]
        for record in records()[:12]
    ]
    found = list(encode(records(), model=model, as_="document"))
    assert [f"d{place}" for place in range(60)] == [record["id"] for record in found]
    np.testing.assert_allclose(vectors(found)[:12], one_by_one, **rounding(TINY))
    encoding = encoding_of(model, held=7)
    windows = list(encoding.embeddings(map(encoding.read, records())))
    np.testing.assert_allclose(vectors(windows), vectors(found), **rounding(TINY))
    lengths = np.linalg.norm(vectors(found), axis=1)
    np.testing.assert_allclose(lengths, 1, **rounding(vectors(found).shape[1]))


def test_it_streams(model):
    endless = ({"id": str(number), "text": "word"} for number in count())
    assert "0" == next(encode(endless, model=model, as_="query"))["id"]


def test_equal_texts_are_encoded_once_and_empty_ones_too(model):
    encoding = encoding_of(model, "query")
    found = vectors(encoding.embeddings(map(encoding.read, records(["a", "b", "a", "", " "]))))
    assert found[0].tolist() == found[2].tolist() != found[1].tolist()
    assert 4 == encoding.truncation.texts["query"]
    assert np.isfinite(found).all()


def test_bf16_is_near_and_chosen_where_the_processor_has_it(model):
    exact, near = (
        vectors(encode(records(), model=model, as_="document", dtype=dtype))
        for dtype in ("fp32", "bf16")
    )
    assert (exact * near).sum(1).min() > 0.999


def test_fields_and_kept_fields(model):
    record = {"id": "1", "code": "x", "docstring": "y", "language": "go"}
    query = next(encode([record], model=model, as_="query", keep=["language"]))
    assert {"id": "1", "language": "go"} == {key: query[key] for key in query if key != "embedding"}
    same = next(encode([{"id": "2", "text": "y"}], model=model, as_="query"))
    # each model chooses its engine and its matmul precision by a measurement
    np.testing.assert_allclose(same["embedding"], query["embedding"], **rounding(TINY))
    code = next(encode([record], model=model, as_="document"))
    named = next(encode([record], model=model, as_="document", field=["code"]))
    np.testing.assert_allclose(code["embedding"], named["embedding"], **rounding(TINY))
    told = r"none of the fields query, text, docstring \(it has: id, b"
    with pytest.raises(UserError, match=told):
        list(encode([{"id": "1", "b": "x"}], model=model, as_="query"))
    with pytest.raises(UserError, match='"stars" of keep is missing'):
        list(encode([record], model=model, as_="query", keep=["stars"]))


def test_cut_texts_are_counted_by_field(model, capsys):
    long = "b c " * 100
    pairs = [("a", long), (long, "a"), ("d", long + "d"), ("d", "a")]
    lines = [{"id": str(number), "a": a, "b": b} for number, (a, b) in enumerate(pairs)]
    encoding = encoding_of(model, "query", field=["a", "b"])
    found = list(encoding.embeddings(map(encoding.read, lines)))
    assert ["id", "a_embedding", "b_embedding"] == list(found[0])
    assert found[0]["b_embedding"].tolist() == found[1]["a_embedding"].tolist()
    assert found[0]["a_embedding"].tolist() != found[1]["a_embedding"].tolist()
    encoding.report()
    # equal texts of a field count once
    expected = [
        f'structkit: {cut} of 3 texts in the field "{name}" were longer than --length and '
        f"were truncated ({cut / 3:.0%})"
        for name, cut in (("a", 1), ("b", 2))
    ]
    assert expected == capsys.readouterr().err.splitlines()


def test_numpy_files(model, tmp_path):
    encoding, path = encoding_of(model, "document"), str(tmp_path / "v.npy")
    with pytest.raises(UserError, match=r"id 'a\\nb' holds a line break"):
        encode_to_file(map(encoding.read, [{"id": "a\nb", "text": "x"}]), path, encoding)
    assert [] == list(tmp_path.iterdir())
    meta = encode_to_file(map(encoding.read, records()), path, encoding)
    names = ["v.hashes.txt", "v.ids.txt", "v.meta.json", "v.npy"]
    assert names == sorted(file.name for file in tmp_path.iterdir())
    found = np.load(path, mmap_mode="r")
    assert ("float32", (60, 64)) == (found.dtype, found.shape)
    expected = vectors(encode(records(), model=model, as_="document"))
    np.testing.assert_array_equal(expected.astype("float32"), found)
    ids = (tmp_path / "v.ids.txt").read_text()
    assert "".join(f"d{place}\n" for place in range(60)) == ids
    assert meta == json.loads((tmp_path / "v.meta.json").read_text())
    assert ("contrastive", "document", 60) == (meta["method"], meta["side"], meta["count"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"as_": "query", "length": 8, "chunk": 9}, "--chunk 9 is more than --length 8"),
        ({"as_": "query", "chunk": 9, "field": ["a", "b"]}, "--chunk takes one --field"),
        ({"as_": "query", "pooling": "most"}, "--pooling most is not cls or mean or"),
        ({"chunk": 9, "rows": "elements"}, "--chunk and --rows exclude each other; leave one"),
        ({"rows": "elements", "field": ["a", "b"]}, "--rows takes one --field; encode each"),
        ({"rows": "elements", "keep": ["text"]}, "--keep text: a field of that name is written"),
        ({"chunk": 9, "keep": ["lines"]}, "--keep lines: a field of that name is written"),
        ({"rows": "nodes"}, "--rows nodes needs a model of trees; leave it out, or name"),
    ],
)
def test_wrong_usage(model, options, message):
    with pytest.raises(UserError, match=message) as caught:
        encoding_of(model, **options)
    assert 2 == caught.value.status


def test_normalization(model):
    whole, plain = (
        vectors(encode(records(), model=model, normalize=normalize)) for normalize in (None, False)
    )
    norms = np.linalg.norm(plain, axis=1, keepdims=True)
    assert abs(norms - 1).min() > 0.01
    np.testing.assert_allclose(plain / norms, whole, **rounding(TINY))


def test_chunks(model):
    encoding = encoding_of(model, "document", chunk=10, keep=["n"])
    text = "fooBar and_more <p>words</p> é 日本 " * 9
    lines = records([text, "short", "", text], n=1)
    found = list(encoding.embeddings(map(encoding.read, lines)))
    first = [row for row in found if row["doc_id"] == "d0"]
    assert [f"d0#{number}" for number in range(len(first))] == [row["id"] for row in first]
    assert [row["embedding"].tolist() for row in first] == [
        row["embedding"].tolist() for row in found if row["doc_id"] == "d3"
    ]
    # the chunks have all tokens, ten each, and lie one after the other
    ids = encoding.encoder.tokenizing.tokenizer.encode(text, add_special_tokens=False).ids
    chunks = encoding.encoder.chunks(text, "document", 10)
    assert ids == [token for chunk in chunks for token in chunk.ids[:-1]]
    assert {10} == {len(chunk.ids) - 1 for chunk in chunks[:-1]}
    assert [(chunk.start, chunk.end) for chunk in chunks] == [
        (row["start"], row["end"]) for row in first
    ]
    assert 0 == first[0]["start"] and len(text.rstrip()) <= first[-1]["end"] <= len(text)
    # a character of several tokens may belong to two chunks
    assert all(one["end"] <= two["start"] + 1 for one, two in zip(first, first[1:], strict=False))
    between = [text[one["end"] : two["start"]] for one, two in zip(first, first[1:], strict=False)]
    assert not "".join(between).strip()
    # what is no longer than a chunk has the embedding of the whole text
    whole = next(encode([{"id": "1", "text": "short"}], model=model, as_="document"))
    short = next(row for row in found if row["doc_id"] == "d1")
    np.testing.assert_allclose(whole["embedding"], short["embedding"], **rounding(TINY))
    assert [("d2#0", 0, 0, 1)] == [
        (row["id"], row["start"], row["end"], row["n"]) for row in found if row["doc_id"] == "d2"
    ]


def test_length(model):
    lines = records(["a", "word and more " * 9])
    whole, cut = (
        vectors(encode(lines, model=model, as_="document", length=length)) for length in (None, 12)
    )
    tokens = encoding_of(model, "document", length=12).encoder.inputs(
        [lines[1]["text"]], "document"
    )
    assert [12] == [len(ids) for ids in tokens]
    np.testing.assert_allclose(whole[0], cut[0], **rounding(TINY))
    assert abs(whole[1] - cut[1]).max() > 0.01
    # parts are of so many tokens too, in whole chunks
    parts = encoding_of(model, "document", length=12, chunk=5)
    rows = list(parts.embeddings(map(parts.read, lines)))
    assert ["d0", "d1", "d1"] == [row["doc_id"] for row in rows]
    assert {"length": 12, "chunk": 5}.items() <= parts.meta().items()
    assert "length" not in encoding_of(model, "document").meta()


def test_lines_have_the_shortest_form_of_32_bits_beside_numbers_of_any_size(model, tmp_path):
    source, target = tmp_path / "texts.jsonl", tmp_path / "v.jsonl"
    source.write_bytes(
        b'{"id":"1","text":"a b","n":1180591620717411303424}\n{"id":"2","text":"c","n":1}\n'
    )
    write_embeddings(encoding_of(model, "document", keep=["n"]), Stream([str(source)], str(target)))
    lines = target.read_bytes().splitlines()
    assert [2**70, 1] == [json.loads(line)["n"] for line in lines]
    texts = [{"id": "1", "text": "a b"}, {"id": "2", "text": "c"}]
    wanted = vectors(encode(texts, model=model, as_="document"))[1].tolist()
    written = re.search(rb'"embedding":\[(.*?)\]', lines[1])[1].decode().split(",")
    assert len(",".join(written)) < 0.6 * len(",".join(map(str, wanted)))
    numbers = np.array(wanted, np.float32)
    np.testing.assert_array_equal(numbers, np.array(written, np.float64).astype(np.float32))
