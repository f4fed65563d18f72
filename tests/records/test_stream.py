"""Record-wise commands: shards, workers, rejected records; always the same bytes."""

import gzip
import json
import os
from itertools import zip_longest

import pytest


def line(number):
    code = f"def f{number}(a, b):\n    return a * {number} + b\n" * (1 + number % 7)
    return json.dumps({"id": str(number), "language": "python", "code": code}).encode() + b"\n"


# some 1 MB: several blocks for every worker
MANY = b"".join(map(line, range(4_000)))
MIXED = (
    line(0)
    + b"oops\n"
    + b"\n"
    + b'{"id":"2","language":"python"}\n'
    + line(3)
    + b"[1,2]\n"
    + b'{"id":"5","language":"cobol","code":"x"}\n'
    + b'{"id":"6","language":"python","code":"1"}\n'
    + b'\xff{"id":"7"}\n'
    + line(8)[:-1]
)
SKIP = ("mask-entities", "--on-error", "skip")


def parts(done):
    return done.returncode, done.stderr, done.stdout


def numbers(output):
    return [int(json.loads(line)["id"]) for line in output.splitlines()]


def test_workers_keep_order_and_bytes(run):
    one = run("mask-entities", input=MANY)
    assert (0, b"") == (one.returncode, one.stderr)
    assert list(range(4_000)) == numbers(one.stdout)
    for workers in (2, 3):
        assert parts(one) == parts(run("mask-entities", "--workers", workers, input=MANY))


MUCH = MANY * (1 + (2 << 20) // len(MANY))  # read here at first, the rest by others


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("--shard", "1/3")])
def test_much_input_gives_the_same_bytes(run, tmp_path, flags):
    late = MUCH + b"oops\n" + line(9)[:-1]
    (tmp_path / "in.jsonl").write_bytes(late)
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(late, 1))
    command = (*SKIP, "--rejects", "bad.jsonl", *flags)
    one = run(*command, "--workers", "1", "in.jsonl")
    rejected = (tmp_path / "bad.jsonl").read_bytes()
    assert 0 == one.returncode
    assert parts(one) == parts(run(*command, "in.jsonl"))
    assert rejected == (tmp_path / "bad.jsonl").read_bytes()
    assert parts(one) == parts(run(*command, "in.jsonl.gz"))
    assert parts(one) == parts(run(*command, input=late))


@pytest.mark.parametrize(("workers", "count"), [("1", 300), ("2", 3000)])
def test_shards_are_the_whole(run, workers, count):
    some = MANY[: MANY.index(line(count + 1))]
    whole = run("mask-entities", input=some).stdout.splitlines(True)
    flags = ("mask-entities", "--workers", workers, "--shard")
    shards = [run(*flags, f"{index}/3", input=some).stdout.splitlines(True) for index in range(3)]
    assert [count // 3 + 1, count // 3, count // 3] == list(map(len, shards))
    woven = [line for lines in zip_longest(*shards) for line in lines if line]
    assert whole == woven


def test_an_empty_shard_is_no_complaint(run):
    assert (0, b"", b"") == parts(run("mask-entities", "--shard", "1/2", input=line(0)))


def test_the_first_error_is_the_same_with_workers(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(MANY)
    (tmp_path / "b.jsonl").write_bytes(MANY[: MANY.index(line(2500))] + b"oops\n" + MANY)
    (tmp_path / "c.jsonl").write_bytes(b"oops\n" * 3)
    files = ("a.jsonl", "b.jsonl", "c.jsonl")
    one = run("mask-entities", *files)
    assert 1 == one.returncode
    assert one.stderr.startswith(b"structkit: b.jsonl:2501: the line is not JSON (")
    assert [*range(4_000), *range(2_500)] == numbers(one.stdout)
    assert parts(one) == parts(run("mask-entities", "--workers", "auto", *files))


def test_what_stands_before_a_broken_file_is_the_same_with_workers(run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(MIXED)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(MANY) + b"rubbish")
    (tmp_path / "c.jsonl").write_bytes(MANY)
    one = run(*SKIP, "a.jsonl", "b.jsonl.gz", "c.jsonl")
    assert 1 == one.returncode
    problem = b"Not a gzipped file (b'ru'); it is cut or damaged: copy it again"
    assert b"structkit: b.jsonl.gz: cannot be read: " + problem + b"\n" == one.stderr
    found = numbers(one.stdout)
    assert [0, 3, 8, *range(len(found) - 3)] == found
    assert parts(one) == parts(run(*SKIP, "a.jsonl", "b.jsonl.gz", "c.jsonl", "--workers", "2"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_rejected_records_are_kept_with_place_and_reason(run, tmp_path, workers):
    (tmp_path / "in.jsonl").write_bytes(MIXED)
    done = run(*SKIP, "--rejects", "bad.jsonl", "--workers", workers, "in.jsonl")
    assert [0, 3, 8] == numbers(done.stdout)
    assert 0 == done.returncode
    assert done.stderr.startswith(b"structkit: 6 records rejected (1 x ")
    assert 1 == done.stderr.count(b"\n")
    rejected = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_bytes().splitlines()]
    expected = [
        (2, "the line is not JSON", "oops"),
        (4, 'field "code" is missing', {"id": "2", "language": "python"}),
        (6, "the line holds a JSON array", [1, 2]),
        (7, "unknown language 'cobol'", {"id": "5", "language": "cobol", "code": "x"}),
        (8, "the text holds no entity", {"id": "6", "language": "python", "code": "1"}),
        (9, "the line is not UTF-8", '\ufffd{"id":"7"}'),
    ]
    assert expected == [
        (record["line"], record["reason"][: len(reason)], record["record"])
        for record, (_, reason, _) in zip(rejected, expected, strict=True)
    ]
    assert {"in.jsonl"} == {record["file"] for record in rejected}
    assert ["file", "line", "reason", "record"] == list(rejected[0])


def test_the_count_names_the_common_reasons(run):
    text = b'{"id":"1"}\n' * 2000 + b'oops\n{"id":\n' + line(1)
    done = run(*SKIP, input=text)
    expected = '2,002 records rejected (2,000 x field "code" is missing; 2 x the line is not JSON)'
    assert f"structkit: {expected}\n" == done.stderr.decode()
    assert [1] == numbers(done.stdout)


def test_nothing_rejected_makes_an_empty_file(run, tmp_path):
    done = run(*SKIP, "--rejects", "bad.jsonl", input=line(1))
    assert (0, b"") == (done.returncode, done.stderr)
    assert b"" == (tmp_path / "bad.jsonl").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_rejects_that_cannot_be_written_leave_no_output(run, tmp_path):
    told = "give --rejects a place that exists, has room"
    for command in ("mask-entities", "collect --records"):
        rejects = ("--on-error", "skip", "--rejects", "/dev/full")
        done = run(*command.split(), "-", "-o", "out.jsonl", *rejects, input=MIXED)
        assert 1 == done.returncode
        assert f"structkit: /dev/full: cannot be written: No space left on device; {told}" in (
            done.stderr.decode()
        )
        assert [] == list(tmp_path.iterdir())


def test_a_failed_run_leaves_no_rejects(run, tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress(MIXED)[:-4])
    done = run(*SKIP, "--rejects", "bad.jsonl", "-o", "out.jsonl", "in.gz")
    assert 1 == done.returncode
    assert ["in.gz"] == [path.name for path in tmp_path.iterdir()]
