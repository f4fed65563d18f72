"""Recall and precision of a language's entities against an independent reading of the same code.

    python tests/agreement/compare.py go rows.jsonl.gz -- go run tests/agreement/go.go

The command reads rows (`id`, `code`) and writes `{"id": …, "names": […]}`, names in text order, or
`null` where it cannot read the code. Differences are shown with `--show N`.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import subprocess

from structkit.registry import load


def compare(language: str, rows: list[dict], command: list[str]) -> dict:
    """Counts of names in both readings, and the rows that differ."""
    lines = "".join(json.dumps({"id": row["id"], "code": row["code"]}) + "\n" for row in rows)
    output = subprocess.run(
        command, input=lines.encode(), stdout=subprocess.PIPE, check=True
    ).stdout
    read = {made["id"]: made["names"] for made in map(json.loads, output.decode().splitlines())}
    entities = load("language", language)().names
    counts = {"rows": len(rows), "unread": 0, "same": 0, "ours": 0, "theirs": 0, "both": 0}
    differences = []
    for row in rows:
        theirs = read[row["id"]]
        if theirs is None:
            counts["unread"] += 1
            continue
        ours = [row["code"][start:end] for start, end in entities(row["code"])]
        blocks = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
        counts["both"] += sum(b - a for kind, a, b, _, _ in blocks if kind == "equal")
        counts["ours"] += len(ours)
        counts["theirs"] += len(theirs)
        changes = [(ours[a:b], theirs[c:d]) for kind, a, b, c, d in blocks if kind != "equal"]
        counts["same"] += not changes
        if changes:
            differences.append((row["id"], changes))
    return {**counts, "differences": differences}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("language")
    parser.add_argument("rows")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("command", nargs="+")
    flags = parser.parse_args()
    with gzip.open(flags.rows, "rt", encoding="utf-8") as handle:
        rows = [row for row in map(json.loads, handle) if row["language"] == flags.language]
    made = compare(flags.language, rows, flags.command)
    for id, changes in made.pop("differences")[: flags.show]:
        print(id, changes)
    print(flags.language, made)
    print(
        f"recall {made['both'] / made['theirs']:.4%}  precision {made['both'] / made['ours']:.4%}"
    )


if __name__ == "__main__":
    main()
