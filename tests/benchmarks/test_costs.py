"""The benchmarks of scale: what they count is what there is."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments import quantized, scale
from tests.benchmarks.processes import measured
from tests.searching.index_runs import matrix

REAL = [("a", "<p>1</p><h2>2</h2>3<h2>4</h2>"), ("b", "<h1>5</h1>"), ("c", "<i>6</i><h2>7</h2>")]
# a child without a waiting parent works for half a second and holds 100 MB
WORK = "import time\nkept = b'x' * 10**8\nwhile time.process_time() < 0.5: pass"
CHILD = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-S', '-c', {WORK!r}])"


@pytest.mark.long
def test_the_cost_of_a_command_has_that_of_its_children() -> None:
    cost = measured([sys.executable, "-S", "-c", f"{CHILD}.wait()"])
    assert cost.cpu > 0.45 and cost.seconds > 0.45
    assert 10**8 < cost.peak < 2 * 10**8
    unawaited = measured([sys.executable, "-S", "-c", f"{CHILD}; time.sleep(3)"])
    assert unawaited.cpu > 0.3
    with pytest.raises(subprocess.CalledProcessError):
        measured([sys.executable, "-c", "raise SystemExit(3)"])


def test_made_pages_are_the_real_ones_and_then_mixtures() -> None:
    whole = list(scale.made(REAL, range(30)))
    assert [{"id": name, "html": html} for name, html in REAL] == whole[:3]
    assert 30 == len({page["id"] for page in whole})
    shards = [page for at in range(3) for page in scale.made(REAL, range(10 * at, 10 * at + 10))]
    assert whole == shards
    mixtures = {page["html"] for page in whole if page["id"].startswith("a.")}
    assert len(mixtures) > 1
    parts = {"<h2>2</h2>3", "<h2>4</h2>", "<h2>7</h2>"}
    for html in mixtures:
        first, *others = scale.HEADING.split(html)
        assert "<p>1</p>" == first and 2 == len(others) and set(others) <= parts


def test_the_table_of_quantized_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(600, 16)).astype("f4")
    corpus = matrix(tmp_path / "c.npy", vectors, [str(n) for n in range(600)])
    queries = matrix(tmp_path / "q.npy", vectors[:20] + 0.1, [str(n) for n in range(20)])
    quantized.main([corpus, queries], 1)
    table = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if " | " in line]
    rows = {cells[0].removeprefix("| "): cells for cells in table}
    recalls = [rows[f"… `--rescore` floats, {times} times k rows"][3] for times in (5, 20, 50)]
    assert sorted(recalls) == recalls and recalls[0] < recalls[2]
    assert "1.000" == rows["float32"][3]
    sizes = [rows[name][1] for name in ("float32", "float16", "`--quantize int8`")]
    assert ["64", "32", "20"] == sizes  # with the scale, and without what stands before the rows
    assert "2" == rows["`--quantize binary`, inner product"][1]
