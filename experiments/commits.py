"""Subjects of commits and the functions that they changed, of several projects: pairs to train on.

    python -m experiments.commits PAIRS.jsonl… --held-out PROJECT… -o PAIRS --held-out-pairs PAIRS

Each file has the pairs of a project, made by `structkit collect --unit commit`, and its name. A
subject that says little is left out: of fewer than three words, of a merge, of a release.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from structkit.records.jsonl import Record

MIN_WORDS = 3
SAYS_LITTLE = re.compile(r"merge\b|revert\b|bump\b|release\b|version\b|v?\d+\.\d+", re.IGNORECASE)


def subject(message: str) -> str:
    """Return the first line of a message, without the number of its pull request.

    >>> subject("Close the file (#12)\\n\\nIt was left open.")
    'Close the file'
    """
    return re.sub(r"\s*\(#\d+\)$", "", message.partition("\n")[0].strip())


def pairs(lines: Iterable[bytes]) -> Iterator[Record]:
    """Yield the pairs whose subject says something, each pair of texts once."""
    seen = set()
    for record in map(orjson.loads, lines):
        query = subject(record["query"])
        texts = query, record["positive"]
        if len(query.split()) >= MIN_WORDS and not SAYS_LITTLE.match(query) and texts not in seen:
            seen.add(texts)
            yield {"id": record["id"], "query": query, "positive": record["positive"]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="commits")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--held-out", nargs="+", default=())
    parser.add_argument("-o", required=True, type=Path)
    parser.add_argument("--held-out-pairs", required=True, type=Path)
    options = parser.parse_intermixed_args()
    with options.o.open("wb") as trained, options.held_out_pairs.open("wb") as held_out:
        for file in options.files:
            target = held_out if file.stem in options.held_out else trained
            with file.open("rb") as lines:
                for pair in pairs(lines):
                    target.write(orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
