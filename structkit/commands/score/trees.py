"""Score trees against gold trees, beside those of every sentence's length alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from structkit.commands.score.settings import Settings
from structkit.embeddings.vectors import Numbers
from structkit.errors import UserError, program
from structkit.records.jsonl import Record, Records, text_field
from structkit.records.lines import shown
from structkit.scoring.measures import Values
from structkit.scoring.similarity import ends, resampled
from structkit.scoring.trees import Counts, agreement, binarized, f1, labeled, plain
from structkit.structure.trees.brackets import clean, read
from structkit.structure.trees.shapes import balanced, left_branching, right_branching
from structkit.structure.trees.tree import Tree

BASELINES = {
    "left-branching": left_branching,
    "right-branching": right_branching,
    "balanced": balanced,
}
MEASURES = {"f1": plain, "binarized_f1": binarized, "labeled_f1": labeled}


def scored(settings: Settings) -> Iterator[Record]:
    """One record for each file of trees, then one for each baseline: F1 x 100 over all spans.

    `f1`: of the trees as they are, without punctuation; `binarized_f1`: binarized to the right,
    with it; `labeled_f1`: as `f1`, with labels, where both files have some. Spans of one word and
    of whole sentences do not count. A gold tree without a tree of its `id` has no span found and
    is `missing`; one without a gold tree does not count and is `unjudged`. `_low` and `_high`
    are the ends of the 95 % interval, a bootstrap over the sentences. Errors: other words.
    """
    assert settings.gold is not None
    gold = _trees(settings.gold)
    for name, path in settings.named.items():
        found = _trees(path)
        for id_ in found.keys() & gold.keys():
            if found[id_].words != gold[id_].words:
                raise _other_words(id_, found[id_], gold[id_]).at(shown(path))
        if found.keys().isdisjoint(gold):
            raise UserError(
                f"no tree has the id of one in {shown(settings.gold)}",
                "parse the gold file itself",
            ).at(shown(path))
        yield {"run": name, **_scores(found, gold, settings.seed)}
    for name, shape in BASELINES.items():
        shaped = {id_: shape(tree.words) for id_, tree in gold.items()}
        yield {"run": name, **_scores(shaped, gold, settings.seed)}


def _trees(path: str) -> dict[str, Tree]:
    """The cleaned trees of a file by id."""
    records = Records.read([path])
    found: dict[str, Tree] = {}
    try:
        for record in records:
            if record["id"] in found:
                raise UserError(f'the id "{record["id"]}" occurs twice', "keep one")
            text = text_field(record, "tree", f"add it with {program('parse-trees')}")
            found[record["id"]] = clean(read(text))
    except UserError as error:
        raise records.place(error) from None
    if not found:
        raise UserError("there are no trees", "name a file that has some").at(shown(path))
    return found


def _scores(found: Mapping[str, Tree], gold: Mapping[str, Tree], seed: int) -> Record:
    pairs = [(found[id_], gold[id_]) for id_ in gold if id_ in found]
    lost = [tree for id_, tree in gold.items() if id_ not in found]
    scores: Record = {
        "sentences": len(gold),
        "missing": len(lost),
        "unjudged": len(found) - len(pairs),
    }
    for name, spans in MEASURES.items():
        counts = agreement(pairs, spans)
        _, ours, theirs = counts.sum(0)
        if name == "labeled_f1" and not (ours and theirs):
            continue  # one of the files has no labels
        none = np.array([(0, 0, len(spans(tree))) for tree in lost], np.int64).reshape(-1, 3)
        counts = np.concatenate([counts, none])

        def of_draws(rows: Numbers, counts: Counts = counts) -> Values:
            return f1(np.stack([column[rows].sum(1) for column in counts.T], -1))

        low, high = ends(resampled(len(counts), of_draws, seed))
        value = float(f1(counts.sum(0)))
        scores |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return scores


def _other_words(id_: str, found: Tree, gold: Tree) -> UserError:
    differing = zip((*found.words, ""), (*gold.words, ""), strict=False)
    one, other = next(pair for pair in differing if pair[0] != pair[1])
    return UserError(
        f'the tree "{id_}" has the word {one!r} where the gold tree has {other!r}',
        "parse the words of the gold trees: parse-trees --field tree --tokenized GOLD",
    )
