"""The recipes, as `make --dry-run` prints them: no model is trained."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import completed

from experiments.kept import keep
from experiments.report import REPORTS
from tests.dry_runs import TASKS, dry, flag, touched, trained
from tests.jsonl import write

FILES = [*Path("recipes").glob("*.mk"), *Path("experiments").glob("*.mk")]
# a target that reads data, and the variables that the list of targets shows for it
SHOWN = re.compile(
    r"^([a-z-]+): \$.*## .*?(?:: make (?:-C experiments )?\1((?: \w+=\w+)*)\S*)?\n\t\$\(call needs",
    re.MULTILINE,
)
EXAMPLES = {
    target: given
    for path in FILES
    for target, given in SHOWN.findall(path.read_text("utf-8"))
    if not target.startswith("paper-")  # test_papers.py has their data
}
DATA = (
    *(f"codesearch/{name}" for name in ("train", "dev", "dev_adv_python")),
    *(f"structdoc/{name}" for name in ("dev_docs", "dev_queries", "train_queries", "train_qrels")),
    *("structdoc/train_docs-00", "structdoc/train_docs-01", "cosqa/corpus", "cosqa/retrieval_dev"),
    *("products/amazon_gift_cards/products", "products/matching/products"),
    "products/matching/query_side_products_train",
    *(f"products/matching/{name}" for name in ("train_qrels", "dev_queries", "dev_qrels")),
    *(f"repositories/{name}" for name in ("files", "queries", "qrels")),
    *("checkouts/questions", "manuals/train", "manuals/test"),
    *("trees/gum_train", "trees/gum_dev", "wikitext2_parsed", "strae_eval_parsed"),
    *("wikitext/wiki_sentences_train", "wikitext/extra_sentences_train"),
    *(f"strae_eval/{name}" for name in (*TASKS, "sick_r_train")),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Empty files in the places of all data."""
    return touched(tmp_path_factory.mktemp("data"), *DATA)


@pytest.mark.parametrize("target", EXAMPLES)
def test_a_recipe_is_of_commands_and_flags_that_exist(target, data):
    made = dry(target, *shlex.split(EXAMPLES[target]), f"DATA={data}")
    assert any(re.search(r"structkit|experiments\.", line) for line in made)


@pytest.mark.parametrize(
    ("folder", "target", "stamp"),
    [(".", "seal-tables", ".runnable"), ("experiments", "santa-batches", ".installed")],
)
def test_what_may_not_be_made_again_is_not_made_again_by_an_inner_make(
    tmp_path, data, folder, target, stamp
):
    command = ["make", "--dry-run", "-C", folder, target, f"VENV={tmp_path}", f"DATA={data}"]
    old = f"{tmp_path}/{stamp}"
    for words in (
        [],
        ["-t"],
        ["-o", old],
        [f"-o{old}"],
        [f"--old-file={old}"],
        [f"--assume-old={old}"],
    ):
        done = completed([*command, *words], text=True, check=True)
        assert ("installing structkit" in done.stdout) == (not words), words


def test_peers_that_are_missing_are_named_with_what_installs_them(data):
    experiments = (["-C", "experiments", name] for name in ("checkouts", "projects"))
    for command in (["repositories"], *experiments):
        given = f"DATA={data}", "INSTALLED=", "RUNNABLE=", f"BIN={Path(sys.executable).parent}"
        done = completed(["make", "--dry-run", *command, *given, "PEERS=ripgrep"], text=True)
        [line] = [each for each in done.stdout.splitlines() if "left out" in each]
        assert "pip install semble" in line and "ripgrep" not in line
        done = completed(["make", "--dry-run", *command, *given, "PEERS=ripgrep semble"], text=True)
        assert "left out" not in done.stdout


MADE = {path.stem: json.loads(path.read_text("utf-8")) for path in REPORTS.glob("*.json")}
# the queue trains each seed by a recipe whose table is another
OF_RECIPES = [
    name
    for name, made in MADE.items()
    if made["trainings"] and not made["command"].endswith(" queue")
]


@pytest.mark.long
@pytest.mark.parametrize("table", OF_RECIPES)
def test_a_seed_is_trained_again_as_its_table_says(data, table):
    model = MADE[table]["trainings"][-1]["model"]
    system, _, seed = model.partition("@")
    words = shlex.split(MADE[table]["command"].replace("-C experiments ", ""))
    _, target, *given = [*words, f"DATA={data}"]
    again = dry(f"report-{table}", f"DATA={data}", f"AGAIN={system}", f"SEED={seed}")
    bare = [re.sub(r"[^ ]*/", "", trained(each)[model]) for each in (again, dry(target, *given))]
    assert bare[0] == bare[1]


@pytest.mark.long
def test_what_another_machine_has_trained_is_not_trained_again(tmp_path, data):
    runs = ("hard@0", "hard@1", "tuned@0", "bm25")
    scored = [{"run": run, "query_id": "q", "RR": 0.5} for run in runs]
    keep({"values": scored}, tmp_path / "kept.json")
    given = f"DATA={data}", f"BULLETS={tmp_path}", "BULLET_SEEDS=0 1", "MODEL=minilm"
    kept = f"KEPT={tmp_path}/kept.json"
    commands = dry(f"{tmp_path}/report.json", *given, "BULLET_SYSTEMS=hard tuned", kept)
    assert {*trained(commands)} == {"words", "tuned@1"}
    (gathered,) = (each for each in commands if " gather " in each)
    assert f"--kept {tmp_path}/kept.json" in gathered
    done = completed(
        ["make", "-n", "-C", "experiments", "santa-bullets", f"KEPT={tmp_path}/a.json"], text=True
    )
    assert done.returncode == 2 and f"{tmp_path}/a.json has no values of each query" in done.stderr


@pytest.mark.long
def test_seal_and_its_controls_start_from_raw_text_and_read_as_much(tmp_path, data):
    given = f"DATA={data}", f"SEAL={tmp_path}", "SEAL_SEEDS=0 1"
    commands = dry(f"{tmp_path}/report.json", *given)
    trainings = trained(commands)
    for name, command in trainings.items():
        system, _, seed = name.partition("@")
        start = flag(command, "--model").rpartition("/")[2]
        assert start == ("minilm" if system == "raw" else f"raw@{seed}.model")
        assert flag(command, "--seed") == seed
    assert flag(trainings["element-structure@1"], "--stages") == "element,structure"
    # the control reads as many pages as both stages
    assert flag(trainings["matched@0"], "--epochs") == "3"
    whole = [
        (flag(each, "--field"), flag(each, "--length"))
        for each in commands
        if " encode --as document" in each
        if not re.search("mined|mcls|--chunk|--rows", each)
    ]
    # tags take a third more tokens
    assert {("untagged", "256"), ("tagged", "332")} == {*whole}
    power = f"POWER={tmp_path}/power", f"PAGED={tmp_path}/pages", "POWER_SEEDS=0 1"
    sections = trained(dry(f"{tmp_path}/power/report.json", given[0], *power))
    for seal, control in (("eal", "raw"), ("eal-sal", "matched")):
        both = [flag(sections[f"{each}@0"], "--stages") for each in (seal, control)]
        assert both[0] == both[1]


def test_bullets_are_trained_on_what_is_not_searched_for(tmp_path, data):
    given = f"DATA={data}", f"BULLETS={tmp_path}", "BULLET_SEEDS=0", "MODEL=minilm"
    commands = dry(f"{tmp_path}/report.json", *given)
    for name, command in trained(commands).items():
        records = "pretraining" if name.startswith("pretrained") else "train"
        assert f" {tmp_path}/{records}.jsonl " in command
    (made,) = (each for each in commands if each.endswith(f"{tmp_path}/pretraining.jsonl"))
    assert f"--not-in {tmp_path}/test.jsonl --on id=query_id" in made


def test_one_embedding_and_one_per_token_are_trained_alike(tmp_path, data):
    given = f"DATA={data}", f"CODE={tmp_path}", "CODE_SEEDS=0"
    both = trained(dry("rows", *given))
    alike = [
        {
            name: flag(both[each], name)
            for name in ("--model", "--batch-size", "--epochs", "--max-steps", "--seed")
        }
        for each in ("vector@0", "tokens@0")
    ]
    assert alike[0] == alike[1]
    tried = trained(dry("rows-tried", *given))
    assert {"vector@5e-5", "tokens@2e-4"} < {*tried}
    assert 6 == len(tried) == sum(" --max-steps 20 " in each for each in tried.values())


def test_code_is_pretrained_on_installed_packages_without_what_is_searched(tmp_path, data):
    given = (f"DATA={data}", f"CODE={tmp_path}", "CODE_SEEDS=0", "MODEL=minilm")
    commands = dry("santa-pretrained", *given, "PACKAGES=/packages")
    (made,) = (line for line in commands if " collect /packages " in line)
    assert "--join" in made and "license" in made
    languages = ("python", "java", "go", "php", "javascript", "ruby", "adv")
    # every file of a field has it in each record
    for field, asked in (("query", "cosqa-queries"), ("positive", "cosqa")):
        assert re.search(rf"--not-in \S+/tested-{field}\.jsonl --on {field} ", made)
        (read,) = (line for line in commands if line.endswith(f"/tested-{field}.jsonl"))
        names = [Path(each).stem for each in read.split()[1:-2]]
        assert read.startswith("cat ") and names == [*languages, asked]


@pytest.mark.long
def test_settings_are_chosen_on_other_pairs_than_they_are_told_of(data, tmp_path):
    given = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0 1"
    tried = trained(dry(f"{tmp_path}/tuned/grid.md", *given))
    for name, command in tried.items():
        # a run is named by its file up to the first point
        rate = flag(command, "--learning-rate").replace(".", "_")
        assert name.endswith(f"-{rate}@0")
    commands = dry(f"{tmp_path}/tuned/table.md", *given)
    told = {name for name in trained(commands) if "untrained" not in name}
    assert len(told) == 16 and {name.replace("@1", "@0") for name in told} < {*tried}
    halves = [command for command in commands if " select " in command and "/second/" in command]
    assert len(halves) == 22 and all("[13579]." in command for command in halves)
    for command in commands:
        if " score --task " in command:
            assert "/first/" not in command and "/second/strae-" in command


@pytest.mark.long
def test_at_scale_a_pilot_on_other_pairs_chooses_each_rate(data, tmp_path):
    given = f"DATA={data}", f"STRAE={tmp_path}", "SEEDS=0", "PASSES=15"
    trainings = trained(dry(f"{tmp_path}/scaled/table.md", *given))
    for method, rates in {"strae": 3, "self-strae": 5, "fasttext": 3}.items():
        rate = flag(trainings[f"{method}@0"], r"--learning-rate \$\(cat")
        assert f"/scaled/{method}.rate)" in rate
        pilot = dry(f"{tmp_path}/scaled/{method}.rate", *given)
        assert rates == len(trained(pilot))
        [scored] = [command for command in pilot if " score --task suite " in command]
        assert "/second/" not in scored and "/first/" in scored


PAIRED = {
    "strae-pairs": ("PAIRED", "PAIRED_SEEDS=0 1", "/held-pairs-own.jsonl"),
    "strae-paraphrases": ("STRAE", "SEEDS=0 1", "/held-constituency.jsonl"),
}


@pytest.mark.long
@pytest.mark.parametrize("target", PAIRED)
def test_pairs_are_learned_from_and_held_out_ones_choose_the_rate(target, data, tmp_path):
    folder, seeds, held = PAIRED[target]
    commands = dry(target, f"{folder}={tmp_path}", seeds, f"DATA={data}")
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


@pytest.mark.long
def test_a_name_is_replaced_by_the_same_one_throughout(tmp_path):
    touched(tmp_path, "dev")
    code = "def load(path):\n    # opens it\n    return json.load(open(path, 'rb'), Path)"
    record = {"id": "1", "language": "python", "query": "Load a file", "positive": code}
    (tmp_path / "python.jsonl").write_text(json.dumps(record), "utf-8")
    made = f"{tmp_path}/renamed-python.jsonl"
    given = f"DATA={tmp_path}", f"CODE={tmp_path}", f"BIN={Path(sys.executable).parent}"
    subprocess.run(["make", "-s", "-C", "experiments", made, *given], check=True)
    renamed = "def v0(v1):\n    # opens it\n    return v2.v0(v3(v1, 'rb'), v4)"
    expected = {"id": "1", "query": "Load a file", "positive": renamed}
    assert expected == json.loads(Path(made).read_text("utf-8"))


@pytest.mark.long
@pytest.mark.parametrize(("wanted", "chosen"), [("long", "0"), ("short", "1")])
def test_bm25_has_the_setting_that_is_best_for_training_queries(tmp_path, wanted, chosen):
    """A long text with the word twice is before a short one where length does not count."""
    texts = {"long": f"fig fig {'and other words ' * 20}", "short": "fig pie", "other": "plum tart"}
    write(tmp_path / "texts.jsonl", *({"id": key, "text": text} for key, text in texts.items()))
    write(tmp_path / "queries.jsonl", {"id": "q", "query": "fig"})
    write(tmp_path / "qrels.jsonl", {"query_id": "q", "doc_id": wanted, "relevance": 1})
    choice = "$(call bm25-choice,choice,texts.jsonl,queries.jsonl,--qrels qrels.jsonl,)"
    makefile = f"include {Path('experiments/bm25.mk').resolve()}\n$(eval {choice})\n"
    program = f"STRUCTKIT={sys.executable} -m structkit"
    command = ["make", "-s", "-f", "-", "choice", program, "BM25_K1=1.5", "BM25_B=0 1"]
    completed(command, input=makefile, text=True, check=True, cwd=tmp_path)
    assert (tmp_path / "choice").read_text() == f"--k1 1.5 -b {chosen}\n"


def test_no_variable_is_of_two_recipes():
    named = [
        name
        for path in FILES
        for name in set(re.findall(r"^([A-Za-z]\w*) *[:?+]?= ?", path.read_text("utf-8"), re.M))
    ]
    shared = {"STRAE_ROWS", "STRAE_TRAINED"}  # a recipe adds rows to its own table in the same way
    assert shared == {name for name in named if named.count(name) > 1}


README = Path("README.md").read_text("utf-8")
LINES = {each for each in re.findall(r"make (?!data|demo|test|docs|own)[a-z-][^`\n#&]*", README)}


@pytest.mark.parametrize("line", sorted(line.strip() for line in LINES))
def test_each_line_of_make_in_the_readme_has_its_recipe(line, data):
    folder = data.parent / "published"
    if "paper-" in line:
        touched(folder, "codesearchnet/python/final/jsonl/train/python_train_0")
        for part in ("train", "test"):
            (folder / "advtest").mkdir(exist_ok=True)
            (folder / f"advtest/{part}.jsonl").touch()
    words = [*shlex.split(line), "-n", f"DATA={folder if 'paper-' in line else data}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
