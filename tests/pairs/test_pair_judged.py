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
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("record", "options", "expected"),
    [
        ({"bullets": ["b"], "description": "d", "title": "t"}, {}, ("b", "d")),
        ({"bullets": "b\n \n", "description": "d"}, {}, ("b", "d")),
        ({"bullets": ["", "b"], "description": "d"}, {}, ("b", "d")),
        ({"query": "q", "html": "<p>"}, {}, ("q", "<p>")),
        ({"query": "q", "content": "<p>"}, {}, ("q", "<p>")),
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
    assert (made["query"], made["positive"]) == expected


@pytest.mark.parametrize(
    ("record", "options", "reason"),
    [
        (
            {"bullets": [], "description": "d"},
            {},
            '"bullets" is empty; leave the record out',
        ),
        ({"bullets": "\n", "description": "d"}, {}, 'field "bullets" is empty'),
        ({"bullets": ["a", 1], "description": "d"}, {}, '"bullets" is a list with a JSON number'),
        ({"bullets": {}, "description": "d"}, {}, '"bullets" is a JSON object, not a string'),
        ({"description": "d"}, {}, 'field "bullets" is missing; name another with query'),
        ({"docstring": "d"}, {}, 'field "code" is missing; name another with positive'),
        ({"code": "c"}, {}, "another with query, or leave the record out"),
        ({"x": "d"}, {}, "is not code, product or HTML document: it has id, x; name its fields"),
        (
            {"bullets": "b"},
            {"positive_template": SANTA},
            'field "title" is missing; change positive_template',
        ),
        (
            {"bullets": "b", "title": "", "description": ""},
            {"positive_template": SANTA},
            "are empty",
        ),
    ],
)
def test_rejected(record, options, reason):
    with pytest.raises(UserError) as error:
        list(pair([{"id": "1", **record}], **options))
    assert reason in str(error.value)


@pytest.mark.parametrize("template", ["title", "{}", "{a.b", "{a!r}", "{a:5}"])
def test_wrong_templates_are_wrong_usage(run, template):
    done = run("pair", "--positive-template", template)
    assert done.returncode == 2
    assert b"names no fields in braces; for example 'title : {title}" in done.stderr


def test_bullets_as_list_and_as_lines_draw_the_same():
    for name in map(str, range(30)):
        record = {"id": name, "description": "d", "bullets": ["a", "b", "c"]}
        lines = {**record, "bullets": "a\nb\nc"}
        assert next(pair([record]))["query"] == next(pair([lines]))["query"]


def test_judged_by_hand(run):
    made = records(run(*JUDGED, "--per-query", "2", "--positive-template", SANTA))
    assert [(m["id"], m["query_id"], m["doc_id"], sorted(m["negative_ids"])) for m in made] == [
        ("q1:bottle", "q1", "bottle", ["hose", "mug"]),
        ("q2:lamp", "q2", "lamp", ["chair"]),
        ("q3:tent", "q3", "tent", ["chair", "towel"]),
        ("q4:mug", "q4", "mug", ["bottle", "knife"]),
    ]
    assert made[1]["query"] == "lamp that charges my phone"
    assert made[1]["positive"].startswith("title : Desk Lamp with USB Port text : This desk lamp")
    assert made[1]["negatives"][0].startswith("title : Folding Chair text : The chair")


def test_judged_negatives_are_drawn_by_seed(run):
    drawn = {
        seed: [record["negative_ids"] for record in records(run(*JUDGED, "--seed", seed))]
        for seed in "0123"
    }
    assert all(len(ids) == 1 for made in drawn.values() for ids in made)
    assert len({str(made) for made in drawn.values()}) > 1
    assert "negatives" not in records(run(*JUDGED, "--per-query", "0"))[0]


def test_judged_shards_make_the_whole(run):
    whole = run(*JUDGED).stdout.splitlines()
    parts = [run(*JUDGED, "--shard", f"{part}/2").stdout.splitlines() for part in (0, 1)]
    assert sorted(whole) == sorted(parts[0] + parts[1])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (("qrels", '{"query_id":"q9","doc_id":"mug","relevance":3}\n'), 'no query has the id "q9"'),
        (("qrels", '{"query_id":"q4","doc_id":"pan","relevance":1}\n'), "the query has no"),
        (("qrels", '{"query_id":"q1","doc_id":"mug","relevance":0}\n'), "judges no document"),
        (("corpus", '{"id":"mug","description":"A mug."}\n'), '"bottle" of qrels is not in corpus'),
        (
            ("corpus", '{"id":"mug","description":"A"}\n' * 2),
            'corpus:2: document "mug" occurs tw',
        ),
        (("queries", '{"id":"q8","query":"pot"}\n'), "queries:1: the query has no judgement"),
    ],
)
def test_judged_inputs_that_do_not_agree(run, tmp_path, changed, reason):
    for name, file in (("qrels", "qrels"), ("queries", "queries"), ("corpus", "products")):
        (tmp_path / name).write_text((PRODUCTS / f"{file}.jsonl").read_text("utf-8"), "utf-8")
    name, text = changed
    keeps = text.startswith('{"query_id":"q9"')
    (tmp_path / name).write_text((tmp_path / name).read_text() + text if keeps else text)
    flags = ("pair", "--qrels", "qrels", "--queries", "queries", "--corpus", "corpus")
    done = run(*flags, "-o", "out.jsonl")
    assert done.returncode == 1
    assert reason in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_an_unusable_document_costs_only_its_queries(run, tmp_path):
    text = (PRODUCTS / "products.jsonl").read_text("utf-8").replace("The tent weighs", "")
    rows = [json.loads(line) for line in text.splitlines()]
    rows[4]["description"] = ""
    (tmp_path / "corpus").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(*JUDGED[:5], "--corpus", "corpus", "--on-error", "skip")
    assert [record["query_id"] for record in records(done)] == ["q1", "q2", "q4"]
    assert b'1 record rejected (1 x field "description" is empty)' in done.stderr
    strict = run(*JUDGED[:5], "--corpus", "corpus")
    assert b'corpus:5: field "description" is empty' in strict.stderr


EXAMPLES = b'{"id":"e","query_id":"q1","doc_id":"bottle","query":"q","positive":"steel"}\n'
RUN = [("bottle", 9.0), ("mug", 8.5), ("knife", 8.0), ("copy", 7.0), ("hose", 5.0), ("tent", 4.0)]


@pytest.fixture
def hard(run, tmp_path):
    texts = {"copy": " steel\n", "bottle": "steel"}
    (tmp_path / "run").write_text(
        "".join(f"q1 Q0 {doc_id} {n} {score} x\n" for n, (doc_id, score) in enumerate(RUN, 1))
    )
    (tmp_path / "corpus").write_text(
        "".join(
            json.dumps({"id": doc_id, "text": texts.get(doc_id, doc_id)}) + "\n"
            for doc_id, _ in RUN
        )
    )
    flags = ("pair", "--negatives-from", "run", "--corpus", "corpus")
    return lambda *more, input=EXAMPLES: run(*flags, *map(str, more), input=input)


def test_hard_negatives_leave_answers_out(hard):
    [made] = records(hard("--per-query", 9))
    assert made["negative_ids"] == ["mug", "knife", "hose", "tent"]  # not the copy of the positive
    assert made["negative_ranks"] == [2, 3, 5, 6]
    assert made["negative_scores"] == [8.5, 8.0, 5.0, 4.0]
    assert made["negatives"] == ["mug", "knife", "hose", "tent"]
    assert made["positive"] == "steel"


def test_hard_negatives_by_judgements_depth_and_margin(hard):
    qrels = ("--qrels", PRODUCTS / "qrels.jsonl")
    assert records(hard("--per-query", 9, *qrels))[0]["negative_ids"] == ["knife", "hose", "tent"]
    assert records(hard("--per-query", 9, "--depth", 3))[0]["negative_ids"] == ["mug", "knife"]
    # below 9 - 1: the knife's 8.0 is not below
    assert records(hard("--per-query", 9, "--margin", 1))[0]["negative_ids"] == ["hose", "tent"]
    assert b"no negative is left among the first 1 documents" in hard("--depth", 1).stderr


def test_hard_negatives_are_drawn_by_seed_and_id(hard):
    rows = b"".join(EXAMPLES.replace(b'"e"', b'"e%d"' % number) for number in range(40))
    made = records(hard(input=rows))
    assert {record["negative_ids"][0] for record in made} == {"mug", "knife", "hose", "tent"}
    assert made == records(hard(input=rows))
    assert made != records(hard("--seed", 1, input=rows))


@pytest.mark.parametrize(
    ("change", "flags", "reason"),
    [
        ((b'"q1"', b'"q7"'), (), 'stdin:1: query "q7" is not in run; search with the same queries'),
        ((b'"bottle"', b'"pan"'), ("--margin", "1"), 'run has no score for the positive "pan"'),
        ((b"x", b"x"), ("--depth", "0"), "--depth 0 is not 1 or more"),
    ],
)
def test_hard_negatives_rejected(hard, change, flags, reason):
    assert reason in hard(*flags, input=EXAMPLES.replace(*change)).stderr.decode()


def test_judged_pairs_with_hard_negatives(run, tmp_path):
    with open(tmp_path / "run", "w") as handle:
        for query in ("q1", "q2", "q3", "q4"):
            for rank, doc_id in enumerate(("bottle", "lamp", "tent", "mug", "chair"), 1):
                handle.write(f"{query} Q0 {doc_id} {rank} {9 - rank} x\n")
    made = records(run(*JUDGED, "--negatives-from", "run", "--per-query", "9"))
    assert [record["negative_ids"] for record in made] == [
        ["lamp", "tent", "chair"],
        ["bottle", "tent", "mug", "chair"],
        ["bottle", "lamp", "mug"],
        ["lamp", "tent", "chair"],
    ]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--queries", "q"), "--queries needs --qrels; add it"),
        (("--queries", "q", "--qrels", "r"), "--queries needs --corpus"),
        (("--qrels", "r", "--corpus", "c"), "--qrels needs --queries"),
        (("--corpus", "c"), "--corpus needs --qrels or --negatives-from"),
        (("--negatives-from", "r"), "--negatives-from needs --corpus"),
        (("--margin", "1"), "--margin needs --negatives-from"),
        (("--depth", "9"), "--depth needs --negatives-from"),
        (("--per-query", "2"), "--per-query needs --qrels or --negatives-from"),
        (
            ("f", "--queries", "q", "--qrels", "r", "--corpus", "c"),
            "--queries takes no FILE; leave one out",
        ),
    ],
)
def test_flags_that_need_others(run, flags, reason):
    done = run("pair", *flags)
    assert done.returncode == 2
    assert reason in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_products_are_paired_masked_and_unmasked(run):
    paired = run("pair", PRODUCTS / "products.jsonl").stdout
    assert paired.count(b"\n") == 8
    one, two = (run("mask-entities", "--workers", n, input=paired).stdout for n in ("1", "2"))
    assert one == two
    assert json.loads(one.splitlines()[7])["masked"] == (
        "The <extra_id_0> folds flat. Every <extra_id_0> carries 120 kg."
    )
