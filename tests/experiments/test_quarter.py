"""`make gpu-quarter`: its limits of time, and an entry of each kind in small on the CPU."""

import gzip
import json
import subprocess
import sys
import tarfile
from itertools import product
from pathlib import Path

import pytest
from conftest import as_at_a_prompt

from experiments.quarter import Entry, Queue, decoder, steps
from tests.dry_runs import TASKS
from tests.jsonl import lines, read

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
    as_at_a_prompt()
    (tmp_path / "reports").mkdir()
    return Queue(tmp_path, tmp_path / "reports", minutes=2)


def became(queue):
    return {each["entry"]: each["became"] for each in queue.state}


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


def test_a_trial_says_how_many_steps_fit():
    logged = ["sampling", '{"records_per_second": 9}', '{"records_per_second": 1000.0}']
    assert 937 == steps(240, 256, logged)


VERBS = ("open", "paint", "weigh", "sell", "count", "move")
THINGS = ("kettle", "basket", "lantern", "violin", "anchor")
CODE = "def {0}_{1}(box):\n    {1} = box.find()\n    return {1}.{0}(box)\n"


def zipped(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(lines(*records).encode()))


@pytest.fixture
def data(tmp_path):
    """Small files of the names and forms of all data, and functions of packages."""
    every = [
        {
            "id": f"python-{number}",
            "language": "python",
            "code": CODE.format(*pair),
            "docstring": f"{pair[0].title()} the {pair[1]} of a box.",
        }
        for number, pair in enumerate(product(VERBS, THINGS))
    ]
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
    for task in TASKS:
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
def test_an_entry_of_each_kind_in_small(data):
    python = Path(sys.executable)
    words = [f"BIN={python.parent}", "INSTALLED=", "RUNNABLE=", "TINY=1"]
    pack = ["make", "-s", "gpu-quarter-pack", f"DATA={data}/data", f"QUARTER={data}/queue"]
    subprocess.run([*pack, f"PACKAGES={data}/site", "WHEELS=", *words], check=True)
    (data / "there").mkdir()
    (data / "queue.tar.xz").rename(data / "there/queue.tar.xz")
    run = [sys.executable, "-m", "experiments.quarter", "run", "--tiny", "--minutes", "400"]
    run += ["--folder", f"{data}/there/queue", "--reports", f"{data}/reports"]
    entries = ["--only", "bench-gpu", "decoder-0", "self-strae"]
    subprocess.run([*run, "--out", f"{data}/out", *entries], check=True)
    state = json.loads((data / "there/queue/state.json").read_bytes())
    assert {"done"} == {each["became"] for each in state} and 3 == len(state), state
    assert decoder("0").done(data / "reports") and not decoder("1").done(data / "reports")
    assert "Does entity prediction add" in (data / "reports/code-decoder.md").read_text()
    table = (data / "reports/tables/gpu-quarter.md").read_text()
    rows = [tuple(line.split(" | ")[:5]) for line in table.splitlines() if "-tiny | " in line]
    systems = "structkit", "sentence-transformers"
    every = product(("BERT-tiny", "T5-tiny"), ("encode", "train"), systems)
    assert [*every] == [(shape.strip("| "), task, system) for shape, task, system, *_ in rows]
    assert all(float(speed) > 0 < float(share) for *_, speed, share in rows)
    with tarfile.open(data / "out/results.tar.gz") as archive:
        names = {Path(each).name for each in archive.getnames()}
    assert {"code-decoder.json", "self-strae-seeds.md", "gpu-quarter.md", "state.json"} <= names
    assert "== decoder-0\n" in (data / "out/logs.txt").read_text()
    again = subprocess.run([*run, *entries[:1], *entries[2:]], check=True, capture_output=True)
    assert 2 == again.stdout.count(b"done before")
    assert read(data / "there/queue/strae/scaled/scores.jsonl")
