"""plot trees: pictures with every word and label, and the same as text."""

import json
import re

import pytest

from structkit import plot
from structkit.cli.main import app
from structkit.commands.plot.trees import places
from structkit.errors import UserError
from structkit.structure.trees.brackets import read

TREE = "(S (NP (DT The) (NN farmer)) (VP (VBD sold) (NP (DT a) (NN boat$2$))) (. .))"
OWN = "(X (X (X The) (X farmer)) (X (X (X sold) (X (X a) (X boat$2$))) (X .)))"


@pytest.fixture
def draw(tmp_path):
    """Draw trees of records: the file with the picture."""

    def draw(*records, ending="svg", **options):
        source, target = tmp_path / "in.jsonl", tmp_path / f"out.{ending}"
        source.write_text("".join(f"{json.dumps(each)}\n" for each in records))
        plot("trees", source, output=target, **options)
        return target

    return draw


def texts(path):
    """What an SVG says: matplotlib keeps each text as a comment beside its outlines."""
    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text("utf-8"), re.S)).split()


def test_a_picture_has_all_words_labels_and_fields(draw):
    record = {"id": "s1", "tree": TREE, "own_tree": OWN}
    drawn = texts(draw(record))
    words = "The farmer sold a boat$2$ .".split()
    assert all(drawn.count(word) >= 2 for word in words)
    assert {"S", "NP", "VP", "DT", "s1:", "tree", "own_tree"} <= {*drawn}
    first = draw(record).read_bytes()
    assert first == draw(record).read_bytes()
    assert "own_tree" not in texts(draw(record, field=["tree"]))


def test_a_record_has_a_row_and_as_many_are_drawn_as_asked(draw):
    records = [{"id": f"r{number}", "tree": TREE} for number in range(3)]
    assert {"r0:", "r1:"} <= {*texts(draw(*records, number=2))}
    assert "r2:" not in texts(draw(*records, number=2))


def test_no_two_nodes_share_a_place_and_parents_are_above():
    tree = read(TREE)
    x, y = places(tree)
    assert len({*zip(x.tolist(), y.tolist(), strict=True)}) == len(x)
    for node in range(len(x)):
        for child in tree.children(node):
            assert y[child] < y[node]
    assert all(y[tree.word >= 0] == 0)


def test_text_is_the_same_tree(draw):
    text = draw({"id": "s1", "tree": TREE}, ending="txt").read_text("utf-8")
    assert text.startswith("s1: tree\nS\n├─ NP\n│  ├─ DT The\n│  └─ NN farmer\n")


@pytest.mark.parametrize(
    ("record", "options", "message"),
    [
        ({"id": "1", "tre": "x"}, {}, '"tree" is missing; make trees with structkit.parse_trees'),
        ({"id": "1", "tree": TREE}, {"field": ["tre"]}, "did you mean 'tree'"),
        ({"id": "1", "tree": "(S"}, {}, r"\.jsonl:1: .*bracket"),
        ({"id": "1", "tree": f"(S{' (X a)' * 500})"}, {}, "500 words.*NAME.txt"),
        ({"id": "1", "tree": TREE}, {"ending": "jpg"}, ".svg, .png, .pdf"),
    ],
)
def test_what_cannot_be_drawn_is_one_clear_line(record, options, message, draw):
    with pytest.raises(UserError, match=message):
        draw(record, **options)


def test_the_command_draws_and_prints(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "s1", "tree": TREE}))
    app(["plot", "trees", "in.jsonl"], standalone_mode=False)
    assert "└─ . ." in capfdbinary.readouterr().out.decode()
    app(["plot", "trees", "in.jsonl", "-o", "out.png"], standalone_mode=False)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
