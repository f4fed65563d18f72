"""Functions, their names and their documentation, as each language's own tool has them."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from structkit.registry import load
from structkit.structure.code.languages import without_docstring
from structkit.structure.code.outline import DocComments
from tests.structure.code.sources import CASE, LANGUAGES, files, language_of


def program(language, text):
    return load("language", language).outline.parse(text, text.encode())


def documentation(language, text):
    """The name and the documentation of each function, in order."""
    parsed = program(language, text)
    functions = [each for each in parsed.definitions if each.kind == "function"]
    return [(each.name, parsed.doc_comment(each)) for each in functions]


# the file around a case of each language
AROUND = {
    "c": "CASE\nint f(void) { return 1; }\n",
    "cpp": "CASE\nint f() { return 1; }\n",
    "csharp": "class A {\nCASE\n}\n",
    "go": "package a\n\nCASE\nfunc F() {\n}\n",
    "java": "/** Of A. */\nclass A {\nCASE\n}",
    "javascript": "CASE",
    "php": "<?php\nCASE\n",
    "ruby": "CASE",
    "rust": "CASE",
    "typescript": "CASE",
}
ALIKE = {"cpp": "c", "typescript": "javascript"}
# other ends of lines than the files of cases have
RETURNS = {
    "go": [("CRLF", "// F adds.\r\n// More.\r", "F adds.\nMore.")],
    "java": [("CRLF", "/**\r\n * Adds.\r\n * More.\r\n */\r\n\r\nvoid f() {}", "Adds.\nMore.")],
    "javascript": [
        ("CRLF", "/**\r\n * Adds.\r\n *\r\n * More.\r\n */\r\nfunction f() {}", "Adds.\n\nMore."),
        ("CR", "/**\r * Adds.\r */\rfunction f() {} // x\rfunction g() {}", "Adds."),
    ],
}


def documented(language):
    """The cases of a language: name, text, and the documentation that its own tool attaches."""
    language = ALIKE.get(language, language)
    text = (LANGUAGES / language / "cases/documentation.txt").read_text("utf-8")
    return [*CASE.findall(text), *RETURNS.get(language, ())]


CASES = {
    f"{language}, {name}": (language, around.replace("CASE", text), expected)
    for language, around in AROUND.items()
    for name, text, expected in documented(language)
}


@pytest.mark.parametrize(("language", "text", "expected"), CASES.values(), ids=CASES)
def test_a_function_has_the_documentation_of_its_own_tool(language, text, expected):
    found = documentation(language, text)
    if "script" in language:
        found = found[:1]
    name = "F" if language in ("csharp", "go") else "f"
    assert [(name, expected)] == found


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("javac"), reason="needs javac")
def test_javadoc_is_that_of_javac(tmp_path):
    """But for a comment behind a field, which is about the field to us, and Java 23's Markdown."""
    named = ("of a field", "constructor")
    texts = [
        each for name, each, _ in documented("java") if name not in named and "///" not in each
    ]
    path = tmp_path / "A.java"
    path.write_text("".join(f"class A{n} {{\n{text}\n}}\n" for n, text in enumerate(texts)))
    command = ["java", str(Path(__file__).with_name("Docs.java")), str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [
        f"{name}\t{words}".replace("\n", "\\n")
        for name, words in documentation("java", path.read_text())
    ]
    assert len(texts) == len(lines)
    assert [line.replace("\\n ", "\\n") for line in lines] == found


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("rustdoc"), reason="needs rustdoc")
def test_documentation_is_that_of_rustdoc(tmp_path):
    rust = enumerate(documented("rust"))
    texts = [text.replace("fn f", f"fn f{n}") for n, (_, text, _) in rust]
    # of the file, hidden, or wrong there
    texts = [text for text in texts if not re.search("//!|hidden|/// Of x", text)]
    path = tmp_path / "a.rs"
    path.write_text("\n\n".join(texts))
    command = "rustdoc -Z unstable-options --output-format json --document-private-items -o"
    subprocess.run(
        [*command.split(), str(tmp_path), str(path)],
        env=os.environ | {"RUSTC_BOOTSTRAP": "1"},
        capture_output=True,
        check=True,
    )
    items = json.loads((tmp_path / "a.json").read_text())["index"].values()
    right = {each["name"]: each["docs"] for each in items if "function" in each["inner"]}
    found = dict(documentation("rust", path.read_text()))
    assert len(texts) == len(right)
    for name, words in right.items():
        assert " ".join((words or "").split()) == " ".join(found[name].split())


def test_exports_without_a_name_are_the_default():
    for text in ("export default function () {}", "export default () => {};"):
        assert [("default", "")] == documentation("typescript", text)
    [scope, method] = program("typescript", "export default class { m() {} }").definitions
    assert ("class", "default.m") == (scope.kind, method.path)


def test_a_name_in_quotes_has_no_owner():
    [_, method] = program("javascript", "class A { 'x.y'() {} }").definitions
    assert ("", "x.y") == (method.owner, method.name)


FUNCTIONS = files("functions/*.txt")


def code(path):
    """The input of a fixture."""
    return path.read_bytes().decode().split("---input---\n")[1].split("\n---functions---\n")[0]


@pytest.mark.parametrize("language", AROUND)
def test_the_documentation_of_a_function_is_not_in_its_code(language):
    documented = 0
    texts = [text for of, text, _ in CASES.values() if of == language]
    for text in [*texts, *(code(path) for path in FUNCTIONS if language_of(path) == language)]:
        parsed = program(language, text)
        for each in parsed.definitions:
            words = parsed.doc_comment(each)
            documented += bool(words)
            own = parsed.data[each.start : each.whole.end_byte].decode()
            own = without_docstring(own, {"language": language})
            assert not [line for line in words.split("\n") if line[2:] and line in own]
    assert documented


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: f"{language_of(path)}/{path.stem}")
def test_functions_of_fixtures(path, golden):
    """The name of each function with its containers, its lines and its documentation."""
    text = code(path)
    parsed = program(language_of(path), text)
    lines = [
        f"{each.row + 1}-{each.end_row + 1} {each.path}: {json.dumps(parsed.doc_comment(each))}\n"
        for each in parsed.definitions
        if each.kind == "function"
    ]
    golden(path, f"---input---\n{text}\n---functions---\n{''.join(lines)}")


def test_a_language_says_how_its_comments_begin():
    """As a plugin's file does, for Lua or SQL."""
    comments = DocComments(begin="#", marks="# --|#")
    text = "x = 1\n# -- Adds.\n# -- -- More.\ndef f; end\n"
    outline = replace(load("language", "ruby").outline, comments=comments)
    parsed = outline.parse(text, text.encode())
    assert ["Adds.\n-- More."] == [parsed.doc_comment(each) for each in parsed.definitions]


def test_signs_without_code_are_skipped_in_linear_time():
    text = "int f() {}\n" + "({*" * 20_000
    assert ["f"] == [each.name for each in program("cpp", text).definitions]
