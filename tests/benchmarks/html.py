"""html-variants, JSONL to JSONL, over a round trip through lxml, and over BeautifulSoup's parse.

    python -m tests.benchmarks.html --data ../shared/data/structdoc

reads real documents; without `--data`, pages made of the cases of `fixtures/html`.

The round trip serializes once, html-variants makes three texts: that is what lxml itself takes for
three in the second row. The rest is Python's work for each tag and text.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from itertools import islice
from pathlib import Path

import orjson

from tests.benchmarks.languages import write
from tests.benchmarks.pairs import PYTHON, Comparison, report
from tests.benchmarks.records import LOOP, STRUCTKIT

LXML = (
    "from lxml import etree\n"
    'parser = etree.HTMLParser(huge_tree=True, encoding="utf-8")\n'
    "def texts(html, *methods):\n"
    "    tree = etree.fromstring(html.encode(), parser)\n"
    '    return [etree.tostring(tree, method=each, encoding="unicode") for each in methods]\n'
)
SOUP = "from bs4 import BeautifulSoup"


def main(arguments: list[str] | None = None) -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with dev_docs.jsonl.gz: real documents")
    parser.add_argument("--size", type=int, default=12_000_000, help="bytes of an input")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each command")
    args = parser.parse_args(arguments)
    rows = real(args.data) if args.data else pages()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "docs.jsonl")
        write(path, rows, args.size)
        report(comparisons(path), args.pairs)


def comparisons(path: Path) -> list[Comparison]:
    """Variants over the round trip, both parsers of BeautifulSoup, and two workers over one."""
    command = [*STRUCTKIT, "html-variants", "-q"]
    once, thrice = (
        [PYTHON, "-c", LOOP.format(setup=LXML, work=work)]
        for work in (
            '[record["html"]] = texts(record["html"], "html")',
            'record["variants"] = texts(record["html"], "html", "text", "html")',
        )
    )
    soups = [
        Comparison(
            f"html-variants / BeautifulSoup's parse alone ({name})",
            command,
            [
                PYTHON,
                "-c",
                LOOP.format(setup=SOUP, work=f'BeautifulSoup(record["html"], "{name}")'),
            ],
            1 / 6,
            path,
        )
        for name in ("lxml", "html.parser")
    ]
    two = [*command, "--workers", "2"]
    return [
        Comparison("html-variants / JSONL + lxml parse and serialize", command, once, 2.2, path),
        Comparison("lxml parse and serialize three times / once", thrice, once, None, path),
        *soups,
        Comparison("html-variants --workers 2 / 1", two, command, 1.2, path),
    ]


def pages() -> list[bytes]:
    """Records of pages, each of which holds all our own cases that end."""
    texts = [path.read_text("utf-8") for path in sorted(Path("fixtures/html").glob("*.txt"))]
    cases = [text.split("---input---\n")[1].partition("\n---tagged---\n")[0] for text in texts]
    cases = [case for case in cases if "never closed" not in case]
    orders = [cases[at:] + cases[:at] for at in range(len(cases))]
    return [
        orjson.dumps({"id": str(number), "html": "\n".join(order * 4)}) + b"\n"
        for number, order in enumerate(orders)
    ]


def real(data: Path) -> list[bytes]:
    """The lines of real documents, as they are."""
    with gzip.open(data / "dev_docs.jsonl.gz", "rb") as lines:
        return list(islice(lines, 400))


if __name__ == "__main__":
    main()
