"""JSONL, gzip and Parquet, spoiled: records, or one clear error, in little memory."""

import gzip
import io
import json
import tracemalloc

import orjson
import pyarrow
import pyarrow.parquet
import pytest
from hostile.spoiling import examples, spoiled
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import UserError
from structkit.records.jsonl import Records, Rejected, accepted
from structkit.records.lines import MAXIMUM, Lines, limit_bytes
from structkit.records.output import dump

GOOD = b"".join(
    orjson.dumps(
        {"id": f"é{n}", "text": 'a "b" \\ \n c', "numbers": [n, -1.5, 2**40], "none": None}
    )
    + b"\n"
    for n in range(3)
)


def parquet() -> bytes:
    rows = [orjson.loads(line) for line in GOOD.splitlines()]
    with io.BytesIO() as file:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        return file.getvalue()


@pytest.fixture(autouse=True)
def limit():
    yield
    limit_bytes(MAXIMUM)


def read(path, most=MAXIMUM):
    """The records of a file as lines, and its rejects."""
    limit_bytes(most)
    rejected: list[Rejected] = []
    records = Records.read([str(path)])
    try:
        made = [dump(record) for record in accepted(iter, records, rejected.append)]
    except UserError as error:
        assert error.file and error.remedy, error
        made = []
    for each in rejected:
        assert each.error.line and each.error.remedy
        dump(each.record())
    assert records.count == len(made) + len(rejected) or not made
    return made, rejected


@examples(60)
@given(spoiled(GOOD))
def test_spoiled_jsonl(tmp_path, data):
    (tmp_path / "a.jsonl").write_bytes(data)
    read(tmp_path / "a.jsonl")


@examples(40)
@given(spoiled(gzip.compress(GOOD * 20, mtime=0)))
def test_spoiled_gzip(tmp_path, data):
    (tmp_path / "a.jsonl.gz").write_bytes(data)
    read(tmp_path / "a.jsonl.gz")


@examples(60)
@given(spoiled(parquet()))
def test_spoiled_parquet(tmp_path, data):
    (tmp_path / "a.parquet").write_bytes(data)
    read(tmp_path / "a.parquet")


@examples(60)
@given(st.lists(st.sampled_from([0, 1, 5, 9, 10, 11, 70_000]), max_size=6), st.integers(8, 12))
def test_lines_that_are_too_long_are_told_and_the_others_read(tmp_path, lengths, most):
    lines = [json.dumps({"id": "i" * length}).encode() for length in lengths]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines))
    longest = most + len('{"id": ""}')
    fits = [len(line) + (number < len(lines)) <= longest for number, line in enumerate(lines, 1)]
    made, rejected = read(path, longest)
    assert [len(json.loads(line)["id"]) for line in made] == [
        length for length, fit in zip(lengths, fits, strict=True) if fit
    ]
    assert [each.error.line for each in rejected] == [
        number for number, fit in enumerate(fits, 1) if not fit
    ]
    places = []
    for line in Lines([str(path)], cut=True):
        places.append(len(line) <= longest)
    assert places == fits
    if all(fits):
        assert len(list(Lines([str(path)]))) == len(lines)
    else:
        with pytest.raises(
            UserError, match=f"a.jsonl:{fits.index(False) + 1}: the record has more"
        ):
            list(Lines([str(path)]))


@pytest.mark.parametrize("blocks", [False, True])
def test_a_gzip_bomb_is_refused_in_little_memory(tmp_path, blocks):
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(
        gzip.compress(b'{"id":"' + b"x" * 40_000_000, 1) + gzip.compress(b'"}\n{"id":"2"}')
    )
    assert path.stat().st_size < 300_000
    limit_bytes(100_000)
    tracemalloc.start()
    if blocks:
        made, rejected = read(path, 100_000)
        assert [b'{"id":"2"}\n'] == made
        assert [(1, b'{"id":"xxx')] == [(each.error.line, each.raw[:10]) for each in rejected]
    else:
        with pytest.raises(
            UserError, match="bomb.jsonl.gz:1: the record has more than 100,000 bytes"
        ):
            list(Lines([str(path)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000


@pytest.mark.parametrize(
    "depth", [10, 250, 253, 254, 300, 990, 1000, 1023, 1024, 10_000, 1_000_000]
)
@pytest.mark.parametrize("number", ["1", "9" * 30])
def test_deep_records_are_refused(tmp_path, depth, number):
    nested = '{"a":' * depth + number + "}" * depth
    (tmp_path / "deep.jsonl").write_text(nested + '\n{"id":"2","a":[' + "[]," * 300 + "[]]}\n")
    made, rejected = read(tmp_path / "deep.jsonl")
    assert len(made) == 1 + (depth <= 254)
    assert len(rejected) == (depth > 254)
    if depth in (300, 1024):
        assert "nested more than 254 levels deep; fix" in str(rejected[0].error)
