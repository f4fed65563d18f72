"""The places that a report is about: by its words, the names it writes, traces and paths.

BLUiR (Saha et al., ASE 2013) searches parts of a report apart; BRTracer (Wong et al., ICSME 2014)
adds the files of its stack traces, the innermost first. Here the best passage of a file for each
part counts, also where these are several passages.

Tests: tests/asking/test_report.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePosixPath

import numpy as np

from structkit.asking.folder import Folder
from structkit.asking.report import Frame, Report
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query, Weights
from structkit.records.jsonl import Record
from structkit.searching.hits import Hit
from structkit.searching.words import SEPARATOR, words

# weights beside 1 of all the words of a report: chosen on 51 reports of six projects, where half or
# double of each finds as many files; leaving a project out chooses about the same
TITLE, NAMES, DEFINED, MENTIONED, FRAME = 0.75, 0.75, 0.25, 0.25, 1.0
KINDS = 2.0  # tests, examples, copies: a report resembles them, and is seldom about them
NEXT = 0.75  # each further passage of a file counts so much of the one before
FILES = 50  # whose definitions are compared with the names
ABSOLUTE = ("/", "~", "\\")
SLASH = re.compile(r"[/\\]+")


def localize(folder: Folder, report: Report, k: int, chosen: Floats) -> list[tuple[Hit, Record]]:
    """Return the k best passages with words of a report, and their records, best first.

    `chosen` is the mask of passages that may answer, (passages,).
    """
    passages, files = by_words(folder, report, chosen)
    named, traced = by_paths(report, [each.path for each in folder.files])
    files += named
    starts = np.searchsorted(folder.numbers, np.arange(len(files) + 1)).tolist()
    best = np.argsort(-files, kind="stable")[: max(FILES, k)].tolist()
    some = {file: range(starts[file], starts[file + 1]) for file in best}
    records = folder.records(number for numbers in some.values() for number in numbers)
    files[best] += DEFINED * defined(report.names, [[records[n] for n in some[f]] for f in best])
    for file, frame, share in traced:
        for number in some.get(file, ()):
            passages[number] += share * chosen[number] * frame.is_in(records[number])
    found: list[tuple[Hit, Record]] = []
    for file, numbers in some.items():
        ordered = sorted((n for n in numbers if passages[n] > 0), key=lambda n: -passages[n])
        for place, number in enumerate(ordered):
            score = float(files[file]) * (NEXT**place if files[file] > 0 else 1.0)
            found.append((Hit(records[number]["id"], score), records[number]))
    return sorted(found, key=lambda each: -each[0].score)[:k]


def by_words(folder: Folder, report: Report, chosen: Floats) -> tuple[Floats, Floats]:
    """Score passages (passages,) and files (files,) by the words of a report's parts."""
    passages, files = np.zeros(len(folder)), np.zeros(len(folder.files))
    firsts = np.flatnonzero(np.diff(folder.numbers, prepend=-1))
    for text, weight in ((report.text, 1.0), (report.title, TITLE), (report.named, NAMES)):
        asked = {word: 1 + math.log(count) for word, count in Counter(words(text)).items()}
        scores = folder.words.scores(asked) * chosen
        if most := scores.max(initial=0.0):
            scores *= weight / most
            passages += scores
            files += np.maximum.reduceat(scores, firsts)
    return passages, files


def by_paths(report: Report, paths: Sequence[str]) -> tuple[Floats, list[tuple[int, Frame, float]]]:
    """Score files by their paths and a report's paths, (files,).

    And the file of each frame of a trace that has one, with its share: 1 for the innermost file.
    """
    ((kinds, _),) = Weights({"path-kinds": None}).ranking().rankers
    # of a test that is named, but not of the word; of a system by the word
    system = ["windows"] * ("windows" in report.text.lower())
    asked = Query("", " ".join([*(each for each in report.names if each in report.title), *system]))
    scores = KINDS * kinds.scores(asked, [Candidate(each, 0, {"path": each}) for each in paths])
    names = defaultdict[str, list[int]](list)
    for number, path in enumerate(paths):
        names[PurePosixPath(path).name.lower()].append(number)
    for number in {number for path in report.paths for number in files_of(path, paths, names)}:
        scores[number] = max(scores[number], 0.0) + MENTIONED
    shares: dict[int, float] = {}
    traced: list[tuple[int, Frame, float]] = []
    for frame in report.frames:
        for number in files_of(frame.path, paths, names):
            if scores[number] >= 0:
                share = shares.setdefault(number, FRAME / (1 + len(shares)))
                traced.append((number, frame, share))
    scores[list(shares)] += list(shares.values())
    return scores, traced


def files_of(path: str, paths: Sequence[str], names: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the numbers of the files that a path, written elsewhere, may refer to.

    They share its last parts: at least the folder of an absolute path. `names` has the numbers by
    the names of files in lower case.

    >>> paths = ["src/net/pool.py", "tests/pool.py"]
    >>> files_of("/usr/lib/net/pool.py", paths, {"pool.py": [0, 1]})
    [0]
    >>> files_of("/usr/lib/thread/pool.py", paths, {"pool.py": [0, 1]})
    []
    """
    parts = [part for part in SLASH.split(path.lower()) if part not in ("", ".", "..")]
    same = names.get(parts[-1], ()) if parts else ()
    lengths = [shared(parts, paths[number].lower().split("/")) for number in same]
    longest = max(lengths, default=0)
    absolute = path.startswith(ABSOLUTE) or path[1:2] == ":"
    if longest < 2 and len(parts) > 1 and (absolute or len(same) > 1):
        return []
    return [number for number, length in zip(same, lengths, strict=True) if length == longest]


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of last parts that are the same."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def defined(names: Iterable[str], files: Sequence[Sequence[Record]]) -> Floats:
    """Return the number of names that each file defines, shared with other files, (files,)."""
    having = defaultdict[str, set[int]](set)
    for number, records in enumerate(files):
        for name in (name for record in records for name in record.get("names", ())):
            having[SEPARATOR.split(name)[-1]].add(number)
    scores = np.zeros(len(files))
    for own in dict.fromkeys(SEPARATOR.split(name.partition("(")[0])[-1] for name in names):
        for number in having[own]:
            scores[number] += 1 / len(having[own])
    return scores
