"""Whether functions are found and end where they end, in each language of code.

    python -m tests.structure.code.sweep [FOLDER…]

Without folders: each statement of `fixtures/languages/*/sweep/statements.txt` in the body of each
frame there. The share of texts in which both functions have the right lines, and no comment of the
other. With folders: the lines of their files that begin a definition by the language's pattern, and
the share of those with a function of that name; siblings that overlap are named.
"""

import re
import sys
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

from structkit.collecting.kinds import content_kind
from structkit.registry import load

DATA = Path("../shared/data/repositories/files.jsonl.gz")
FILES = {path.parent.parent.name: path for path in Path().glob("fixtures/languages/*/sweep/*.txt")}
LEADING = re.compile(r"\s*(?:@\w+|#?\[\w+\]|[a-z ]+\*)$")


@cache
def sweep_of(language):
    """The pattern of definitions, the frames and the statements of a language."""
    parts = re.split(r"^---\n", FILES[language].read_text("utf-8"), flags=re.MULTILINE)
    parts = [part.rstrip("\n") for part in parts]
    frames = [part for part in parts[1:] if "STATEMENT" in part]
    statements = [part for part in parts[1:] if "STATEMENT" not in part]
    return re.compile(parts[0].removeprefix("pattern: ")), frames, statements


def texts(language):
    """Each statement in each frame; lines after `|` are not indented."""
    _, frames, statements = sweep_of(language)
    for frame in frames:
        indent = re.search(r"^[ \t]*(?=.*STATEMENT)", frame, re.MULTILINE)[0]
        for statement in statements:
            lines = "\n" if statement.startswith("|") else f"\n{indent}"
            yield (
                frame.replace("STATEMENT", statement.removeprefix("|").replace("\n", lines)) + "\n"
            )


def functions(language, text):
    """The functions of a text, in order."""
    program = load("language", language).outline.parse(text, text.encode())
    return [each for each in program.definitions if each.kind == "function"]


def problem(language, text):
    """What is wrong with the functions of a text; empty if nothing is."""
    rows = text.split("\n")
    marks = [re.compile(rf"(?i)\b{name}\b") for name in ("first", "second")]
    starts = [
        next(at for at, row in enumerate(rows) if marks[0].search(row)),
        max(at for at, row in enumerate(rows) if marks[1].search(row)),
    ]
    # a definition begins with its attributes or its type
    starts = [at - bool(LEADING.match(rows[at - 1])) for at in starts]
    found = functions(language, text)
    of_both = [[each for each in found if mark.fullmatch(each.name)] for mark in marks]
    if [1, 1] != [len(some) for some in of_both]:
        return f"has the functions {[each.path for each in found]}"
    for start, [function] in zip(starts, of_both, strict=True):
        if start != function.row:
            return f"{function.name} starts in line {function.row + 1}, not {start + 1}"
    first, second = (some[0] for some in of_both)
    between = "\n".join(rows[first.end_row + 1 : second.row])
    code = "\n".join(rows[second.row : second.end_row + 1])
    if first.end_row >= second.row:
        return "first ends in second"
    if marks[1].search("\n".join(rows[first.row : first.end_row + 1])):
        return "first has a comment of second"
    between = re.sub(r"<#.*?#>", "", between, flags=re.DOTALL)
    if not re.fullmatch(r"(?s)\s*(?:(?:/\*|\*|//|#|--|@)[^\n]*\s*)*", between):
        return f"first ends before {between!r}"
    if "after" in code:
        return "second has a comment after it"
    if first.parent and first.parent.node.id != getattr(second.parent, "node", first.node).id:
        return "they have different scopes"
    return ""


def overlaps(found):
    """Pairs of neighbors in the same scope that share a byte."""
    return [(a, b) for a, b in pairwise(found) if a.parent is b.parent and a.end > b.start]


def unfound(language, text):
    """The lines that begin a definition by the pattern, and those of them without a function."""
    found = functions(language, text)
    pattern = sweep_of(language)[0]
    begun, missing = [], []
    for at, row in enumerate(text.split("\n")):
        if match := pattern.match(row):
            begun.append(at)
            name = re.split("[.:]", match[1])[-1]
            inside = (each for each in found if each.row <= at <= each.end_row)
            if not any(name in (each.name, each.name.strip("`")) for each in inside):
                missing.append(at)
    return begun, missing


def of_folders(folders):
    """Print the shares of definitions in folders that are found, by language."""
    total, missed = defaultdict(int), defaultdict(int)
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*")):
        if path.is_file() and path.stat().st_size < 1_000_000:
            text = path.read_bytes().decode("utf-8", "replace")
            kind = content_kind(str(path), text)
            if kind.language in FILES:
                begun, missing = unfound(kind.language, text)
                total[kind.language] += len(begun)
                missed[kind.language] += len(missing)
                for at in missing:
                    print(f"{path}:{at + 1}: not found")
                for a, b in overlaps(functions(kind.language, text)):
                    print(f"{path}:{b.row + 1}: {a.path} and {b.path} overlap")
    for language, number in sorted(total.items()):
        print(f"{language}: {number - missed[language]} of {number}")


def of_statements(languages):
    """Print what is wrong with statements, and the share of right ones, by language."""
    for language in languages:
        every = list(texts(language))
        wrong = [(text, told) for text in every if (told := problem(language, text))]
        for text, told in wrong:
            print(f"{language}: {told}\n{text}")
        print(f"{language}: {len(every) - len(wrong)} of {len(every)}")


if __name__ == "__main__":
    if sys.argv[1:] and Path(sys.argv[1]).is_dir():
        of_folders(sys.argv[1:])
    else:
        of_statements(sys.argv[1:] or sorted(FILES))
