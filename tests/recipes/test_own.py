"""recipes/own.mk: a retriever for a folder of functions, and of pages."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import warm_program

from tests.dry_runs import dry, flag, trained
from tests.repositories import git

TOPICS = "tea fig plum lamp boat drum wolf moon salt corn rope silk".split()
BIN = f"BIN={Path(sys.executable).parent}"


@pytest.fixture
def code(tmp_path):
    """A folder of twelve modules and a test, and one of pages."""
    for each in TOPICS:
        functions = [
            f'def {verb}_{each}(box):\n    """{verb.title()} the {each} of a box."""\n'
            f"    return box.{each}.{verb}()\n"
            for verb in ("open", "paint", "weigh")
        ]
        (tmp_path / "code").mkdir(exist_ok=True)
        (tmp_path / f"code/{each}.py").write_text("\n\n".join(functions))
        (tmp_path / "pages").mkdir(exist_ok=True)
        (tmp_path / f"pages/{each}.md").write_text(f"# All of the {each}\n\nA box has a {each}.\n")
    (tmp_path / "code/tests").mkdir()
    test = 'def test_tea():\n    """The tea that is tested."""\n    assert tea\n'
    for name in ("tests/helpers.py", "test_tea.py", "tea_test.py", "tea.test.js", "conftest.py"):
        (tmp_path / "code" / name).write_text(test)
    return tmp_path


def test_each_system_searches_what_one_model_was_not_trained_on(code):
    made = f"OWN={code}/own", "START=minilm"
    commands = dry("own-table", f"FOLDER={code}/code", *made)
    [(name, training)] = trained(commands).items()
    assert ("own", "minilm") == (name, flag(training, "--model")) and "train.jsonl" in training
    assert not [each for each in commands if "--unit section" in each]
    models = {flag(each, "-m") for each in commands if " encode " in each}
    assert {f"{code}/own/own.model", "minilm", "builtin"} == models
    assert any("--method bm25" in each for each in commands)
    searched = [each for each in commands if " search " in each]
    assert 7 == len(searched) and all(
        f"--queries {code}/own/test.jsonl" in each for each in searched
    )
    with_pages = dry("own-table", f"FOLDER={code}/code", f"PAGES={code}/pages", *made)
    assert [each for each in with_pages if f"collect '{code}/pages' --unit section" in each]


def test_the_history_of_a_repository_is_a_second_model(code):
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "Add boxes"]):
        git(code / "code", *arguments)
    made = f"OWN={code}/own", "START=builtin"
    commands = dry("own-table", f"FOLDER={code}/code", *made)
    assert {"own", "commits"} == trained(commands).keys()
    [collected] = [each for each in commands if "--unit commit" in each]
    # its functions hold their documentation, which the test asks for
    assert f"--not-in {code}/own/test.jsonl --on path" in collected
    assert any("commits.jsonl" in each for each in commands if " score " in each)


@pytest.mark.parametrize("start", ["builtin", "minilm", "models/other"])
def test_a_start_that_is_named_is_trained(code, start):
    given = f"FOLDER={code}/code", f"START={start}", "RUNNABLE=", BIN, "OWN_COMMITS="
    commands = dry("own", *given)
    name = Path(start).name
    [training] = [each for each in commands if " train " in each]
    assert (start, f"runs/own/code-{name}/own.model") == (
        flag(training, "--model"),
        flag(training, "-o"),
    )
    assert ("1e-2" if start == "builtin" else "5e-5") == flag(training, "--learning-rate")
    assert any("table.jsonl" in each for each in commands) == (start != "builtin")


def test_a_stopped_training_goes_on(code):
    (code / "own/own.model.partial/step-20").mkdir(parents=True)
    commands = dry("own-table", f"FOLDER={code}/code", f"OWN={code}/own", "START=builtin")
    assert "--resume" in trained(commands)["own"]


@pytest.mark.parametrize(
    ("folder", "pages", "told"),
    [
        ("none", "", "none does not exist"),
        ("code", "none", "none does not exist"),
        ("pages", "", "pages has documentation that could be a query"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named(code, folder, pages, told):
    given = [f"FOLDER={code}/{folder}", f"PAGES={code}/{pages}"][: 1 + bool(pages)]
    given += [f"OWN={code}/own", "START=builtin", BIN, f"STRUCTKIT={warm_program(code)}"]
    command = ["make", "-s", "own", *given, "RUNNABLE="]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 2 == done.returncode and done.stdout.endswith(f"{told}\n"), done
    assert not (code / "own/pairs.jsonl").exists()


@pytest.mark.long
def test_it_trains_scores_and_says_whether_it_helped(code):
    given = f"FOLDER={code}/code", f"PAGES={code}/pages", f"OWN={code}/own", "START=builtin", BIN
    given += f"STRUCTKIT={warm_program(code)}", "OWN_STEPS=2"
    command = ["make", "-s", "own-table", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    lines = done.stdout.splitlines()
    told = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    systems = ["own+words", "own", "start", "bm25", "start+words"]  # it starts from the table
    assert ["run", told[1], *systems, "run", told[1], *systems[1:]] == told
    [few] = [line for line in lines if line.startswith("There are only ")]
    assert re.search(r"only \d+ held-out queries", few)
    assert lines[-1].startswith(("Training helped. Ask with it: structkit ask", "Training did not"))
    train, test = (
        [json.loads(line) for line in (code / f"own/{part}.jsonl").read_text().splitlines()]
        for part in ("train", "test")
    )
    assert 12 * 3 + 12 == len(test + train) and 0 < len(test) < 36
    assert not {each["path"] for each in train} & {each["path"] for each in test}
    assert not [each for each in train + test if "test" in each["path"].removeprefix(str(code))]
    pages = [each for each in train + test if each["path"].endswith(".md")]
    assert 12 == len(pages) and not [each for each in pages if each["query"] in each["positive"]]
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "" == again.stderr and done.stdout.endswith(again.stdout)  # it trains once
