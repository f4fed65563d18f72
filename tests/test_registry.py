"""Plugins: found without being imported, also those of a pack that somebody else installs."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from structkit import __version__, registry
from structkit.errors import UserError

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
packages = ["shout", "shout.languages", "shout.methods"]
"""
LANGUAGE = '''"""Shout: words in capitals."""
import re

from structkit import plugin

class Language(plugin.Language):
    aliases = ("loud",)

    def entities(self, text, record):
        return [match.span() for match in re.finditer("[A-Z]+", text)]
'''
# what may be missing
UNUSABLE = {
    "functions": (
        '"""Functions."""\ndef entities(text):\n    return []\n',
        "it has no class Language(plugin.Language)",
    ),
    "partial": (
        '"""Partial."""\nfrom structkit import plugin\nclass Language(plugin.Language): pass\n',
        "its class Language lacks entities",
    ),
}
# a method whose models are not those that `encode` asks for
METHOD = '''"""Whisper: a model of no kind."""
from structkit.learning.training.settings import TrainingSettings

class Method(TrainingSettings):
    def build(self, spool, *, offline=False):
        raise NotImplementedError

    def plan(self, records):
        raise NotImplementedError

    @classmethod
    def load(cls, folder, facts):
        return object()
'''
FACTS = {
    "format": 1,
    "method": "whisper",
    "settings": {},
    "pooling": None,
    "normalize": False,
    "query_fields": ["text"],
    "document_fields": ["text"],
    "data": {"records": 0, "sha256": "0"},
    "steps": 0,
    "losses": {},
}
# what it imports, and what is said of it
LACKING = {
    "lacking": (
        "import tea_leaves",
        "No module named 'tea_leaves'; install the package that has tea_leaves",
    ),
    "renamed": (
        "from json import leaves",
        "cannot import name 'leaves' from 'json' ({json}); mend shout",
    ),
}
BROKEN = '"""Broken: must never be imported unless it is asked for."""\nraise SystemExit(7)\n'


def example():
    """The guide's language, with a grammar that is installed."""
    text = Path("docs/guide/plugin-language.md").read_text("utf-8")
    [code] = re.findall(r"```python [^\n]*\n(\"\"\"Zig.*?)```", text, re.DOTALL)
    return code.replace("tree_sitter_zig", "tree_sitter_python")


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
    (languages / "broken.py").write_text(BROKEN)
    (languages / "_private.py").write_text(BROKEN)
    for name, (text, _) in UNUSABLE.items():
        (languages / f"{name}.py").write_text(text)
    for name, (text, _) in LACKING.items():
        (languages / f"{name}.py").write_text(text)
    (languages / "zig.py").write_text(example())
    methods = source / "shout" / "methods"
    methods.mkdir()
    (methods / "__init__.py").write_text("")
    (methods / "whisper.py").write_text(METHOD)
    target = tmp_path_factory.mktemp("environment")
    pip("install", str(source), "--target", str(target))
    return target


def test_a_third_party_pack_works(pack):
    done = structkit(
        pack, "mask-entities", "--language", "shout", input=b'{"code":"say HO and HO"}'
    )
    assert done.returncode == 0, done.stderr
    assert b'"masked":"say <extra_id_0> and <extra_id_0>"' in done.stdout


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_plugin_that_lacks_something_is_one_clear_line(pack, name):
    done = structkit(pack, "mask-entities", "--language", name, input=b'{"code":"A"}')
    path, (_, problem) = pack / "shout" / "languages" / f"{name}.py", UNUSABLE[name]
    assert done.returncode == 2, done.stderr
    assert done.stderr.decode() == (
        f"structkit: {path}: the language {name} of the pack shout cannot be used: {problem}; "
        "python -m pydoc structkit.plugin.Language says what it must have\n"
    )


@pytest.mark.parametrize("name", LACKING)
def test_a_missing_import_is_one_clear_line(pack, name):
    done = structkit(pack, "mask-entities", "--language", name, input=b'{"code":"A"}')
    path, (_, problem) = pack / "shout" / "languages" / f"{name}.py", LACKING[name]
    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"structkit: {path}: the language {name} of the pack shout cannot be imported: "
        f"{problem.format(json=json.__file__)}\n"
    )


@pytest.mark.long
def test_a_model_of_no_kind_is_one_clear_line(pack, tmp_path):
    (tmp_path / "structkit.json").write_text(json.dumps(FACTS))
    done = structkit(pack, "encode", "-m", str(tmp_path), input=b'{"id":"a","text":"a"}')
    assert done.returncode == 2, done.stderr
    told = "the method whisper of the pack shout cannot be used: its model is no TorchModel; "
    assert told in done.stderr.decode()


def test_the_language_of_the_readme_works(pack):
    done = structkit(pack, "mask-entities", "--language", "zig", input=b'{"code":"say = \'no\'"}')
    assert done.returncode == 0, done.stderr
    assert b'"entities":["say"]' in done.stdout


def test_an_alias_is_found_without_an_import(pack):
    done = structkit(pack, "mask-entities", "--language", "LOUD", input=b'{"code":"say HO"}')
    assert done.returncode == 0, done.stderr


def test_it_is_listed_without_being_imported(pack):
    done = structkit(pack, "plugins")
    assert done.returncode == 0, done.stderr
    assert b'"name":"shout","pack":"shout","summary":"Shout: words in capitals."' in done.stdout
    assert b'"name":"broken"' in done.stdout
    assert b"_private" not in done.stdout


def test_a_miss_lists_what_exists(pack):
    done = structkit(pack, "mask-entities", "--language", "shuot", input=b'{"code":"A"}')
    assert done.returncode == 2
    assert done.stderr.startswith(b"structkit: no language 'shuot'; did you mean 'shout'?")
    assert b"there are: broken, " in done.stderr


@pytest.mark.long
def test_a_wheel_holds_everything(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("structkit", "plugins", "man"):
        shutil.copytree(name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(name, source)
    pip("wheel", str(source), "--wheel-dir", str(tmp_path / "wheels"))
    [wheel] = (tmp_path / "wheels").glob("*.whl")
    pip("install", str(wheel), "--target", str(tmp_path / "environment"))
    installed = {
        str(path.relative_to(tmp_path / "environment"))
        for path in (tmp_path / "environment").rglob("*.py")
    }
    for path in [*Path("structkit").rglob("*.py"), *Path("plugins").rglob("*.py")]:
        package = "structkit_plugins" if path.parts[0] == "plugins" else "structkit"
        expected = Path(package, *path.parts[1:])
        assert str(expected) in installed
    with zipfile.ZipFile(wheel) as packed:  # no tests, no programs of docs/
        tops = {name.partition("/")[0] for name in packed.namelist()}
    about = {f"structkit_retrieval-{__version__}.{kind}" for kind in ("data", "dist-info")}
    assert {"structkit", "structkit_plugins", *about} == tops
    pages = (tmp_path / "environment/share/man/man1").iterdir()
    assert {path.name for path in Path("man").iterdir()} == {path.name for path in pages}
    done = structkit(tmp_path / "environment", "plugins")
    assert b'"pack":"structkit_plugins"' in done.stdout


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ('# tea\n\n"""  A cup.  \nOf tea."""\nnot python', "A cup."),
        ("import tea\n'A cup.'", ""),
        ("", ""),
    ],
)
def test_a_summary_is_a_docstring_and_nothing_after_it_is_parsed(tmp_path, text, summary):
    path = tmp_path / "tea.py"
    path.write_text(text)
    assert summary == registry.Plugin("parser", "tea", "pack", path).summary()


def test_the_summary_is_the_first_line_of_the_file():
    plugin = registry.find("language", "python")
    assert "Python: names that are not keywords, not in strings and not in comments." == (
        plugin.summary()
    )
    assert "structkit_plugins.languages.python" == plugin.module


def test_unknown_names_say_what_exists():
    with pytest.raises(UserError, match="no method 'santo'; did you mean 'santa'"):
        registry.find("method", "santo")
