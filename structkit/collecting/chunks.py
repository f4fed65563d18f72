"""Chunks of programs along their syntax tree: large nodes are split, small ones are merged.

As cAST (arXiv 2506.15655), but in whole lines, so that each line of a file is in one chunk.

Tests: tests/collecting/test_units.py.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import tree_sitter

from structkit.structure.code.outline import last_row, leads

# the first line of a section, an item or a paragraph in roff's man and mdoc; a term in AsciiDoc
ITEM_START = re.compile(r"\.(?:S[HSsh]|TP|IP|It|[LP]P|Pp)\b|\S.*::(?:\s|$)")

LineSpan = tuple[int, int]  # lines from 0, half-open
Fits = Callable[[LineSpan], bool]


def fits_within(lines: Sequence[str], maximum: int) -> Fits:
    """Return a function that says whether lines fit in a chunk, without white space."""
    sums = [0, *accumulate(map(len, map("".join, map(str.split, lines))))]
    return lambda rows: sums[rows[1]] - sums[rows[0]] <= maximum


@dataclass
class _LineGroup:
    """Lines with the nodes that begin in them."""

    rows: LineSpan
    nodes: list[tree_sitter.Node] = field(default_factory=list)


def cut_lines(lines: Sequence[str], root: tree_sitter.Node | None, maximum: int) -> list[LineSpan]:
    """Cut lines into chunks of at most `maximum` characters, unless a single line has more.

    Chunks are in order and hold every line that is not blank once. Without a tree, lines are cut at
    blank ones and at items of lists.
    """
    fits = fits_within(lines, maximum)
    if root is None:
        pieces = _merge(
            [piece for rows in _paragraph_lines(lines) for piece in _fill_lines(rows, fits)], fits
        )
    else:
        pieces = _along_tree(_LineGroup((0, len(lines)), [root]), fits)
    spans: list[LineSpan] = []
    for piece in pieces:
        filled = [row for row in range(*piece) if lines[row].strip()]
        if filled:
            spans.append((filled[0], filled[-1] + 1))
    return spans


def _along_tree(whole: _LineGroup, fits: Fits) -> list[LineSpan]:
    """Merge each node's chunks with each other before the chunks around it."""
    # groups to cut, and the chunks of groups already cut
    stack = [(iter([whole]), list[LineSpan]())]
    while True:
        groups, pieces = stack[-1]
        group = next(groups, None)
        if group is None:
            stack.pop()
            merged = _merge(pieces, fits)
            if not stack:
                return merged
            stack[-1][1].extend(merged)
        elif fits(group.rows):
            pieces.append(group.rows)
        elif inner := _inner_groups(group):
            stack.append((iter(inner), []))
        else:
            pieces += _fill_lines(group.rows, fits)


def _inner_groups(group: _LineGroup) -> list[_LineGroup]:
    """Return the groups of the first nodes below that begin on their own lines, if any."""
    nodes = group.nodes
    while any(node.child_count and not leads(node) for node in nodes):
        nodes = [child for node in nodes for child in ([node] if leads(node) else node.children)]
        groups = _groups(group.rows, nodes)
        if len(groups) > 1:
            return groups
        nodes = [n for n in nodes if n.start_point.row < n.end_point.row and not leads(n)]
    return []


def _groups(rows: LineSpan, nodes: list[tree_sitter.Node]) -> list[_LineGroup]:
    """Return consecutive nodes in groups of whole lines; related ones stay together."""
    first, end = rows
    groups = [_LineGroup((first, end))]
    before: tree_sitter.Node | None = None
    reach = end  # code that begins before this line belongs to the code before it
    for node in nodes:
        row = node.start_point.row
        begins_line = before is None or last_row(before) < row
        if begins_line and reach <= row < end and groups[-1].rows[0] < row:
            groups[-1].rows = (groups[-1].rows[0], row)
            groups.append(_LineGroup((row, end)))
        groups[-1].nodes.append(node)
        before = node
        reach = _reach(node) if begins_line else 0
    return groups


def _reach(node: tree_sitter.Node) -> int:
    """Return the first line that a node, if it leads to what follows, no longer reaches."""
    # a blank line may follow a documentation comment
    lines = 3 if (node.text or b"").startswith(b"/**") else 2
    return last_row(node) + lines if leads(node) else 0


def _paragraph_lines(lines: Sequence[str]) -> Iterator[LineSpan]:
    """Group lines; a group begins at an unindented line after a blank one, or at an item."""
    starts = [
        row
        for row, (before, line) in enumerate(pairwise(lines), 1)
        if line[:1].strip()
        and (not before.strip() or (ITEM_START.match(line) and not ITEM_START.match(before)))
    ]
    yield from pairwise((0, *starts, len(lines)))


def _fill_lines(rows: LineSpan, fits: Fits) -> list[LineSpan]:
    """Return chunks with as many lines as fit."""
    return _merge([(row, row + 1) for row in range(*rows)], fits)


def _merge(pieces: list[LineSpan], fits: Fits) -> list[LineSpan]:
    """Merge chunks with their neighbors while they fit."""
    merged: list[LineSpan] = []
    for piece in pieces:
        together = (merged[-1][0], piece[1]) if merged else piece
        if merged and fits(together):
            merged[-1] = together
        else:
            merged.append(piece)
    return merged
