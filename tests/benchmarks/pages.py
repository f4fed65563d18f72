"""Any number of HTML pages, made of real ones, to run the stages where there are not so many.

    python -m tests.benchmarks.pages FILE… --pages 100000 --shard 0/10 > part.jsonl

The first pages are the real ones. Later ones repeat them with other parts: each part that begins
with a heading (<h2>) is, with probability 1/2, that of a page drawn at random. Lengths and tags are
thus real, and most pages differ, but their texts repeat: how well they compress, or are found,
says nothing of real pages. Page N is the same in any shard.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator, Sequence

import orjson

from structkit.records.jsonl import Record, Records

HEADING = re.compile(r"(?=<h2[ >])")


def made(pages: Sequence[tuple[str, str]], numbers: range) -> Iterator[Record]:
    """The pages of these numbers, from real ones: ids and HTML.

    >>> [page["id"] for page in made([("a", "<p>1</p><h2>2</h2>"), ("b", "<p>3</p>")], range(1, 4))]
    ['b', 'a.1', 'b.1']
    """
    parts = [part for _, html in pages for part in HEADING.split(html)[1:]] or [""]
    for number in numbers:
        copy, place = divmod(number, len(pages))
        name, html = pages[place]
        if copy:
            draw = random.Random(number)
            first, *others = HEADING.split(html)
            html = first + "".join(
                draw.choice(parts) if draw.random() < 0.5 else part for part in others
            )
            name = f"{name}.{copy}"
        yield {"id": name, "html": html}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--shard", default="0/1", help="I/N: the I-th of N parts, from 0")
    args = parser.parse_args(arguments)
    shard, shards = map(int, args.shard.split("/"))
    pages = [(record["id"], record["html"]) for record in Records.read(args.files)]
    numbers = range(args.pages * shard // shards, args.pages * (shard + 1) // shards)
    for page in made(pages, numbers):
        sys.stdout.buffer.write(orjson.dumps(page, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
