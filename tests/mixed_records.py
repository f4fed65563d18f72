"""Records with fields of every kind, and many drawn ones, for what chooses and changes records."""

from hypothesis import strategies as st

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
