"""REPORT.md is what the recipes' files give, and the statistics of these files are right."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import orjson
import pytest

from structkit.scoring.comparison import compare
from tests.benchmarks.report import REPORT, Systems, holm, of_sets, outside, report, section


def scored(**runs):
    """Values of one measure, as `score --per-query` writes them."""
    return [
        {"run": run.replace("_", "@"), "query_id": f"q{place}", "nDCG@10": value}
        for run, values in runs.items()
        for place, value in enumerate(values)
    ]


def test_the_report_is_what_the_files_give():
    assert REPORT.read_text("utf-8") == report(), "run make report"


def test_what_was_withdrawn_is_said_nowhere():
    """fastText was not tuned: nothing is above it before it is."""
    pages = [REPORT, Path("README.md"), *Path("docs").rglob("*.md"), *Path("reports").glob("*.md")]
    for path in pages:
        text = " ".join(path.read_text("utf-8").split())
        for said in re.findall(r".{0,100}\babove fastText.{0,20}|is above fastText", text):
            assert "withdrawn" in said.lower(), path


def test_what_titles_are_worth_is_what_the_files_give():
    with_titles, without = (
        {row["system"]: row["nDCG@10"] for row in orjson.loads(path.read_bytes())["rows"]}
        for path in (Path("reports/seal.json"), Path("reports/seal-untitled.json"))
    )
    worth = [f"{with_titles[each] - without[each]:.3f}" for each in without]
    told = re.findall(r"\d\.\d{3}", Path("reports/seal-untitled.md").read_text("utf-8"))
    assert sorted(worth) == sorted(told)


def test_seeds_are_averaged_for_each_query_before_anything_else():
    systems = Systems(scored(bm25=[0.5, 0.0, 0.25], seal_0=[1.0, 0.0, 0.5], seal_1=[0.0, 1.0, 0.5]))
    bm25, seal = systems.rows()
    assert (bm25["seeds"], seal["seeds"], seal["queries"]) == (1, 2, 3)
    # both seeds have the same mean, and so has every query
    assert (seal["nDCG@10"], seal["between seeds"]) == (0.5, 0.0)
    assert seal["nDCG@10_low"] == seal["nDCG@10_high"] == 0.5
    assert (bm25["nDCG@10"], bm25["between seeds"]) == (0.25, "")
    (found,) = systems.comparisons(["bm25"])
    result = compare(np.array([0.5, 0.5, 0.5]), np.array([0.5, 0.0, 0.25]))
    assert (found["system"], found["against"]) == ("seal", "bm25")
    assert found["p_randomization"] == result.p_randomization
    assert found["difference"] == result.difference == 0.25


def test_runs_of_one_set_are_named_by_their_folders():
    lines = [
        {"run": f"runs/{name}/go.jsonl", "query_id": "q", "RR": 0.5} for name in ("bm25", "sda@1")
    ]
    systems = Systems(lines)
    assert systems.seeds == {"bm25": [""], "sda": ["1"]}


def test_two_controls_are_compared_once():
    systems = Systems(scored(raw=[0.1, 0.2], matched=[0.2, 0.4], seal=[0.3, 0.3]))
    pairs = [(each["system"], each["against"]) for each in systems.comparisons(["raw", "matched"])]
    assert pairs == [("matched", "raw"), ("seal", "raw"), ("seal", "matched")]


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_runs_of_other_queries_are_refused():
    with pytest.raises(SystemExit, match="seal@0 was scored on other queries"):
        Systems(scored(bm25=[0.5, 0.0], seal_0=[1.0]))


def test_what_is_built_again_lies_within_the_intervals():
    row = {"system": "bm25", "RR": 0.5, "RR_low": 0.4, "RR_high": 0.6}
    committed = {"rows": [row]}
    assert outside(committed, {"rows": [row | {"RR": 0.41}]}) == []
    assert outside(committed, {"rows": [row | {"RR": 0.61}, row | {"system": "seal"}]}) == [
        "bm25: RR 0.610 is not in [0.400, 0.600]",
        "seal is not in the table",
    ]


def test_gather(tmp_path):
    values, data, output = (tmp_path / name for name in ("values.jsonl", "data.jsonl", "seal.json"))
    lines = scored(bm25=[0.5, 0.0, 1.0], seal_0=[1.0, 0.0, 1.0])
    values.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    data.write_text("")
    trained = tmp_path / "seal@0.trained.jsonl"
    trained.write_text('{"folder":"x","records":8,"steps":2,"seconds":1.5,"losses":{}}\n')
    (tmp_path / "stopped@0.trained.jsonl").touch()
    (tmp_path / "seal@0.npy").write_bytes(b"0" * 30)
    (tmp_path / "seal@0.seconds").write_text('{"cpu":0.5}\n')
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id":"1"}\n{"id":"2"}\n')
    command = ["gather", str(values), "--title", "Pages", "--command", "make seal"]
    command += [
        "--corpus",
        str(corpus),
        "--against",
        "bm25",
        "--data",
        str(data),
        "--folder",
        str(tmp_path),
    ]
    run = [sys.executable, "-m", "tests.benchmarks.report", *command, "-o", str(output)]
    subprocess.run(run, check=True, cwd=Path.cwd())
    content = orjson.loads(output.read_bytes())
    assert content["seeds"] == ["0"]
    assert content["data"][f"{tmp_path.name}/data.jsonl"].startswith("e3b0c44298fc")  # of no bytes
    assert content["trainings"] == [{"model": "seal@0", "records": 8, "steps": 2, "seconds": 1.5}]
    costs = [(row["bytes a page"], row["CPU seconds"]) for row in content["rows"]]
    assert costs == [("", ""), (15, 0.5)]
    text = section("seal", content, "What it means.\n")
    assert text.startswith("## Pages\n\nWhat it means.\n\n```sh\nmake seal\n```")
    assert "| seal   |     1 |       3 | 0.667 [" in text
    assert "| seal@0 |       8 |     2 | 1.500   |" in text


def test_several_sets_make_one_table(tmp_path):
    for name, ours in (("go", [0.5, 1.0, 0.0]), ("ruby", [1.0, 0.5])):
        lines = scored(bm25=[0.25] * len(ours), seal_0=ours)
        written = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        (tmp_path / f"values-{name}.jsonl").write_bytes(written)
    rows, compared = of_sets(sorted(tmp_path.iterdir()), ["bm25"])
    assert [(each["system"], each["go"], each["ruby"]) for each in rows] == [
        ("bm25", 0.25, 0.25),
        ("seal", 0.5, 0.75),
    ]
    assert rows[1]["ruby_low"] >= 0.5
    assert [(each["measure"], each["difference"]) for each in compared] == [
        ("go", 0.25),
        ("ruby", 0.5),
    ]


def test_gather_of_a_suite(tmp_path):
    row = {"run": "strae", "seeds": 2, "STS": 30.0, "STS_low": 20.0, "STS_high": 40.0}
    pair = {
        "run": "strae",
        "against": "bag",
        "task": "Score",
        "difference": 1.5,
        "p_bootstrap": 0.02,
    }
    values = [row, pair, pair | {"task": "STS"}]
    scores, output = tmp_path / "scores.jsonl", tmp_path / "strae.json"
    compared = tmp_path / "compared.jsonl"
    scores.write_bytes(orjson.dumps(values[0]) + b"\n")
    compared.write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in values[1:]))
    (tmp_path / "strae@1.seen").write_text('{"folder":"x","records":8,"steps":2,"seconds":1.5}\n')
    command = [sys.executable, "-m", "tests.benchmarks.report", "gather", str(scores)]
    command += [str(compared), "--suite"]
    command += ["--title", "Suite", "--command", "make strae", "--folder", str(tmp_path)]
    subprocess.run([*command, "-o", str(output)], check=True, cwd=Path.cwd())
    content = orjson.loads(output.read_bytes())
    assert content["seeds"] == ["1"]
    assert [each["system"] for each in content["rows"]] == ["strae"]
    assert content["comparisons"] == [
        {"system": "strae", **{k: pair[k] for k in pair if k != "run"}}
    ]
    assert content["trainings"] == [{"model": "strae@1", "records": 8, "steps": 2, "seconds": 1.5}]
    assert "30.000 [20.000, 40.000]" in section("strae", content, "")
