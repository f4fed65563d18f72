"""Descriptions of functions, and headings of sections, as pairs for the bundled table.

    python -m experiments.ask_pairs functions|sections RECORDS… -o PAIRS

The records are those of `structkit pair`, or of `collect`, with a folder for each package.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from structkit.records.jsonl import Record, Records
from structkit.records.output import write_records

MOST = 4_000  # pairs of a package: a few large ones would be most of the pairs
# where a description ends: at its second paragraph, tags, or lists of parameters
END = re.compile(
    r"\n\s*(?:\n|@\w|:\w+|\\\w+|(?:Parameters|Args|Arguments|Returns?:?|Raises|Examples?|Note)\b)"
    r"|<p>|^@"
)
SUMMARY = re.compile(r"^\s*[@\\](brief|summary|description|desc)\b\s*")
MARKS = re.compile(r"</?\w[^>]*>|\{@\w+ ([^}]*)\}|`+")
RULE = re.compile(r"[=~\-^*\"#]{3,}")  # under a title


def summary(docstring: str) -> str:
    """Return the first paragraph of a description, in one line, without marks.

    >>> summary("@brief Closes {@link File}s.\\n@param file to close")
    'Closes Files.'
    """
    text = MARKS.sub(lambda mark: mark[1] or " ", SUMMARY.sub("", docstring))
    return " ".join(END.split(text, maxsplit=1)[0].split())


def is_english(text: str) -> bool:
    """Return whether nearly all characters are of ASCII."""
    return sum(map(str.isascii, text)) >= 0.97 * len(text)


def functions(records: Iterator[Record]) -> Iterator[Record]:
    """Yield at most `MOST` pairs of `structkit pair` of each package, each description once.

    >>> code = {"id": "1", "path": "p/a.py", "positive": 4 * "return close(file, now) "}
    >>> texts = ("Closes the {@link file}.\\n\\n@param file", "closes the file.", "Schließt äöüß")
    >>> [each["query"].lower() for each in functions(iter([code | {"query": t} for t in texts]))]
    ['closes the file.']
    """
    found, seen, drawn = defaultdict[str, list[Record]](list), set[str](), random.Random(0)
    for each in records:
        query = summary(each["query"])
        if len(query.split()) > 2 and is_english(query) and 60 <= len(each["positive"]) <= 20_000:
            kept = {"id": each["id"], "query": query, "positive": each["positive"]}
            found[each["path"].partition("/")[0]].append(kept)
    for _, own in sorted(found.items()):
        drawn.shuffle(own)
        left = MOST
        for each in own:
            if left and each["query"].lower() not in seen:
                seen.add(each["query"].lower())
                left -= 1
                yield each


def sections(records: Iterator[Record]) -> Iterator[Record]:
    """Yield the sections of manuals: the title and the headings, and the text without these.

    >>> page = {"id": "2", "title": "Manual", "headings": ["Files"], "text": "# A\\n" + 12 * "a "}
    >>> found = sections(iter([page, page | {"headings": []}]))
    >>> [(each["query"], each["positive"]) for each in found]
    [('Manual Files', 'a a a a a a a a a a a a ')]
    """
    for each in records:
        lines = [e for e in each["text"].splitlines() if not RULE.fullmatch(e.strip())]
        text = "\n".join(e for e in lines if not e.startswith("#"))
        query = " ".join(dict.fromkeys([each["title"] or "", *each["headings"]])).strip()
        if each["headings"] and query and len(text.split()) >= 12 and is_english(text):
            yield {"id": each["id"], "query": query, "positive": text}


def main(words: Sequence[str] | None = None) -> None:
    """Write the pairs of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("unit", choices=("functions", "sections"))
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("-o", "--output", required=True)
    given = parser.parse_args(words)
    read = iter(Records.read([str(each) for each in given.records]))
    write_records({"functions": functions, "sections": sections}[given.unit](read), given.output)


if __name__ == "__main__":
    main()
