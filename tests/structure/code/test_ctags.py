"""Functions beside those of universal-ctags, in the sources of eleven repositories.

`MISSED` and `ADDED` are the shares that differ, at most: of ctags' functions those that we lack
with the same name and line, and of ours those that it lacks. Looked at, they are faults of ctags:
it takes a macro that is called outside functions for one (`RB_GENERATE(a, b)`), and loses the next
function for it; it reads one branch of `#if`; `#if 0` and templates' `<` confuse it; it lacks
methods of anonymous classes (Java), operators of conversion to a qualified type, functions with a
generic type or an expression for a body, operators and indexers (C#), and closures that are
arguments (TypeScript).
Left out are its functions without a body: of interfaces, and abstract ones.
"""

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from structkit.collecting.kinds import content_kind
from structkit.collecting.units import Units
from structkit.records.jsonl import Records

DATA = Path("../shared/data/repositories/files.jsonl.gz")
KINDS = {
    "c": ("C", "f"),
    "cpp": ("C++", "f"),
    "csharp": ("C#", "m"),
    "go": ("Go", "f"),
    "java": ("Java", "m"),
    "php": ("PHP", "f"),
    "ruby": ("Ruby", "fS"),
    "rust": ("Rust", "fP"),
    "typescript": ("TypeScript", "fmG"),
}
MISSED = {"cpp": 0.006, "java": 0.006, "typescript": 0.02}
ADDED = {"c": 0.002, "cpp": 0.06, "csharp": 0.15, "java": 0.11, "typescript": 0.66}
PROTOTYPED = ("csharp", "java", "php", "rust", "typescript")
MACRO = re.compile("[A-Z_][A-Z0-9_]*")


def bodies(text, line, name):
    """Whether what is declared at a line has a body."""
    after = "\n".join(text.split("\n")[line - 1 :])[:4000].partition(name.split(".")[-1])[2]
    while (shorter := re.sub(r"\([^()]*\)|<[^<>{};]*>", "", after, count=50)) != after:
        after = shorter
    found = re.search(r"[{;]|=>", after)
    return found is not None and found[0] != ";"


def of_ctags(language, folder):
    """{path: [(name, line)]} of all files in a folder."""
    name, kinds = KINDS[language]
    options = ["--options=NONE", "--quiet", "--output-format=json", "--fields=+n", "--sort=no"]
    which = [f"--languages={name}", f"--language-force={name}", f"--kinds-{name}={kinds}"]
    done = subprocess.run(
        ["ctags", *options, *which, "-R", "-o", "-", "."], cwd=folder, capture_output=True
    )
    found = defaultdict(list)
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        tag = json.loads(line)
        found[tag["path"].removeprefix("./")].append((tag["name"], tag["line"]))
    return found


def plain(name):
    """A name as both write it: `operator ==`, C#'s `IList.Add`."""
    return name.rpartition(".")[2].replace(" ", "") if name.isprintable() else name


def differences(language, folder, texts):
    """(what we lack, what ctags lacks, functions of ctags, functions of ours)."""
    theirs = of_ctags(language, folder)
    missed, added, count, own = [], [], 0, 0
    for path, text in texts.items():
        records = list(Units("function").records(path, text, content_kind(path, text)))
        own += len(records)
        left = defaultdict(list)
        for record in records:
            left[plain(record["name"])].append(record["lines"])
        for name, line in sorted(theirs[path], key=lambda tag: bool(MACRO.fullmatch(tag[0]))):
            if name.startswith("__anon"):  # a closure
                continue
            if language in PROTOTYPED and not bodies(text, line, name):
                continue
            if language in ("c", "cpp") and MACRO.fullmatch(name):
                # what a macro defines has a name of its own here
                for lines in left.values():
                    lines[:] = [each for each in lines if each[0] != line]
                continue
            count += 1
            around = [lines for lines in left[plain(name)] if lines[0] <= line <= lines[1]]
            if around:
                left[plain(name)].remove(max(around))
            else:
                missed.append((path, line, name))
        added += [(path, lines[0], name) for name in left for lines in left[name]]
    return missed, added, count, own


@pytest.mark.long
@pytest.mark.skipif(not DATA.exists(), reason="the repositories are not beside structkit")
@pytest.mark.skipif(not shutil.which("ctags"), reason="universal-ctags is not installed")
@pytest.mark.parametrize("language", KINDS)
def test_functions_are_those_of_ctags(language, tmp_path):
    texts = {}
    for row in Records.read([str(DATA)]):
        path, text = row["id"], row["code"]
        if content_kind(path, text).language == language:
            texts[path] = text
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
    missed, added, count, own = differences(language, tmp_path, texts)
    print(f"{language}: {count} of ctags, {len(missed)} missed; {own} of ours, {len(added)} added")
    assert count > 200
    assert len(missed) <= MISSED.get(language, 0) * count, missed[:20]
    assert len(added) <= ADDED.get(language, 0) * own, added[:20]
