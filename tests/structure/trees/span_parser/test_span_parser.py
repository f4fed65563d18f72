"""The span parser: its decoding against all trees, its loss by hand, its laws, its training."""

from itertools import islice, product

import numpy as np
import orjson
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from structkit_plugins.parsers._span_features import FEATURE_NAMES, UNKNOWN_ROW
from structkit_plugins.parsers._span_parser import (
    MAX_PART_WORDS,
    SpanParser,
    best_spans,
    split_text,
)
from structkit_plugins.parsers.builtin import open_parser

from experiments.span_parser import (
    MAXIMUM,
    Learned,
    Method,
    Sizes,
    SpanScorer,
    SpanTraining,
    parts,
)
from structkit.errors import UserError
from structkit.learning.training.data import Step
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from tests.tolerances import bound, rounding

SIZES = Sizes(word=6, suffix=4, shape=3, hidden=8, layers=2, span=10, dropout=0.0)
WORDS = ["the", "old", "cat", "Sat", "on", "a", "Mat", ".", "42", "running", "—", "naïve", "🐈"]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14)


FEATURES = Learned.of([WORDS], 1)


def scorer_of(seed=0):
    torch.manual_seed(seed)
    return SpanScorer(FEATURES.sizes(), SIZES).eval()


def parser_of(seed=0):
    return SpanParser(scorer_of(seed).weights(), FEATURES)


def all_binary(start, end):
    """The spans of two words or more of every binary tree over words start … end."""
    if end - start == 1:
        return [frozenset()]
    return [
        left | right | {(start, end)}
        for middle in range(start + 1, end)
        for left in all_binary(start, middle)
        for right in all_binary(middle, end)
    ]


@given(words=st.integers(2, 7), seed=st.integers(0, 10_000), shift=st.sampled_from([-1, 0, 1]))
def test_decoding_finds_the_best_of_all_binary_trees(words, seed, shift):
    scores = np.random.default_rng(seed).normal(shift, 1, (words + 1, words + 1)).astype(np.float32)
    whole = (0, words)
    best = max(
        sum(max(0.0, float(scores[span])) for span in tree - {whole})
        for tree in all_binary(0, words)
    )
    found = best_spans(scores)
    near = bound(len(found), max(1.0, best))
    assert sum(float(scores[span]) for span in found) == pytest.approx(best, abs=near)
    # only positive spans, none twice, none of one word, not the whole, and no two cross
    assert len(set(found)) == len(found)
    assert all(scores[span] > 0 and span != whole and span[1] - span[0] > 1 for span in found)
    assert not [(one, two) for one in found for two in found if one[0] < two[0] < one[1] < two[1]]


@given(
    marks=st.lists(st.sampled_from(["a", ".", ",", ";"]), max_size=60), longest=st.integers(2, 9)
)
def test_pieces_cover_the_text_and_are_short_enough(marks, longest):
    found = split_text(marks, longest)
    assert [end for _, end in found][:-1] == [start for start, _ in found][1:]
    assert found[0][0] == 0 and found[-1][1] == len(marks)
    assert all(end - start <= longest for start, end in found)
    assert len(marks) > longest or len(found) == 1


def test_features_of_unknown_words():
    letters = product("bcdfghjklmnp", repeat=4)
    many = ["z" + "".join(each) for each in islice(letters, MAXIMUM["word"])]
    features = Learned.of([["Cat", "cat", "sat", "dog", *many[2:] * 2]], 1)
    assert features.tables["word"][3:5] == ["cat", many[2]]  # most frequent, then by name
    assert features.tables["word"][-2:] == [many[-1], "dog"]  # and of these so many
    assert features.counts["cat"] == 2
    rows = features.numbers(["CAT", "bat"])
    assert rows.shape == (len(FEATURE_NAMES), 4)
    assert rows[0].tolist() == [1, 3, UNKNOWN_ROW, 2]
    assert rows[1, 2] != UNKNOWN_ROW  # -at is known
    rare = features.rarity(1.0).tolist()
    assert [*rare[:4], rare[-1]] == pytest.approx([0, 0, 0, 1 / 3, 1 / 2])


@given(sentences=st.lists(SENTENCES, min_size=1, max_size=8))
def test_a_tree_has_the_words_and_does_not_depend_on_its_batch(sentences):
    parser = parser_of()
    together = list(parser.trees(sentences))
    assert [list(tree.words) for tree in together] == sentences
    for words, tree in zip(sentences, together, strict=True):
        (alone,) = parser.trees([words])
        assert alone.spans().tolist() == tree.spans().tolist()


def near(length):
    """States are at most 1; a step adds the rounding of its sums of products to the one before."""
    widest = max(sum((SIZES.word, 2 * SIZES.suffix, SIZES.shape)), 2 * SIZES.hidden) + SIZES.hidden
    return rounding(widest * length * SIZES.layers)


def test_numpy_computes_what_torch_computes():
    scorer, scores = scorer_of(1), parser_of(1).scores
    draw = np.random.default_rng(1)
    lengths = np.sort(draw.integers(3, 40, 6))[::-1].copy()
    numbers = draw.integers(0, 8, (6, 4, lengths[0]))
    with torch.inference_mode():
        expected = scorer.fenceposts(torch.from_numpy(numbers), torch.from_numpy(lengths)).numpy()
    found = scores.fenceposts(numbers, lengths)
    most = near(int(lengths[0]))
    for length, ours, theirs in zip(lengths, found, expected, strict=True):
        np.testing.assert_allclose(ours[: length - 1], theirs[: length - 1], **most)


def test_places_are_differences_of_states_times_weights():
    scorer = scorer_of()
    rows = torch.from_numpy(FEATURES.numbers(["the", "old", "cat", "."])).long()[None]
    lengths = torch.tensor([rows.shape[2]])
    places = scorer.fenceposts(rows, lengths)[0].detach().numpy()
    table = parser_of().scores.table(places)
    forward, backward = (states[0] for states in scorer.states(rows, lengths))
    for start in range(5):
        for end in range(start + 1, 5):
            # before the span stand `start` words and the mark of the text's start
            span = torch.cat(
                [forward[end] - forward[start], backward[start + 1] - backward[end + 1]]
            )
            score = scorer.score(torch.relu(scorer.project(span)))
            most = bound(2 * SIZES.hidden + SIZES.span, max(1.0, abs(score.item())))
            assert table[start, end] == pytest.approx(score.item(), abs=most)


def test_loss_by_hand():
    scorer = scorer_of()
    torch.nn.init.zeros_(scorer.score.weight)
    torch.nn.init.constant_(scorer.score.bias, 1.0)  # every logit is 1
    training = SpanTraining(Method(), scorer, FEATURES).eval()
    training.negative_share = 1.0
    record = {"id": "", "words": ["the", "cat", "sat"], "spans": [[0, 2]]}
    loss, _ = training.loss(training.batch([record], Step(0, "train", 0, [0])))
    # spans (0, 2), gold: log(1 + 1/e); and (1, 3): log(1 + e); three words
    expected = (np.log1p(np.exp(-1)) + np.log1p(np.e)) / 3
    assert loss.item() == pytest.approx(expected, abs=bound(3))


def test_drawn_spans_count_for_all():
    words = ["the"] * 60
    record = {"id": "", "words": words, "spans": [[0, 2]]}
    training = SpanTraining(Method(), scorer_of(), FEATURES)
    torch.manual_seed(0)
    *_, gold, weight = training.batch([record], Step(0, "train", 0, [0]))
    spans = 60 * 59 // 2 - 1
    assert gold.sum() == 1 and weight[gold > 0].tolist() == [1]
    assert 0.2 * spans < len(gold) < 0.3 * spans
    assert weight[gold == 0].unique().tolist() == [4]


def test_records_keep_constituents_of_two_words_or_more():
    one = "(S (NP-SBJ (-NONE- *T*)) (VP (VB Go) (NP (NN home))))"
    two = "(S (NP (PRP He)) (VP (VBD went)))"
    found = Method().prepare({"id": "1", "tree": f"(ROOT {one} {two} (. .))"})
    assert found["words"] == ("Go", "home", "He", "went", ".")
    assert found["spans"] == [(0, 2), (2, 4)]  # two sentences side by side: a span each
    with pytest.raises(UserError, match="tree"):
        Method().prepare({"id": "1", "text": "no tree"})


def test_long_records_are_cut_as_long_texts_are():
    words = ["a"] * (MAX_PART_WORDS - 1) + ["."] + ["b"] * 9
    record = {
        "words": words,
        "spans": [[0, MAX_PART_WORDS], [3, 5], [MAX_PART_WORDS - 2, MAX_PART_WORDS + 2]],
    }
    record["spans"].append([MAX_PART_WORDS + 1, MAX_PART_WORDS + 4])
    first, second = parts(record)
    assert (len(first[0]), first[1]) == (
        MAX_PART_WORDS,
        [(3, 5)],
    )  # what is cut, and a whole, is none
    assert (len(second[0]), second[1]) == (9, [(1, 4)])


NOUNS, VERBS = ["cat", "dog", "owl", "fox"], ["sees", "hears", "likes"]


def corpus():
    for at in range(96):
        one, two, verb = NOUNS[at % 4], NOUNS[at // 4 % 4], VERBS[at % 3]
        object_ = f"(NP (DT the) (NN {two}))"
        if at % 2:
            object_ = f"(NP {object_} (PP (IN of) (NP (DT a) (NN {one}))))"
        yield f"(S (NP (DT The) (NN {one})) (VP (VBZ {verb}) {object_}) (. .))"


class Small(Method):
    sizes = Sizes(hidden=16, layers=1, dropout=0.0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small model, trained on sentences that are easily learned."""
    folder = tmp_path_factory.mktemp("span-parser")
    lines = [orjson.dumps({"id": str(at), "tree": tree}) for at, tree in enumerate(corpus())]
    (folder / "trees.jsonl").write_bytes(b"\n".join(lines))
    steps = {"epochs": 16, "batch_size": 8, "learning_rate": 1e-2}
    options = RunOptions(output=str(folder / "m"), quiet=True)
    found = train_method("span-parser", Small(**steps), [str(folder / "trees.jsonl")], options)
    losses = found["losses"]["loss"]
    assert losses["last"] < losses["first"] / 5
    return folder / "m"


def test_training_learns_the_trees(trained):
    (tree,) = open_parser(trained).trees(["The owl likes the fox of a dog .".split()])
    # no fox of a dog was in the training
    inner = {(start, end) for start, end in tree.spans().tolist() if end - start > 1}
    assert inner == {(0, 9), (0, 2), (2, 8), (3, 8), (3, 5), (5, 8), (6, 8)}
