"""The queue of experiments: order, interruption, what a finished seed keeps, and its reports."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import orjson
import pytest
import yaml

import experiments.queue as queue
from experiments.kept import kept, pair_values, suite_results
from structkit import score
from tests.jsonl import lines
from tests.scoring.embedding_pairs import suite_of

ROOT = Path(__file__).parents[2]
# stands in for `make`: each goal is a run of one query, whose value is the seed
MAKE = """#!/bin/bash
while [ $# != 0 ]; do word=$1; shift; case $word in
  -o) shift;;
  SEED=*) seed=${word#*=};;
  FAIL=1) exit 3;;
  EXPERIMENTS=*|DATA=*|BF16=) ;;
  *.jsonl) sleep "$DELAY"; mkdir -p "$(dirname "$word")"
    echo '{"run":"sda@'$seed'","query_id":"q","RR":0.'$seed'}' > "$word";;
  *rate) echo 0.5 > "$word"; echo made >> made;;
esac; done
"""


def entry(name, seeds, **fields):
    common = {"question": "?", "stated": "x", "hours": 1, "variables": {"SEED": "{seed}"}}
    named = {"name": name, "seeds": seeds, "folder": "runs/f", "values": ["values-go.jsonl"]}
    return common | named | fields


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with a list of two entries, and a program in the place of `make`."""
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin/make"
    make.write_text(MAKE)
    make.chmod(0o755)
    monkeypatch.setenv("PATH", f"{make.parent}:/usr/bin:/bin")
    monkeypatch.setenv("DELAY", "0")
    processors = os.sched_getaffinity(0)
    monkeypatch.chdir(tmp_path)
    queue.FOLDER.mkdir(parents=True)
    write_list(entry("first", [0, 1]), entry("second", [2]))
    yield tmp_path
    os.sched_setaffinity(0, processors)


def write_list(*entries, **more):
    queue.LIST.write_text(yaml.safe_dump({"defaults": ["BF16="], "entries": [*entries], **more}))


def finished():
    return sorted(path.stem for path in queue.FOLDER.glob("*.json"))


def test_what_was_made_stays_newer_than_data_that_are_put_there_again(clone):
    makefile = "model: trees\n\techo again > model\ntrees: {}\n\techo again > trees\n"
    model, trees, data = queue.RUNS / "model", queue.RUNS / "trees", Path("data.gz")
    queue.RUNS.mkdir(parents=True)
    for path, seconds in ((trees, 1), (model, 2), (data, 3)):
        path.write_text("once")
        os.utime(path, (seconds, seconds))
    data.touch()
    (queue.RUNS / "Makefile").write_text(makefile.format(data.absolute()))
    queue.run("data", limit=0)
    subprocess.run(["/usr/bin/make", "-C", queue.RUNS, "model"], check=True)
    assert ["once", "once"] == [path.read_text() for path in (trees, model)]


def test_seeds_run_in_order_and_what_is_committed_is_not_run_again(clone):
    queue.run("data", limit=2)
    assert ["first@0", "first@1"] == finished()
    [line] = kept(queue.FOLDER / "first@1.json")["go"]
    assert {"run": "sda@1", "query_id": "q", "RR": 0.1} == line
    shutil.rmtree("runs")  # as in a new clone
    queue.run("data")
    assert ["first@0", "first@1", "second@2"] == finished()
    assert ["runs/f/values-go.jsonl"] == [str(each) for each in Path("runs").rglob("*.jsonl")]
    assert queue.following() is None
    assert queue.PAGE.read_text() == queue.page()
    assert "| done" in queue.page() and "| next" not in queue.page()


def test_one_that_fails_does_not_keep_the_next_from_its_turn(clone):
    write_list(entry("wrong", [0], variables={"FAIL": 1}), entry("right", [1]))
    with pytest.raises(SystemExit, match="failed: wrong@0; logs are in runs/queue"):
        queue.run("data")
    assert ["right@1"] == finished()


def test_small_files_of_a_pilot_are_there_in_a_new_clone(clone):
    pilot = entry("pilot", [0], values=[], first=["rate"], keep=["rate"])
    write_list(pilot, entry("second", [2]))
    queue.run("data", limit=1)
    Path("rate").unlink()
    queue.run("data")
    assert "0.5\n" == Path("rate").read_text()
    assert "made\n" == Path("made").read_text()


def test_a_queue_that_is_stopped_says_so_and_keeps_no_half_seed(clone):
    command = [sys.executable, "-m", "experiments.queue", "run", "--data", "data"]
    slow = {**os.environ, "DELAY": "60", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=slow, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while queue.running_seed() != "first@0" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "first@0" == queue.running_seed()
        with pytest.raises(SystemExit, match="the queue runs here already"):
            queue.run("data")
        time.sleep(1)  # until `make` runs
        process.send_signal(signal.SIGTERM)
        assert "stopped: the next run continues" in process.communicate(timeout=60)[1]
    assert [] == finished() and "" == queue.running_seed()
    assert "next" == queue.state()[0]["state"]


def test_what_a_killed_queue_left_running_holds_its_lock(clone):
    command = [sys.executable, "-m", "experiments.queue", "run", "--data", "data"]
    slow = {**os.environ, "DELAY": "8", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=slow) as process:
        while queue.running_seed() != "first@0":
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1)  # until `make` runs
        process.kill()
    assert "first@0" == queue.running_seed()
    with pytest.raises(SystemExit, match="the queue runs here already"):
        queue.run("data")
    deadline = time.monotonic() + 60
    while queue.running_seed() and time.monotonic() < deadline:
        time.sleep(0.1)
    queue.run("data", limit=1)
    assert ["first@0"] == finished()


def test_the_list_is_readable_and_its_page_is_fresh():
    assert queue.PAGE.read_text("utf-8") == queue.page(), "run make -C experiments queue-state"
    for each in queue.entries():
        assert each.stated.startswith("2026-") and each.question.endswith("?")
        assert each.files(each.seeds[0]) or each.keep
        for seed in each.seeds:
            if each.table(seed).exists() and each.files(seed):
                assert kept(each.table(seed)), each.name


@pytest.mark.long
def test_values_of_pairs_give_what_the_suite_gives(tmp_path):
    files = [suite_of(tmp_path, seed) for seed in (0, 1)]
    whole, _ = score({path.stem: str(path) for path in files}, task="suite")
    results = [suite_results(pair_values(path), path.stem) for path in files]
    for task, (value, draws) in results[0].items():
        assert whole[task] == pytest.approx((value + results[1][task][0]) / 2)
        ends = np.nanquantile((draws + results[1][task][1]) / 2, [0.025, 0.975])
        assert [whole[f"{task}_low"], whole[f"{task}_high"]] == pytest.approx([*ends])


def test_a_report_has_all_finished_seeds(clone, monkeypatch):
    reports = {
        "both": {
            "title": "Both",
            "entries": ["first", "second"],
            "stated": ["sda:start"],
            "against": ["start"],
            "data": ["*/train.jsonl"],
        }
    }
    write_list(entry("first", [0, 1]), entry("second", [2]), reports=reports)
    for name, seed in (("first", 0), ("first", 1), ("second", 2)):
        rows = [
            {"run": run, "query_id": f"q{query}", "RR": value / 10}
            for run, values in ((f"sda@{seed}", (4, 6, 5 + seed)), ("start", (1, 2, 3)))
            for query, value in enumerate(values)
        ]
        queue.keep({"go": rows, "php": rows}, queue.FOLDER / f"{name}@{seed}.json")
        content = {"seed": seed, "minutes": 3, "trainings": [], "files": {}}
        (queue.FOLDER / f"{name}@{seed}.json").write_bytes(orjson.dumps(content))
    (clone / "data/code").mkdir(parents=True)
    (clone / "data/code/train.jsonl").write_text(lines({"id": "a"}))
    queue.REPORTS.mkdir(parents=True)
    queue.gather("both", clone / "data")
    content = orjson.loads((queue.REPORTS / "both.json").read_bytes())
    assert ["0", "1", "2"] == content["seeds"] and ["code/train.jsonl"] == [*content["data"]]
    sda, start = content["rows"]
    assert ("sda", 3, "start", 1) == (sda["system"], sda["seeds"], start["system"], start["seeds"])
    assert {
        "0": 0.5,
        "1": pytest.approx(0.5333, abs=1e-4),
        "2": pytest.approx(0.5667, abs=1e-4),
    } == sda["go_seeds"]
    [go, _] = content["comparisons"]
    assert go["difference"] == pytest.approx(0.53333 - 0.2, abs=1e-4) and "p_holm" in go
