"""Records in and out: ids, places, odd bytes, and that nothing changes on the way."""

import gzip
import json
import tempfile
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import UserError
from structkit.records.jsonl import Lines, Records
from structkit.records.output import write_records

CODE = '"language":"python","code":"x"'


def ids(here, *records):
    done = here("mask-entities", input="\n".join(records).encode())
    assert (0, b"") == (done.returncode, done.stderr)
    return [json.loads(line)["id"] for line in done.stdout.splitlines()]


def test_an_id_is_the_records_own_or_beirs_or_its_line(here):
    records = ['{"id":"a",%s}', '{"_id":"b",%s}', '{"id":3,%s}', "", "{%s}", '{"_id":6,%s}']
    records += ['{"id":"c","_id":"d",%s}', '{"id":123456789012345678901234567890,%s}']
    expected = ["a", "b", "3", "5", "6", "c", "123456789012345678901234567890"]
    assert expected == ids(here, *(record.replace("%s", CODE) for record in records))


def test_lines_are_counted_over_all_files(here, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{{{CODE}}}\n{{{CODE}}}")  # the last line has no newline
    done = here("mask-entities", "a", "-", "b", input=b"{%s}\r\n" % CODE.encode())
    assert ["1", "2", "3", "4", "5"] == [
        json.loads(line)["id"] for line in done.stdout.split(b"\n")[:-1]
    ]
    message = here("mask-entities", "a", "b", "-", input=b"\n{}").stderr.decode()
    assert message.startswith('structkit: stdin:2: field "code" is missing; ')


@pytest.mark.parametrize("value, kind", [("null", "null"), ("true", "boolean"), ("1.5", "number")])
def test_an_id_of_another_type_is_an_error(here, value, kind):
    done = here("mask-entities", input=f'{{"id":{value},{CODE}}}'.encode())
    expected = f'structkit: stdin:1: field "id" is a JSON {kind}; an id is a string or an integer\n'
    assert (1, expected) == (done.returncode, done.stderr.decode())


UNCHANGED = (
    '{"id":"1","language":"python","code":"x","ints":[18446744073709551615,'
    "18446744073709551616,-9223372036854775809,123456789012345678901234567890],"
    '"float":0.1,"one":1.0,"none":null,"yes":true,"text":"é 漢 🙂 \\" \\\\ \\n \\u0000",'
    '"nested":{"a":[{"b":[[],{}]}],"":"","1":99999999999999999999}}'
)


OUTSIDE = '"a":-9223372036854775808,"b":0.1,"c":%s'  # of 64 bits: orjson reads a float
OUTSIDE = [
    f'{{"id":"1","language":"python","code":"x",{OUTSIDE % number}}}'
    for number in ("-9223372036854775809", "18446744073709551616", "9" * 30)
]


@pytest.mark.parametrize(("workers", "record"), [
    *product(["1", "2"], [UNCHANGED]), *product(["1"], OUTSIDE),
])  # fmt: skip
def test_unknown_fields_pass_through_unchanged(here, workers, record):
    done = here("mask-entities", "--workers", workers, input=record.encode())
    assert record[:-1] == done.stdout.decode().partition(',"masked":')[0]


def test_a_byte_order_mark_is_no_part_of_any_file(here, tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(f'{{"id":"{name}",{CODE}}}\n'.encode("utf-8-sig"))
    (tmp_path / "b").write_bytes(b"\xef\xbb\xbf\n" + (tmp_path / "b").read_bytes()[3:])
    done = here("mask-entities", "a", "b", "c")
    assert (["a", "b", "c"], b"") == (
        [json.loads(line)["id"] for line in done.stdout.splitlines()],
        done.stderr,
    )


def test_gz_in_and_out(here, tmp_path):
    plain = f'{{"id":"1",{CODE}}}\n'.encode() * 3000
    expected = here("mask-entities", input=plain).stdout
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(plain) + gzip.compress(plain))
    assert 0 == here("mask-entities", "in.jsonl.gz", "-o", "a.jsonl.gz").returncode
    made = (tmp_path / "a.jsonl.gz").read_bytes()
    assert expected * 2 == gzip.decompress(made)
    assert b"\x1f\x8b\x08\x00\0\0\0\0" == made[:8]  # no name, no time: the same bytes again
    here("mask-entities", "in.jsonl.gz", "-", "-o", "b.jsonl.gz")
    assert made == (tmp_path / "b.jsonl.gz").read_bytes()
    assert {"in.jsonl.gz", "a.jsonl.gz", "b.jsonl.gz"} == {path.name for path in tmp_path.iterdir()}


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=8,
)
records = st.lists(
    st.dictionaries(st.text(st.characters(codec="utf-8")), values).map(
        lambda record: {"id": "1"} | record | {"id": "1"}
    )
)


@given(records, st.sampled_from(["a.jsonl", "a.jsonl.gz"]))
def test_what_is_written_is_what_is_read(expected, name):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/{name}"
        write_records(expected, path)
        found = list(Records.read([path]))
    assert json.dumps(expected) == json.dumps(found)  # 1 is not 1.0, and the order of fields stays


line = st.binary(max_size=40) | st.sampled_from(
    [b"", b"\n", b"{}\n", b'{"a":"' + b"x" * 60 + b'"}\n', b"\xef\xbb\xbf{}\n", b"\r\n", b"x"]
)
files = st.lists(st.lists(line, max_size=8).map(b"".join), min_size=1, max_size=3)


def places(lines):
    try:
        for content in lines:
            yield lines.file, lines.line, lines.number, content.removesuffix(b"\n")
    except UserError as error:
        yield str(error)


def places_in_blocks(lines, least):
    try:
        lines.min_block_bytes = least
        for block in lines.blocks():
            assert block.data
            for at, line in enumerate(block.lines(), 1):
                yield block.file, block.line + at, block.number + at, line.removesuffix(b"\n")
    except UserError as error:
        yield str(error)


@given(files, st.integers(1, 100), st.integers(1, 100), st.booleans())
def test_blocks_are_the_lines(contents, piece, least, broken):
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{number}" for number in range(len(contents))]
        for name, content in zip(names, contents, strict=True):
            Path(name).write_bytes(content)
        if broken:  # readable up to a point
            names.append(f"{folder}/broken.gz")
            member = gzip.compress(b"a\nb\n")
            Path(names[-1]).write_bytes(member + b"no gzip")
        lines, blocks = Lines(names), Lines(names, piece)
        expected = list(places(lines))
        found = list(places_in_blocks(blocks, least))
        if broken:  # small pieces come nearer to the fault
            assert expected.pop() == found.pop()
        assert expected == found[: len(expected)]
        assert broken or len(found) == len(expected)
        numbers = [place[2] for place in expected if not isinstance(place, str)]
        assert list(range(1, len(numbers) + 1)) == numbers
        if not broken:
            assert (lines.bytes, lines.number) == (blocks.bytes, blocks.number)
