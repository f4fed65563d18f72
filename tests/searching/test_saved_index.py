"""Indexes: parameters that faiss would take and not bear, folders that are damaged."""

import json
import os
import pty
import subprocess
from pathlib import Path

import numpy as np
import pytest
from structkit_plugins.backends.approximate import read_index

from structkit.errors import UserError
from structkit.searching.options import LOWEST, SearchOptions
from tests.conftest import PROGRAM, environment
from tests.searching.index_runs import found as run_of

WRONG = ("0", "-1", "nan", "inf", "-inf", "x", "", "1.5", "1e30", "0.5", "1 2")
INDEXES = {
    "nprobe": "IVF4,Flat",
    "efSearch": "HNSW8",
    "max_codes": "IVF4,Flat",
    "k_factor_rf": "PQ2x4fs,RFlat",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    rows = np.random.default_rng(0).normal(size=(200, 8))
    with open(folder / "c.jsonl", "w") as handle:
        for number, row in enumerate(rows):
            handle.write(json.dumps({"id": f"d{number}", "embedding": row.tolist()}) + "\n")
    with open(folder / "q.jsonl", "w") as handle:
        handle.write(json.dumps({"id": "q", "embedding": rows[3].tolist()}) + "\n")
    return folder


def found(folder, corpus="c.jsonl", **options):
    return run_of(str(folder / corpus), str(folder / "q.jsonl"), **options)


@pytest.mark.parametrize("name", LOWEST)
def test_parameters_that_no_index_bears_are_wrong_usage(name):
    allowed = {"max_codes": "0", "k_factor_rf": "1.5"}.get(name)
    for value in WRONG:
        if value == allowed:
            continue
        for text in (f"{name}={value}", f"nprobe=1,quantizer_{name}={value}"):
            with pytest.raises(UserError, match="--parameters") as caught:
                SearchOptions(parameters=text)
            assert 2 == caught.value.status
    for text in ("", name, "verbose=1", "nothing=1", f"{name}=1,{name}=2", "=1", f"{name}=1,"):
        with pytest.raises(UserError, match="--parameters"):
            SearchOptions(parameters=text)


@pytest.mark.parametrize(("name", "index"), INDEXES.items())
def test_parameters_at_their_ends_search(files, name, index):
    for value in (LOWEST[name], 2**31 - 1):
        run = found(files, index=index, parameters=f"{name}={value}")
        assert run
        assert all(np.isfinite(record["score"]) for record in run)


def test_a_parameter_of_another_index_is_wrong_usage(files):
    with pytest.raises(
        UserError, match="--parameters nprobe: this index has no such parameter"
    ) as caught:
        found(files, index="hnsw", parameters="nprobe=4")
    assert 2 == caught.value.status


def changed(lines, how):
    return {"short": lines[:-1], "repeated": [*lines[:-1], lines[0]], "long": [*lines, "x"]}[how]


@pytest.fixture
def saved(files, tmp_path):
    folder = tmp_path / "index"
    found(files, index="hnsw", save_index=str(folder))
    return folder


def test_a_saved_index_that_does_not_fit_is_refused(files, saved):
    """Each file is spoiled in its turn, searched with --explain, and mended again."""
    meta = json.loads((saved / "meta.json").read_text())
    ids = (saved / "ids.txt").read_text().splitlines()
    binary = (saved / "index").read_bytes()
    spoiled = [
        ("ids.txt", "\n".join(changed(ids, "short")), "ids.txt: holds 199 ids for 200"),
        ("ids.txt", "\n".join(changed(ids, "long")), "ids.txt: holds 201 ids for 200"),
        ("ids.txt", "\n".join(changed(ids, "repeated")), 'ids.txt:200: id "d0" is repeated'),
        ("docid", "\n".join(ids[:-1]), "docid: holds 199 ids for 200"),
        ("meta.json", "[1]", "meta.json: is not a JSON object"),
        ("meta.json", "{", "meta.json: is damaged: it is not JSON"),
        (
            "meta.json",
            json.dumps({**meta, "count": 7}),
            r"meta.json: says \(7, 8\), but the matrix",
        ),
        ("meta.json", json.dumps({**meta, "model_sha256": 3}), "model_sha256 is a JSON number"),
        ("meta.json", json.dumps({**meta, "similarity": None}), "meta.json: names no similarity"),
        ("fields.jsonl", "{}\n", "fields.jsonl: holds 1 records for 200"),
        ("fields.jsonl", "3\n" * 200, "fields.jsonl: holds 200 records for 200"),
        ("index", binary[: len(binary) // 2], "index/index: is damaged, or not an index"),
        ("index", b"", "index/index: is damaged, or not an index"),
        (
            "index",
            binary[:33] + b"\xff" * 8 + binary[41:],
            "index/index: is damaged, or not an index",
        ),
    ]
    for name, content, told in spoiled:
        before = (saved / name).read_bytes()
        (saved / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(UserError, match=told) as caught:
            found(files, str(saved), explain=True)
        assert (
            "build the index again with --save-index" in caught.value.remedy
            or "its own id" in str(caught.value)
        )
        (saved / name).write_bytes(before)
    for name in ("index", "docid", "ids.txt", "fields.jsonl"):
        (saved / name).rename(saved / "away")
        told = (
            "is a folder without an index"
            if name == "index"
            else f"{name}: cannot be read: No such file"
        )
        with pytest.raises(UserError, match=told):
            found(files, str(saved), explain=True)
        (saved / "away").rename(saved / name)
    assert 5 == len(found(files, str(saved), explain=True))


def test_building_shows_its_progress_on_a_terminal(files, tmp_path):
    rows = np.random.default_rng(0).normal(size=(6000, 32)).astype("f4")
    np.save(tmp_path / "c.npy", rows)
    (tmp_path / "c.ids.txt").write_text("".join(f"{number}\n" for number in range(6000)))
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q", "embedding": [1.0] * 32}) + "\n")
    search = ["search", "c.npy", "--queries", "q.jsonl", "--index", "hnsw", "-o", "run.jsonl"]
    for quiet in ([], ["-q"]):
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [*PROGRAM, *search, *quiet], stderr=follower, cwd=tmp_path, env=environment()
        )
        os.close(follower)
        told = b""
        while True:
            try:
                told += os.read(leader, 1 << 16)
            except OSError:  # the terminal is closed
                break
        os.close(leader)
        assert 0 == process.wait(60)
        assert bool(quiet) != (b"build hnsw" in told)


def test_a_saved_index_is_mapped(files, tmp_path):
    folder = tmp_path / "index"
    expected = found(files, index="int8", save_index=str(folder))
    index, _ = read_index(folder, SearchOptions())
    assert f"{folder}/index" in Path("/proc/self/maps").read_text()  # not copied into memory
    assert index.ntotal == 200
    assert expected == run_of(str(folder), str(files / "q.jsonl"))
