"""Languages of code, and texts of each: the inputs of its fixtures, and files of cases.

All that tests read of a language is in its folder `fixtures/languages/NAME`: texts with their masks
in files of its own, `functions/`, `cases/`, and `sweep/`.
"""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

LANGUAGES = Path("fixtures/languages")
PROJECT = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
# those of the extra `languages`
EXTRA = [
    package.removeprefix("tree-sitter-").partition(">")[0]
    for package in PROJECT["optional-dependencies"]["languages"]
]
ABSENT = {each for each in EXTRA if not find_spec(f"tree_sitter_{each}")}
CODE = (
    *("c", "cpp", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust"),
    "typescript",
    *(each for each in EXTRA if each not in ABSENT),
)
FIXTURES = {
    language: [
        path.read_text("utf-8").split("---input---\n")[1].split("\n---masked---\n")[0]
        for path in sorted((LANGUAGES / language).glob("*.txt"))
    ]
    for language in CODE
}
CASE = re.compile(r"^=== ([^\n]*)\n(.*?)\n--- ?(.*?)\n*(?=^===|\Z)", re.MULTILINE | re.DOTALL)


def files(pattern):
    """The files of a pattern in the folders of languages, but for those without a grammar."""
    return sorted(
        path for path in LANGUAGES.glob(f"*/{pattern}") if language_of(path) not in ABSENT
    )


def language_of(path):
    """The language in whose folder a file is."""
    return path.relative_to(LANGUAGES).parts[0]


def cases(name):
    """The name, the text and what is expected of each case in a file beside, or of languages."""
    beside = Path(__file__).parent / "cases" / f"{name}.txt"
    paths = [beside] if beside.exists() else files(f"cases/{name}.txt")
    found = [case for path in paths for case in CASE.findall(path.read_text("utf-8"))]
    return [case for case in found if case[0] not in ABSENT]
