"""encode: input order, the same vectors in any batch, and files that appear whole."""

import json

import numpy
import pytest

from structkit.commands import encode as command
from structkit.commands.encode import Encoding, encode, encode_to_numpy
from structkit.commands.train import train
from structkit.errors import UserError
from structkit.learning.settings import RunOptions
from structkit.registry import load

TEXTS = [f"word {'and more ' * (number * 7 % 23)}{number}" for number in range(60)]


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """An untrained model: its vectors differ, which is all that matters here."""
    folder = tmp_path_factory.mktemp("encode")
    data = folder / "train.jsonl"
    lines = [
        {"id": str(place), "query": text, "positive": text} for place, text in enumerate(TEXTS)
    ]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = load("method", "contrastive").Method(
        size="tiny", vocabulary_size=400, max_steps=0, query_length=16, document_length=64
    )
    output = str(folder / "model")
    train("contrastive", settings, [str(data)], RunOptions(output=output))
    return output


def records(texts=TEXTS, **extra):
    return [{"id": f"d{place}", "text": text} | extra for place, text in enumerate(texts)]


def vectors(found):
    return numpy.array([record["embedding"] for record in found])


def test_order_and_values_do_not_depend_on_batches(model, monkeypatch):
    one_by_one = [
        next(encode([record], model=model, side="document", batch_tokens=1))["embedding"]
        for record in records()[:12]
    ]
    found = list(encode(records(), model=model, side="document"))
    assert [f"d{place}" for place in range(60)] == [record["id"] for record in found]
    numpy.testing.assert_allclose(vectors(found)[:12], one_by_one, atol=1e-6)
    monkeypatch.setattr(command, "WINDOW", 7)
    windows = list(encode(records(), model=model, side="document", batch_tokens=100))
    numpy.testing.assert_allclose(vectors(windows), vectors(found), atol=1e-6)
    numpy.testing.assert_allclose(numpy.linalg.norm(vectors(found), axis=1), 1, atol=1e-6)


def test_it_streams(model, monkeypatch):
    monkeypatch.setattr(command, "WINDOW", 5)
    taken = []

    def endless():
        for record in records():
            taken.append(record)
            yield record

    found = encode(endless(), model=model, side="query")
    next(found)
    assert 5 == len(taken)


def test_equal_texts_are_encoded_once(model):
    encoding = Encoding(model, "query")
    found = list(encoding.embeddings(encoding.texts(records(["a", "b", "a"]))))
    assert found[0]["embedding"] == found[2]["embedding"] != found[1]["embedding"]
    assert 2 == encoding.truncation.texts["query"]


def test_bf16_is_near(model):
    found = [
        vectors(encode(records(), model=model, side="document", dtype=dtype))
        for dtype in ("fp32", "bf16")
    ]
    assert (found[0] * found[1]).sum(1).min() > 0.999


def test_fields_and_kept_fields(model):
    record = {"id": "1", "code": "x", "docstring": "y", "language": "go"}
    query = next(encode([record], model=model, side="query", keep=["language"]))
    assert {"id": "1", "language": "go"} == {key: query[key] for key in query if key != "embedding"}
    same = next(encode([{"id": "2", "text": "y"}], model=model, side="query"))
    assert same["embedding"] == query["embedding"]
    code = next(encode([record], model=model, side="document"))
    named = next(encode([record], model=model, side="document", field="code"))
    assert code["embedding"] == named["embedding"]
    with pytest.raises(
        UserError, match=r"none of the fields query, text, docstring \(it has: id, b"
    ):
        list(encode([{"id": "1", "b": "x"}], model=model, side="query"))
    with pytest.raises(UserError, match='"stars" of --keep is missing'):
        list(encode([record], model=model, side="query", keep=["stars"]))


def test_cut_texts_are_counted(model, capsys):
    list(encode(records(["a", "b c " * 100]), model=model, side="query"))
    assert "1 of 2 query texts were longer than --query-length" in capsys.readouterr().err


def test_an_empty_text_has_an_embedding(model):
    assert numpy.isfinite(vectors(encode(records(["", " "]), model=model, side="query"))).all()


def test_numpy_files(model, tmp_path):
    encoding = Encoding(model, "document")
    meta = encode_to_numpy(encoding.texts(records()), str(tmp_path / "v.npy"), encoding)
    assert ["v.ids.txt", "v.meta.json", "v.npy"] == sorted(file.name for file in tmp_path.iterdir())
    found = numpy.load(tmp_path / "v.npy", mmap_mode="r")
    assert ("float32", (60, 64)) == (found.dtype, found.shape)
    expected = vectors(encode(records(), model=model, side="document"))
    numpy.testing.assert_array_equal(expected.astype("float32"), found)
    assert [f"d{place}" for place in range(60)] == (tmp_path / "v.ids.txt").read_text().split("\n")[
        :-1
    ]
    assert meta == json.loads((tmp_path / "v.meta.json").read_text())
    assert ("contrastive", "document", 60) == (meta["method"], meta["side"], meta["count"])


def test_an_id_with_a_line_break_leaves_no_file(model, tmp_path):
    encoding = Encoding(model, "document")
    bad = [{"id": "a\nb", "text": "x"}]
    with pytest.raises(UserError, match=r"id 'a\\nb' holds a line break"):
        encode_to_numpy(encoding.texts(bad), str(tmp_path / "v.npy"), encoding)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side": "title"}, "--as title"),
        ({"side": "query", "dtype": "int8"}, "--dtype int8"),
        ({"side": "query", "batch_tokens": 0}, "--batch-tokens"),
    ],
)
def test_wrong_usage(model, options, message):
    with pytest.raises(UserError, match=message) as caught:
        Encoding(model, **options)
    assert 2 == caught.value.status
