"""What a message advises, done, helps: a bad command, the remedy in its message, the good one."""

from pathlib import Path

import pytest
from conftest import status_of

from tests.jsonl import read

PARTS = Path(__file__).with_name("remedy_files.txt").read_text("utf-8").split("=== ")[1:]
FILES = dict(part.split("\n", 1) for part in PARTS)
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
