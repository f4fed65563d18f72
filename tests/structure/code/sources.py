"""Languages of code, and texts of each: the inputs of its fixtures, and files of cases."""

import re
from importlib.util import find_spec
from pathlib import Path

from structkit.extras import EXTRAS

# those of the extra `languages`
EXTRA = [package.removeprefix("tree-sitter-") for package in EXTRAS["languages"]]
ABSENT = {each for each in EXTRA if not find_spec(f"tree_sitter_{each}")}
CODE = (
    *("c", "cpp", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust"),
    "typescript",
    *(each for each in EXTRA if each not in ABSENT),
)
FIXTURES = {
    language: [
        path.read_text("utf-8").split("---input---\n")[1].split("\n---masked---\n")[0]
        for path in sorted(Path("fixtures/languages", language).glob("*.txt"))
    ]
    for language in CODE
}
CASE = re.compile(r"^=== ([^\n]*)\n(.*?)\n--- ?(.*?)\n*(?=^===|\Z)", re.MULTILINE | re.DOTALL)


def files(pattern):
    """The files of a pattern below a language's folder, but for languages without a grammar."""
    return sorted(path for path in Path("fixtures").glob(pattern) if path.parent.name not in ABSENT)


def cases(name):
    """The name, the text and what is expected of each case in a file of `cases/`."""
    text = (Path(__file__).parent / "cases" / f"{name}.txt").read_text("utf-8")
    return [each for each in CASE.findall(text) if each[0] not in ABSENT]
