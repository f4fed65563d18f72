"""A suite of tasks: a row for each model, intervals, and paired differences."""

import shutil
from functools import partial

import numpy as np
import pytest

from structkit import score
from structkit.commands.score.table import score_table
from structkit.errors import UserError
from tests.scoring.embedding_pairs import EAST, ROUND, pairs, suite_of

suite = partial(score, task="suite")


@pytest.mark.long
def test_a_suite_gives_a_row_for_each_model(tmp_path):
    files = {f"strae@{seed}": str(suite_of(tmp_path, seed)) for seed in (0, 1)}
    found, majority = suite(files)
    assert ("strae", 2) == (found["run"], found["seeds"])
    # 100 and 80: sqrt((10² + 10²) / (2 - 1))
    assert (pytest.approx(90), pytest.approx(200**0.5)) == (found["STS"], found["STS_deviation"])
    assert 85 < found["MRPC"] <= 100
    assert pytest.approx((found["STS"] + found["MRPC"]) / 2) == found["Score"]
    assert "90.00 ± 14.14 [" in score_table([found])
    assert found["MRPC_low"] < found["MRPC"] <= found["MRPC_high"]
    # the classes of the 40 test pairs are equally large
    assert ("majority", 0, 50) == (majority["run"], majority["seeds"], majority["MRPC"])
    assert 30 < majority["MRPC_low"] < 50 < majority["MRPC_high"] < 70
    assert "STS" not in majority and "Score" not in majority
    drawn = score_table([found, majority], markdown=True).splitlines()
    assert ["majority", "0", ""] == [cell.strip() for cell in drawn[-1].split("|")[1:4]]
    alone, _ = suite({"strae": files["strae@0"]})
    assert "STS_deviation" not in alone

    def problem(content):
        bad = tmp_path / "bad.jsonl"
        bad.write_bytes(content)
        with pytest.raises(UserError) as caught:
            list(suite({**files, "bad": str(bad)}))
        return str(caught.value)

    assert 'field "task" is missing' in problem(pairs(EAST, ROUND, score=[1, 2, 3, 4]))
    alone = pairs(EAST, ROUND, score=[1, 2, 3, 4], task=["STS"] * 4)
    assert "bad.jsonl: has the tasks STS, Score, not STS, MRPC, Score" in problem(alone)
    untested = pairs(EAST, ROUND, label=[1, 0, 1, 0], task=["MRPC"] * 4, split=["train"] * 4)
    assert "MRPC: all pairs are for training" in problem(untested)


def test_a_suites_intervals_are_those_of_the_tasks_and_its_differences_are_paired(tmp_path):
    generator = np.random.default_rng(0)
    gold = generator.normal(size=60)
    sides = np.stack([np.ones(60), np.zeros(60)], 1)

    def model(name, noise):
        angles = np.pi / 2 + gold / 10 + noise * generator.normal(size=60)
        right = np.stack([np.cos(angles), np.sin(angles)], 1)
        file = tmp_path / f"{name}.jsonl"
        found = pairs(sides.tolist(), right.tolist(), score=(-gold).tolist(), task=["STS"] * 60)
        file.write_bytes(found)
        return str(file)

    files = {name: model(name, noise) for name, noise in [("good", 0.02), ("bad", 0.4)]}
    row, _ = suite(files)
    (alone,) = score(files["good"], task="similarity")
    ends = ("low", "high")
    expected = pytest.approx([alone[f"spearman_{end}"] for end in ends])
    assert expected == [row[f"STS_{end}"] for end in ends]
    task, whole = suite(files, compare=[files["bad"]])
    assert ("good", "bad", "STS", "Score") == (
        task["run"], task["against"], task["task"], whole["task"]
    )  # fmt: skip
    assert pytest.approx(task["value"] - task["against_value"]) == task["difference"]
    assert 0 < task["difference_low"] < task["difference"] < task["difference_high"]
    assert 0.01 > task["p_bootstrap"]
    same = {**files, "again": shutil.copy(files["bad"], tmp_path / "again.jsonl")}
    twin = [record for record in suite(same, compare=[files["bad"]]) if record["run"] == "again"][0]
    assert (0, 0, 0, 1) == (
        twin["difference"], twin["difference_low"], twin["difference_high"], twin["p_bootstrap"]
    )  # fmt: skip
