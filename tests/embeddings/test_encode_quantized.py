"""encode --quantize with its other flags: the same codes, or a refusal."""

import numpy as np
import pytest

from structkit import encode
from structkit.commands.encode import check_output
from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import quantize
from structkit.errors import UserError
from structkit.learning.encoding.settings import EncodingSettings
from tests.jsonl import contents
from tests.model_encodings import encode_file, records, token_table

KINDS = ("int8", "binary")
LINES = records()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return token_table(tmp_path_factory.mktemp("table"))


def write(model, path, lines=LINES, **options):
    path.parent.mkdir(exist_ok=True)
    return encode_file(model, path, lines, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_those_of_the_floats(model, tmp_path, kind):
    write(model, tmp_path / "floats" / "v.npy")
    meta = write(model, tmp_path / "codes" / "v.npy", quantize=kind)
    floats = read_embeddings([str(tmp_path / "floats/v.npy")])
    codes, scales = quantize(floats.vectors[:], kind)
    assert np.load(tmp_path / "codes/v.npy").tobytes() == codes.tobytes()
    assert (60, 12, kind) == (meta["count"], meta["dim"], meta["quantize"])
    if scales is not None:
        assert (tmp_path / "codes/v.scales.f32").read_bytes() == scales.tobytes()
    write(model, tmp_path / "reused" / "v.npy", quantize=kind, reuse=str(tmp_path / "floats/v.npy"))
    assert contents(tmp_path / "codes") == contents(tmp_path / "reused")


@pytest.mark.parametrize("kind", KINDS)
def test_unchanged_codes_are_copied_bit_by_bit_and_serve_no_other_form(
    model, tmp_path, capsys, kind
):
    old = tmp_path / "old" / "v.npy"
    write(model, old, quantize=kind)
    for other in (None, *(each for each in KINDS if each != kind)):
        write(model, tmp_path / "v.npy", reuse=str(old), quantize=other)
        told = capsys.readouterr().err
        assert "0 of 60 records are as in" in told and "another quantize" in told
    lines = [{"id": "new", "text": "word"}, *LINES[1:]]
    write(model, tmp_path / "fresh" / "v.npy", lines, quantize=kind)
    write(model, old, lines, reuse=str(old), quantize=kind)
    assert "59 of 60 records are as in" in capsys.readouterr().err
    assert contents(tmp_path / "fresh") == contents(tmp_path / "old")


@pytest.mark.parametrize("name", ["v.jsonl", "v.parquet", "-"])
def test_other_outputs_have_no_codes(model, name):
    with pytest.raises(UserError, match="--quantize is for NAME.npy files; write such") as caught:
        check_output(EncodingSettings(model=model, quantize="int8"), name)
    assert 2 == caught.value.status
    with pytest.raises(UserError, match="quantize is for NAME.npy files"):
        list(encode(LINES, model=model, as_="document", quantize="binary"))


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary"])
def test_codes_of_sentence_transformers_have_no_ranges_and_are_refused(tmp_path, precision):
    quantization = pytest.importorskip("sentence_transformers.util.quantization")
    vectors = np.random.default_rng(0).normal(size=(200, 16)).astype(np.float32)
    codes = quantization.quantize_embeddings(vectors, precision=precision)
    np.save(tmp_path / "v.npy", codes)
    (tmp_path / "v.ids.txt").write_text("".join(f"{row}\n" for row in range(len(codes))))
    with pytest.raises(UserError, match="codes without their ranges; save the floats, or use"):
        read_embeddings([str(tmp_path / "v.npy")])
