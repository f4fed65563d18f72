"""Draw embeddings, ranking probabilities, losses or trees.

The same data give the same bytes, and no distinction depends on color.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from structkit.command import Command, Group
from structkit.errors import UserError, flag, program, wrong_usage
from structkit.extras import require
from structkit.paths import names_of
from structkit.progress import printable
from structkit.records.fields import is_tree
from structkit.records.jsonl import Record, Records, text_field
from structkit.records.output import Output
from structkit.reproducibility import key
from structkit.settings import file_setting, quiet_setting, seed_setting, setting, settings_class

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Floats
    from structkit.structure.trees.tree import Tree

Item = TypeVar("Item")
PICTURE_ENDINGS = (".svg", ".png", ".pdf")
# distinguishable without color too
POINT_MARKERS = "o^sDvP*X"
LINE_STYLES = ("-", "--", ":", "-.")
# of different lightness
COLORS = ("#08306b", "#e8873a", "#7b3294", "#3f9e6d", "#f2b134")
HISTOGRAM_BARS = 20  # of a histogram
LETTER_INCHES = 0.085  # of a word in a tree
LEVEL_INCHES = 0.45  # of a level of a tree


@settings_class
class PictureSettings:
    """Settings of the picture's file."""

    output: str = setting(..., "Picture to write: .svg, .png or .pdf.", short="-o", writes=True)
    quiet: bool = quiet_setting()

    def __post_init__(self) -> None:
        if Path(self.output).suffix not in PICTURE_ENDINGS:
            raise wrong_usage(
                f"{flag('output', self.output)} names no picture format",
                f"use one of the endings {', '.join(PICTURE_ENDINGS)}",
            )


@contextmanager
def new_figure(path: str, size: tuple[float, float]) -> Iterator[Any]:
    """Yield a figure to draw on, then write it, whole or not at all; `size` is in inches."""
    with chdir(Path(__file__).parent):  # matplotlib reads the settings in the current folder
        matplotlib = require("matplotlib", "plot")
        figure_class = require("matplotlib.figure", "plot").Figure
    parameters = {"svg.hashsalt": "structkit", "font.size": 10, "text.parse_math": False}
    ending = Path(path).suffix
    picture = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(parameters)
        figure = figure_class(figsize=size, layout="constrained")
        yield figure
        metadata = {"Date": None} if ending == ".svg" else None
        figure.savefig(picture, format=ending[1:], dpi=150, metadata=metadata)
    with Output(path) as output:
        output.write(picture.getvalue())


def with_styles(items: Iterable[Item], *kinds: Sequence[str]) -> Iterator[tuple[Item, Any]]:
    """Yield items, each with its own combination of markers, lines and colors."""
    return zip(items, zip(*map(cycle, kinds), strict=False), strict=False)


def with_names(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield files, each with its name as drawn, without control characters."""
    # a legend skips names that start with _
    names = (re.sub("^_", " _", printable(name)) for name in names_of(files))
    return zip(names, files, strict=True)


@settings_class
class EmbeddingsSettings(PictureSettings):
    """Draw the embeddings of files (queries, documents) in two dimensions, by t-SNE."""

    files: tuple[str, ...] = file_setting(
        "Embeddings: JSONL or .npy, one color per file.", ..., metavar="FILES", argument=True
    )
    sample: int = setting(500, "Rows to draw per file.", low=1)
    seed: int = seed_setting()


def embeddings(settings: EmbeddingsSettings) -> None:
    """Draw the embeddings of files (queries, documents, …) in two dimensions with t-SNE.

    At most `sample` rows of each file are drawn, by seed. Source: van der Maaten, Hinton, 2008;
    SANTA, fig. 4; SEAL, fig. 3.
    """
    samples = {name: sample_rows(file, name, settings) for name, file in with_names(settings.files)}
    points = project([*samples.values()], settings.seed)

    with new_figure(settings.output, (5, 5)) as figure:
        axes = figure.subplots()
        named = zip(samples, points, strict=True)
        for (name, part), (marker, color) in with_styles(named, POINT_MARKERS, COLORS):
            axes.scatter(*part.T, s=14, marker=marker, color=color, alpha=0.7, label=name)
        axes.set(xticks=[], yticks=[])
        axes.legend()


def sample_rows(file: str, name: str, settings: EmbeddingsSettings) -> Floats:
    """Return the rows of a file to draw, (rows, dimensions)."""
    import numpy as np

    from structkit.embeddings.reading import read_embeddings

    loaded = read_embeddings([file])
    rows = np.arange(len(loaded.ids))
    if len(rows) > settings.sample:
        generator = np.random.default_rng(key(settings.seed, name))
        rows = np.sort(generator.choice(rows, settings.sample, replace=False))
    return np.asarray(loaded.vectors[rows], np.float64)


def project(parts: Sequence[Floats], seed: int) -> list[Floats]:
    """Return the points (rows, 2) of each part's rows."""
    import numpy as np

    if len({part.shape[1] for part in parts}) > 1:
        raise UserError(
            "the files have embeddings of different dimensions", "encode with one model"
        )
    rows = np.concatenate(parts)  # (rows, dimensions)
    if len(rows) < 4:
        raise UserError(f"{len(rows)} embeddings are too few to draw", "give at least 4")
    if not np.ptp(rows, axis=0).any():  # t-SNE would divide by 0, and read memory that is not its
        raise UserError("all embeddings are equal, so there is nothing to draw", "give others")
    rows = rows - rows.mean(axis=0)  # for PCA: small differences of large numbers count
    rows = np.pad(rows / np.abs(rows).max(), ((0, 0), (0, max(0, 2 - rows.shape[1]))))
    perplexity = min(30, (len(rows) - 1) / 3)
    state = key(seed, "tsne") % 2**32
    manifold = require("sklearn.manifold", "plot")
    reduced = manifold.TSNE(init="pca", perplexity=perplexity, random_state=state)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    points: list[Floats] = np.split(reduced.fit_transform(rows), ends)
    return points


@settings_class
class RanksSettings(PictureSettings):
    """Draw a histogram of the softmax probability of each query's relevant document."""

    runs: tuple[str, ...] = file_setting(
        "Run files, JSONL or TREC.", ..., metavar="RUNS", argument=True
    )
    qrels: str = setting(
        ..., "File of judgements, or `self`: the document with the query's own id.", reads="self"
    )
    temperature: float | None = setting(
        None,
        "Temperature that divides the scores.",
        inferred="per run, the one that makes its relevant documents most probable",
        low=1e-6,
        high=1e6,
    )


def ranks(settings: RanksSettings) -> None:
    """Draw a histogram of the probability of each query's relevant document among its hits.

    The probability is the softmax of a query's scores; a document that was not found has 0. Models
    scale scores differently: without a `temperature`, each run gets the one that makes its relevant
    documents most probable, and the legend shows it. Source: SANTA, fig. 3a.
    """
    import numpy as np

    from structkit.scoring.judgements import self_judgements
    from structkit.scoring.probabilities import fitted_temperature, probabilities
    from structkit.scoring.qrels import read_qrels
    from structkit.scoring.runs import read_run

    judged = None if settings.qrels == "self" else read_qrels(settings.qrels)
    probabilities_of: dict[str, Floats] = {}
    for name, file in with_names(settings.runs):
        run = read_run(file)
        relevant = self_judgements(run) if judged is None else judged
        temperature = settings.temperature or fitted_temperature(run, relevant)
        probabilities_of[f"{name} (temperature {temperature:.2g})"] = probabilities(
            run, relevant, temperature
        )

    with new_figure(settings.output, (6, 4)) as figure:
        axes, edges = figure.subplots(), np.linspace(0, 1, HISTOGRAM_BARS + 1)
        named = probabilities_of.items()
        for (name, values), (line, color) in with_styles(named, LINE_STYLES, COLORS):
            share = np.histogram(values, edges)[0] / len(values)
            axes.stairs(share, edges, linestyle=line, linewidth=1.8, color=color, label=name)
        axes.set(xlabel="ranking probability of the relevant document", ylabel="share of queries")
        axes.set(xlim=(0, 1), ylim=(0, None))
        axes.legend()


@settings_class
class LossesSettings(PictureSettings):
    """Draw the loss over the steps of training runs."""

    files: tuple[str, ...] = file_setting(
        "Model folders, or logs of `train {log_format:json}`.", ..., metavar="FILES", argument=True
    )


def losses(settings: LossesSettings) -> None:
    """Draw the losses over the steps, from model folders or logs of `train --log-format json`."""
    from structkit.learning.folders import LOSSES_FILE

    curves: dict[str, tuple[list[float], list[float]]] = {}
    for name, file in with_names(settings.files):
        log = os.path.join(file, LOSSES_FILE) if os.path.isdir(file) else file
        for record in Records.read([log]):
            for field, value in record.items():
                measure = field.replace("held_out_", ", held-out ").removeprefix("loss")
                if measure and measure == field:  # no loss
                    continue
                step = record.get("step")
                if isinstance(value, int | float) and isinstance(step, int | float):
                    steps, values = curves.setdefault(name + measure, ([], []))
                    steps.append(step)
                    values.append(value)
    if not curves:
        raise UserError(
            "no line holds a step and a loss", f"train with {flag('log_format', 'json')}"
        ).at(settings.files[0])

    with new_figure(settings.output, (6, 4)) as figure:
        axes = figure.subplots()
        named = curves.items()
        for (name, (steps, values)), (line, color) in with_styles(named, LINE_STYLES, COLORS):
            axes.plot(steps, values, linestyle=line, color=color, label=name)
        axes.set(xlabel="step", ylabel="loss")
        axes.legend()


@settings_class
class TreesSettings(PictureSettings):
    """Draw the trees of the first record side by side, such as a parser's and a model's."""

    files: tuple[str, ...] = file_setting(
        "JSONL files, also .gz; stdin if none, or for -.", ("-",), argument=True
    )
    field: tuple[str, ...] = setting(
        (), "Field with a tree; several are drawn side by side.", inferred="all trees"
    )


def trees(settings: TreesSettings) -> None:
    """Draw the trees of the first record side by side, one for each field."""
    records = Records.read(settings.files)
    try:
        trees_by_title = {
            f"{record['id']}: {field}": tree
            for record in islice(records, 1)
            for field, tree in trees_of(record, settings.field).items()
        }
    except UserError as error:
        raise records.place(error) from None
    if not trees_by_title:
        raise UserError("there are no records", "name a file that has some").at(records.lines.file)
    layouts = [(title, tree, *node_positions(tree)) for title, tree in trees_by_title.items()]

    # inches of trees whose words do not touch
    letters = 0
    for tree in trees_by_title.values():
        longest_word = max(map(len, tree.words))
        letters += len(tree.words) * max(5, 2 + longest_word)
    width = max(4.0, LETTER_INCHES * letters)
    height = LEVEL_INCHES * (3 + max(float(y.max()) for *_, y in layouts))
    with new_figure(settings.output, (width, height)) as figure:
        for axes, layout in zip(
            figure.subplots(1, len(layouts), squeeze=False)[0], layouts, strict=True
        ):
            draw_tree(axes, *layout)


def trees_of(record: Record, fields: Sequence[str]) -> dict[str, Tree]:
    """Return the trees of some fields of a record, or of all."""
    from structkit.structure.trees.brackets import read_tree

    fields = fields or tuple(filter(is_tree, record))
    if not fields:
        remedy = f"make trees with {program('parse-trees')}, or name {flag('field')}"
        text_field(record, "tree", remedy)
    return {field: read_tree(text_field(record, field, named=True)) for field in fields}


def draw_tree(axes: Any, title: str, tree: Tree, x: Floats, y: Floats) -> None:
    """Draw a tree whose words stand in one row, each node above the middle of its children."""
    axes.set_title(title, fontsize="medium")
    axes.axis("off")
    for node in range(len(tree.first)):
        for child in tree.children(node):
            axes.plot(x[[node, child]], y[[node, child]], color="#5f7fb0", linewidth=1, zorder=1)
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
    for node in range(len(tree.first)):
        leaf = tree.word[node] >= 0
        words = [tree.labels[node], *([tree.words[tree.word[node]]] if leaf else [])]
        label = "\n".join(filter(None, words))
        if label:
            style: dict[str, Any] = {"va": "top"}
            if not leaf:
                style = {"va": "center", "fontweight": "bold", "bbox": box}
            axes.text(x[node], y[node], label, ha="center", **style)
    axes.set(xlim=(-0.6, len(tree.words) - 0.4), ylim=(-1.4, float(y.max()) + 0.6))


def node_positions(tree: Tree) -> tuple[Floats, Floats]:
    """Return x and y of all nodes, (nodes,): words at 0, a node above its highest child.

    >>> from structkit.structure.trees.brackets import read_tree
    >>> [each.tolist() for each in node_positions(read_tree("(S (X a) (Y (X b) (X c)))"))]
    [[0.75, 0.0, 1.5, 1.0, 2.0], [2.0, 0.0, 1.0, 0.0, 0.0]]
    """
    import numpy as np

    x = tree.word.astype(np.float64)
    y = np.zeros_like(x)
    for node in reversed(range(len(x))):  # children before parents
        if tree.count[node]:
            children = tree.children(node)
            x[node] = (x[children[0]] + x[children[-1]]) / 2
            y[node] = 1 + y[children].max()
    return x, y


COMMAND = Group(
    name="plot",
    help="Draw figures as in the papers, as .svg, .png or .pdf (extra: plot).",
    commands={
        "embeddings": Command(embeddings, EmbeddingsSettings, embeddings),
        "ranks": Command(ranks, RanksSettings, ranks),
        "losses": Command(losses, LossesSettings, losses),
        "trees": Command(trees, TreesSettings, trees),
    },
    reads="embeddings: `id`, `embedding`; ranks: `query_id`, `doc_id`, `score`; "
    "losses: `step`, `loss`; trees: `tree`, `FIELD_tree`",
    examples="""
structkit plot embeddings pages.npy queries.jsonl -o embeddings.svg
structkit parse-trees sentences.jsonl --field text | structkit plot trees -o trees.svg
""",
)
