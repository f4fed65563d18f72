"""mask-entities on code, JSONL to JSONL, over a loop that only parses the JSON and the code.

    python -m tests.benchmarks.languages --data ../shared/data/codesearch

reads real functions; without `--data`, the cases of `fixtures/languages`. Both are repeated to a
size where start-up does not count.

To find names, the nodes of the tree must be looked at: what that takes when nothing else is done is
in the second row of a language. A query of tree-sitter for names and strings takes about as long.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from itertools import cycle
from pathlib import Path

import orjson

from tests.benchmarks.pairs import PYTHON, Comparison, report
from tests.benchmarks.records import LOOP, STRUCTKIT

LANGUAGES = ("python", "java", "go", "php", "javascript", "ruby")
SETUP = (
    "import tree_sitter, tree_sitter_{language} as grammar\n"
    "parse = tree_sitter.Parser(tree_sitter.Language(grammar.{function}())).parse"
)
WALK = """
def walk(tree):
    cursor = tree.walk()
    into, along, out = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    while True:
        cursor.node.kind_id
        if into():
            continue
        while not along():
            if not out():
                return
"""


def main(arguments: list[str] | None = None) -> None:
    """Run the comparison for every language."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with train.jsonl.gz: real functions")
    parser.add_argument("--size", type=int, default=24_000_000, help="bytes of an input")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each command")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for language in LANGUAGES:
            rows = real(args.data, language) if args.data else cases(language)
            path = Path(folder, f"{language}.jsonl")
            write(path, rows, args.size)
            report(comparisons(language, path), args.pairs)


def comparisons(language: str, path: Path) -> list[Comparison]:
    """Masking over parsing, and what looking at the nodes takes."""
    function = "language_php_only" if language == "php" else "language"
    setup = SETUP.format(language=language, function=function) + WALK
    parse, walk = (
        [PYTHON, "-c", LOOP.format(setup=setup, work=work)]
        for work in ('parse(record["code"].encode())', 'walk(parse(record["code"].encode()))')
    )
    mask = [*STRUCTKIT, "mask-entities", "-q"]
    name = f"mask-entities, {language}"
    return [
        Comparison(f"{name} / JSONL + tree-sitter parse", mask, parse, 1.6, path),
        Comparison(f"JSONL + parse and nodes, {language} / parse alone", walk, parse, None, path),
    ]


def cases(language: str) -> list[bytes]:
    """Records of the inputs of our own cases."""
    paths = sorted(Path("fixtures/languages", language).glob("*.txt"))
    texts = [path.read_text("utf-8").split("---input---\n")[1] for path in paths]
    codes = [text.partition("\n---masked---\n")[0] for text in texts]
    records = [{"id": str(n), "language": language, "code": code} for n, code in enumerate(codes)]
    return [orjson.dumps(record) + b"\n" for record in records]


def real(data: Path, language: str) -> list[bytes]:
    """The lines of a language's functions, as they are."""
    with gzip.open(data / "train.jsonl.gz", "rb") as lines:
        return [line for line in lines if orjson.loads(line)["language"] == language]


def write(path: Path, rows: list[bytes], size: int) -> None:
    """The rows again and again, up to a number of bytes."""
    with path.open("wb") as output:
        for row in cycle(rows):
            if output.tell() >= size:
                return
            output.write(row)


if __name__ == "__main__":
    main()
