"""What a message advises, done, helps: a bad command, the remedy in its message, the good one."""

from pathlib import Path

import pytest
from conftest import status_of

from tests.jsonl import lines, read

FILES = {
    "queries.jsonl": lines({"id": "q1", "query": "red cup"}, {"id": "q2", "query": "blue cup"}),
    "more.jsonl": lines(*({"id": f"q{n}", "query": "cup"} for n in range(1, 4))),
    "corpus.jsonl": lines(*({"id": f"d{n}", "text": f"cup number {n}"} for n in range(6))),
    "beir.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n",
    "graded.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\nq1\td3\t0\nq2\td4\t0\n",
    "run.jsonl": lines(
        *(
            {"query_id": query, "doc_id": f"d{n}", "score": 9 - n, "rank": n + 1}
            for query in ("q1", "q2")
            for n in range(6)
        )
    ),
    "run2.jsonl": lines({"query_id": "q1", "doc_id": "d1", "score": 1}),
    "short.jsonl": lines(
        {"query_id": "q1", "doc_id": "d1", "score": 2},
        {"query_id": "q2", "doc_id": "d2", "score": 2},
    ),
    "pairs.jsonl": lines({"id": "1", "query": "a", "positive": "b"}),
    "examples.jsonl": lines({"id": "q1", "query": "a", "positive": "b", "doc_id": "d1"}),
    "hit.jsonl": lines({"query_id": "q", "doc_id": "d", "score": "x", "rank": 1}),
    "mended.jsonl": lines({"query_id": "q", "doc_id": "d", "score": 1, "rank": 1}),
    "scores.jsonl": lines({"run": "a", "nDCG@10": 0.5, "queries": 3, "missing": 0}),
    "vectors.jsonl": lines({"id": "d1", "embedding": [1, 2]}, {"id": "d2", "embedding": [2, 1]}),
    "large.jsonl": lines({"id": "q1", "query": "red cup", "embedding": [1, 2, 3]}),
    "twice.jsonl": lines(*([{"id": "q1", "embedding": [1, 2]}] * 2)),
}  # fmt: skip
JUDGED = "pair --queries queries.jsonl --corpus corpus.jsonl --qrels"
# command, what its message says, what is done about it
REMEDIES = [
    each.splitlines()
    for each in Path(__file__).with_name("remedies.txt").read_text("utf-8").split("\n\n")
]


@pytest.mark.parametrize(("bad", "remedy", "good"), REMEDIES, ids=[each[0] for each in REMEDIES])
def test_what_a_message_advises_helps(monkeypatch, capfd, tmp_path, bad, remedy, good):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    assert status_of(*bad.split()) in (1, 2)
    told = capfd.readouterr().err
    assert remedy in told
    assert 1 == told.count("\n")
    assert 0 == status_of(*good.split()), capfd.readouterr().err
    assert bool(capfd.readouterr().out) != ("short.jsonl --on-error skip" in good)


def test_judgements_of_one_grade_give_examples_without_negatives(here, tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    done = here(*f"{JUDGED} beir.tsv".split())
    assert 0 == done.returncode
    assert done.stderr == (
        b"structkit: the judgements hold no lower grades; the examples get no negatives\n"
    )
    made = read(done.stdout)
    assert [("q1", "d1"), ("q2", "d2")] == [(each["query_id"], each["doc_id"]) for each in made]
    assert not any("negatives" in each for each in made)
    done = here(*f"{JUDGED} graded.tsv".split())
    made = read(done.stdout)
    assert [["d3"], ["d4"]] == [each["negative_ids"] for each in made]


def test_the_part_is_chosen_by_content(here, tmp_path):
    """`pair -o pairs.jsonl` writes examples, whatever the name of their file."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "run.jsonl").write_text(FILES["pairs.jsonl"])
    for name in ("pairs.jsonl", "run.jsonl"):
        done = here("convert", "--to", "sentence-transformers", name)
        assert {"anchor": "a", "positive": "b"} == read(done.stdout)[0], done.stderr
    done = here("convert", "--to", "beir", "queries.jsonl")
    assert {"_id": "q1", "text": "red cup"} == read(done.stdout)[0]
