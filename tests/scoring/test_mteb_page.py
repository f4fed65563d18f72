"""The code that evaluate.md shows for MTEB, on a task of its own with our functions as its data."""

import json
from pathlib import Path

import pytest
from documents import FENCE

import structkit

MTEB = Path("docs/guide/evaluate.md").read_text("utf-8").partition("## MTEB")[2]


@pytest.mark.engines
def test_mteb_scores_a_model_as_its_page_shows(tmp_path, monkeypatch, capsys):
    import mteb  # `make test-engines` installs it
    from datasets import Dataset

    lines = Path("fixtures/code/test.jsonl").read_text("utf-8").splitlines()
    pairs = list(structkit.pair(map(json.loads, lines)))
    task = mteb.get_task("CodeSearchNetRetrieval", hf_subsets=["python"])
    parts = {
        part: Dataset.from_list([{"id": each["id"], "text": each[field]} for each in pairs])
        for part, field in (("corpus", "positive"), ("queries", "query"))
    }
    parts |= {"relevant_docs": {each["id"]: {each["id"]: 1} for each in pairs}, "top_ranked": None}
    task.dataset, task.data_loaded = {"python": {"test": parts}}, True
    monkeypatch.setattr(mteb, "get_tasks", lambda tasks: [task])
    monkeypatch.setenv("MTEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    structkit.train("static", pairs[:40], output="models/own", quiet=True)
    [code] = [body for _, kind, _, body in FENCE.findall(MTEB) if kind == "python"]
    capsys.readouterr()
    exec(code, {})
    name, value = capsys.readouterr().out.split()
    # MTEB searches documents without white space around them; equal scores go by descending id in
    # both, as in trec_eval
    bare = [{**each, "positive": each["positive"].strip()} for each in pairs]
    run = structkit.search(bare, queries=pairs, model="models/own")
    [ours] = structkit.score(run, qrels="self", measures=["nDCG@10"])
    assert "CodeSearchNetRetrieval" == name
    assert pytest.approx(ours["nDCG@10"], abs=1e-5) == float(value)
