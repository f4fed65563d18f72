"""pair: kinds of records, texts made of fields, judgements and hard negatives."""

import json
from pathlib import Path

import pytest

from structkit import pair
from structkit.errors import UserError

PRODUCTS = Path("fixtures/products").resolve()
JUDGED = (
    *("pair", "--qrels", PRODUCTS / "qrels.jsonl", "--queries", PRODUCTS / "queries.jsonl"),
    *("--corpus", PRODUCTS / "products.jsonl"),
)
SANTA = "title : {title} text : {description}"


def records(done):
    assert 0 == done.returncode, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("record", "options", "expected"),
    [
        ({"bullets": ["b"], "description": "d", "title": "t"}, {}, ("b", "d")),
        ({"bullets": "b\n \n", "description": "d"}, {}, ("b", "d")),
        ({"bullets": ["", "b"], "description": "d"}, {}, ("b", "d")),
        ({"query": "q", "html": "<p>"}, {}, ("q", "<p>")),
        ({"docstring": "q", "code": "x"}, {}, ("q", "x")),
        ({"query": "q", "positive": "p", "code": "x", "docstring": "d"}, {}, ("q", "p")),
        ({"docstring": "q", "code": "x", "func_name": "f"}, {"query": "func_name"}, ("f", "x")),
        ({"product_bullet_point": "b\n", "d": "x"}, {"query": "product_bullet_point",
          "positive": "d"}, ("b", "x")),
        ({"bullets": "b", "title": "t", "description": "d"}, {"positive_template": SANTA},
         ("b", "title : t text : d")),
        ({"bullets": "b", "title": "t", "description": None}, {"positive_template": SANTA},
         ("b", "title : t text :")),
        ({"bullets": ["b"], "title": "t"}, {"positive_template": "{title}: {bullets}"},
         ("b", "t: b")),
        ({"docstring": "D.", "name": "f", "language": "python", "code": "def f(): 'D.'; x"},
         {"positive_template": "{name} {code}"}, ("D.", "f def f(): x")),
    ],
)  # fmt: skip
def test_query_and_positive_by_kind(record, options, expected):
    [made] = pair([{"id": "1", **record}], **options)
    assert expected == (made["query"], made["positive"])


@pytest.mark.parametrize(
    ("record", "template", "reason"),
    [
        ({"bullets": [], "description": "d"}, None, '"bullets" is empty; leave the record out'),
        ({"bullets": ["a", 1], "description": "d"}, None, '"bullets" is a list with a JSON numb'),
        ({"description": "d"}, None, 'field "bullets" is missing; name another with query'),
        ({"docstring": "d", "code": ""}, None, 'field "code" is empty'),
        ({"docstring": "d"}, None, 'field "code" is missing; name another with positive'),
        ({"x": "d"}, None, "is not code, product or HTML document: it has id, x; name its fields"),
        ({"bullets": "b"}, SANTA, 'field "title" is missing; change positive_template'),
        ({"bullets": "b", "title": "", "description": ""}, SANTA, "are empty"),
        *(({}, wrong, "names no fields in braces") for wrong in ("title", "{}", "{a.b", "{a!r}")),
    ],
)
def test_records_without_texts_are_refused(record, template, reason):
    with pytest.raises(UserError) as error:
        list(pair([{"id": "1", **record}], positive_template=template))
    assert reason in str(error.value)


def test_judged_by_hand(here):
    made = records(here(*JUDGED, "--per-query", "2", "--positive-template", SANTA))
    assert [
        ("q1:bottle", "q1", "bottle", ["hose", "mug"]),
        ("q2:lamp", "q2", "lamp", ["chair"]),
        ("q3:tent", "q3", "tent", ["chair", "towel"]),
        ("q4:mug", "q4", "mug", ["bottle", "knife"]),
    ] == [(m["id"], m["query_id"], m["doc_id"], sorted(m["negative_ids"])) for m in made]
    assert "lamp that charges my phone" == made[1]["query"]
    assert made[1]["positive"].startswith("title : Desk Lamp with USB Port text : This desk lamp")
    assert made[1]["negatives"][0].startswith("title : Folding Chair text : The chair")


def test_judged_negatives_are_drawn_by_seed(here):
    drawn = [
        [record["negative_ids"] for record in records(here(*JUDGED, "--seed", seed))]
        for seed in "0123"
    ]
    assert {1} == {len(ids) for made in drawn for ids in made}
    assert 1 < len(set(map(str, drawn)))
    assert "negatives" not in records(here(*JUDGED, "--per-query", "0"))[0]


def test_judged_shards_make_the_whole(here):
    whole = here(*JUDGED).stdout.splitlines()
    parts = [here(*JUDGED, "--shard", f"{part}/2").stdout.splitlines() for part in (0, 1)]
    assert sorted(whole) == sorted(parts[0] + parts[1])


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("qrels", '{"query_id":"q9","doc_id":"mug","relevance":3}\n', 'no query has the id "q9"'),
        ("qrels", '{"query_id":"q4","doc_id":"pan","relevance":1}\n', "the query has no"),
        ("qrels", '{"query_id":"q1","doc_id":"mug","relevance":0}\n', "judges no document"),
        ("corpus", '{"id":"mug","description":"A mug."}\n', '"bottle" of qrels is not in corpus'),
        ("corpus", '{"id":"mug","description":"A"}\n' * 2, 'corpus:2: document "mug" occurs tw'),
        ("queries", '{"id":"q8","query":"pot"}\n', "queries:1: the query has no judgement"),
    ],
)
def test_judged_inputs_that_do_not_agree(here, tmp_path, name, text, reason):
    for each, file in (("qrels", "qrels"), ("queries", "queries"), ("corpus", "products")):
        (tmp_path / each).write_text((PRODUCTS / f"{file}.jsonl").read_text("utf-8"), "utf-8")
    kept = (tmp_path / name).read_text() if '"q9"' in text else ""
    (tmp_path / name).write_text(kept + text)
    flags = ("pair", "--qrels", "qrels", "--queries", "queries", "--corpus", "corpus")
    done = here(*flags, "-o", "out.jsonl")
    assert 1 == done.returncode and reason in done.stderr.decode().splitlines()[-1]
    assert not (tmp_path / "out.jsonl").exists()


def test_an_unusable_document_costs_only_its_queries(here, tmp_path):
    text = (PRODUCTS / "products.jsonl").read_text("utf-8").replace("The tent weighs", "")
    rows = [json.loads(line) for line in text.splitlines()]
    rows[4]["description"] = ""
    (tmp_path / "corpus").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = here(*JUDGED[:5], "--corpus", "corpus", "--on-error", "skip")
    assert ["q1", "q2", "q4"] == [record["query_id"] for record in records(done)]
    assert b'1 record rejected (1 x field "description" is empty)' in done.stderr
    strict = here(*JUDGED[:5], "--corpus", "corpus")
    assert b'corpus:5: field "description" is empty' in strict.stderr


EXAMPLES = b'{"id":"e","query_id":"q1","doc_id":"bottle","query":"q","positive":"steel"}\n'
RUN = [("bottle", 9.0), ("mug", 8.5), ("knife", 8.0), ("copy", 7.0), ("hose", 5.0), ("tent", 4.0)]


@pytest.fixture
def hard(here, tmp_path):
    texts = {"copy": " steel\n", "bottle": "steel"}
    rows = [{"id": doc_id, "text": texts.get(doc_id, doc_id)} for doc_id, _ in RUN]
    lines = [f"q1 Q0 {doc_id} {n} {score} x\n" for n, (doc_id, score) in enumerate(RUN, 1)]
    (tmp_path / "run").write_text("".join(lines))
    (tmp_path / "corpus").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ("pair", "--negatives-from", "run", "--corpus", "corpus")
    return lambda *more, input=EXAMPLES: here(*flags, *map(str, more), input=input)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), ["mug", "knife", "hose", "tent"]),  # not the copy of the positive
        (("--qrels", PRODUCTS / "qrels.jsonl"), ["knife", "hose", "tent"]),
        (("--depth", 3), ["mug", "knife"]),
        (("--margin", 1), ["hose", "tent"]),  # below 9 - 1: the knife's 8.0 is not below
    ],
)
def test_hard_negatives_leave_answers_out(hard, flags, expected):
    [made] = records(hard("--per-query", 9, *flags))
    ranks = {name: (rank, score) for rank, (name, score) in enumerate(RUN, 1)}
    assert expected == made["negative_ids"] == made["negatives"]
    found = zip(made["negative_ranks"], made["negative_scores"], strict=True)
    assert [ranks[name] for name in expected] == list(found)


OTHER = {"id": "f", "query_id": "q2", "doc_id": "hose", "query": "q", "positive": "x"}


@pytest.mark.parametrize(
    ("other", "flags", "expected"),
    [
        ({}, (), ["mug", "knife", "tent"]),
        ({"query": " Q"}, (), ["mug", "knife", "tent"]),
        ({"query": "qq"}, (), ["mug", "knife", "hose", "tent"]),
        ({"doc_id": "x", "positive": "  hose "}, (), ["mug", "knife", "tent"]),
        ({"query_id": "q3"}, ("--qrels", PRODUCTS / "qrels.jsonl"), ["knife"]),  # tent, judged 3
        ({}, ("--shard", "0/2"), ["mug", "knife", "tent"]),
        ({}, ("--workers", "2"), ["mug", "knife", "tent"]),
    ],
)
def test_answers_of_an_equal_query_are_no_hard_negatives(hard, other, flags, expected):
    lines = EXAMPLES + json.dumps(OTHER | other).encode() + b"\n{}\n"
    made = records(hard("--per-query", 9, "--on-error", "skip", *flags, input=lines))
    assert expected == made[0]["negative_ids"]


def test_answers_that_only_the_corpus_knows_are_no_hard_negatives():
    code = [{"id": str(n), "docstring": "q" * (n % 2), "code": f"d{n}"} for n in range(1, 6)]
    run = [{"query_id": "1", "doc_id": str(n), "score": -n} for n in range(1, 6)]
    [made] = pair(code[:1], negatives_from=run, corpus=code, per_query=9)
    assert ["2", "4"] == made["negative_ids"]


def test_hard_negatives_are_drawn_by_seed_and_id(hard):
    rows = b"".join(EXAMPLES.replace(b'"e"', b'"e%d"' % number) for number in range(40))
    made = records(hard(input=rows))
    assert {"mug", "knife", "hose", "tent"} == {record["negative_ids"][0] for record in made}
    assert made == records(hard(input=rows))
    assert made != records(hard("--seed", 1, input=rows))


@pytest.mark.parametrize(
    ("change", "flags", "reason"),
    [
        ((b'"q1"', b'"q7"'), (), 'stdin:1: query "q7" is not in run; search with the same queries'),
        ((b'"bottle"', b'"pan"'), ("--margin", 1), 'run has no score of "pan" for query'),
        ((b"x", b"x"), ("--depth", 1), "no negative is left among the first 1 documents; search"),
    ],
)
def test_examples_without_hard_negatives_are_rejected(hard, change, flags, reason):
    assert reason in hard(*flags, input=EXAMPLES.replace(*change)).stderr.decode()


def scored(tmp_path, **scores):
    """Write a teacher's run, and return its flag."""
    lines = [f"q1 Q0 {doc_id} 1 {score} x\n" for doc_id, score in scores.items()]
    (tmp_path / "teacher").write_text("".join(lines))
    return "--teacher", "teacher"


TAUGHT = {"bottle": 2.0, "mug": 1.95, "knife": -3.0, "copy": 2.0, "hose": 1.8, "tent": 5.0}


@pytest.mark.parametrize(
    ("scores", "flags", "expected"),
    [
        (TAUGHT, (), ["mug", "knife", "hose", "tent"]),
        (TAUGHT, ("--margin", 0.1), ["knife", "hose"]),
        (TAUGHT | {"bottle": -1.0, "hose": -1.06}, ("--margin", 0.05), ["knife", "hose"]),
    ],
)
def test_a_teacher_gives_scores_and_limits(hard, tmp_path, scores, flags, expected):
    [made] = records(hard("--per-query", 9, *scored(tmp_path, **scores), *flags))
    assert expected == made["negative_ids"]
    assert [scores[name] for name in ("bottle", *expected)] == made["scores"]


def test_a_teacher_scores_negatives_that_are_there(here, tmp_path):
    flags = ("pair", "--query", "query", "--positive", "positive", *scored(tmp_path, **TAUGHT))
    example = json.loads(EXAMPLES) | {"negatives": ["b", "a"], "negative_ids": ["hose", "mug"]}
    [made] = records(here(*flags, input=json.dumps(example).encode()))
    assert [2.0, 1.8, 1.95] == made["scores"]
    example["negative_ids"] = []
    said = here(*flags, input=json.dumps(example).encode()).stderr.decode()
    assert 'the example has no "negative_ids" of its negatives; add negatives with' in said


@pytest.mark.parametrize("name", ["hose", "bottle"])
def test_a_teacher_without_a_score_says_so(hard, tmp_path, name):
    lacking = {each: score for each, score in TAUGHT.items() if each != name}
    said = hard("--per-query", 9, *scored(tmp_path, **lacking)).stderr.decode()
    assert f'teacher has no score of "{name}" for query "q1"; search and rerank' in said


def test_judged_pairs_with_hard_negatives(here, tmp_path):
    names = ("bottle", "lamp", "tent", "mug", "chair")
    (tmp_path / "run").write_text(
        "".join(f"q{n} Q0 {name} {at} {9 - at} x\n" for n in range(1, 5) for at, name in
                enumerate(names, 1))
    )  # fmt: skip
    made = records(here(*JUDGED, "--negatives-from", "run", "--per-query", "9"))
    assert [
        ["lamp", "tent", "chair"],
        ["bottle", "tent", "mug", "chair"],
        ["bottle", "lamp", "mug"],
        ["lamp", "tent", "chair"],
    ] == [record["negative_ids"] for record in made]
