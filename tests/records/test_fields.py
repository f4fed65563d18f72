"""Fields: conditions that choose, and changes in their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed_records import MANY, RECORDS

from structkit.records.fields import Changes, Condition


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
    "set": ({"values": ["a=", "n:=1", "m=x=y"]}, {"a": "", "b": " x", "n": 1, "m": "x=y"}),
    "in-order": (
        {"strip": ["a=\\D"], "fields": "a", "rename": ["a=b"], "values": ["c:=[2]"]},
        {"b": "12", "c": [2]},
    ),
}


@pytest.mark.parametrize(("flags", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes(flags, expected):
    record = {"a": "1 x 2 x", "b": " x"}
    made = Changes.parse(**flags).made(record)
    assert list(expected.items()) == list(made.items())
    assert {"a": "1 x 2 x", "b": " x"} == record


def test_an_object_is_taken_apart():
    assert {"meta.year": 2024} == Changes.parse(fields="meta.year,none").made(RECORDS[0])
