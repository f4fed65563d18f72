"""A bug report as a question: its text, its title and its names of code, searched apart.

A file counts by its best passage for each part, which may be several passages. BLUiR (Saha et al.,
ASE 2013) searches parts of a report apart, too. Left out, each part finds fewer files:
`make -C experiments localization`.

Tests: tests/asking/test_report.py.
"""

import math
import re
from collections import Counter

import numpy as np

from structkit.asking.folder import Folder
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query, Weights
from structkit.records.jsonl import Record
from structkit.searching.bm25 import highest_scores, places_in_groups
from structkit.searching.hits import Hit
from structkit.searching.words import folded_words

MAX_FORM_CHARACTERS = 2_000  # characters of a line by which a form is recognized
REPORT_MARK = re.compile(r"\s*(?:```|~~~)|\s{0,3}(?:#{1,6} |<!--)| {4,}\S|\t")
# a line of a file, as stack traces, compilers and test runners write it
PLACE_IN_TRACE = re.compile(r"""\w\.[A-Za-z]\w{0,4}(?:["']?, line |:line |:|\()\d""")
QUOTED_CODE = re.compile(r"(?<!`)`([^`\n]{1,80})`(?!`)")
SYMBOL_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->|#)\w+)*(?:\(\))?")
CODE_MARK = re.compile(r"\w[_.:#>-]|_\w|[a-z0-9][A-Z]|\(")
# the value of tests, examples, copies: a report resembles them, but is about others
RARE_KIND_VALUE = 0.1
FURTHER_PASSAGE_VALUE = 0.75  # each further passage of a file counts so much of the one before


def is_report_text(text: str) -> bool:
    """Return whether lines are one report, and not a question each.

    It has code, a heading, a comment or a stack trace; or paragraphs of sentences.
    """
    lines = [line[:MAX_FORM_CHARACTERS] for line in text.strip().splitlines()]
    if any(REPORT_MARK.match(line) or PLACE_IN_TRACE.search(line) for line in lines):
        return True
    ends = any(line.rstrip().endswith(".") for line in lines)
    return ends and "" in map(str.strip, lines)


def report_parts(text: str) -> dict[str, str]:
    """Return what is searched of a report: all, its first line, and what is quoted or unlike words.

    >>> report_parts("# Pool.get() waits if `size` is 0")["names"]
    'size Pool.get()'
    """
    title = next((line.strip(" #") for line in text.splitlines() if line.strip(" #")), "")
    names = [
        *QUOTED_CODE.findall(text),
        *(name for name in SYMBOL_NAME.findall(text) if CODE_MARK.search(name)),
    ]
    return {"text": text, "title": title, "names": " ".join(dict.fromkeys(names))}


def localize(folder: Folder, text: str, k: int, chosen: Floats) -> list[tuple[Hit, Record]]:
    """Return the k best passages with words of a report, and their records, best first.

    `chosen` is the mask of passages that may answer, (passages,).
    """
    passages, files = np.zeros(len(folder)), np.zeros(len(folder.files))
    firsts = np.flatnonzero(np.diff(folder.file_numbers, prepend=-1))
    for part in report_parts(text).values():
        asked = {word: 1 + math.log(count) for word, count in Counter(folded_words(part)).items()}
        scores = folder.words.scores(asked) * chosen
        if most := scores.max(initial=0.0):
            passages += scores / most
            files += np.maximum.reduceat(scores / most, firsts)
    files *= RARE_KIND_VALUE ** -kind_demotions(
        text, [folder.path_in_project(file.path) for file in folder.files]
    )
    places = places_in_groups(passages, folder.file_numbers)
    best = highest_scores(
        files[folder.file_numbers] * FURTHER_PASSAGE_VALUE**places * (passages > 0), k
    )
    records = folder.records(best)
    return [(Hit(records[number]["id"], score), records[number]) for number, score in best.items()]


def kind_demotions(text: str, paths: list[str]) -> Floats:
    """Return -1 for each kind of files, as tests or examples, that a path is of, (paths,)."""
    rankers = Weights({"path-kinds": None, "path-variants": None}).ranking().rankers
    asked = Query("", "windows" if "windows" in text.lower() else "")  # a system, by the word
    hits = [Candidate(path, 0, {"path": path}) for path in paths]
    scores = [np.asarray(ranker.scores(asked, hits)) for ranker, _ in rankers]
    demoted: Floats = np.sum(scores, 0)
    return demoted
