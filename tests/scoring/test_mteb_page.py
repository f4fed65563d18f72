"""The code that evaluate.md shows for MTEB, on a task of its own with our functions as its data."""

import json
from pathlib import Path

import pytest
from documents import FENCE

import structkit

MTEB = Path("docs/guide/evaluate.md").read_text("utf-8").partition("## MTEB")[2]


@pytest.mark.long
def test_mteb_scores_a_model_as_its_page_shows(tmp_path, monkeypatch, capsys):
    mteb = pytest.importorskip("mteb", reason="mteb is not installed: pip install mteb")
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
    run = structkit.search(pairs, queries=pairs, model="models/own")
    [ours] = structkit.score(run, qrels="self", measures=["nDCG@10"])
    # one of the 86 queries ranks otherwise there
    assert "CodeSearchNetRetrieval" == name
    assert pytest.approx(ours["nDCG@10"], abs=0.01) == float(value)
