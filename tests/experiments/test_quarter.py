"""`make gpu-quarter`: its limits of time, what it resumes, and all of it in small on the CPU."""

import gzip
import json
import subprocess
import sys
import tarfile
from itertools import product
from pathlib import Path

import pytest

from experiments.quarter import Entry, Queue, steps
from tests.jsonl import lines, read

REPORT = '{"seeds": ["0"]}'
STOPPED = "trap 'echo kept > kept; exit 130' INT; echo begun; sleep 60 & wait"


def entry(name, script, **given):
    """An entry that runs a script in the folder of the queue, in the place of `make`."""
    command = (f"SHELL={script}",)
    return Entry(name, given.pop("minutes", 1), command, **given)


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A queue in an empty folder, in which `make` runs the script that it is given."""
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin/make"
    make.write_text('#!/bin/bash\ncd "${0%/bin/make}" && eval "${2#SHELL=}"\n')
    make.chmod(0o755)
    monkeypatch.setenv("PATH", f"{make.parent}:/usr/bin:/bin")
    (tmp_path / "reports").mkdir()
    return Queue(tmp_path, tmp_path / "reports", minutes=2)


def became(queue):
    return {each["entry"]: each["became"] for each in queue.state}


def test_an_entry_leaves_its_report_and_is_not_done_again(queue):
    made = {"report": "code", "made": "made.json", "seeds": ("0",), "question": "Why?"}
    first = entry("first", f"echo '{REPORT}' > made.json; echo ran >> ran", **made)
    queue.run([first, first])
    assert {"first": "done"} == became(queue)
    assert REPORT == (queue.reports / "code.json").read_text().strip()
    assert "Why?" in (queue.reports / "code.md").read_text()
    assert "ran\n" == (queue.folder / "ran").read_text()
    other = Entry("other", 1, first.command, "code", "made.json", ("0", "1"))
    assert not other.done(queue.reports), "another seed is missing"


def test_one_that_fails_and_one_that_is_stopped_do_not_keep_the_next_from_its_turn(queue):
    long = entry("long", STOPPED, minutes=1 / 60)
    queue.run([entry("wrong", "exit 3"), long, entry("last", "true"), entry("big", "", minutes=9)])
    assert became(queue) == {
        "wrong": "failed with status 3",
        "long": "stopped at its limit",
        "last": "done",
        "big": "not begun: it takes 9 minutes",
    }
    assert "kept\n" == (queue.folder / "kept").read_text(), "as by Ctrl-C, it kept a checkpoint"
    assert "begun\n" == (queue.folder / "long.log").read_text()


def test_minutes_that_follow_let_an_entry_begin(queue):
    queue.minutes, queue.then = 0.7, 2
    queue.run([entry("long", STOPPED, minutes=2.5)])
    assert {"long": "stopped at its limit"} == became(queue)


def test_what_comes_back_is_one_file_and_the_ends_of_logs(queue, monkeypatch):
    monkeypatch.chdir(queue.folder)
    queue.reports = Path("reports")
    made = {"report": "code", "made": "made.json", "seeds": ("0",), "question": "Why?"}
    some = [entry("first", f"echo '{REPORT}' > made.json; seq 300", **made)]
    queue.run(some)
    queue.give(queue.folder / "out", some)
    assert {"logs.txt", "results.tar.gz"} == {each.name for each in Path("out").iterdir()}
    with tarfile.open("out/results.tar.gz") as archive:
        assert {"reports/code.json", "reports/code.md"} < {*archive.getnames()}
    assert "== first\n101\n" in Path("out/logs.txt").read_text()


def test_a_trial_says_how_many_steps_fit():
    logged = ["sampling", '{"records_per_second": 9}', '{"records_per_second": 1000.0}']
    assert 937 == steps(240, 256, logged)


VERBS = ("open", "paint", "weigh", "sell", "count", "move")
THINGS = ("kettle", "basket", "lantern", "violin", "anchor")
CODE = "def {0}_{1}(box):\n    {1} = box.find()\n    return {1}.{0}(box)\n"
TASKS = ("simlex999", "wordsim353_similarity", "wordsim353_relatedness", "sts12_test")
TASKS += ("sts16_test", "stsb_test", "sick_r_test", "mrpc_test", "mrpc_train", "rte_dev")


def zipped(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(lines(*records).encode()))


def functions():
    return [
        {
            "id": f"python-{number}",
            "language": "python",
            "code": CODE.format(*pair),
            "docstring": f"{pair[0].title()} the {pair[1]} of a box.",
        }
        for number, pair in enumerate(product(VERBS, THINGS))
    ]


@pytest.fixture
def data(tmp_path):
    """Small files of the names and forms of all data, and functions of packages."""
    every = functions()
    for name in ("train", "dev", "dev_adv_python"):
        zipped(tmp_path / f"data/codesearch/{name}.jsonl.gz", *every)
    zipped(tmp_path / "data/cosqa/corpus.jsonl.gz", {"id": "a", "code": "pass"})
    zipped(
        tmp_path / "data/cosqa/retrieval_dev.jsonl.gz", {"id": "q", "query": "no", "doc_id": "a"}
    )
    said = [f"the {thing} is here to {verb} it" for verb, thing in product(VERBS, THINGS)]
    for name in ("wiki", "extra"):
        some = ({"id": f"{name}{number}", "text": each} for number, each in enumerate(said))
        zipped(tmp_path / f"data/wikitext/{name}_sentences_train.jsonl.gz", *some)
    for task in (*TASKS, "rte_train"):
        pairs = (
            {"id": f"{task}-{number}", "text_a": a, "text_b": b, "label": number % 2}
            for number, (a, b) in enumerate(zip(said, said[::-1], strict=True))
        )
        zipped(tmp_path / f"data/strae_eval/{task}.jsonl.gz", *pairs)
    site = tmp_path / "site"
    (site / "boxes-1.dist-info").mkdir(parents=True)
    metadata = "Metadata-Version: 2.4\nName: boxes\nVersion: 1\nLicense-Expression: MIT\n"
    (site / "boxes-1.dist-info/METADATA").write_text(metadata)
    (site / "boxes-1.dist-info/RECORD").write_text("boxes.py,,\n")
    documented = (
        CODE.format(*pair).replace(":\n", f':\n    """Find a {pair[1]} to {pair[0]}."""\n', 1)
        for pair in product(VERBS, THINGS)
    )
    (site / "boxes.py").write_text("\n\n".join(documented))
    return tmp_path


@pytest.mark.long
def test_all_of_it_in_small(data):
    python = Path(sys.executable)
    words = [f"BIN={python.parent}", "INSTALLED=", "RUNNABLE=", "TINY=1"]
    pack = ["make", "-s", "gpu-quarter-pack", f"DATA={data}/data", f"QUARTER={data}/queue"]
    subprocess.run([*pack, f"PACKAGES={data}/site", "WHEELS=", *words], check=True)
    (data / "there").mkdir()
    (data / "queue.tar.xz").rename(data / "there/queue.tar.xz")
    run = [sys.executable, "-m", "experiments.quarter", "run", "--tiny", "--minutes", "400"]
    run += ["--folder", f"{data}/there/queue", "--reports", f"{data}/reports"]
    subprocess.run([*run, "--out", f"{data}/out"], check=True)
    state = json.loads((data / "there/queue/state.json").read_bytes())
    assert {"done"} == {each["became"] for each in state}, state
    assert {"0", "1"} == {*json.loads((data / "reports/code-decoder.json").read_bytes())["seeds"]}
    assert (data / "out/results.tar.gz").is_file() and "BERT-tiny" in (
        (data / "reports/tables/gpu-quarter.md").read_text()
    )
    again = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert 4 == again.count("done before")
    assert read(data / "there/queue/strae/scaled/scores.jsonl")
