"""Score trees against gold trees: F1 of their spans, beside trees by length alone.

Tests: tests/scoring/test_scored_trees.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from structkit.commands.score.scored import Scored
from structkit.errors import UserError, flag, program, wrong_usage
from structkit.records.jsonl import Record, Records, input_name, parse_each, text_field
from structkit.settings import file_setting, settings_class
from structkit.structure import Span

if TYPE_CHECKING:
    from structkit.embeddings.vectors import IntArray
    from structkit.scoring.measures import Values
    from structkit.structure.trees.tree import Tree


@settings_class
class Settings(Scored):
    """F1 x 100 of trees against the trees of {gold}."""

    gold: str | None = file_setting(
        "File of records with the gold `tree`, matched by `id`.", group="With {task:trees}"
    )


def plain_spans(tree: Tree) -> set[Span]:
    """Return the spans of two or more words of a tree, without punctuation.

    The span of the whole sentence is left out: all trees have it.

    >>> from structkit.structure.trees.brackets import read_tree
    >>> sorted(plain_spans(read_tree("(S (NP the (A old cat)) (VP sleeps well) .)")))
    [(0, 3), (1, 3), (3, 5)]
    """
    places = [0]  # where each word is when punctuation is not counted
    for word in tree.words:
        places.append(places[-1] + any(map(str.isalnum, word)))
    return _inner_spans(tree, places)


def binarized_spans(tree: Tree) -> set[Span]:
    """Return the spans of a tree that is binarized to the right, with punctuation."""
    from structkit.structure.trees.brackets import binarize

    return _inner_spans(binarize(tree), [*range(len(tree.words) + 1)])


def _inner_spans(tree: Tree, places: list[int]) -> set[Span]:
    """Return spans of two or more words, except the whole, with renumbered words."""
    spans = ((places[first], places[last]) for first, last in tree.spans().tolist())
    return {(start, end) for start, end in spans if 1 < end - start < places[-1]}


def span_counts(
    pairs: Iterable[tuple[Tree | None, Tree]], spans: Callable[[Tree], set[Span]]
) -> IntArray:
    """Count common, found and gold spans, (pairs, 3)."""
    import numpy as np

    of_pairs = ((spans(found) if found else set(), spans(gold)) for found, gold in pairs)
    counts = [(len(ours & theirs), len(ours), len(theirs)) for ours, theirs in of_pairs]
    return np.array(counts, np.int64).reshape(-1, 3)


def f1(counts: IntArray) -> Values:
    """Return F1 x 100 of summed counts (…, 3); 100 without spans.

    >>> from structkit.structure.trees.brackets import read_tree
    >>> gold = read_tree("(S (NP the (A old cat)) (VP sleeps well) .)")
    >>> found = read_tree("(S (NP the old cat) (X (VP sleeps well) .))")
    >>> float(f1(span_counts([(found, gold)], plain_spans).sum(0)))  # P 2/2, R 2/3
    80.0
    """
    import numpy as np

    common, found, gold = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    total = found + gold
    return np.asarray(np.where(total, 200 * common / np.where(total, total, 1), 100.0))


SPANS_OF_MEASURES = {"f1": plain_spans, "binarized_f1": binarized_spans}


def score_trees(settings: Settings) -> Iterator[Record]:
    """Yield one record per file of trees, then per baseline: F1 x 100 over all spans.

    `f1`: of the trees as they are, without punctuation; `binarized_f1`: binarized to the right,
    with it. Spans of one word and of whole sentences do not count. A gold tree without a tree of
    its `id` has no span found and is `missing`; one without a gold tree does not count and is
    `unjudged`. `_low` and `_high` are the ends of the 95 % interval, a bootstrap over the
    sentences. Errors: other words.
    """
    from structkit.structure.trees.shapes import shaped

    if settings.gold is None:
        problem = f"{flag('gold')} goes with {flag('task', 'trees')}"
        raise wrong_usage(problem, "give both, or leave it out")
    gold = _read_trees(settings.gold)
    for name, path in settings.named_runs.items():
        found = _read_trees(path)
        for id_ in found.keys() & gold.keys():
            if found[id_].words != gold[id_].words:
                problem = f'the tree "{id_}" has other words than its gold tree'
                again = program("parse-trees", "GOLD", field="tree", tokenized=True)
                raise UserError(problem, f"parse its words: {again}").at(path)
        if found.keys().isdisjoint(gold):
            raise UserError(
                f"no tree has the id of one in {input_name(settings.gold)}",
                "parse the gold file itself",
            ).at(path)
        yield {"run": name, **_tree_scores(found, gold, settings.seed)}
    shapes = (("left-branching", "left"), ("right-branching", "right"), ("balanced", "balanced"))
    for name, factor in shapes:
        found = {id_: shaped(tree.words, factor) for id_, tree in gold.items()}
        yield {"run": name, **_tree_scores(found, gold, settings.seed)}


def _read_trees(path: str) -> dict[str, Tree]:
    """Return the cleaned trees of a file by id."""
    from structkit.structure.trees.brackets import clean, read_tree

    def tree(record: Record) -> Tree:
        return clean(read_tree(text_field(record, "tree", f"add it with {program('parse-trees')}")))

    if found := dict(parse_each(Records.read([path]), tree)):
        return found
    raise UserError("there are no trees", "name a file that has some").at(path)


def _tree_scores(found: Mapping[str, Tree], gold: Mapping[str, Tree], seed: int) -> Record:
    import numpy as np

    from structkit.scoring.similarity import bootstrap, interval_ends

    pairs = [(found[id_], tree) for id_, tree in gold.items() if id_ in found]
    lost = [(None, tree) for id_, tree in gold.items() if id_ not in found]
    unjudged = len(found) - len(pairs)
    scores: Record = {"sentences": len(gold), "missing": len(lost), "unjudged": unjudged}
    for name, spans in SPANS_OF_MEASURES.items():
        counts = span_counts([*pairs, *lost], spans)

        def of_draws(rows: IntArray, counts: IntArray = counts) -> Values:
            return f1(np.stack([column[rows].sum(1) for column in counts.T], -1))

        low, high = interval_ends(bootstrap(len(counts), of_draws, seed))
        scores |= {name: float(f1(counts.sum(0))), f"{name}_low": low, f"{name}_high": high}
    return scores
