"""plot: pictures are whole, the same for the same data, and show what they should."""

import math
import re

import numpy as np
import pytest

from structkit import plot
from structkit.commands.plot import node_positions
from structkit.errors import UserError
from structkit.scoring.probabilities import fitted_temperature, probabilities
from structkit.structure.trees.brackets import read_tree
from tests import jsonl
from tests.cli.complaints import complaint

TREE = "(S (NP (DT The) (NN farmer)) (VP (VBD sold) (NP (DT a) (NN boat$2$))) (. .))"
OWN = "(X (X (X The) (X farmer)) (X (X (X sold) (X (X a) (X boat$2$))) (X .)))"


@pytest.fixture
def write(tmp_path):
    return lambda name, *records: jsonl.write(tmp_path / name, *records)


@pytest.fixture
def files(write):
    generator = np.random.default_rng(0)
    return [
        write(
            f"{name}.jsonl",
            *({"id": str(n), "embedding": generator.normal(at, 1, 5).tolist()} for n in range(12)),
        )
        for at, name in enumerate(("queries", "documents"))
    ]


def texts(path):
    """What an SVG says: matplotlib keeps each text as a comment beside its outlines."""
    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text("utf-8"), re.S)).split()


def test_embeddings_are_drawn_one_mark_each(files, tmp_path):
    target, again = tmp_path / "tsne.svg", tmp_path / "again.svg"
    plot("embeddings", files, output=target, sample=8)
    assert {"queries", "documents"} <= {*texts(target)}
    # a mark for each of the 8 drawn rows of 2 files, and one of each in the legend
    assert 2 * 8 + 2 == len(re.findall(r'<use xlink:href="#(?!DejaVu)', target.read_text()))
    plot("embeddings", files, output=again, sample=8)
    assert target.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 1.0]] * 9,
        [[0.0, 0.0, 0.0]] * 4,
        [[5.0]] * 20,
        [[1e18 + n, 1.0] for n in range(9)],  # equal as float32
        [[1e-300 * n, 0.0] for n in range(9)],
    ],
    ids=str,
)
def test_equal_embeddings_are_not_drawn(here, write, rows):
    file = write("e.jsonl", *({"id": str(n), "embedding": row} for n, row in enumerate(rows)))
    done = here("plot", "embeddings", file, "-o", "e.svg")
    assert complaint(done).startswith("all embeddings are equal, so there is nothing to draw")


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 1.0]] * 8 + [[1.0, 1.000001]],
        [[float(n)] for n in range(9)],
        [[1e18 * (n % 2), 1.0] for n in range(9)],
        [[1000.0 + 1e-4 * n, 1000.0] for n in range(9)],
        [[1e-38 * n, 0.0] for n in range(9)],
        [[0.0, n % 2] for n in range(4)],
    ],
    ids=str,
)
def test_nearly_equal_ones_are(write, tmp_path, rows):
    records = ({"id": str(n), "embedding": row} for n, row in enumerate(rows))
    plot("embeddings", [write("e.jsonl", *records)], output=tmp_path / "e.svg")
    assert ["e"] == texts(tmp_path / "e.svg")


def test_ranks_are_softmax_probabilities_by_hand():
    run = {"q": {"a": 1.0, "b": 0.0, "c": 0.0}, "s": {"x": 5.0}}
    qrels = {"q": {"b": 1, "c": 2, "a": 0}, "r": {"z": 1}, "s": {"y": 1}}
    # r was not found at all, s without its document
    assert [pytest.approx(1 / (math.e + 2)), 0.0, 0.0] == probabilities(run, qrels).tolist()
    # at half the temperature
    assert pytest.approx(1 / (math.e**2 + 2)) == probabilities(run, qrels, 0.5)[0]


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_a_good_run_is_not_beside_zero_whatever_its_scores_are(scale):
    # 99 of 100 queries have their document first, by as much as cosines have: 0.5 before 0.2
    run = {
        f"q{n}": {f"d{d}": scale * (0.5 if d == (n == 0) else 0.2) for d in range(100)}
        for n in range(100)
    }
    qrels = {f"q{n}": {"d0": 1} for n in range(100)}
    found = probabilities(run, qrels, fitted_temperature(run, qrels))
    # the likeliest: what is first is right in 99 of 100
    assert [0.99] * 99 == pytest.approx(found[1:].tolist(), abs=0.01)
    assert 0.01 > found[0]
    assert 0.02 > probabilities(run, qrels, scale)[1]
    assert 1.0 == fitted_temperature({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}})
    assert 1.0 == fitted_temperature({"q": {"a": 1.0}}, {"r": {"a": 1}})


def test_ranks_tell_the_temperature_and_any_name_and_the_ending_names_the_format(write, tmp_path):
    hit = {"query_id": "a", "doc_id": "a", "score": 1.0}
    runs = [write(f"{name}.jsonl", hit) for name in ("a$b{$", "_own", "tea\x1b[31m")]
    for ending, start in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        plot("ranks", runs, qrels="self", output=tmp_path / f"ranks.{ending}")
        assert (tmp_path / f"ranks.{ending}").read_bytes().startswith(start)
    plot("ranks", runs, qrels="self", output=tmp_path / "ranks.svg", temperature=0.25)
    drawn = texts(tmp_path / "ranks.svg")
    assert {"a$b{$", "_own", r"tea\x1b[31m"} <= {*drawn}
    assert ["(temperature", "0.25)"] == drawn[-2:]


def test_losses_come_from_a_log(write, tmp_path):
    log = write("log.jsonl", *({"step": step, "loss": 1 / step} for step in range(1, 9)))
    plot("losses", [log], output=tmp_path / "losses.svg")
    assert {"step", "loss", "log"} <= {*texts(tmp_path / "losses.svg")}


def test_losses_show_what_held_out_records_measured(write, tmp_path):
    measured = {"step": 2, "held_out_loss": 1.5, "held_out_nDCG@10": 0.5}
    log = write("log.jsonl", {"step": 1, "loss": 2.0, "learning_rate": 0.1}, measured)
    plot("losses", [log], output=tmp_path / "losses.svg")
    drawn = " ".join(texts(tmp_path / "losses.svg"))
    assert "log, held-out loss" in drawn and "log, held-out nDCG@10" in drawn
    assert "learning_rate" not in drawn


def test_a_picture_of_trees_has_all_words_labels_and_fields(write, tmp_path):
    target = tmp_path / "trees.svg"
    records = [{"id": f"s{number}", "tree": TREE, "own_tree": OWN} for number in range(2)]
    source = write("in.jsonl", *records)
    plot("trees", source, output=target)
    drawn, first = texts(target), target.read_bytes()
    assert all(drawn.count(word) >= 2 for word in "The farmer sold a boat$2$ .".split())
    assert {"S", "NP", "VP", "DT", "s0:", "tree", "own_tree"} <= {*drawn}
    assert "s1:" not in drawn
    plot("trees", source, output=target)
    assert first == target.read_bytes()
    plot("trees", source, output=target, field=["tree"])
    assert "own_tree" not in texts(target)


def test_no_two_nodes_share_a_place_and_parents_are_above():
    tree = read_tree(TREE)
    x, y = node_positions(tree)
    assert len(x) == len({*zip(x.tolist(), y.tolist(), strict=True)})
    assert all(y[child] < y[node] for node in range(len(x)) for child in tree.children(node))
    assert all(y[tree.word >= 0] == 0)


WIDE = {"id": "1", "embedding": [1.0] * 5}


@pytest.mark.parametrize(
    ("kind", "records", "options", "message"),
    [
        ("embeddings", [WIDE], {}, "1 embeddings are too few"),
        ("losses", [WIDE], {}, "no line holds a step and a loss"),
        ("trees", [], {}, "there are no records"),
        ("trees", [{"tre": "x"}], {}, '"tree" is missing; make trees with structkit.parse_trees'),
        ("trees", [{"tree": TREE}], {"field": ["tre"]}, "did you mean 'tree'"),
        ("trees", [{"tree": "(S"}], {}, r"\.jsonl:1: .*bracket"),
    ],
)
def test_what_cannot_be_drawn_is_one_clear_line(write, tmp_path, kind, records, options, message):
    source = write("in.jsonl", *records)
    with pytest.raises(UserError, match=message):
        plot(kind, source, **{"output": tmp_path / "x.svg", **options})
    assert not list(tmp_path.glob("x.*"))


def test_files_of_other_dimensions_are_not_drawn_together(write, files, tmp_path):
    narrow = write("narrow.jsonl", {"id": "1", "embedding": [1.0]})
    with pytest.raises(UserError, match="of different dimensions"):
        plot("embeddings", [files[0], narrow], output=tmp_path / "x.svg")


def test_the_command(here, files, tmp_path):
    done = here("plot", "embeddings", *files, "-o", "out.png")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert (tmp_path / "out.png").exists()
    done = here("plot", "losses", files[0], "-o", "out.jpg")
    assert (2, b"") == (done.returncode, done.stdout)
    assert b"-o out.jpg names no picture format" in done.stderr


@pytest.mark.parametrize(
    "rules", [b"font.size: 40\naxes.grid: True\n", b"\xff", b"no such key: 1\n"]
)
def test_settings_of_the_current_folder_change_no_picture(here, write, tmp_path, rules):
    log = write("log.jsonl", *({"step": step, "loss": 1 / step} for step in range(1, 5)))
    assert here("plot", "losses", log, "-o", "plain.svg").returncode == 0
    (tmp_path / "matplotlibrc").write_bytes(rules)
    done = here("plot", "losses", log, "-o", "again.svg")
    assert not done.returncode and not done.stderr
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
