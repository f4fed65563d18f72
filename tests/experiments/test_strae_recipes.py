"""What the recipes of StrAE's family train, on what, and how often each sentence is seen."""

import re

import pytest

from tests.dry_runs import dry, touched, trained

pytestmark = pytest.mark.long
ONCE = {"strae-both", "self-strae-bpe", "tree-lstm-c", "tree-lstm-ce", "iornn-c", "iornn-ce"}
ONCE |= {"bi-lstm", "roberta", "fasttext-paper"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Empty files in the places of the data that rules depend on."""
    names = (f"wikitext/{name}_sentences_train" for name in ("wiki", "extra"))
    return touched(tmp_path_factory.mktemp("data"), *names)


def last(command, name):
    """The value of a flag; of several, the last one counts."""
    return re.findall(rf" {name} (\S+)", command)[-1]


def test_the_models_of_the_table_see_each_sentence_equally_often(data, tmp_path):
    given = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0 1 2", "PASSES=2", "LONGER=7"
    commands = dry(f"{tmp_path}/table.md", *given)
    trainings = trained(commands)
    others = {"banyan-longer": "7", "fasttext-longer": "7", "fasttext-paper": "15"}
    for name, command in trainings.items():
        system, _, seed = name.partition("@")
        assert others.get(system, "2") == last(command, "--epochs"), name
        assert seed == last(command, "--seed")
        assert " train fasttext " in command or last(command, "--schedule") == "linear"
    assert ONCE == {name[:-2] for name in trainings if f"{name[:-2]}@1" not in trainings}


def test_settings_are_chosen_on_other_pairs_than_they_are_told_of(data, tmp_path):
    given = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0 1"
    tried = trained(dry(f"{tmp_path}/tuned/grid.md", *given))
    for name, command in tried.items():
        # a run is named by its file up to the first point
        rate = last(command, "--learning-rate").replace(".", "_")
        assert name.endswith(f"-{rate}@0")
    commands = dry(f"{tmp_path}/tuned/table.md", *given)
    told = {name for name in trained(commands) if "untrained" not in name}
    assert len(told) == 16 and {name.replace("@1", "@0") for name in told} < {*tried}
    halves = [command for command in commands if " select " in command and "/second/" in command]
    assert len(halves) == 22 and all("[13579]." in command for command in halves)
    for command in commands:
        if " score --task " in command:
            assert "/first/" not in command and "/second/strae-" in command


def test_at_scale_a_pilot_on_other_pairs_chooses_each_rate(data, tmp_path):
    given = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0", "PASSES=15"
    trainings = trained(dry(f"{tmp_path}/scaled/table.md", *given))
    for method, rates in {"strae": 3, "self-strae": 4, "fasttext": 3}.items():
        rate = last(trainings[f"{method}@0"], r"--learning-rate \$\(cat")
        assert f"/scaled/{method}.rate)" in rate
        pilot = dry(f"{tmp_path}/scaled/{method}.rate", *given)
        assert rates == len(trained(pilot))
        [scored] = [command for command in pilot if " score --task suite " in command]
        assert "/second/" not in scored and "/first/" in scored


PAIRED = {
    "strae-pairs": ("PAIRED", "PAIRED_SEEDS=0 1", "/held-pairs-own.jsonl"),
    "strae-paraphrases": ("STRAE", "SEEDS=0 1", "/held-constituency.jsonl"),
}


@pytest.mark.parametrize("target", PAIRED)
def test_pairs_are_learned_from_and_held_out_ones_choose_the_rate(target, tmp_path):
    (tmp_path / "strae_eval").mkdir()
    for name in ("mrpc", "sick_r"):
        (tmp_path / f"strae_eval/{name}_train.jsonl.gz").touch()
    folder, seeds, held = PAIRED[target]
    commands = dry(target, f"{folder}={tmp_path}", seeds, f"DATA={tmp_path}")
    trainings = trained(commands)
    tried = {name for name in trainings if name.startswith("tried-")}
    assert tried and all(held in trainings[name] for name in tried)
    for name in trainings.keys() - tried:
        command = trainings[name]
        assert " --objective pairs " in command and " --validate " not in command
        assert (" --pooling mean" in command) == ("words" in name)
        assert ("/rate-" in command) == ("untrained" not in name)
    learned = [each for each in commands if re.search(r"/(train-paraphrased|pairs)-\S+$", each)]
    assert learned and all(" --not-in " in each for each in learned if " select " in each)
