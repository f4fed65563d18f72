"""The recipes, as `make --dry-run` tells them: no model is trained."""

import re
import subprocess
from collections import defaultdict

import pytest


def dry(target, *variables):
    """The commands that would make a target."""
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target, *variables],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.replace("\\\n", " ").splitlines()


@pytest.fixture(scope="module")
def seal(tmp_path_factory):
    """The commands of `make seal` on data that is all there."""
    data = tmp_path_factory.mktemp("seal")
    for name in ("dev_docs", "dev_queries", "train_docs-00", "train_docs-01", "train_queries"):
        (data / f"{name}.jsonl.gz").touch()
    folder = str(data / "runs")
    return dry(f"{folder}/report.json", f"DATA={data}", f"SEAL={folder}", "SEAL_SEEDS=0 1")


def flag(command, name):
    return re.search(rf" {name} (\S+)", command).group(1)


def trained(commands):
    """The trainings by system and seed."""
    return {
        re.search(r"/([^/]*)\.model$", flag(command, "-o")).group(1): command
        for command in commands
        if " train " in command
    }


def test_seal_trains_all_systems_from_the_one_on_raw_text(seal):
    trainings = trained(seal)
    assert {name.partition("@")[2] for name in trainings} == {"0", "1"}
    for name, command in trainings.items():
        system, _, seed = name.partition("@")
        start = flag(command, "--model").rpartition("/")[2]
        assert start == ("minilm" if system == "raw" else f"raw@{seed}.model")
        assert flag(command, "--seed") == seed
    stages = {name: flag(command, "--stages") for name, command in trainings.items()
              if " train seal " in command}  # fmt: skip
    assert stages["element-structure@1"] == "element,structure"
    # the control reads as many pages as both stages
    assert re.findall(r"--epochs (\d)", trainings["matched@0"])[-1] == "3"


def test_seal_searches_every_system_tagged_and_untagged(seal):
    read = defaultdict(set)
    for command in seal:
        if " encode " in command and "mined" not in command:
            name = flag(command, "-o").rpartition("/")[2].removesuffix(".npy")
            model = flag(command, "-m").rpartition("/")[2].removesuffix(".model")
            assert model == "minilm" or model.rpartition("@")[2] == name.rpartition("@")[2]
            if "--chunk" not in command:
                length = int(flag(command, "--length"))
                read[model].add((flag(command, "--field"), length))
    assert set(read) == {"minilm", *trained(seal)}
    # tags take a third more tokens
    assert set(map(frozenset, read.values())) == {frozenset({("untagged", 256), ("tagged", 332)})}


def test_no_pattern_is_left_in_a_command(seal):
    assert [] == [line for line in seal if "%" in line]
