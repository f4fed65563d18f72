"""What the recipes of StrAE's family train, on what, and how often each sentence is seen."""

import re

import pytest

from tests.dry_runs import dry, touched, trained

TREES = ("", "-right-branching", "-balanced")
COMPARED = (
    *(f"strae-{objective}{tree}" for objective in ("c", "ce") for tree in TREES),
    *("strae-untrained", "self-strae-untrained", "self-strae", "self-strae-plus"),
    *("banyan", "banyan-longer", "fasttext", "fasttext-longer"),
)
ONCE = (
    *("strae-both", "self-strae-bpe", "tree-lstm-c", "tree-lstm-ce", "iornn-c", "iornn-ce"),
    *("bi-lstm", "roberta", "fasttext-paper"),
)
MODELS = ("strae", "iornn", "tree-lstm")
COMPOSITIONS = ("strae", "self-strae", "banyan")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Empty files in the places of the data that rules depend on."""
    names = (f"wikitext/{name}_sentences_train" for name in ("wiki", "extra"))
    return touched(tmp_path_factory.mktemp("data"), *names)


def last(command, name):
    """The value of a flag; of several, the last one counts."""
    return re.findall(rf" {name} (\S+)", command)[-1]


def test_the_models_of_the_table_see_each_sentence_equally_often(data, tmp_path):
    variables = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0 1 2", "PASSES=2", "LONGER=7"
    commands = dry(f"{tmp_path}/table.md", *variables)
    trainings = trained(commands)
    expected = {f"{name}@{seed}" for name in COMPARED for seed in range(3)}
    assert expected | {f"{name}@0" for name in ONCE} == set(trainings)
    passes = {name.partition("@")[0]: last(each, "--epochs") for name, each in trainings.items()}
    others = {"banyan-longer": "7", "fasttext-longer": "7", "fasttext-paper": "15"}
    assert {name: others.get(name, "2") for name in (*COMPARED, *ONCE)} == passes
    for name, command in trainings.items():
        assert last(command, "--seed") == name.partition("@")[2]
        assert " train fasttext " in command or last(command, "--schedule") == "linear"
    scored = next(command for command in commands if " score --task suite " in command)
    for name in ("minilm", "self-strae-untrained-words@2", "strae-c-words@1", "banyan@0"):
        assert f"/{name}.jsonl " in scored


@pytest.mark.parametrize("glove", [(), ("GLOVE=glove.npy",)])
def test_every_start_has_every_composition(data, tmp_path, glove):
    folder = tmp_path / "starts"
    variables = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=3", *glove
    commands = dry(f"{folder}/table.md", *variables)
    trainings = trained(commands)
    assert " --model minilm" in trainings.pop("minilm")
    names = ["random", "minilm", *(["glove"] if glove else [])]
    starts = {f"{name}{frozen}" for name in names for frozen in ("", "-frozen")}
    assert {f"{start}-{each}@3" for start in starts for each in COMPOSITIONS} == set(trainings)
    for name, command in trainings.items():
        assert ("-frozen-" in name) == (" --freeze-embeddings" in command)
        start = re.search(r" --init-embeddings (\S+)", command)
        source = {"random": None, "minilm": f"{folder}/minilm", "glove": "glove.npy"}
        assert source[name.partition("-")[0]] == (start and start[1])
    scored = next(command for command in commands if " score --task suite " in command)
    for name in trainings:
        assert f"/{name}.jsonl " in f"{scored} "
        assert f"/{name.replace('@', '-words@')}.jsonl " in f"{scored} "


def test_settings_are_chosen_on_other_pairs_than_they_are_told_of(data, tmp_path):
    variables = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0 1"
    folder = tmp_path / "tuned"
    tried = trained(dry(f"{folder}/grid.md", *variables))
    rates = {name: last(command, "--learning-rate") for name, command in tried.items()}
    for name, rate in rates.items():
        # a run is named by its file up to the first point
        assert name.endswith(f"-{rate}@0".replace(".", "_"))
    commands = dry(f"{folder}/table.md", *variables)
    told = {name for name in trained(commands) if "untrained" not in name}
    assert len(told) == 16 and {name.replace("@1", "@0") for name in told} < set(rates)
    halves = [command for command in commands if " select " in command and "/second/" in command]
    assert len(halves) == 22 and all("[13579]." in command for command in halves)
    for command in commands:
        if " score --task " in command:
            assert "/first/" not in command and "/second/strae-" in command


def test_models_over_trees_read_the_same_sentences_and_differ_in_one_thing(data, tmp_path):
    folder = tmp_path / "models"
    commands = dry(
        f"{folder}/models.md", f"STRAE={tmp_path}", f"DATA={data}", "SEEDS=0", "PASSES=2"
    )
    named = {name: each for name, each in trained(commands).items() if "untrained" not in name}
    tried = {name: named.pop(name) for name in [*named] if name.endswith("2") or ".008" in name}
    kinds = {f"{method}-{loss}" for method in MODELS for loss in ("c", "ce")}
    shaped = {f"{kind}{tree}@0" for kind in kinds for tree in TREES}
    assert shaped | {"self-strae@0"} == {*named} and 2 * 7 == len(tried)
    for name, command in (named | tried).items():
        kind = re.sub("(-right-branching|-balanced)?@.*", "", name)
        assert f" train {re.sub('-ce?$', '', kind)} " in command
        objective = "ce" if kind.endswith("-ce") else "contrastive"
        assert kind == "self-strae" or objective == last(command, "--objective")
        shape = re.search("right-branching|balanced", name)
        records = "text" if kind == "self-strae" else shape[0] if shape else "constituency"
        if name in tried:
            assert f"/piloted-{records}.jsonl " in command and "1" == last(command, "--epochs")
            assert last(command, "--learning-rate") in name
        else:
            assert f"/rate-{kind})" in command and "2" == last(command, "--epochs")
            assert f"/train-{records}.jsonl " in command


def test_at_scale_a_pilot_on_other_pairs_chooses_each_rate(data, tmp_path):
    folder = tmp_path / "scaled"
    variables = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0 1", "PASSES=15"
    commands = dry(f"{folder}/table.md", *variables)
    trainings = trained(commands)
    methods = ("strae", "self-strae", "fasttext")
    named = {f"{name}@{seed}" for name in (*methods, "untrained") for seed in (0, 1)}
    assert named == {*trainings}
    for method, rates in zip(methods, (3, 4, 3), strict=True):
        assert f"/scaled/{method}.rate)" in last(
            trainings[f"{method}@1"], r"--learning-rate \$\(cat"
        )
        pilot = dry(f"{folder}/{method}.rate", *variables)
        assert rates == len(trained(pilot))
        [scored] = [command for command in pilot if " score --task suite " in command]
        assert "/second/" not in scored and "/first/" in scored
    [scored, compared] = [each for each in commands if " score --task suite " in each]
    assert "/first/" not in scored and "/second/untrained-words@1.jsonl" in compared


@pytest.mark.parametrize(("kind", "parser"), [("code", "ast"), ("html", "dom")])
def test_the_own_structure_stands_beside_others_over_the_same_words(kind, parser, tmp_path):
    variables = f"STRUCTURE={tmp_path}", "STRUCTURE_SEEDS=0 1", "DATA=data"
    commands = dry(f"{tmp_path}/{kind}/table.md", *variables)
    trainings = trained(commands)
    shapes = ("own", "right-branching", "balanced")
    models = (*(f"strae-{shape}" for shape in shapes), "strae-untrained", "self-strae", "banyan")
    assert {f"{name}@{seed}" for name in models for seed in (0, 1)} == set(trainings)
    for shape in shapes:
        assert f"/learn-{shape}.jsonl " in trainings[f"strae-{shape}@0"]
    parses = [command for command in commands if " parse-trees " in command]
    own = [command for command in parses if f" --parser {parser} " in command]
    assert ["train", "test"] == sorted(
        (re.search(r"/(\w+)-own\.jsonl", command)[1] for command in own), reverse=True
    )
    for command in parses:
        if "-branching.jsonl" in command or "-balanced.jsonl" in command:
            assert " --field tree --tokenized " in command and "-own.jsonl -o" in command
    scored = next(command for command in commands if " score " in command)
    assert (" --qrels self " in scored) == (kind == "code")
    for name in ("bm25", "strae-own@1", "strae-own-words@0", "banyan@1"):
        assert f"/{kind}/{name} " in scored


def tried_beside(commands, shapes, learned, rate):
    """The trainings that try a rate; the others learn from pairs along each shape, at the best."""
    trainings = trained(commands)
    tried = {name: trainings.pop(name) for name in [*trainings] if name.startswith("tried-")}
    names = (*shapes, "words", "untrained", "untrained-words")
    assert {f"pairs-{name}@{seed}" for name in names for seed in (0, 1)} == set(trainings)
    for name, command in trainings.items():
        assert " --objective pairs " in command and " --validate " not in command
        assert (" --pooling mean" in command) == ("words" in name)
        shape = name.removeprefix("pairs-").partition("@")[0]
        assert learned.format(shape if shape in shapes else shapes[0]) in command
        chosen = "words" if shape == "words" else rate
        assert (f"/rate-{chosen})" in command) == ("untrained" not in name)
    for name, command in tried.items():
        assert last(command, "--learning-rate") in name
    return tried


def test_pairs_are_learned_from_along_each_shape_and_held_out_ones_choose_the_rate(tmp_path):
    commands = dry("strae-pairs", f"PAIRED={tmp_path}", "PAIRED_SEEDS=0 1", "DATA=data")
    shapes = ("own", "balanced", "right-branching")
    tried = tried_beside(commands, shapes, "/pairs-{}.jsonl ", "own")
    assert 6 == len(tried) and all("/held-pairs-own.jsonl" in each for each in tried.values())
    learned = [each for each in commands if each.split()[-1].endswith("/pairs-own.jsonl")]
    assert learned and all(" --not-in " in command for command in learned)


def test_paraphrases_are_learned_from_in_the_same_way(tmp_path):
    (tmp_path / "strae_eval").mkdir()
    for name in ("mrpc", "sick_r"):
        (tmp_path / f"strae_eval/{name}_train.jsonl.gz").touch()
    commands = dry("strae-paraphrases", f"STRAE={tmp_path}", "SEEDS=0 1", f"DATA={tmp_path}")
    shapes = ("constituency", "balanced", "right-branching")
    tried = tried_beside(commands, shapes, "/train-paraphrased-{}.jsonl ", "trees")
    assert 8 == len(tried) and all("/held-constituency.jsonl" in each for each in tried.values())
    for shape in shapes:
        [of] = [each for each in commands if each.endswith(f"/train-paraphrased-{shape}.jsonl")]
        assert " --not-in " in of and "/held.jsonl " in of
