"""select: what is chosen in any order of the input, joined, changed and reported."""

import subprocess
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit import select
from structkit.commands.select import Changes, Condition, Partners, Settings
from structkit.errors import UserError
from tests.cli.complaints import complaint
from tests.jsonl import lines, read, write

RECORDS = [
    {"id": "1", "kind": "lead", "tags": ["new", "old"], "meta": {"year": 2024}},
    {"id": "2", "kind": "title", "tags": [], "meta": {"year": 2023}},
    {"id": "3", "kind": "question", "n": 7, "meta": "x"},
    {"id": "4", "n": 7.5, "flag": True, "none": None, "a.b": "c|d=e"},
]
VALUES = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "ab", "a\n"])
)
MANY = st.lists(
    st.dictionaries(st.sampled_from(["id", "_id", "a", "b"]), VALUES | st.lists(VALUES)),
    max_size=30,
)


@given(MANY, st.integers(1, 40), st.integers(0, 3), st.randoms())
def test_a_sample_is_exact_in_order_and_the_same_in_any_order(records, count, seed, shuffle):
    def sample(records):
        return list(select(records, sample=count, seed=seed))

    found = sample(records)
    assert min(count, len(records)) == len(found)
    rest = iter(records)
    assert all(any(record == other for other in rest) for record in found)  # a subsequence
    mixed = list(records)
    shuffle.shuffle(mixed)
    assert sorted(map(repr, found)) == sorted(map(repr, sample(mixed)))


def test_samples_differ_by_seed_are_nested_and_fair():
    records = [{"id": str(number)} for number in range(1000)]

    def sample(count, seed=0):
        found = select(records, sample=count, seed=seed)
        return {int(record["id"]) for record in found}

    assert sample(50) < sample(100)
    assert sample(100) != sample(100, seed=1)
    halves = [sum(number < 500 for number in sample(100, seed)) for seed in range(50)]
    assert 48 < sum(halves) / 50 < 52


def test_head_stops_reading(run, tmp_path):
    assert b'{"id":"1"}\n' == run("select", "--head", 1, input=b'{"id":"1"}\noops\n').stdout
    source = subprocess.Popen(["yes", '{"id":"1"}'], stdout=subprocess.PIPE)
    done = run("select", "--head", 3, stdin=source.stdout, timeout=30)
    source.kill()
    source.wait()
    source.stdout.close()
    assert (0, b'{"id":"1"}\n' * 3, b"") == (done.returncode, done.stdout, done.stderr)


JUDGED = [{"query_id": "q1", "doc_id": "1"}, {"query_id": "q2", "doc_id": "1"}]


def test_in_and_not_in_share_the_records(run, tmp_path):
    write(tmp_path / "qrels.jsonl", *JUDGED)
    on = ["--on", "id=doc_id"]
    inside = run("select", "--in", "qrels.jsonl", *on, input=lines(*RECORDS)).stdout
    outside = run("select", "--not-in", "qrels.jsonl", *on, input=lines(*RECORDS)).stdout
    assert RECORDS[:1] == read(inside)
    assert RECORDS[1:] == read(outside)


def test_in_compares_numbers_and_other_names_of_an_id():
    for record in ({"id": 7}, {"_id": "7"}):
        assert Partners("x", "id", {"7": {}}).passes(record)
    # where there is nothing to compare, nothing is chosen
    for record in ({"a": "7"}, {"id": None}, {"id": ["7"]}):
        for wanted in (True, False):
            assert not Partners("x", "id", {"7": {}}, wanted).passes(record)


def test_join_adds_what_is_not_there_and_counts_the_rest(run, tmp_path):
    titles = [{"id": "x", "doc_id": "1", "title": "One", "kind": "y"}]
    write(tmp_path / "titles.jsonl", *titles)
    queries = [{"id": "a", "doc_id": "1", "kind": "q"}, {"id": "b", "doc_id": "2"}, {"id": "c"}]
    done = run("select", "--join", "titles.jsonl", "--on", "doc_id", input=lines(*queries))
    assert [{**queries[0], "title": "One"}, *queries[1:]] == read(done.stdout)
    assert b"structkit: 2 records without a partner in titles.jsonl\n" == done.stderr


def test_a_field_that_no_record_has_is_told(run):
    arguments = ["--where", "kidn=lead", "--where", "n=7", "--fields", "tags"]
    done = run("select", *arguments, input=lines(*RECORDS))
    assert (0, b"") == (done.returncode, done.stdout)
    expected = (
        'structkit: no record has the field "kidn"; '
        "did you mean 'kind'? the first has: id, kind, tags, meta\n"
    )
    assert expected == done.stderr.decode()
    done = run("select", "--fields", "id,foo", input=f"oops\n{lines(*RECORDS[:1] * 2)}oops\n")
    assert 1 == done.returncode
    skipping = ["--on-error", "skip", "--fields", "id,kind", "--rename", "kind=k"]
    done = run("select", *skipping, input=f"{lines(*RECORDS[:1])}oops\n{lines(*RECORDS[3:])}")
    assert [{"id": "1", "k": "lead"}, {"id": "4"}] == read(done.stdout)
    assert [b"structkit: 1 record rejected"] == [
        each[:28] for each in done.stderr.splitlines()
    ]  # a field that stood before the bad line is not forgotten
    assert b"" == run("select", "-q", "--where", "z=a", input=lines(*RECORDS)).stderr


OTHERS = {
    "missing": (b'{"id":"1"}\n{"x":"1"}\n', 'o.jsonl:2: field "id" is missing', "--on id=FIELD"),
    "list": (b'{"id":["1"]}\n', 'o.jsonl:1: field "id" is missing, or neither', "--on id=FIELD"),
    "no-json": (b"oops\n", "o.jsonl:1: the line is not JSON", "one JSON object per line"),
    "twice": (b'{"id":"1"}\n{"id":1}\n', 'o.jsonl:2: id "1" occurs twice', "keep one of each"),
}


@pytest.mark.parametrize(("content", "problem", "remedy"), OTHERS.values(), ids=OTHERS)
def test_another_file_that_is_not_as_it_should_be(run, tmp_path, content, problem, remedy):
    (tmp_path / "o.jsonl").write_bytes(content)
    done = run("select", "--join", "o.jsonl", "--on-error", "skip", input=lines(*RECORDS))
    message = complaint(done)
    assert message.startswith(problem) and remedy in message
    assert b"" == done.stdout


def test_an_id_may_occur_twice_in_a_file_of_in(tmp_path):
    (tmp_path / "o.jsonl").write_bytes(b'{"id":"1"}\n{"id":"1"}\n')
    assert {"1": {}} == Partners.read(str(tmp_path / "o.jsonl"), "id", keep_records=False).records
    with pytest.raises(UserError, match="twice"):
        Partners.read(str(tmp_path / "o.jsonl"), "id")


def test_memory_of_a_sample_does_not_grow_with_the_input():
    def peak(count):
        tracemalloc.start()
        records = ({"id": str(number), "x": f"{number:0800}"} for number in range(count))
        assert 10 == len(list(select(records, sample=10)))
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    peak(10)  # what is imported once
    assert peak(10_000) < 1.2 * peak(1_000)


def chosen(*where):
    conditions = [Condition.parse(text) for text in where]
    return "".join(
        record["id"]
        for record in RECORDS
        if all(condition.passes(record) for condition in conditions)
    )


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["kind=lead"], "1"),
        (["kind!=lead"], "23"),  # the last has none
        (["kind=le"], ""),
        (["kind~le"], "12"),
        (["kind!~^(lead|question)$"], "2"),
        (["kind~e", "kind!=title", "id!=1"], "3"),
        (["tags=old"], "1"),
        (["tags!=old"], "2"),
        (["tags~^o"], "1"),
        (["meta.year=2024"], "1"),
        (["meta.year!~4$"], "2"),
        (["n=7"], "3"),
        (["n=7.5"], "4"),
        (["flag=true"], "4"),
        (["none=null"], "4"),
        (["a.b=c|d=e"], "4"),
        (["kind="], ""),
        (["id=1", "id=2"], ""),
    ],
)
def test_where(where, expected):
    assert expected == chosen(*where)


@given(MANY, st.sampled_from(["a=a", "a!=a", "a~a", "b!~^$", "id=1"]))
def test_a_condition_and_its_negation_share_the_records_with_the_field(records, text):
    sign = next(sign for sign in ("!=", "!~", "=", "~") if sign in text)
    other = text.replace(sign, sign[1:] if sign[0] == "!" else "!" + sign)
    one, two = Condition.parse(text), Condition.parse(other)
    with_field = [r for r in records if one.field in r or (one.field == "id" and "_id" in r)]
    assert with_field == [record for record in records if one.passes(record) or two.passes(record)]
    assert not [record for record in records if one.passes(record) and two.passes(record)]


CHANGES = {
    "strip": ({"strip": ["a= x$"]}, {"a": "1 x 2", "b": " x"}),
    "strip-no-text": ({"strip": ["b=.", "c=."]}, {"a": "1 x 2 x", "b": ""}),
    "fields": ({"fields": "b,a"}, {"b": " x", "a": "1 x 2 x"}),
    "rename": ({"rename": ["a=c"]}, {"c": "1 x 2 x", "b": " x"}),
    "rename-onto": ({"rename": ["a=b"]}, {"b": "1 x 2 x"}),
    "rename-swaps": ({"rename": ["a=b", "b=a"]}, {"b": "1 x 2 x", "a": " x"}),
    "rename-none": ({"rename": ["c=a"]}, {"a": "1 x 2 x", "b": " x"}),
    "set": ({"set": ["a=", "n:=1", "m=x=y"]}, {"a": "", "b": " x", "n": 1, "m": "x=y"}),
    "in-order": (
        {"strip": ["a=\\D"], "fields": "a", "rename": ["a=b"], "set": ["c:=[2]"]},
        {"b": "12", "c": [2]},
    ),
}


@pytest.mark.parametrize(("flags", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes(flags, expected):
    record = {"a": "1 x 2 x", "b": " x"}
    made = Changes(Settings(**flags)).apply(record)
    assert list(expected.items()) == list(made.items())
    assert {"a": "1 x 2 x", "b": " x"} == record


def test_an_object_is_taken_apart():
    assert {"meta.year": 2024} == Changes(Settings(fields="meta.year,none")).apply(RECORDS[0])
