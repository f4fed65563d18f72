"""plot: pictures are whole, the same for the same data, and show what they should."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from structkit import plot
from structkit.errors import UserError
from structkit.scoring.probabilities import fitted_temperature, probabilities

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, *records: dict[str, object]) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        return str(path)

    return write


@pytest.fixture
def files(write: Write) -> list[str]:
    generator = np.random.default_rng(0)
    names = ("queries", "documents")
    return [
        write(
            f"{name}.jsonl",
            *({"id": str(n), "embedding": generator.normal(at, 1, 5).tolist()} for n in range(12)),
        )
        for at, name in enumerate(names)
    ]


def texts(path: Path) -> str:
    """What an SVG says: matplotlib keeps each text as a comment beside its outlines."""
    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text()))


def test_embeddings_are_drawn_one_mark_each(files: list[str], tmp_path: Path) -> None:
    target = tmp_path / "tsne.svg"
    plot("embeddings", files, output=target, sample=8)
    assert "queries" in texts(target)
    assert "documents" in texts(target)
    # a mark for each of the 8 drawn rows of 2 files, and one of each in the legend
    assert 2 * 8 + 2 == len(re.findall(r'<use xlink:href="#(?!DejaVu)', target.read_text()))
    again = tmp_path / "again.svg"
    plot("embeddings", files, output=again, sample=8)
    assert target.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_the_ending_names_the_format(
    write: Write, tmp_path: Path, ending: str, start: bytes
) -> None:
    run = write("run.jsonl", {"query_id": "a", "doc_id": "a", "score": 1.0})
    target = tmp_path / f"ranks.{ending}"
    plot("ranks", [run], qrels="self", output=target)
    assert target.read_bytes().startswith(start)


def test_ranks_are_softmax_probabilities_by_hand() -> None:
    run = {"q": {"a": 1.0, "b": 0.0, "c": 0.0}, "s": {"x": 5.0}}
    qrels = {"q": {"b": 1, "c": 2, "a": 0}, "r": {"z": 1}, "s": {"y": 1}}
    # r was not found at all, s without its document
    expected = [pytest.approx(1 / (math.e + 2)), 0.0, 0.0]
    assert expected == probabilities(run, qrels).tolist()
    # at half the temperature
    assert pytest.approx(1 / (math.e**2 + 2)) == probabilities(run, qrels, 0.5)[0]


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_a_good_run_is_not_beside_zero_whatever_its_scores_are(scale: float) -> None:
    # 99 of 100 queries have their document first, by as much as cosines have: 0.5 before 0.2
    run = {
        f"q{n}": {f"d{d}": scale * (0.5 if d == (n == 0) else 0.2) for d in range(100)}
        for n in range(100)
    }
    qrels = {f"q{n}": {"d0": 1} for n in range(100)}
    temperature = fitted_temperature(run, qrels)
    found = probabilities(run, qrels, temperature)
    # the likeliest: what is first is right in 99 of 100
    assert [0.99] * 99 == pytest.approx(found[1:].tolist(), abs=0.01)
    assert 0.01 > found[0]
    assert 0.02 > probabilities(run, qrels, scale)[1]
    assert 1.0 == fitted_temperature({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}})
    assert 1.0 == fitted_temperature({"q": {"a": 1.0}}, {"r": {"a": 1}})


def test_ranks_tell_the_temperature_of_each_run(write: Write, tmp_path: Path) -> None:
    run = write("run.jsonl", {"query_id": "a", "doc_id": "a", "score": 1.0})
    target = tmp_path / "ranks.svg"
    plot("ranks", [run], qrels="self", output=target, temperature=0.25)
    assert "run (temperature 0.25)" in texts(target)


def test_all_measures_are_drawn_and_named(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measures = ("nDCG@10", "RR@10", "R@100")
    rows = [
        {"run": run, "queries": 9}
        | {f"{name}{end}": 0.5 for name in measures for end in ("", "_low", "_high")}
        for run in ("bm25", "santa")
    ]
    target = tmp_path / "runs.svg"
    plot("runs", [write("scores.jsonl", *rows)], output=target)
    assert {*measures, "bm25", "santa"} <= set(texts(target).split())
    plot("runs", [write("scores.jsonl", *rows)], output=target, measure="RR@10")
    told = set(texts(target).split())
    assert "RR@10" in told and "nDCG@10" not in told
    # what the second file lacks is not drawn
    few = {name: value for name, value in rows[1].items() if not name.startswith("RR")}
    plot("runs", [write("one.jsonl", rows[0]), write("two.jsonl", few)], output=target)
    told = set(texts(target).split())
    assert {"nDCG@10", "R@100"} <= told and "RR@10" not in told
    assert "" == capsys.readouterr().err
    groups = [{"run": "x", "language": language, **rows[0]} for language in ("go", "ruby")]
    plot("runs", [write("groups.jsonl", *groups)], output=target)
    assert (
        "nDCG@10 is drawn; for another, measure='RR@10' or measure='R@100'"
        in capsys.readouterr().err
    )


def test_runs_show_groups_and_names(write: Write, tmp_path: Path) -> None:
    rows = [
        {"run": run, "language": name, "queries": 9, "RR": 0.5, "RR_low": 0.4, "RR_high": 0.7}
        for run in ("bm25", "santa")
        for name in ("go", "ruby")
    ]
    target = tmp_path / "runs.svg"
    plot("runs", [write("scores.jsonl", *rows)], output=target)
    assert {"bm25", "santa", "go", "ruby", "language", "RR"} <= set(texts(target).split())
    plot(
        "runs",
        [write("plain.jsonl", {"run": "x", "queries": 2, "MAP": 0.5})],
        output=target,
        measure="MAP",
    )
    assert {"x", "MAP"} <= set(texts(target).split())


@pytest.mark.parametrize("lengths", [(64, 512, 128), ("64", "512", "128")])
def test_numbers_are_along_an_axis_in_their_order(lengths, write: Write, tmp_path: Path) -> None:
    rows = [
        {"run": run, "length": length, "queries": 9, "RR": 0.5, "RR_low": 0.4, "RR_high": 0.7}
        for run in ("bm25", "santa")
        for length in lengths
    ]
    target = tmp_path / "runs.svg"
    plot("runs", [write("scores.jsonl", *rows)], output=target)
    told = texts(target).split()
    assert {"bm25", "santa", "length", "RR", "200", "400"} <= {*told}  # marks between the groups
    assert {"64", "512"}.isdisjoint(told)
    one = [row for row in rows if row["length"] == lengths[0]]
    plot("runs", [write("one.jsonl", *one)], output=target)  # one group is no axis
    assert "64" in texts(target).split()


def test_embeddings_after_a_training_are_beside_those_before(
    files: list[str], tmp_path: Path
) -> None:
    target = tmp_path / "tsne.svg"
    plot("embeddings", files, output=target, after=files[::-1], sample=6)
    told = texts(target).split()
    assert {"before", "after"} <= {*told} and 2 == told.count("queries")
    assert 4 * 6 + 4 == len(re.findall(r'<use xlink:href="#(?!DejaVu)', target.read_text()))


def test_any_name_is_drawn_as_it_is(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("a$b{$", "_own", "tea\x00\x1b[31m", "茶")
    rows = [{"run": name, "queries": 2, "RR": 0.5, "RR_low": 0.4, "RR_high": 0.7} for name in names]
    target = tmp_path / "runs.svg"
    for _ in range(2):  # the second picture of a process is told of too
        capsys.readouterr()
        plot("runs", [write("scores.jsonl", *rows)], output=target)
    assert {"a$b{$", "_own", r"tea\x00\x1b[31m", "茶"} <= set(texts(target).split())
    told = f"structkit: {target}: the font lacks some letters of the names; they are drawn as boxes"
    assert told == capsys.readouterr().err.rstrip()


def test_losses_come_from_a_log(write: Write, tmp_path: Path) -> None:
    log = write("log.jsonl", *({"step": step, "loss": 1 / step} for step in range(1, 9)))
    target = tmp_path / "losses.svg"
    plot("losses", [log], output=target)
    assert {"step", "loss", "log"} <= set(texts(target).split())


def test_what_cannot_be_drawn_is_one_clear_line(
    write: Write, files: list[str], tmp_path: Path
) -> None:
    few = write("few.jsonl", {"id": "1", "embedding": [1.0] * 5})
    narrow = write("narrow.jsonl", {"id": "1", "embedding": [1.0]})
    row = {"run": "a", "RR": 0.5, "RR_low": 0.1}
    grouped = write("grouped.jsonl", {"run": "a", "language": "go", **row}, row)
    words = write("words.jsonl", row, {**row, "RR_low": "x"})
    target = tmp_path / "x.svg"
    for call, problem in (
        (lambda: plot("embeddings", [few], output=target), "1 embeddings are too few"),
        (
            lambda: plot("embeddings", [files[0], narrow], output=target),
            "of different dimensions",
        ),
        (lambda: plot("runs", [few], output=target), "the records are not scores of runs"),
        (
            lambda: plot("runs", [few], output=target, measure="RR"),
            'few.jsonl:1: field "run" is missing',
        ),
        (
            lambda: plot("runs", [grouped], output=target),
            'grouped.jsonl:2: field "language" is miss',
        ),
        (
            lambda: plot("runs", [words], output=target),
            'words.jsonl:2: field "RR_low" is not a finite number',
        ),
        (lambda: plot("losses", [few], output=target), "no line holds a step and a loss"),
        (
            lambda: plot("embeddings", files, output=tmp_path / "x.gif"),
            "use one of the endings .svg",
        ),
    ):
        with pytest.raises(UserError, match=problem):
            call()
    assert not list(tmp_path.glob("x.*"))


def test_the_command(run, files: list[str], tmp_path: Path) -> None:
    done = run("plot", "embeddings", *files, "-o", "out.png")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert (tmp_path / "out.png").exists()
    done = run("plot", "losses", files[0], "-o", "out.jpg")
    assert (1, b"") == (done.returncode, done.stdout)
    assert b"no line holds a step" in done.stderr
