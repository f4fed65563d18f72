"""REPORT.md is what the recipes' files give, and the statistics of these files are right."""

import re
import sys

import numpy as np
import orjson
import pytest
from conftest import completed

from experiments import queue
from experiments.report import REPORT, REPORTS, Systems, main, outside, report, section, state
from structkit.scoring.measures import compare_values


def scored(**runs):
    """Values of one measure, as `score --per-query` writes them."""
    return [
        {"run": run.replace("_", "@"), "query_id": f"q{place}", "nDCG@10": value}
        for run, values in runs.items()
        for place, value in enumerate(values)
    ]


def test_the_report_is_what_the_files_give():
    assert REPORT.read_text("utf-8") == report(), "run make report"


STATED = {"products": "BULLET"} | {f"strae-{name}": name.upper() for name in ("structure", "tuned")}
STATED |= {"strae-starts": "START", "strae-pairs": "PAIRED", "strae-paraphrases": "PARAPHRASE"}
STATED |= {"strae-models": "MODELLED", "strae-scale": "SCALED", "code-zero-shot": "ZERO_SHOT"}
STATED |= {"table-alignment": "TABULAR", "seal-power": "POWER", "code-decoder": "DECODER"}
STATED |= {"strae-seeds": "SCALED", "self-strae-seeds": "SCALED"}


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.json")), ids=lambda path: path.stem)
def test_what_a_recipe_states_is_corrected_and_nothing_else(path):
    content = orjson.loads(path.read_bytes())
    name = STATED.get(path.stem, path.stem.partition("-")[0].upper())
    makefile = "EXPERIMENTS := experiments/*.mk\ninclude Makefile\n"
    makefile += f"show: ; @echo $({name}_HYPOTHESES)\n"
    if queued := queue.content()["reports"].get(path.stem):
        stated = queued["stated"]
    else:
        done = completed(["make", "-s", "-f", "-", "show"], input=makefile, text=True, check=True)
        stated = done.stdout.split()
    again = [{**each} for each in content["comparisons"]]
    for each in again:
        each.pop("p_holm", None)
    assert content["hypotheses"] == state(again, stated) != []
    assert content["comparisons"] == again
    assert content["data"] and all(
        map(re.compile("[0-9a-f]{64}").fullmatch, content["data"].values())
    )


def test_what_a_recipe_states_of_one_set_is_not_stated_of_others():
    pair = {"system": "sda", "against": "bm25", "p_randomization": 0.02}
    pairs = [pair | {"measure": each} for each in ("go", "php")] + [pair | {"against": "start"}]
    assert ["sda:bm25:php", "sda:start"] == state(pairs, ["sda:bm25:php", "sda:start", "a:b"])
    assert [None, 0.04, 0.04] == [each.get("p_holm") for each in pairs]
    content = {"title": "", "command": "", "seeds": [], "data": {}, "rows": []}
    told = section("code", content | {"comparisons": pairs}, "")
    assert "Stated hypotheses, corrected for 2:" in told
    assert "php" in told and "go" not in told
    assert "and 1 other pairs, uncorrected, are in [code.json]" in told


def test_seeds_are_averaged_for_each_query_before_anything_else():
    systems = Systems(scored(bm25=[0.5, 0.0, 0.25], seal_0=[1.0, 0.0, 0.5], seal_1=[0.0, 1.0, 0.5]))
    bm25, seal = systems.rows()
    assert (bm25["seeds"], seal["seeds"], seal["queries"]) == (1, 2, 3)
    # both seeds have the same mean, and so has every query
    assert (seal["nDCG@10"], seal["between seeds"]) == (0.5, 0.0)
    assert seal["nDCG@10_low"] == seal["nDCG@10_high"] == 0.5
    assert "nDCG@10_deviation" not in bm25
    assert (bm25["nDCG@10"], bm25["between seeds"]) == (0.25, "")
    (found,) = systems.comparisons(["bm25"])
    result = compare_values(np.array([0.5, 0.5, 0.5]), np.array([0.5, 0.0, 0.25]))
    assert (found["system"], found["against"]) == ("seal", "bm25")
    assert found["p_randomization"] == result["p_randomization"]
    assert found["difference"] == result["difference"] == 0.25


def test_runs_of_other_queries_are_refused():
    with pytest.raises(SystemExit, match="seal@0 was scored on other queries"):
        Systems(scored(bm25=[0.5, 0.0], seal_0=[1.0]))


def test_what_is_built_again_lies_within_the_intervals():
    row = {"system": "bm25", "seeds": 1, "RR": 0.5, "RR_low": 0.4, "RR_high": 0.6}
    committed = {"rows": [row]}
    assert outside(committed, {"rows": [row | {"RR": 0.41}]}) == []
    assert outside(committed, {"rows": [row | {"RR": 0.61}, row | {"system": "seal"}]}) == [
        "bm25: RR 0.610 is not in [0.400, 0.600]",
        "seal is not in the table",
    ]
    # a seed lies within the interval widened by what seeds differ
    three = {"system": "strae", "seeds": 3, "RTE": 45.0, "RTE_low": 45.0, "RTE_high": 45.0}
    three |= {"RTE_deviation": 75**0.5}
    # two of 40, 40 and 55 are 5 from the mean of all: none can be farther
    for value, fits in ((40.001, True), (39.999, False)):
        two = {"rows": [three | {"seeds": 2, "RTE": value}]}
        assert fits == (outside({"rows": [three]}, two) == [])


@pytest.fixture
def gather(tmp_path, monkeypatch):
    """Write files by name, and gather them: the content of the table."""

    def gather(*flags, **files):
        for name, content in files.items():
            lines = content if isinstance(content, bytes) else b"".join(
                orjson.dumps(each) + b"\n" for each in content
            )  # fmt: skip
            (tmp_path / name.replace("__", "@").replace("_", ".")).write_bytes(lines)
        monkeypatch.chdir(tmp_path)
        command = [*flags, "--title", "Pages", "--command", "make seal", "--folder", "."]
        monkeypatch.setattr(sys, "argv", ["report", "gather", *command, "-o", "report.json"])
        main()
        return orjson.loads((tmp_path / "report.json").read_bytes())

    return gather


TRAINED = {"folder": "x", "records": 8, "steps": 2, "seconds": 1.5}


def test_a_table_is_gathered_with_its_costs_data_and_trainings(gather, tmp_path):
    content = gather(
        *("values.jsonl", "--against", "bm25", "--corpus", "corpus.jsonl", "--data", "data.jsonl"),
        values_jsonl=scored(bm25=[0.5, 0.0, 1.0], seal_0=[1.0, 0.0, 1.0]),
        data_jsonl=b"",
        corpus_jsonl=[{"id": "1"}, {"id": "2"}],
        seal__0_trained_jsonl=[TRAINED],
        stopped__0_trained_jsonl=b"",
        seal__0_npy=b"0" * 30,
        seal__0_seconds=[{"cpu": 0.5}],
    )
    assert content["seeds"] == ["0"]
    assert content["data"]["/data.jsonl"].startswith("e3b0c44298fc")  # of no bytes
    assert content["trainings"] == [{"model": "seal@0", "records": 8, "steps": 2, "seconds": 1.5}]
    costs = [(row["bytes a page"], row["CPU seconds"]) for row in content["rows"]]
    assert costs == [("", ""), (15, 0.5)]
    text = section("seal", content, "What it means.\n")
    assert text.startswith("## Pages\n\nWhat it means.\n\n| system ")
    assert "| seal   |     1 |       3 | 0.667 [" in text
    assert "```sh\nmake seal\n```\n\nSeeds 0. One training, of 8 records in 2 s." in text


def test_several_sets_make_one_table(gather):
    content = gather(
        *("values-go.jsonl", "values-ruby.jsonl", "--against", "bm25"),
        *("--pool", "both", "go", "ruby", "php"),
        **{"values-go_jsonl": scored(bm25=[0.25] * 3, seal_0=[0.5, 1.0, 0.0], seal_1=[0.5] * 3)},
        **{"values-ruby_jsonl": scored(bm25=[0.25] * 2, seal_0=[1.0, 0.5], seal_1=[0.5] * 2)},
    )
    rows = [(each["system"], each["go"], each["ruby"]) for each in content["rows"]]
    assert [("bm25", 0.25, 0.25), ("seal", 0.5, 0.625)] == rows
    assert content["rows"][1]["ruby_low"] >= 0.5
    # the means of both sets are 0.625 and 0.5
    assert content["rows"][1]["both_deviation"] == pytest.approx(0.125 / 2**0.5)
    compared = [(each["measure"], round(each["difference"], 3)) for each in content["comparisons"]]
    assert [("go", 0.25), ("ruby", 0.375), ("both", 0.35)] == compared
    assert "both_deviation" not in section("seal", content, "")


def test_a_table_goes_on_where_another_stopped(gather, tmp_path, monkeypatch, capsys):
    """A seed of another day is in the table as if both had been trained at once."""
    values = {"bm25": [0.25] * 3, "seal_0": [0.5, 1.0, 0.0], "seal_1": [0.1, 0.7, 0.2]}
    flags = ("values-go.jsonl", "--against", "bm25", "--data", "data.jsonl")

    def gathered(*more, runs, data=b""):
        found = scored(**{name: values[name] for name in runs})
        return gather(*flags, *more, **{"values-go_jsonl": found}, data_jsonl=data)

    for seed in (0, 1):
        (tmp_path / f"seal@{seed}.trained.jsonl").write_bytes(orjson.dumps(TRAINED))
    whole = gathered(runs=values)
    (tmp_path / "seal@1.trained.jsonl").unlink()
    gathered(runs=["bm25", "seal_0"])
    for end in ("json", "values.jsonl.gz"):
        (tmp_path / f"report.{end}").rename(tmp_path / f"first.{end}")
    (tmp_path / "seal@0.trained.jsonl").rename(tmp_path / "seal@1.trained.jsonl")
    monkeypatch.setattr(sys, "argv", ["report", "runs", "first.json"])
    main()
    assert capsys.readouterr().out == "seal@0\n"
    assert gathered("--kept", "first.json", runs=["bm25", "seal_1"]) == whole
    with pytest.raises(SystemExit, match=r"first\.json was made of other data"):
        gathered("--kept", "first.json", runs=["bm25", "seal_1"], data=b"other")


def test_of_a_suite_the_comparison_of_the_whole_is_told(gather):
    row = {"run": "strae", "seeds": 2, "STS": 30.0, "STS_low": 20.0, "STS_high": 40.0}
    pair = {"against": "bag", "task": "Score", "difference": 1.5, "p_bootstrap": 0.02}
    content = gather(
        *("scores.jsonl", "compared.jsonl", "--suite"),
        scores_jsonl=[row],
        compared_jsonl=[{"run": "strae", **pair, "task": task} for task in ("Score", "STS")],
        strae__1_seen=[TRAINED],
    )
    assert (["1"], ["strae"]) == (content["seeds"], [row["system"] for row in content["rows"]])
    assert content["comparisons"] == [{"system": "strae", **pair}]
    assert content["trainings"] == [{"model": "strae@1", "records": 8, "steps": 2, "seconds": 1.5}]
    of_suite = {**content, "rows": [content["rows"][0] | {"Score": 30.0}]}
    assert "| strae  |     2 | 30.0 | 30.000 |" in section("strae", of_suite, "")
