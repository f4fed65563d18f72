"""Questions lean to kinds of files by their words; a kind that is named leaves only its own."""

import pytest

import structkit
from structkit.asking.path_kinds import KINDS, KINDS_MEANT, asked_kinds, kind_weights
from tests.jsonl import write_files

TEXT = "The pool closes idle sockets after a timeout."
FILES = {
    "src/pool.py": f"def close_idle(pool):\n    # {TEXT}\n    pool.sockets.clear()\n",
    "tests/test_pool.py": f"def test_close_idle():\n    # {TEXT}\n    assert not pool.sockets\n",
    "docs/pool.md": f"# Pool\n\n{TEXT} To close idle sockets, empty it; to test it, fill it.\n",
    "CHANGELOG.md": f"# 1.2\n\n{TEXT} Idle sockets are closed.\n",
}


@pytest.mark.parametrize(
    ("question", "kind", "first"),
    [
        ("where does the pool close idle sockets", None, "src/pool.py"),
        ("since which version are idle sockets closed", None, "CHANGELOG.md"),
        ("what should I know about idle sockets of the pool", None, "docs/pool.md"),
        ("how do I close idle sockets of the pool", None, "docs/pool.md"),
        ("how can we close idle sockets of the pool", None, "docs/pool.md"),
        ("is there a way to close idle sockets of the pool", None, "docs/pool.md"),
        ("how do I test the pool of idle sockets", None, "docs/pool.md"),
        ("how does the pool close idle sockets", None, "src/pool.py"),
        ("command support of idle sockets of the pool", None, "src/pool.py"),
        ("I/O of pool.version: idle sockets", None, "src/pool.py"),
        ("function that closes idle sockets of a version", None, "src/pool.py"),
        ("test that idle sockets are closed", None, "tests/test_pool.py"),
        ("where is it tested: tests of idle sockets", None, "tests/test_pool.py"),
        ("run tests of the code of idle sockets", None, "src/pool.py"),
        ("test runner of the idle pool sockets", None, "src/pool.py"),
        ("since which version are idle sockets closed", "code", "src/pool.py"),
        ("where does the pool close idle sockets", "docs", "docs/pool.md"),
        ("where does the pool close idle sockets", "tests", "tests/test_pool.py"),
    ],
)
def test_the_first_answer_is_of_the_kind_that_is_asked_for(tmp_path, question, kind, first):
    write_files(tmp_path, FILES)
    found = list(structkit.ask(tmp_path, question, kind=kind, no_cache=True))
    assert str(tmp_path / first) == found[0]["path"]
    named = {"code": {"src"}, "docs": {"docs", "CHANGELOG.md"}, "tests": {"tests"}}.get(kind)
    parts = {each["path"].removeprefix(f"{tmp_path}/").partition("/")[0] for each in found}
    assert named is None or parts <= named


@pytest.mark.parametrize("question", ["", "pool", "which release", "how are examples tested"])
def test_every_kind_has_a_weight(question):
    assert {*KINDS} == {*kind_weights(question)} == {*kind_weights(question, "all")}
    assert {1.0} == {*kind_weights(question, "all").values()}
    for kind, names in KINDS_MEANT.items():
        weights = kind_weights(question, kind)
        assert {name for name, weight in weights.items() if weight} == {*names}


@pytest.mark.parametrize("test", ["chi-square test", "chi-square tests", "blood test", "A/B test"])
def test_test_is_a_word_of_statistics(tmp_path, test):
    text = f"The {test} of a table."
    name = test.replace("-", "_").replace("/", "_").replace(" ", "_").lower()
    files = {"src/stats.py": f'def compute(table):\n    """{text}"""\n    return sum(table)\n'}
    files["tests/test_stats.py"] = (
        f"def test_{name}():\n    # {text}\n    assert compute([1]) == 1\n"
    )
    write_files(
        tmp_path, files | {f"src/o{n}.py": f"def o{n}(x):\n    return x\n" for n in range(6)}
    )
    found = list(structkit.ask(tmp_path, f"where is the {test} computed", no_cache=True))
    assert str(tmp_path / "src/stats.py") == found[0]["path"]


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("stress test of a bank", set()),
        ("mock exams of a school", set()),
        ("spec of a job", set()),
        ("sample rate of audio", set()),
        ("benchmark of a portfolio", set()),
        ("for example if a socket closes", set()),
        ("mocks of the client", {"test"}),
        ("benchmarks for the hash map", {"test"}),
        ("is the retry covered by a test", {"test"}),
        ("acceptance tests of uploads", {"test"}),
        ("sample code of uploads", {"example"}),
    ],
)
def test_a_question_asks_for_tests_and_examples_by_a_phrase(question, kinds):
    assert kinds == asked_kinds(question)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a.py", "# {}\n# {}\n"),
        ("a.py", '"""\n{}\n{}\n"""\n'),
        ("a.js", "/*\n * {}\n * {}\n */\n"),
        ("a.js", "// {}\n// {}\n"),
        ("a.php", "<?php\n/**\n * {}\n * {}\n */\n"),
        ("a.rb", "# frozen_string_literal: true\n\n# {}\n# {}\n"),
        ("a.xml", "<?xml version='1.0'?>\n<!--\n{}\n{}\n-->\n"),
        ("a.hs", "{{- {}\n{} -}}\n"),
        ("a.rst", "..\n   {}\n   {}\n\n"),
    ],
)
def test_a_licence_header_does_not_answer(tmp_path, name, header):
    licence = header.format("Copyright 2020 A", "Licensed under the terms of tea.")
    write_files(tmp_path, {name: f"{licence}\nx = 1\n", "b.md": "The terms of tea are warm."})
    options = {"kind": "all", "no_model": True, "no_cache": True}
    found = structkit.ask(tmp_path, "licensed terms of tea", **options)
    assert {"b.md"} == {each["path"].split("/")[-1] for each in found}


@pytest.mark.parametrize("name", ["benchmark", "spec", "tests", "examples", "mocks", "vendor"])
@pytest.mark.parametrize("others", [{}, {"b/LICENSE": "MIT", "b/a.py": "def other(): pass\n"}])
def test_the_folder_of_a_project_says_nothing_of_its_files(tmp_path, name, others):
    inner = {f"{name}/{path}": text for path, text in (FILES | {"LICENSE": "MIT"}).items()}
    write_files(tmp_path, inner | others)
    kinds = {"code": "src/pool.py", "tests": "tests/test_pool.py"}
    for kind, path in kinds.items():
        found = list(structkit.ask(tmp_path, "close idle sockets", kind=kind, no_cache=True))
        assert [str(tmp_path / name / path)] == [each["path"] for each in found]
