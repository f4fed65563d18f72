"""The trees of plain texts, for tests of parsers."""

from structkit.registry import load
from structkit.structure.trees.parsers import Unparsed, all_trees


def parsed_texts(name, texts, languages=(), **flags):
    """The trees of texts by a parser, or the error that stands in the place of one."""
    known = [*languages, *[None] * (len(texts) - len(languages))]
    return all_trees(
        load("parser", name)(**flags),
        [Unparsed(text, str(at), known[at]) for at, text in enumerate(texts)],
    )


def check_arrays(tree):
    """Breadth-first, children side by side, leaves from left to right."""
    nodes = len(tree.first)
    assert len(tree.count) == len(tree.word) == len(tree.labels) == nodes
    inner = [node for node in range(nodes) if tree.count[node]]
    children = [child for node in inner for child in tree.children(node)]
    assert children == list(range(1, nodes))
    assert sorted(tree.word[tree.count == 0]) == list(range(len(tree.words)))
    spans = tree.spans().tolist()
    assert spans[0] == [0, len(tree.words)]
    for node in inner:
        at = spans[node][0]
        for child in tree.children(node):
            assert spans[child][0] == at
            at = spans[child][1]
        assert at == spans[node][1]
