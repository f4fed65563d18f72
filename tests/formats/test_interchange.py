"""convert, laws: records that a format can hold come back as they were, from every part of it."""

import tempfile
from itertools import cycle, islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import registry
from structkit.commands.convert import Settings, convert
from structkit.structure.trees.brackets import write_tree as brackets
from structkit.structure.trees.tree import from_spans
from tests.jsonl import read, write

TEXT = st.text(max_size=12)
FULL = st.text(min_size=1, max_size=12)
# what stands between spaces; a file may begin with U+FEFF, which is no text then
SIGNS = st.characters(
    exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="\ufeff"
)
WORD = st.text(SIGNS, min_size=1, max_size=8)
LINE = FULL.map(lambda text: " ".join(text.split())).filter(bool)
WHOLE = st.integers(0, 2**40)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.lists(TEXT, min_size=1, max_size=3)


def record(needed, **optional):
    return st.fixed_dictionaries(needed, optional=optional)


def first_is_positive(example):
    if "positives" in example:
        example["positives"] = [example["positive"], *example["positives"]]
    return example


def with_scores(example):
    """As many scores of a teacher as texts, of several positives too."""
    example = first_is_positive(example)
    if "scores" in example:
        of_any = cycle(example["scores"])
        count = 1 + len(example.get("negatives", ()))
        example["scores"] = list(islice(of_any, count))
        if len(positives := example.get("positives", ())) > 1:
            others = islice(of_any, len(positives) - 1)
            example["positive_scores"] = [example["scores"][0], *others]
    return example


def even(sides):
    """As many ids and titles as texts."""

    def made(example):
        example = first_is_positive(example)
        for side in sides:
            texts = example.get(f"{side}s") or [example.get(side)]
            if side in example or f"{side}s" in example:
                example[f"{side}_ids"] = [f"{side}{place}" for place in range(len(texts))]
        return example

    return made


def ranked(queries):
    """Hits of queries in the order of their ranks; their scores are those of predictions."""
    return [
        {"query_id": query, "doc_id": str(idx), "score": 1 / rank, "rank": rank}
        for query, answers in queries.items()
        for rank, idx in enumerate(answers, 1)
    ]


def same_columns(columns):
    count, texts, label = columns
    return [
        {"query": some[0], "positive": some[1]}
        | ({"negatives": some[2 : 2 + count]} if count else {})
        | label
        for some in texts
    ]


EXAMPLES = st.tuples(
    st.integers(0, 3),
    st.lists(st.lists(FULL, min_size=5, max_size=5), min_size=1, max_size=4),
    st.sampled_from([{}, {"label": 1}, {"score": 0.25}]),
).map(same_columns)
CODE = dict.fromkeys(
    "repo path func_name original_string language docstring url partition".split(), TEXT
) | {"code_tokens": TEXTS, "docstring_tokens": TEXTS}
PRODUCT = record(
    {"id": st.builds("us:{}".format, WORD), "language": st.just("product")},
    title=FULL,
    description=FULL,
    brand=FULL,
    color=FULL,
    bullets=st.lists(FULL.filter(lambda text: "\n" not in text), min_size=1, max_size=3),
)
JUDGED = st.sampled_from([(100, "E"), (10, "S"), (1, "C"), (0, "I")]).flatmap(
    lambda grade: record(
        {
            "id": WHOLE.map(str),
            "query_id": WHOLE.map(str),
            "doc_id": st.builds("jp:{}".format, WORD),
            "query": FULL,
            "relevance": st.just(grade[0]),
            "label": st.just(grade[1]),
        },
        small_version=st.integers(0, 1),
        split=FULL,
    )
)


def some(each):
    return st.lists(each, min_size=1, max_size=4)


# every part that can be written, and file endings other than that of JSON lines
LAWS = {
    ("beir", "corpus", "jsonl"): some(
        record({"id": TEXT, "text": TEXT}, title=FULL, metadata=st.dictionaries(TEXT, TEXT))
    ),
    ("beir", "queries", "jsonl"): some(record({"id": TEXT, "query": TEXT})),
    ("beir", "qrels", "tsv"): some(
        record({"query_id": FULL, "doc_id": FULL, "relevance": st.integers(-(2**60), 2**60)})
    ),
    ("trec", "run", "txt"): some(
        record({"query_id": WORD, "doc_id": WORD, "score": FLOAT, "rank": WHOLE}, tag=WORD)
    ),
    ("trec", "qrels", "txt"): some(
        record(
            {"query_id": WORD, "doc_id": WORD, "relevance": st.integers(-2, 10)},
            iteration=WORD.filter(lambda word: word != "0"),
        )
    ),
    ("flagembedding", "examples", "jsonl"): some(
        record(
            {"query": TEXT, "positive": TEXT},
            positives=TEXTS,
            negatives=TEXTS,
            scores=st.lists(FLOAT, min_size=1),
            prompt=TEXT,
            type=TEXT,
        ).map(with_scores)
    ),
    ("sentence-transformers", "examples", "jsonl"): EXAMPLES,
    ("sentence-transformers", "examples", "csv"): EXAMPLES,
    ("sentence-transformers", "examples", "parquet"): EXAMPLES,
    ("sentence-transformers", "examples", "tsv"): EXAMPLES,
    ("tevatron", "examples", "jsonl"): some(
        record({"id": TEXT, "query": TEXT, "positive": TEXT}, positives=TEXTS, negatives=TEXTS).map(
            even(("positive", "negative"))
        )
        | record({"id": TEXT, "query": TEXT, "positive_ids": TEXTS}, negative_ids=TEXTS)
    ),
    ("tevatron", "corpus", "jsonl"): some(record({"id": TEXT, "text": TEXT}, title=FULL)),
    ("tevatron", "queries", "jsonl"): some(record({"id": TEXT, "query": TEXT})),
    ("pyserini", "corpus", "jsonl"): some(record({"id": TEXT, "text": TEXT})),
    ("pyserini", "embeddings", "jsonl"): some(
        record({"id": TEXT, "embedding": st.lists(FLOAT, min_size=1)}, text=FULL)
    ),
    ("codesearchnet", "corpus", "jsonl"): some(record({"code": TEXT}, sha=TEXT, **CODE)),
    ("codesearchnet-hub", "corpus", "jsonl"): some(record({"code": TEXT}, **CODE)),
    ("codesearchnet-hub", "corpus", "parquet"): some(record({"code": TEXT, "language": TEXT})),
    ("codexglue-adv", "corpus", "jsonl"): some(
        record({"id": WHOLE.map(str), "code": TEXT}, sha=TEXT, **CODE)
    ),
    ("codexglue-adv", "run", "jsonl"): st.dictionaries(
        TEXT, st.lists(WHOLE, min_size=1, max_size=3), min_size=1, max_size=3
    ).map(ranked),
    ("esci", "corpus", "jsonl"): some(PRODUCT),
    ("esci", "corpus", "parquet"): some(PRODUCT),
    ("esci", "qrels", "jsonl"): some(JUDGED),
    ("esci", "qrels", "parquet"): some(JUDGED),
    ("wands", "corpus", "csv"): some(
        record(
            {"id": FULL, "language": st.just("product"), "title": FULL},
            description=FULL,
            product_class=FULL,
            review_count=FULL,
            **{"category hierarchy": FULL},
        )
    ),
    ("wands", "queries", "csv"): some(record({"id": FULL, "query": FULL}, query_class=FULL)),
    ("wands", "qrels", "csv"): some(
        st.sampled_from([(2, "Exact"), (1, "Partial"), (0, "Irrelevant")]).flatmap(
            lambda grade: record(
                {
                    "id": FULL,
                    "query_id": FULL,
                    "doc_id": FULL,
                    "relevance": st.just(grade[0]),
                    "label": st.just(grade[1]),
                }
            )
        )
    ),
    ("structdocretrieval", "corpus", "json"): some(record({"html": TEXT, "query": TEXT})),
    ("ptb", "trees", "mrg"): some(
        st.lists(WORD, min_size=1, max_size=4).map(
            lambda words: {
                "tree": brackets(from_spans(words[:3], [(1, 3)] * (len(words) > 2))).replace(
                    "X", "NP", 1
                )
            }
        )
    ),
}
# what cannot be read is written alone: its own tests
WRITTEN_ONLY = {("mteb", "scores")}


def test_there_is_a_law_for_every_part():
    writable = {
        (name, part)
        for name in registry.names("format")
        for part, each in registry.load("format", name)().parts("test").items()
        if each.write
    }
    assert writable == {(name, part) for name, part, _ in LAWS} | WRITTEN_ONLY


@pytest.mark.parametrize("law", LAWS, ids="-".join)
@settings(max_examples=5)
@given(data=st.data())
def test_what_goes_in_comes_out(law, data):
    name, part, ending = law
    records = data.draw(LAWS[law])
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, back = (Path(folder, each) for each in ("a.jsonl", f"b.{ending}", "c.jsonl"))
        write(ours, *records)
        for source, target, here, there in ((None, name, ours, theirs), (name, None, theirs, back)):
            names = {"from_": source, "to": target, "part": part}
            convert(Settings(files=(str(here),), output=str(there), **names))
        found = read(back)
    assert records == found
