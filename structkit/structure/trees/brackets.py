"""Trees in Penn Treebank brackets: read, written, cleaned, made binary.

Nothing here is recursive: a tree may be as deep as it likes.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO

from structkit.errors import RECORD_REMEDY, UserError
from structkit.structure.trees.tree import SPLIT_PLACES, Tree, from_preorder, from_spans, grow

TOP_LABELS = frozenset(("", "ROOT", "TOP", "S1"))
TRACE_LABEL = "-NONE-"
UNLABELED = "X"
BRACKET_TOKEN = re.compile(r"[()]|[^ \t\n\r\f\v()]+")
ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
ESCAPE = re.compile("|".join(ESCAPES.values()))
SIGN_OF_ESCAPE = {escape: sign for sign, escape in ESCAPES.items()}
ESCAPE_TABLE = str.maketrans(ESCAPES)


def read_tree(text: str) -> Tree:
    """Return the one tree in a text.

    >>> tree = read_tree("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)))")
    >>> tree.words, tree.labels, tree.spans().tolist()[:2]
    (('The', 'cat', 'sleeps'), ('S', 'NP', 'VP', 'DT', 'NN', 'VBZ'), [[0, 3], [0, 2]])
    """
    trees = read_trees(text)
    tree = next(trees, None)
    if tree is None:
        raise UserError("the text holds no tree", "write it in brackets: (S (NP …) (VP …))")
    if next(trees, None) is not None:
        raise UserError("the text holds several trees", "write one tree per record")
    return tree


def read_trees(text: str) -> Iterator[Tree]:
    """Yield all trees of a text in sequence, each over any number of lines.

    Errors: `UserError` for brackets that do not match, words outside, and nodes without words.
    """
    labels: list[str] = []  # of all nodes in preorder, as their depths
    depths = array("i")
    words: list[str] = []
    open_nodes: list[int] = []
    last_word = -1  # the node of the last word
    labeled = True  # a word right after an opening bracket is its node's label
    for match in BRACKET_TOKEN.finditer(text):
        token = match[0]
        if token == "(":
            depths.append(len(open_nodes))
            open_nodes.append(len(labels))
            labels.append("")
            labeled = False
            continue
        if not open_nodes:
            what = "a closing bracket too many" if token == ")" else f"{token!r} outside of a tree"
            raise UserError(f"there is {what} (character {match.start() + 1})", "fix the brackets")
        if token == ")":
            node, below = open_nodes.pop(), len(labels) - 1
            if node == below:
                raise UserError(
                    f"the node ({labels[node]}) holds no word (character {match.start() + 1})",
                    "give it a word, or leave it out",
                )
            if node + 1 == below == last_word:  # `(NN cat)` is a leaf with its tag
                labels.pop()
                depths.pop()
            if not open_nodes:
                yield from_preorder(words, labels, depths)
                labels, depths, words = [], array("i"), []
        elif labeled:
            last_word = len(labels)
            depths.append(len(open_nodes))
            labels.append("")
            words.append(unescaped(token))
        else:
            labels[open_nodes[-1]] = unescaped(token)
        labeled = True
    if open_nodes:
        which = "bracket is" if len(open_nodes) == 1 else "brackets are"
        raise UserError(f"{len(open_nodes)} {which} not closed", "fix the brackets")


def unescaped(word: str) -> str:
    """Return a word as in the text, with the escapes of brackets decoded.

    >>> unescaped("f-LRB-x-RRB-")
    'f(x)'
    """
    if "-" not in word:
        return word
    # characters around a bracket may look like an escape: this makes one reading hold everywhere
    return ESCAPE.sub(lambda match: SIGN_OF_ESCAPE[match[0]], word.translate(ESCAPE_TABLE))


def escaped(text: str) -> str:
    """Return a word or a label for brackets, as `unescaped` reads it. Errors: a space.

    >>> escaped("f(x)")
    'f-LRB-x-RRB-'
    """
    plain = text.translate(ESCAPE_TABLE)
    if not BRACKET_TOKEN.fullmatch(plain):
        raise UserError(
            f"the word {text!r} is empty or holds a space, which brackets cannot",
            "split it into words",
        )
    return plain


def write_tree(tree: Tree) -> str:
    """Return a tree in brackets on one line; a missing label is X, spaces in labels are `_`.

    >>> write_tree(from_spans(["f(x)", "is", "one"], [(1, 3)]))
    '(X (X f-LRB-x-RRB-) (X (X is) (X one)))'
    """
    first, count, word = tree.first.data, tree.count.data, tree.word.data
    labels = {label: escaped("_".join(label.split()) or UNLABELED) for label in set(tree.labels)}
    written = StringIO()
    stack = [0]
    while stack:
        node = stack.pop()
        if node < 0:
            written.write(")")
            continue
        written.write(f" ({labels[tree.labels[node]]}" if node else f"({labels[tree.labels[0]]}")
        if count[node]:
            stack.append(-1)
            stack.extend(range(first[node] + count[node] - 1, first[node] - 1, -1))
        else:
            written.write(f" {escaped(tree.words[word[node]])})")
    return written.getvalue()


def clean(tree: Tree) -> Tree:
    """Return the tree without traces, empty nodes, function tags, and top labels.

    Errors: `UserError` if nothing is left.

    >>> tree = read_tree("(ROOT (S (NP-SBJ-1 (PRP I)) (VP (VBP go) (NP (-NONE- *))) (. .)))")
    >>> write_tree(clean(tree))
    '(S (NP (PRP I)) (VP (VBP go)) (. .))'
    """
    count, labels = tree.count.tolist(), tree.labels
    kept = [True] * len(count)
    for node in range(len(count) - 1, -1, -1):
        children = tree.children(node)
        kept[node] = (
            any(kept[child] for child in children) if children else labels[node] != TRACE_LABEL
        )
    if not kept[0]:
        raise UserError("the tree holds traces only, no word", RECORD_REMEDY)
    root = 0
    while labels[root] in TOP_LABELS and count[root]:
        below = [child for child in tree.children(root) if kept[child]]
        if len(below) > 1:
            break
        root = below[0]

    def expand(node: int) -> tuple[str, str | None, list[int]]:
        label = labels[node]
        if label[:1] != "-":
            label = re.split("[-=]", label, maxsplit=1)[0]
        if not count[node]:
            return label, tree.words[tree.word[node]], []
        return label, None, [child for child in tree.children(node) if kept[child]]

    return grow(root, expand)


def binarize(tree: Tree, factor: str = "right") -> Tree:
    """Return the binary tree: single children are merged, long nodes are split.

    n words give n leaves and n - 1 inner nodes. `right` keeps the first child and puts the others
    into a new node, `left` the last one, `balanced` cuts in the middle. Labels and shape are as in
    NLTK's collapse_unary (tags and root included) and chomsky_normal_form with horzMarkov 0.

    >>> write_tree(binarize(read_tree("(S (A a) (B b) (C (D c)))")))
    '(S (A a) (S|<> (B b) (C+D c)))'
    """
    if tree.is_binary:
        return tree
    first, count, labels = tree.first.data, tree.count.data, tree.labels
    middle = SPLIT_PLACES[factor]

    def cut(label: str, low: int, high: int) -> list[tuple[str, int, int]]:
        if high - low == 1:
            return []
        at = middle(low, high)
        new = f"{label}|<>" if label else ""
        return [(new, low, at), (new, at, high)]

    # an item is a run of adjacent children, and the label of a new node over them
    def expand(item: tuple[str, int, int]) -> tuple[str, str | None, list[tuple[str, int, int]]]:
        label, low, high = item
        if high - low > 1:  # a new node, over some children
            return label, None, cut(label.removesuffix("|<>"), low, high)
        node, names = low, [labels[low]]
        while count[node] == 1:
            node = first[node]
            names.append(labels[node])
        name = "+".join(filter(None, names))
        if not count[node]:
            return name, tree.words[tree.word[node]], []
        return name, None, cut(name, first[node], first[node] + count[node])

    return grow(("", 0, 1), expand)


def before_final_punct(words: Sequence[str]) -> int:
    """Count the words before the final punctuation; 1 if there is nothing else.

    >>> before_final_punct(["He", "left", ".", "''"]), before_final_punct(["?", "!"])
    (2, 1)
    """
    last = len(words)
    while last > 1 and not any(map(str.isalnum, words[last - 1])):
        last -= 1
    return last


def lift_final(tree: Tree) -> Tree:
    """Return the tree with its final punctuation attached to the root, mark by mark.

    Binarizing to the right would put a final period into the verb phrase. Nodes that become empty
    are dropped with their labels.

    >>> write_tree(binarize(lift_final(read_tree("(S (NP I) (VP go) (. .))"))))
    '(S (S|<> (NP I) (VP go)) (. .))'
    """
    count, labels, words = tree.count.tolist(), tree.labels, tree.words
    last = before_final_punct(words)
    if last == len(words):
        return tree
    starts = tree.spans()[:, 0].tolist()
    leaves = {word: node for node, word in enumerate(tree.word.tolist()) if word >= 0}
    top = labels[0]
    rest = f"{top}|<>" if top else ""

    # an item is a node, or (node 0) the text up to the word `end`
    def expand(item: tuple[int, int]) -> tuple[str, str | None, list[tuple[int, int]]]:
        node, end = item
        if node == 0 and end > last:
            label = top if end == len(words) else rest
            return label, None, [(0, end - 1), (leaves[end - 1], 0)]
        if not count[node]:
            return labels[node], words[tree.word[node]], []
        label = labels[node] if node else rest
        return label, None, [(child, 0) for child in tree.children(node) if starts[child] < last]

    return grow((0, len(words)), expand)


def leaves_of(text: str) -> tuple[str, ...] | None:
    """Return the words of a tree that `unlabeled` wrote; None for other texts.

    All its nodes are X. Anything else in brackets is text, which loses no word: `(Laughs (quietly
    now) again)` could be a tree of two words with labels before them.

    >>> leaves_of("(X (X he) (X laughs))"), leaves_of("(he (laughs out))")
    (('he', 'laughs'), None)
    """
    if not text.startswith(f"({UNLABELED} ") or not text.rstrip().endswith(")"):
        return None
    try:
        tree = read_tree(text)
    except UserError:
        return None
    return tree.words if set(tree.labels) == {UNLABELED} else None


def unlabeled(text: str) -> str:
    """Return a tree in brackets without its labels, as `leaves_of` reads it.

    >>> unlabeled("(S the cat)")
    '(X (X the) (X cat))'
    """
    tree = read_tree(text)
    if len(tree.words) == 1:
        tree = from_spans(tree.words, [])
    return write_tree(replace(tree, labels=(UNLABELED,) * len(tree.labels)))
