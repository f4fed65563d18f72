"""What pip is told to install, and --version."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from imported import imported

from structkit.extras import EXTRAS, LANGUAGES
from structkit.version import __version__


def test_extras_name_the_packages_that_pip_installs():
    extras = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    packages = {
        extra: tuple(re.match(r"[^<>=; ]+", each)[0] for each in needed)
        for extra, needed in extras["optional-dependencies"].items()
        if extra not in {"dev", "bench", "engines"}
    }
    grammars = packages.pop(LANGUAGES)
    assert packages == EXTRAS
    known = {*grammars, *(re.match(r"[^<>=; ]+", each)[0] for each in extras["dependencies"])}
    for path in Path("plugins/languages").glob("*.py"):
        for package in re.findall(r"grammar_of\(\s*\"(\w+)\"", path.read_text("utf-8")):
            assert package.replace("_", "-") in known


def test_the_core_names_no_language_of_the_extra():
    named = re.compile(r"(?i)\b(bash|elixir|kotlin|php|scala|swift)\b")
    for path in Path("structkit").rglob("*.py"):
        code = re.sub(r"#.*", "", path.read_text("utf-8"))
        assert not named.findall(code), path


def test_code_is_read_without_the_grammar_of_its_language(tmp_path):
    (tmp_path / "a.lua").write_text("local function f(x) return x end\n")
    lacking = "import sys; sys.modules['tree_sitter_lua'] = None; from structkit.cli import main"

    def run(*arguments, **options):
        command = [sys.executable, "-c", f"{lacking}; main()", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, **options)

    reason = "this needs the package tree_sitter_lua of the extra languages"
    done = run("collect", "a.lua")
    [chunk] = map(json.loads, done.stdout.splitlines())
    advice = "read as text: lua; the extra languages has grammars: pip install tree-sitter-lua"
    assert advice in done.stderr and advice in run("ask", ".", "function", "--no-cache").stderr
    assert ("lua", [1, 1]) == (chunk["language"], chunk["lines"]) and "names" not in chunk
    assert "a.lua" in run("ask", ".", "function", "--no-cache").stdout
    assert reason in run("collect", "--unit", "function", "a.lua").stderr
    done = run("mask-entities", "--language", "lua", input='{"code": "x = 1"}\n')
    assert 1 == done.returncode and 1 == done.stderr.count("\n")
    assert f"{reason}; pip install tree-sitter-lua\n" in done.stderr


def test_the_version_is_told_without_a_heavy_import():
    assert (set(), f"structkit {__version__}\n".encode()) == imported("--version")


def test_nothing_advises_the_package_of_another_project():
    """`structkit` on PyPI is not ours."""
    kinds = {".py", ".md", ".txt", ".toml", ".mk", ".1", ".cff", ".jsonl"}
    folders = ("structkit", "plugins", "docs", "recipes", "fixtures/help")
    files = [path for each in folders for path in Path(each).rglob("*")]
    advised = re.compile(r"pip3? install[^`\n]*?[ '\"]structkit\b(?![-/])|\bstructkit\[[a-z]")
    told = {
        str(path): found[0]
        for path in [*files, *Path().glob("*.*"), *Path(".github").glob("*.md")]
        if path.suffix in kinds and path.is_file()
        if (found := advised.search(path.read_text("utf-8")))
    }
    assert {} == told
