"""The recipes, as `make --dry-run` prints them: no model is trained."""

import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from conftest import completed

from experiments.installed import licensed
from experiments.kept import keep
from experiments.report import REPORTS
from tests.dry_runs import dry, flag, touched, trained
from tests.jsonl import write


@pytest.fixture(scope="module")
def seal_data(tmp_path_factory):
    """Empty files in the places of the data."""
    names = ("dev_docs", "dev_queries", "train_docs-00", "train_docs-01", "train_queries")
    return touched(tmp_path_factory.mktemp("seal"), *names)


@pytest.fixture(scope="module")
def seal(seal_data):
    """The commands of `make seal` on data that is all there."""
    folder = str(seal_data / "runs")
    return dry(f"{folder}/report.json", f"DATA={seal_data}", f"SEAL={folder}", "SEAL_SEEDS=0 1")


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
        if " encode --as document" in command and "mined" not in command:
            name = flag(command, "-o").rpartition("/")[2].removesuffix(".npy")
            model = Path(flag(command.partition(" encode ")[2], "-m")).name.removesuffix(".model")
            assert model == "minilm" or model.rpartition("@")[2] == name.rpartition("@")[2]
            if "--chunk" not in command and "--elements" not in command:
                length = int(flag(command, "--length"))
                read[model].add((flag(command, "--field"), length))
    assert set(read) == {"minilm", *trained(seal)}
    # CLS tokens are as much a part of what is read as tags are
    assert read.pop("mcls@0") == read.pop("mcls@1") == {("untagged", 332), ("tagged", 332)}
    assert flag(trained(seal)["mcls@0"], "--document-length") == "332"
    # tags take a third more tokens
    assert set(map(frozenset, read.values())) == {frozenset({("untagged", 256), ("tagged", 332)})}


def test_other_masks_and_tags_start_from_the_same_model(tmp_path, seal_data):
    systems = "raw masked-00 masked-20 content tags-headings"
    commands = dry(
        *(f"{tmp_path}/report.json", f"DATA={seal_data}", f"SEAL={tmp_path}"),
        *("SEAL_SEEDS=0", f"SEAL_SYSTEMS={systems}"),
    )
    starts = {name: Path(flag(each, "--model")).name for name, each in trained(commands).items()}
    assert {f"{name}@0": "raw@0.model" for name in systems.split()} | {"raw@0": "minilm"} == starts
    # pages are searched with the tags that the model knows
    encoded = [each for each in commands if "tags-headings-tagged@0.npy" in each]
    assert "dev-tags-headings.variants.jsonl" in encoded[0]


SHOP = (
    "amazon_gift_cards/products", "matching/products", "matching/query_side_products_train",
    "matching/train_qrels", "matching/dev_queries", "matching/dev_qrels",
)  # fmt: skip


def test_bullets_are_trained_on_what_is_not_searched_for(tmp_path):
    folder = touched(tmp_path, *SHOP) / "runs"
    commands = dry(
        *(f"{folder}/report.json", f"DATA={tmp_path}", f"BULLETS={folder}", "BULLET_SEEDS=0 1"),
        "MODEL=minilm",
    )
    systems = ("untrained", "sda", "hard", "words-sda", "tuned", "pretrained", "pretrained-sda")
    trainings = trained(commands)
    assert {*trainings} == {"words"} | {f"{name}@{seed}" for name in systems for seed in "01"}
    for name, command in trainings.items():
        records = "pretraining" if name.startswith("pretrained") else "train"
        assert f" {folder}/{records}.jsonl " in command
    (made,) = (each for each in commands if each.endswith(f"{folder}/pretraining.jsonl"))
    assert f"--not-in {folder}/test.jsonl --on id=query_id" in made
    negatives = [flag(trainings[f"{each}@0"], "--negatives-per-query") for each in ("sda", "hard")]
    assert ["0", None] == negatives
    assert flag(trainings["words-sda@1"], "--model").endswith("/words.model")
    [scored] = [each for each in commands if "--per-query" in each and " score " in each]
    assert flag(scored, "--qrels") == f"{folder}/test-qrels.jsonl"
    assert f"{folder}/start.run.jsonl" in scored


def test_what_another_machine_has_trained_is_not_trained_again(tmp_path):
    folder = touched(tmp_path, *SHOP) / "runs"
    runs = ("hard@0", "hard@1", "tuned@0", "bm25")
    scored = [{"run": run, "query_id": "q", "RR": 0.5} for run in runs]
    keep({"values": scored}, tmp_path / "kept.json")
    commands = dry(
        *(f"{folder}/report.json", f"DATA={tmp_path}", f"BULLETS={folder}", "BULLET_SEEDS=0 1"),
        *("MODEL=minilm", "BULLET_SYSTEMS=hard tuned", f"KEPT={tmp_path}/kept.json"),
    )
    assert {*trained(commands)} == {"words", "tuned@1"}
    (gathered,) = (each for each in commands if " gather " in each)
    assert f"--kept {tmp_path}/kept.json" in gathered
    assert any(f"{folder}/bm25.run.jsonl" in each for each in commands if " search " in each)


def test_a_table_without_values_of_each_query_is_refused_before_anything_is_trained(tmp_path):
    done = completed(["make", "--dry-run", "santa-bullets", f"KEPT={tmp_path}/a.json"], text=True)
    assert done.returncode == 2 and f"{tmp_path}/a.json has no values of each query" in done.stderr


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


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """The commands of `make santa-code MODEL=minilm`, and of `make santa-model`."""
    names = ("train", "dev", "dev_adv_python", "../cosqa/corpus", "../cosqa/retrieval_dev")
    data = touched(tmp_path_factory.mktemp("codesearch"), *names)
    given = (f"DATA={data}", "MODEL=minilm", f"CODE={data}/runs", "PACKAGES=/packages")
    model = (f"ASK_MODEL={data}/share/ask-model", "BEST=santa")
    return dry("santa-pretrained", *given, "CODE_SEEDS=0 1"), dry("santa-model", *given, *model)


def test_code_is_pretrained_on_installed_packages_without_what_is_searched(code):
    commands, _ = code
    (made,) = (line for line in commands if " collect /packages " in line)
    assert "--join" in made and "license" in made
    languages = ("python", "java", "go", "php", "javascript", "ruby", "adv")
    # every file of a field has it in each record
    for field, asked in (("query", "cosqa-queries"), ("positive", "cosqa")):
        assert re.search(rf"--not-in \S+/tested-{field}\.jsonl --on {field} ", made)
        (read,) = (line for line in commands if line.endswith(f"/tested-{field}.jsonl"))
        names = [Path(each).stem for each in read.split()[1:-2]]
        assert read.startswith("cat ") and names == [*languages, asked]
    judged = [line for line in commands if "/cosqa-qrels.jsonl" in line]
    assert " select " in judged[0] and all(" score " in line for line in judged[1:])
    trainings = trained(commands)
    assert flag(trainings["unlabelled@1"], "--model") == "minilm"
    assert flag(trainings["unlabelled-sda@1"], "--model").endswith("/unlabelled@1.model")
    both = [trainings[f"{name}@0"].replace(f"{name}@0", "") for name in ("unlabelled-sda", "sda")]
    settings = [re.sub(r" --model \S+", "", each) for each in both]
    assert settings[0] == settings[1]


def test_the_model_of_ask_is_trained_and_put_in_its_place(code):
    _, commands = code
    assert {*trained(commands)} == {"santa@0"}
    *_, copied, card, moved = commands
    assert copied.split()[0] == "cp" and "santa@0.model" in copied
    assert card.startswith("sed ") and "ask-model" in card and "README.md" in card
    assert moved.split()[2].strip("'").endswith("/share/ask-model")


def test_each_weight_is_of_original_and_of_masked_code(tmp_path):
    data = touched(tmp_path, "train", "dev", "dev_adv_python")
    commands = dry("santa-weights", f"DATA={data}", f"CODE={tmp_path}", "CODE_SEEDS=0")
    flags = "--align-on", "--entity-weight"
    trainings = trained(commands)
    assert "spans.jsonl" in trainings.pop("spans@0")
    for name, command in trainings.items():
        assert name == "-".join(flag(command, each) for each in flags) + "@0"
    assert len(trainings) == 6
    [gathered] = [line for line in commands if " gather " in line]
    assert gathered.count(" --pool ") == 2 and gathered.count("values-renamed-") == 6


def test_a_name_is_replaced_by_the_same_one_throughout(tmp_path):
    touched(tmp_path, "dev")
    code = "def load(path):\n    # opens it\n    return json.load(open(path, 'rb'), Path)"
    record = {"id": "1", "language": "python", "query": "Load a file", "positive": code}
    (tmp_path / "python.jsonl").write_text(json.dumps(record), "utf-8")
    made = f"{tmp_path}/renamed-python.jsonl"
    given = f"DATA={tmp_path}", f"CODE={tmp_path}", f"BIN={Path(sys.executable).parent}"
    subprocess.run(["make", "-s", made, *given], check=True)
    renamed = "def v0(v1):\n    # opens it\n    return v2.v0(v3(v1, 'rb'), v4)"
    expected = {"id": "1", "query": "Load a file", "positive": renamed}
    assert expected == json.loads(Path(made).read_text("utf-8"))


SCRATCH = {
    "santa-scratch": ["untrained", "mep", "sda", "santa"],
    "santa-static": ["static", "static-sda"],
    "santa-product": ["untrained", "mep", "sda", "santa"],
}


@pytest.mark.parametrize("target", SCRATCH)
def test_models_from_scratch_need_nothing_of_other_recipes(tmp_path, target):
    names = SHOP if target == "santa-product" else ("train", "dev")
    commands = dry(target, f"DATA={touched(tmp_path, *names)}", f"RUN={tmp_path}/runs")
    assert set(SCRATCH[target]) == set(trained(commands))
    assert [] == [line for line in commands if "runs/strae" in line]


@pytest.mark.parametrize("target", ["demo", "span-parser", "repositories", "repositories-tokens"])
def test_other_recipes_are_of_commands_that_exist(tmp_path, target):
    names = ("files", "queries", "qrels", "trees/gum_train", "trees/gum_dev", "wikitext2_parsed")
    data = touched(tmp_path, *names)
    assert any("structkit" in line for line in dry(target, f"DATA={data}"))


@pytest.mark.parametrize("slow", ["minilm", ""])
def test_pages_are_found_by_themselves_their_parts_and_sums_of_these(seal_data, slow):
    folder = f"{seal_data}/pages"
    commands = dry(
        f"{folder}/table.md", f"PAGED={folder}", f"DATA={seal_data}", f"SLOW_PAGES={slow}"
    )
    units = {flag(each, "--unit") for each in commands if " collect " in each}
    assert {"page", "section", "row"} == units
    fitted = [each.split() for each in commands if " experiments.pages fit " in each]
    sums = {Path(words[-1]).stem: len(words[words.index("fit") + 1 : -4]) for words in fitted}
    assert {"words": 4, "words-builtin": 6, **({"words-minilm": 6} if slow else {})} == sums
    runs = {words[-1] for words in fitted} | {
        flag(each, "-o") for each in commands if " documents " in each or ".pages ask " in each
    }
    runs |= {f"{folder}/{name}+{fold}.jsonl" for name in sums for fold in ("documents", "source")}
    asked = {f"{folder}/ask-{name}.jsonl" for name in ("words", "builtin", *slow.split())}
    assert asked <= runs
    for scored in (each for each in commands if " score " in each):
        assert runs == {word for word in scored.split() if word in runs}


TABLES = {
    "seal": ("SEAL", "SEAL_SEEDS", ("values.jsonl", "table.md", "kinds.md")),
    "santa-bullets": ("BULLETS", "BULLET_SEEDS", ("values.jsonl", "table.md", "sources.md")),
    "santa-pretrained": ("CODE", "CODE_SEEDS", ("python.md",)),
    "strae": ("STRAE", "SEEDS", ("scores.jsonl", "trees.md", "starts/scores.jsonl")),
    "tree-tuned": ("STRAE", "SEEDS", ("tuned/scores.jsonl", "tuned/grid.md")),
    "tree-structure": ("STRUCTURE", "STRUCTURE_SEEDS", ("code/table.md", "html/table.md")),
}


@pytest.mark.parametrize("recipe", TABLES)
def test_a_table_that_exists_is_made_again_with_the_models_of_a_new_seed(tmp_path, recipe):
    names = "train dev dev_adv_python dev_docs dev_queries train_queries train_docs-00".split()
    data = touched(tmp_path, *names, "train_docs-01", *SHOP, "cosqa/retrieval_dev")
    touched(
        tmp_path, "cosqa/corpus", "wikitext/wiki_sentences_train", "wikitext/extra_sentences_train"
    )
    folder, seeds, tables = TABLES[recipe]
    for table in (tmp_path / "runs" / each for each in tables):
        table.parent.mkdir(parents=True, exist_ok=True)
        table.touch()
        given = f"DATA={data}", f"{folder}={tmp_path}/runs", f"{seeds}=3", "MODEL=minilm"
        commands = dry(f"{table}", *given, f"COSQA={data}/cosqa", always="--silent")
        assert any(name.endswith("@3") for name in trained(commands))
        assert any(" score " in command and f"{table}" in command for command in commands)


def test_alignment_on_tables_sees_rows_of_other_pages(seal_data):
    folder = f"{seal_data}/tables"
    given = f"DATA={seal_data}", f"TABULAR={folder}", f"PAGED={seal_data}/pages"
    commands = dry(f"{folder}/report.json", *given)
    assert {*trained(commands)} == {"aligned@0"}
    searched = [each for each in commands if " collect --records " in each and "/dev_docs" in each]
    assert {flag(each, "-o") for each in searched} >= {f"{seal_data}/pages/sections.jsonl"}
    fused = [each for each in commands if " fuse " in each and "merge" not in each]
    assert [f"{folder}/sections+bm25-{each}.jsonl" for each in ("start", "aligned@0")] == [
        flag(each, "-o") for each in fused
    ]


def test_seal_and_its_control_make_equal_steps_and_read_as_many_documents(seal_data):
    folder = f"{seal_data}/power"
    given = f"DATA={seal_data}", f"POWER={folder}", f"PAGED={seal_data}/pages", "POWER_SEEDS=0 1"
    commands = dry(f"{folder}/report.json", *given)
    # sections have their text as well, which has no elements
    assert ["html"] == [flag(each, "--positive") for each in commands if " pair " in each]
    trainings = trained(commands)
    systems = "raw", "matched", "eal", "eal-sal", "sal"
    assert {*trainings} == {f"{name}@{seed}" for name in systems for seed in "01"}
    starts = {"matched@1": "raw@1.model", "eal-sal@1": "eal@1.model"}
    for name, command in trainings.items():
        start = Path(flag(command, "--model")).name
        assert start == starts.get(name.replace("@0", "@1"), "minilm").replace("@1", name[-2:])
    for seal, control in (("eal", "raw"), ("eal-sal", "matched")):
        both = [flag(trainings[f"{each}@0"], "--stages") for each in (seal, control)]
        assert both[0] == both[1]
        assert f"{folder}/raw.jsonl" in trainings[f"{control}@0"]


SENTENCES = (
    "wikitext/wiki_sentences_train", "wikitext/extra_sentences_train",
    *(f"strae_eval/{name}" for name in (
        "mrpc_test", "mrpc_train", "rte_dev", "rte_train", "sick_r_test", "sick_r_train",
        "simlex999", "sts12_test", "sts16_test", "stsb_test",
        "wordsim353_relatedness", "wordsim353_similarity",
    )),
)  # fmt: skip
MADE = {path.stem: json.loads(path.read_text("utf-8")) for path in REPORTS.glob("*.json")}


@pytest.mark.parametrize("table", [name for name, made in MADE.items() if made["trainings"]])
def test_a_seed_is_trained_again_as_its_table_says(tmp_path, table):
    names = "train dev dev_adv_python dev_docs dev_queries train_queries train_docs-00"
    for folder in ("codesearch", "structdoc", "products"):
        (tmp_path / folder).mkdir()
        touched(tmp_path / folder, *names.split(), "train_docs-01", *SHOP)
    touched(tmp_path, "cosqa/corpus", "cosqa/retrieval_dev", *SENTENCES)
    model = MADE[table]["trainings"][-1]["model"]
    system, _, seed = model.partition("@")
    command = MADE[table]["command"].replace("../shared/data", f"{tmp_path}")
    _, target, *given = shlex.split(command)
    again = dry(f"report-{table}", f"DATA={tmp_path}", f"AGAIN={system}", f"SEED={seed}")
    bare = [re.sub(r"[^ ]*/", "", trained(each)[model]) for each in (again, dry(target, *given))]
    assert bare[0] == bare[1]


def test_no_variable_is_of_two_recipes():
    named = [
        name
        for path in sorted([*Path("recipes").glob("*.mk"), *Path("experiments").glob("*.mk")])
        for name in set(re.findall(r"^([A-Za-z]\w*) *[:?+]?= ?", path.read_text("utf-8"), re.M))
    ]
    shared = {"STRAE_ROWS", "STRAE_TRAINED"}  # a recipe adds rows to its own table in the same way
    assert shared == {name for name in named if named.count(name) > 1}


def test_scale_merges_its_shards_and_compares_them_with_the_whole(seal_data):
    folder = str(seal_data / "scale")
    commands = dry(f"{folder}/table.md", f"SCALE={folder}", "SHARDS=3", f"DATA={seal_data}")
    shards = [f"{folder}/vectors-{number}.npy" for number in range(3)]
    encoded = [flag(command, "-o") for command in commands if " --field untagged " in command]
    codes = [f"{folder}/codes-{number}.npy" for number in range(3)]
    assert {*shards, *codes, f"{folder}/minilm.npy"} == set(encoded)
    whole = next(command for command in commands if f"-o {folder}/whole.jsonl" in command)
    assert f" search {' '.join(shards)} " in whole
    assert f"cmp {folder}/merged.jsonl {folder}/whole.jsonl" in commands


OLD = "License: MIT\nClassifier: License :: OSI Approved :: MIT License\n"
LICENSES = {
    "License-Expression: Apache-2.0\n": "Apache-2.0",
    OLD: "MIT",
    "License: UNKNOWN\nClassifier: License :: OSI Approved :: BSD License\n": "BSD License",
    f"License: {'the text ' * 15}\nClassifier: License :: Public Domain\n": "Public Domain",
    "Classifier: Framework :: Sphinx\n": None,
}


def test_each_installed_file_has_the_license_that_its_package_states(tmp_path):
    about = tmp_path / "tea-1.2.dist-info"
    about.mkdir()
    (about / "RECORD").write_text("tea/__init__.py,,\ntea/notes.txt,,\n")
    (tmp_path / "tea").mkdir()
    for name in ("__init__.py", "notes.txt"):
        (tmp_path / "tea" / name).touch()  # from Python 3.12 on, what is not there is not listed
    for stated, name in LICENSES.items():
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Tea\nVersion: 1.2\n{stated}")
        record = {"path": f"{tmp_path}/tea/__init__.py", "package": "Tea", "version": "1.2"}
        assert ([{**record, "license": name}] if name else []) == list(licensed(str(tmp_path)))
