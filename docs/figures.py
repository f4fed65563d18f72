"""The figures of the pages of results, for light and dark pages: python -m docs.figures [FOLDER].

Each is drawn of what recipes wrote into experiments/reports/, or `make bench` into
tests/benchmarks/.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, takewhile
from pathlib import Path
from typing import Any

import matplotlib
import orjson
from matplotlib import pyplot

from experiments.claims import CANNOT_TELL, HELD, NOT_HELD, judged
from experiments.claims import claims as papers
from tests.benchmarks import table

FOLDER, REPORTS = Path("docs/figures"), Path("experiments/reports")
WIDTH = 3.9  # inches: words of 8 points can be read on a phone
INK = {"light": "#333333", "dark": "#dddddd"}
ABOVE, BELOW, OPEN = "#2a9d5c", "#d1495b", "#8a8a8a"
VERDICTS = {HELD: ABOVE, NOT_HELD: BELOW, CANNOT_TELL: OPEN}
# a name, a value with the ends of its interval (NaN: none), and the color
Row = tuple[str, tuple[float, float, float], str]
SYSTEMS = {
    "ask": "ask",
    "ask-words": "ask, without the table",
    "ask-minilm": "ask, MiniLM instead of the table",
    "ask-without-related": "ask, without related words",
    "ask-without-rankers": "ask, without rankers",
    "ask-words-without-related": "ask, without table and related words",
    "ask-words-without-rankers": "ask, without table and rankers",
    "ask-words-alone": "ask, BM25 alone",
    "semble": "semble with our table",
    "ripgrep": "ripgrep, whole files",
    "published: bm25_raw": "BM25 (published)",
    "published: bm25_ranked": "BM25, reranked (published)",
    "published: coderankembed": "CodeRankEmbed (published)",
    "published: coderankembed_hybrid": "CodeRankEmbed with BM25 (published)",
    "published: semble_hybrid": "semble (published)",
}
# the systems of the front page, and their colors
FRONT = {
    "ask": ("ask", ABOVE),
    "semble-all": ("semble, all its kinds of files", "#3f7cac"),
    "semble": ("semble, its default (code alone)", "#8db6d6"),
    "ripgrep": ("ripgrep, whole files", "#c8963e"),
}
FRONT_SETS = {
    "labelled": "about code",
    "paraphrase": "in other words",
    "docs": "about documentation",
}
TIMED = {"`ask`": "ask", "semble": "semble-all"}  # systems in the table of times
FAMILY = {
    "strae-c": "StrAE, constituency",
    "self-strae": "Self-StrAE",
    "banyan": "Banyan",
    "fasttext": "fastText, not tuned",
    "glove-words": "mean of GloVe's vectors",
    "self-strae-untrained-words": "mean of random vectors",
}
UNLABELLED = {
    "packages-plain": "MiniLM, pretrained\nby alignment alone",
    "packages": "… by SANTA",
    "start": "MiniLM",
    "bm25": "BM25",
}


def claims(paper: str) -> None:
    """Draw the difference behind each of a paper's claims, in the color of its verdict.

    A gain is right of 0, no gain left of the dotted line. Where another doubt than the interval
    keeps the verdict open, the line is dashed and the circle open.
    """
    panel: list[Row] = []
    doubted: set[int] = set()
    matters = 0.0
    for claim in dict(papers())[paper]:
        verdict, why, difference = judged(claim)
        # a claim that goes on with the one before it has no name of its own
        if not difference or claim.claim.startswith("…"):
            continue
        if verdict == CANNOT_TELL and why != "wide":
            doubted.add(len(panel))
        place = difference.value, difference.low, difference.high
        panel.append((claim.claim.replace("`", ""), place, VERDICTS[verdict]))
        matters = difference.matters
    _, axis = pyplot.subplots(figsize=(WIDTH, 0.32 * (len(panel) + 1)))
    intervals(axis, panel, doubted)
    for place in range(len(panel)):  # not through the names
        ends = [place - 0.2, place + 0.2]
        axis.plot([0, 0], ends, color=OPEN, linewidth=0.7)
        axis.plot([matters, matters], ends, ":", color=OPEN, linewidth=1)
    axis.locator_params(axis="x", nbins=6)
    axis.set_xlabel(f"difference, {'points of Score' if matters > 1 else 'RR@100 or nDCG@10'}")


def intervals(axis: Any, found: Sequence[Row], dashed: Collection[int] = ()) -> None:
    """Values with their intervals, one below the other, each under its name."""
    for place, (name, (value, low, high), color) in enumerate(found):
        line, fill = ("--", "none") if place in dashed else ("-", color)
        axis.plot([low, high], [place, place], line, color=color, linewidth=1.6)
        axis.plot([value], [place], "o", color=color, markersize=3.5, markerfacecolor=fill)
        of_left = axis.get_yaxis_transform()
        axis.text(0, place - 0.4, name, fontsize=8, va="center", transform=of_left)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_ylim(len(found) - 0.4, -0.8)


def ask() -> None:
    """`ask`, its parts and its rivals: nDCG@10, beside the CPU seconds that the index takes."""
    found = list[Row]()
    for cells in rows((REPORTS / "tables/repositories-peers.md").read_text("utf-8")):
        value, *ends = map(float, re.findall(r"[\d.]+", cells["mean"]))
        low, high = ends or (value, value)
        cost = float(cells["index s"] or 0)
        name = SYSTEMS[cells["system"]] + (f": {cost:.0f} CPU seconds" if cost else "")
        found.append((name, (value, low, high), ABOVE if "ask" in name else OPEN))
    _, axis = pyplot.subplots(figsize=(WIDTH, 0.32 * (len(found) + 1)))
    intervals(axis, found)
    axis.set_xlabel("nDCG@10, and the CPU seconds of the index")


def front() -> None:
    """How often the first answer is right, and how long a first and a next question take."""
    report = orjson.loads((REPORTS / "checkouts.json").read_bytes())
    found = {row["system"]: row for row in report["rows"]}
    _, (shares, times) = pyplot.subplots(
        2, figsize=(WIDTH, 4.6), height_ratios=(3, 1), layout="constrained"
    )
    right = {
        system: [100 * found[system][f"{part}/hit@1"] for part in FRONT_SETS] for system in FRONT
    }
    bars(shares, right, [*FRONT_SETS.values()], "{:.0f} %")
    shares.set_xlabel("first answers from a right file")
    timed = rows((REPORTS / "tables/asking.md").read_text("utf-8"))
    taken = {TIMED[cells[""]]: [float(each) for each in [*cells.values()][1:]] for cells in timed}
    bars(times, taken, ["first question", "next question"], "{:.1f} s")
    times.set_xlabel("CPU seconds, 6,869 files of Django")
    shares.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.3, 1), reverse=True)


def bars(
    axis: Any, systems: Mapping[str, Sequence[float]], groups: Sequence[str], form: str
) -> None:
    """Draw a bar for each system in each group, with its value; the first at the top."""
    height = 0.8 / len(systems)
    for place, (system, values) in enumerate(reversed(systems.items())):
        name, color = FRONT[system]
        lower = (len(systems) - 1) / 2 - place
        middles = [group + lower * height for group in range(len(groups))]
        drawn = axis.barh(middles, values, 0.9 * height, color=color, label=name)
        axis.bar_label(drawn, [form.format(each) for each in values], padding=3, fontsize=8)
    axis.set_yticks(range(len(groups)), [each.replace(" ", "\n", 1) for each in groups])
    axis.invert_yaxis()
    axis.margins(x=0.12)
    axis.tick_params(left=False, bottom=False, labelbottom=False)
    axis.spines["bottom"].set_visible(False)


def tasks() -> None:
    """StrAE's nine tasks: Spearman's correlation or accuracy, x 100."""
    marked("strae", FAMILY)


def unlabelled() -> None:
    """What code and its documentation alone teach: RR@100 in each language."""
    marked("code-unlabelled", UNLABELLED)


def marked(name: str, told: dict[str, str]) -> None:
    """The measures of a report side by side, a mark for each system."""
    report = orjson.loads((REPORTS / f"{name}.json").read_bytes())
    found = {row["system"]: row for row in report["rows"]}
    some = found[next(iter(told))]
    names = [name for name in some if name != "Score" and f"{name}_low" in some]
    _, axis = pyplot.subplots(figsize=(WIDTH, 3))
    for mark, (system, label) in zip("osD^vx", told.items(), strict=False):
        values = [found[system][name] for name in names]
        axis.plot(range(len(names)), values, mark, label=label, markersize=5, linestyle="none")
    axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def growth() -> None:
    """CPU seconds of commands at sizes ten times each other, of the file of a processor."""
    _, axis = pyplot.subplots(figsize=(WIDTH, 3))
    files = {file.stem: table.read(file)[1] for file in sorted(table.FOLDER.glob("*.json"))}
    name = next(name for name, measured in files.items() if "growth" in measured)
    found: dict[str, dict[int, float]] = {}
    for row in files[name]["growth"]:
        if told := re.fullmatch(r"growth, (.+): CPU seconds of ([\d,]+)", row.name):
            found.setdefault(told[1], {})[int(told[2].replace(",", ""))] = row.median
    for mark, (work, seconds) in zip(cycle("osD^vx"), found.items(), strict=False):
        axis.loglog([*seconds], [*seconds.values()], f"{mark}-", label=work, markersize=4)
    axis.set_xlabel("records, pages, sentences, vectors, functions")
    axis.set_ylabel(f"CPU seconds ({name})")
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def rows(text: str) -> Iterator[dict[str, str]]:
    """The rows of a text's first Markdown table, by the names of its columns."""
    lines = text[text.index("|") :].splitlines()
    of_table = takewhile(lambda line: line.startswith("|"), lines)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in of_table]
    for row in cells[2:]:
        yield dict(zip(cells[0], row, strict=True))


STYLE = {
    **{"svg.hashsalt": "structkit", "svg.fonttype": "none"},  # the same bytes, and text as text
    **{f"axes.spines.{side}": False for side in ("top", "right")},
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 8),
    "axes.labelsize": 8,
}
FIGURES: dict[str, Callable[[], None]] = {
    **{f"claims-{paper.lower()}": partial(claims, paper) for paper in ("SANTA", "SEAL", "StrAE")},
    "front": front,
    "ask": ask,
    "tasks": tasks,
    "growth": growth,
    "unlabelled": unlabelled,
}


def write(folder: Path) -> None:
    """Write all figures into a folder, as NAME-light.svg and NAME-dark.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.use("svg")
    for theme, ink in INK.items():
        named = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor")
        style = {**dict.fromkeys(named, ink), **STYLE}
        with pyplot.rc_context(style):
            for name, draw in FIGURES.items():
                draw()
                file = folder / f"{name}-{theme}.svg"
                about = {"Date": None, "Creator": None}
                pyplot.savefig(file, transparent=True, bbox_inches="tight", metadata=about)
                pyplot.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
