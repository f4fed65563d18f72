"""Plugins: found without being imported, also those of a pack that somebody else installs."""

import os
import pydoc
import shutil
import subprocess
import sys

import pytest

from structkit import registry
from tests.jsonl import lines, read

PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "structkit-shout"
version = "1"
[project.entry-points."structkit.plugins"]
shout = "shout"
[tool.setuptools]
packages = ["shout", "shout.languages"]
"""
LANGUAGE = r'''"""Shout: words in capitals."""
import re

from structkit import plugin

class Language(plugin.Language):
    aliases = ("loud",)
    encoding = (r"SPOKEN IN (\S+)",)
    extensions = ("shout",)

    def entities(self, text, record):
        return [match.span() for match in re.finditer("[A-Z]+", text)]
'''
# files that cannot be used: what they hold, and what they lack
SPOILED = {
    "functions": ("def entities(text):\n    return []\n", "class Language(plugin.Language)"),
    "partial": (
        "from structkit import plugin\nclass Language(plugin.Language): pass\n",
        "entities",
    ),
}
WRONG = '''"""Wrong: the spans that a record says."""
from structkit import plugin

class Language(plugin.Language):
    def entities(self, text, record):
        return [tuple(span) for span in record["spans"]]
'''
BROKEN = '"""Broken: must never be imported unless it is asked for."""\nraise SystemExit(7)\n'


def pip(*arguments):
    command = [sys.executable, "-m", "pip", *arguments, "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def structkit(target, *arguments, input=b""):
    environment = {**os.environ, "PYTHONPATH": str(target)}
    command = [sys.executable, "-m", "structkit", *arguments]
    return subprocess.run(command, input=input, capture_output=True, env=environment, cwd=target)


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    source = tmp_path_factory.mktemp("pack")
    languages = source / "shout" / "languages"
    languages.mkdir(parents=True)
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "shout" / "__init__.py").write_text("")
    (languages / "__init__.py").write_text("")
    (languages / "shout.py").write_text(LANGUAGE)
    (languages / "wrong.py").write_text(WRONG)
    (languages / "broken.py").write_text(BROKEN)
    (languages / "_private.py").write_text(BROKEN)
    for name, (text, _) in SPOILED.items():
        (languages / f"{name}.py").write_text(f'"""Spoiled."""\n{text}')
    target = tmp_path_factory.mktemp("environment")
    pip("install", str(source), "--target", str(target))
    return target


def test_a_third_party_pack_works(pack):
    for name in ("shout", "LOUD"):  # an alias is found without an import
        done = structkit(pack, "mask-entities", "--language", name, input=b'{"code":"HO and HO"}')
        assert (0, b"") == (done.returncode, done.stderr)
        assert b'"masked":"<extra_id_0> and <extra_id_0>"' in done.stdout


def test_the_pack_knows_how_a_file_of_its_language_says_its_encoding(pack):
    (pack / "tea.shout").write_bytes("SPOKEN IN KOI8-R\nЧАЙ\n".encode("koi8-r"))
    done = structkit(pack, "collect", "tea.shout", "--unit", "file")
    assert [("shout", "SPOKEN IN KOI8-R\nЧАЙ\n")] == [
        (each["language"], each["code"]) for each in read(done.stdout)
    ]


@pytest.mark.parametrize("name", SPOILED)
def test_a_file_that_cannot_be_used_is_one_clear_line(pack, name):
    done = structkit(pack, "mask-entities", "--language", name, input=b'{"code":"A"}')
    path = pack / "shout" / "languages" / f"{name}.py"
    [told] = done.stderr.decode().splitlines(keepends=True)
    expected = f"structkit: {path}: the language {name} of the pack shout lacks {SPOILED[name][1]};"
    assert (2, expected) == (done.returncode, told[: len(expected)])


def test_a_languages_span_outside_its_text_is_refused(pack):
    wrong = ((0, 99), (-1, 2), (1, 1), (2, 1), (0, 2))
    spans = [[[0, 1], span] for span in wrong]
    records = lines(*({"code": "x = y + x", "spans": each} for each in [*spans, [[0, 1], [4, 5]]]))
    flags = ("--language", "wrong", "--on-error", "skip", "--rejects", "rejects.jsonl")
    done = structkit(pack, "mask-entities", *flags, input=records.encode())
    assert ["<extra_id_0> = <extra_id_1> + x"] == [each["masked"] for each in read(done.stdout)]
    rejects = read(pack / "rejects.jsonl")
    assert 5 == len(rejects)
    assert all("gives spans that are empty, overlap or" in each["reason"] for each in rejects)


def test_it_is_listed_without_being_imported(pack):
    done = structkit(pack, "plugins")
    assert done.returncode == 0, done.stderr
    assert b'"name":"shout","pack":"shout","summary":"Shout: words in capitals."' in done.stdout
    assert b'"name":"broken"' in done.stdout
    assert b"_private" not in done.stdout


@pytest.mark.parametrize("kind", registry.PLUGIN_KINDS)
def test_what_a_plugin_must_have_is_found_where_a_message_says(kind):
    assert pydoc.locate(f"structkit.plugin.{kind.capitalize()}").__abstractmethods__


STRAY = {
    "._shout.py": b"\0\5\x16",
    "latin.py": b'"""caf\xe9"""\n',
    "cut.py": b"class Language(\n",
    "number.py": b'"""Number."""\nclass Language:\n    extensions = 5\n',
}
LOUD = LANGUAGE.replace("import re\n", "import re\nprint('at import')\n").replace(
    "        return [match", "        print('in a hook')\n        text[60]\n        return [match"
)


def test_what_is_wrong_in_a_pack_is_named_and_left_out(pack, tmp_path):
    target = shutil.copytree(pack, tmp_path / "environment")
    languages = target / "shout" / "languages"
    (languages / "shout.py").write_text(LOUD)
    for name, content in STRAY.items():
        (languages / name).write_bytes(content)
    (languages / ".#shout.py").symlink_to("user@host")
    (languages / "folder.py").mkdir()
    (target / "gone-1.dist-info").mkdir()
    (target / "gone-1.dist-info" / "entry_points.txt").write_text(
        "[structkit.plugins]\ngone = gone.pack\n"
    )
    (target / "tea.shout").write_text("TEA\n")
    for command in (["collect", "tea.shout"], ["ask", "tea.shout", "tea"]):
        done = structkit(target, *command)
        assert ["shout"] == [each["language"] for each in read(done.stdout)]
        for name in (*STRAY, ".#shout.py", "folder.py", "gone.pack"):
            assert 1 == done.stderr.decode().count(f"/{name} " if ".py" in name else name), name
    long = lines({"id": "short", "code": "TEA"}, {"id": "long", "code": "TEA " * 20})
    mask = ["mask-entities", "--language", "shout", "--on-error", "skip", "--rejects", "no.jsonl"]
    done = structkit(target, *mask, input=long.encode())
    assert ["long"] == [each["id"] for each in read(done.stdout)]
    assert b"at import" in done.stderr and b"in a hook" in done.stderr
    [rejected] = read(target / "no.jsonl")
    assert 1 == rejected["line"] and "the language shout of the pack shout" in rejected["reason"]
