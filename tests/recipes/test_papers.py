"""recipes/paper-*.mk: the papers' settings on files of the published formats, with tiny models."""

import gzip
import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import WARM, completed, warm_program

from tests.dry_runs import TASKS, dry, flag, trained
from tests.jsonl import lines, write

BIN = f"BIN={Path(sys.executable).parent}"
VERBS = ("open", "paint", "weigh", "sell", "count", "move", "clean", "hide", "lend", "burn")
THINGS = ("kettle", "basket", "lantern", "violin", "anchor", "blanket", "candle", "hammer")
PAIRS = list(product(VERBS, THINGS))


def made(folder, target, *given):
    """What a recipe prints, whose commands a warm process runs, given variables that it reads."""
    read = "".join(path.read_text() for path in [Path("Makefile"), *Path("recipes").glob("*.mk")])
    assert {each.partition("=")[0] for each in given} <= {*re.findall(r"\$\((\w+)[):]", read)}
    command = ["make", "-s", target, BIN, "INSTALLED=", "RUNNABLE=", f"DATA={folder}/data"]
    done = completed([*command, f"STRUCTKIT={warm_program(folder)}", *given], text=True)
    assert 0 == done.returncode, done.stderr[-3000:]
    return done.stdout


def rows(table):
    """The names of the rows of Markdown tables."""
    cells = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")]
    return [
        cell for cell in cells if cell not in {"run", "system"} and not cell.startswith((":-", "-"))
    ]


def start(folder, method, *given):
    """A tiny model as the hub has it, without files of ours."""
    command = [*WARM, "train", method, *given, "--max-steps", "0", "-q"]
    sizes = "--size", "tiny", "--vocabulary-size", "600"
    completed([*command, *sizes, "-o", f"{folder}"], check=True)
    (folder / "structkit.json").unlink()
    (folder / "modules.json").unlink(missing_ok=True)
    return f"MODEL={folder}"


def t5(folder, texts):
    """A tiny T5."""
    some = ({"query": each, "positive": each, "masked": each, "target": each} for each in texts)
    return start(folder / "t5", "santa", write(folder / "texts.jsonl", *some))


def function(number, verb, thing):
    """A row of CodeSearchNet; AdvTest's have an `idx` too."""
    url = f"https://example.org/{verb}_{thing}#L{number}"
    documentation = f"{verb.title()} the {thing} of a box."
    body = f"    {thing} = box.find('{thing}', {number})\n    return {thing}.{verb}(box)\n"
    code = f'def {verb}_{thing}(box):\n    """{documentation}"""\n{body}'
    return {
        "repo": "house/attic", "path": f"attic/{thing}.py", "func_name": f"{verb}_{thing}",
        "original_string": code, "language": "python", "code": code, "code_tokens": code.split(),
        "docstring": documentation, "docstring_tokens": documentation.split(), "sha": "0f",
        "url": url, "partition": "train",
    }  # fmt: skip


def adversarial(number, verb, thing):
    """A row of AdvTest's test set: names are gone, and the code is under another name."""
    row = function(number, verb, thing)
    row["function"] = f"def Func(arg_0):\n    return arg_0.find('{thing}').{verb}(arg_0)\n"
    row["function_tokens"] = row["function"].split()
    del row["code"], row["code_tokens"]
    return {**row, "idx": number, "partition": "test"}


@pytest.fixture
def code(tmp_path):
    """CodeSearchNet and AdvTest."""
    every = [function(number, *each) for number, each in enumerate(PAIRS)]
    file = tmp_path / "data/codesearchnet/python/final/jsonl/train/python_train_0.jsonl.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.compress(lines(*every).encode()))
    train = [{**row, "idx": number} for number, row in enumerate(every)]
    write(tmp_path / "data/advtest/train.jsonl", *train)
    test = [adversarial(number, *each) for number, each in enumerate(PAIRS[:30])]
    write(tmp_path / "data/advtest/test.jsonl", *test)
    return tmp_path


SANTA = ["bm25", "start", "start-tuned", "santa", "santa-tuned", "santa-hard"]
LESS = "PAPER_FLAGS=--epochs 1 --batch-size 8 --document-length 48 -q"


@pytest.mark.long
def test_santa_on_code_has_a_row_for_each_stage(code):
    model = t5(code, [function(0, *pair)["code"] for pair in PAIRS])
    table = made(code, "paper-santa", f"PS={code}/runs", model, LESS)
    assert SANTA == rows(table) and "RR@100" in table


@pytest.fixture
def products(tmp_path):
    """ESCI: a third of the products have no description, and some are judged elsewhere."""
    folder = tmp_path / "data/esci"
    folder.mkdir(parents=True)
    shelf = [
        {
            "product_id": f"B{number:03}",
            "product_title": f"{verb.title()}able {thing}",
            "product_description": f"This {thing} is made to {verb}." if number % 3 else None,
            "product_bullet_point": f"A {thing} for the house\nWill {verb} well",
            "product_brand": "Wren",
            "product_color": None,
            "product_locale": "us" if number < 70 else "es",
        }
        for number, (verb, thing) in enumerate(PAIRS)
    ]
    judged = [
        {
            "example_id": 100 * query + offset,
            "query": f"{each['product_title'].lower()} to buy",
            "query_id": query,
            "product_id": shelf[(query + offset) % 80]["product_id"],
            "product_locale": shelf[(query + offset) % 80]["product_locale"],
            "esci_label": label,
            "small_version": int(query % 9 > 0),
            "large_version": 1,
            "split": "train" if query % 2 else "test",
        }
        for query, each in enumerate(shelf)
        for offset, label in enumerate("EESCI")
    ]
    for name, records in (("products", shelf), ("examples", judged)):
        table = pa.Table.from_pylist(records)
        pq.write_table(table, folder / f"shopping_queries_dataset_{name}.parquet")
    return tmp_path


@pytest.mark.long
def test_santa_on_products_has_two_kinds_of_gains(products):
    model = t5(products, [" ".join(each) for each in PAIRS])
    given = f"PS={products}/runs", "TASK=product", "PS_TAGGER=rules"
    table = made(products, "paper-santa", *given, model, LESS)
    assert 2 * SANTA == rows(table) and 2 == table.count("nDCG(judged_only=True)@100")
    assert re.findall(r"^(exact|esci-documented)$", table, re.M) == ["exact", "esci-documented"]


LACKING = {
    "paper-santa": "codesearchnet",
    "paper-santa TASK=product": "esci/shopping_queries_dataset_examples.parquet",
    "paper-seal": "structdocretrieval/train.json",
    "paper-strae": "wikipedia",
    "seal-manuals": "manuals/train.jsonl.gz",
    "repositories": "repositories/files.jsonl.gz",
}
ASKED = [
    (name, f"{file}; run make data SET={file.partition('/')[0]}, or make {name.split()[0]} DATA=")
    for name, file in LACKING.items()
]


@pytest.mark.parametrize(("recipe", "told"), [*ASKED, ("own", "name your code: make own FOLDER=")])
def test_without_data_it_says_how_to_get_them(tmp_path, recipe, told):
    command = ["make", "-s", *recipe.split(), BIN, "RUNNABLE=", "INSTALLED=", "OWN_START=builtin"]
    command.append(f"DATA={tmp_path}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 2 == done.returncode and told in done.stdout + done.stderr


# model, learning rate, epochs
PUBLISHED = {
    "code": {
        "santa": ("Salesforce/codet5-base", "5e-5", "6"),
        "santa-tuned": ("santa.model", "1e-5", "6"),
        "santa-hard": ("santa-tuned.model", "1e-6", "6"),
        "start-tuned": ("start.model", "1e-5", "6"),
    },
    "product": {
        "santa": ("t5-base", "1e-4", "6"),
        "santa-tuned": ("santa.model", "5e-5", "60"),
        "santa-hard": ("santa-tuned.model", "1e-5", "60"),
        "start-tuned": ("start.model", "5e-5", "60"),
    },
}
ESCI = "esci/shopping_queries_dataset"
FILES = ("advtest/train.jsonl", "advtest/test.jsonl", f"{ESCI}_products.parquet")


@pytest.mark.parametrize("task", PUBLISHED)
def test_santa_is_trained_as_published(tmp_path, task):
    for name in (*FILES, f"{ESCI}_examples.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    commands = dry(f"{tmp_path}/runs/{task}/table.md", f"DATA={tmp_path}", f"PS={tmp_path}/runs")
    [masked] = [each for each in commands if " mask-entities " in each]
    assert ("nltk" if task == "product" else None) == flag(masked, "--tagger")
    trainings = trained(commands)
    assert "0" == flag(trainings.pop("start"), "--max-steps")
    chosen = {}
    for name, each in trainings.items():
        model, *others = flags(each, "model", "learning-rate", "epochs")
        chosen[name] = (model.removeprefix(f"{tmp_path}/runs/{task}/"), *others)
        same = flags(each, "query-length", "document-length", "batch-size", "warmup")
        assert ["50", "240", "16", "0.1"] == same
    assert PUBLISHED[task] == chosen


def flags(command, *names):
    """The values of these flags."""
    return [flag(command, f"--{name}") for name in names]


@pytest.fixture
def pages(tmp_path):
    """StructDocRetrieval: JSON Lines in files that are named .json."""
    (tmp_path / "data/structdocretrieval").mkdir(parents=True)
    every = [
        {
            "query": f"how to {verb} a {thing}",
            "content": f"<h1>How to {verb} the {thing}</h1><p>Take the {thing} out of its box.</p>"
            f"<ul><li>Look at it.</li><li>Then {verb} it.</li></ul>",
        }
        for verb, thing in PAIRS
    ]
    write(tmp_path / "data/structdocretrieval/train.json", *every[:60])
    write(tmp_path / "data/structdocretrieval/test.json", *every[60:])
    return tmp_path


LONG = "It was made by hand. " * 10
SEAL = ["bm25", "start", "tuned", "chunk", "mcls", "santa", "seal"]


def bert(folder):
    """A tiny encoder."""
    texts = [f"how to {verb} a {thing} out of its box" for verb, thing in PAIRS]
    some = ({"query": each, "positive": each} for each in texts)
    records = write(folder / "texts.jsonl", *some)
    return start(folder / "bert", "contrastive", records, "--architecture", "bert")


@pytest.mark.long
def test_seal_has_a_row_for_each_method_of_the_paper(pages):
    given = f"PE={pages}/runs", bert(pages), "PE_PAIRS=20", f"{LESS} --negatives-per-query 1"
    table = made(pages, "paper-seal", *given)
    assert SEAL == rows(table)
    for measure in ("HitRate@1", "HitRate@3", "HitRate@5", "MRR@5", "MRR@10", "nDCG@5", "nDCG@10"):
        assert f"| {measure} " in table


@pytest.mark.long
def test_sections_of_manuals_are_asked_for_by_their_headings(pages):
    (pages / "data/manuals").mkdir()
    for name, some in (("train", PAIRS[:40]), ("test", PAIRS[40:])):
        parts = [
            f"<h2>How to {verb} the {thing} <a>&para;</a></h2><p>{verb} a {thing}. {LONG}</p>"
            for verb, thing in some
        ]
        skipped = f"<h2>Short</h2><p>{LONG}</p><h2>How to keep things short</h2><p>Do it.</p>"
        text = "".join(["<title>Use</title>", *parts, skipped])
        page = {"id": "use.html", "path": "use.html", "html": text}
        (pages / f"data/manuals/{name}.jsonl.gz").write_bytes(gzip.compress(lines(page).encode()))
    made_in = f"SEAL_MANUALS={pages}/runs"
    assert SEAL == rows(made(pages, "seal-manuals", made_in, bert(pages), LESS))
    asked = [json.loads(line) for line in (pages / "runs/test.json").read_text().splitlines()]
    assert [f"How to {verb} the {thing} " for verb, thing in PAIRS[40:]] == [
        each["query"] for each in asked
    ]
    assert not any("How to" in each["content"] for each in asked)


def test_seal_is_trained_as_published(tmp_path):
    (tmp_path / "structdocretrieval").mkdir()
    for name in ("train", "test"):
        (tmp_path / f"structdocretrieval/{name}.json").touch()
    commands = dry(f"{tmp_path}/runs/table.md", f"DATA={tmp_path}", f"PE={tmp_path}/runs")
    trainings = trained(commands)
    assert "BAAI/bge-m3" == flag(trainings.pop("start"), "--model")
    assert {"tuned", "mcls", "santa", "seal"} == {*trainings}
    names = "learning-rate epochs batch-size query-length document-length negatives-per-query"
    for name, each in trainings.items():
        first = "start" if name == "tuned" else "tuned"
        assert f"{tmp_path}/runs/{first}.model" == flag(each, "--model")
        assert ["1e-5", "2", "8", "32", "4096", "8"] == flags(each, *names.split())
    assert "element,structure" == flag(trainings["seal"], "--stages")
    assert ["mcls", "256"] == flags(trainings["mcls"], "pooling", "mcls-every")
    variants = [each for each in commands if " html-variants " in each]
    assert ["0.1"] * 3 == [flag(each, "--mask-ratio") for each in variants]
    [chunks] = [each for each in commands if "--chunk " in each]
    assert "510" == flag(chunks, "--chunk")


@pytest.fixture
def articles(tmp_path):
    """Articles as WikiExtractor writes them with --json, and the nine tasks."""
    every = [
        {
            "id": str(number),
            "revid": "1",
            "url": f"https://example.org/wiki?curid={number}",
            "title": f"{thing.title()} {verb}",
            "text": f"{thing.title()} {verb}\n\nYou {verb} a {thing} with care. "
            f"Dr. Wren will {verb} the old {thing} too.\nThe {thing} is in the house.\n",
        }
        for number, (verb, thing) in enumerate(PAIRS)
    ]
    for number in range(2):
        write(tmp_path / f"data/wikipedia/AA/wiki_{number:02}", *every[number::2])
    for name in TASKS:
        value = "label" if name.startswith(("mrpc", "rte")) else "score"
        records = [
            {
                "id": f"{name}-{number}", value: number % 2,
                "text_a": f"You {verb} a {thing}", "text_b": f"The {thing} is old",
            }
            for number, (verb, thing) in enumerate(PAIRS[:12])
        ]  # fmt: skip
        file = tmp_path / f"data/strae_eval/{name}.jsonl.gz"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(gzip.compress(lines(*records).encode()))
    return tmp_path


@pytest.mark.long
def test_strae_has_a_row_for_each_model(articles):
    chosen = (
        "untrained strae-c-constituency iornn-ce-balanced tree-lstm-c-right-branching self-strae "
        "self-strae-bpe fasttext bi-lstm roberta"
    )
    given = f"PT={articles}/runs", "PT_PARSER=builtin", "PT_SEEDS=0"
    table = made(articles, "paper-strae", *given, f"PT_ROWS={chosen}", "PAPER_FLAGS=--epochs 1")
    assert {*chosen.split(), "majority"} == {*rows(table)}
    sentences = (articles / "runs/data/train-text.jsonl").read_text()
    assert 3 * len(PAIRS) == sentences.count("\n") and "Dr. Wren will" in sentences


def test_strae_is_trained_as_published(tmp_path):
    (tmp_path / "wikipedia").mkdir()
    commands = dry("paper-strae", f"DATA={tmp_path}", f"PT={tmp_path}/runs")
    trainings = trained(commands)
    assert 25 * 5 == len(trainings) and "0" == flag(trainings["untrained@4"], "--max-steps")
    shapes = ("constituency", "right-branching", "balanced")
    losses = (("contrastive", "1e-4"), ("ce", "1e-3"))
    for method, shape, (loss, rate) in product(("strae", "iornn", "tree-lstm"), shapes, losses):
        command = trainings[f"{method}-{loss.replace('contrastive', 'c')}-{shape}@3"]
        found = flags(command, "objective", "learning-rate", "epochs", "batch-size", "seed")
        assert [loss, rate, "15", "128", "3"] == found
        assert f" train {method} " in command and f"train-{shape}.jsonl" in command
    assert "0.2" == flag(trainings["self-strae@0"], "--temperature")
    assert ["100", "5e-5"] == flags(trainings["roberta@0"], "epochs", "learning-rate")
    assert "1e-3" == flag(trainings["fasttext@0"], "--learning-rate")
    [_, parsed] = [each for each in commands if "parse-trees -q --parser corenlp" in each]
    assert "--field text_a --field text_b" in parsed
