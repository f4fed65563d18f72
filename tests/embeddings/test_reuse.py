"""encode --reuse: what did not change is copied, and the file is that of a fresh run."""

import json
import shutil

import numpy as np
import pytest

from structkit.embeddings.reading import read_embeddings
from structkit.errors import UserError
from tests.jsonl import read, write
from tests.learning.strae.samples import TREES, trained
from tests.model_encodings import encode_file, records, token_table
from tests.tolerances import TINY, rounding

HTML = "<html><body><h1>Title {0}</h1><p>Some text {0}</p><p>More of it</p></body></html>"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return token_table(tmp_path_factory.mktemp("table"))


def edited(lines):
    """Two changed, one gone, one new in the middle, one moved under another id."""
    lines = [dict(line) for line in lines]
    lines[3]["text"] += " changed"
    lines[40]["text"] = "all new"
    lines[20]["id"] = "moved"
    del lines[30]
    return [*lines[:10], {**lines[0], "id": "new", "text": "a new text"}, *lines[10:]]


def same_but_for_rounding(folder, other):
    """The same files, vectors equal within the rounding of sums in another order."""
    names = {path.name for path in folder.iterdir()}
    assert names == {path.name for path in other.iterdir()}
    for name in names - {"v.npy", "v.meta.json"}:
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name
    metas = [json.loads((each / "v.meta.json").read_bytes()) for each in (folder, other)]
    for meta in metas:
        assert meta["files"].pop(".npy")  # it is of the rounded numbers
    assert metas[0] == metas[1]
    found, expected = np.load(folder / "v.npy"), np.load(other / "v.npy")
    np.testing.assert_allclose(found, expected, **rounding(TINY))


def fresh_and_reused(model, tmp_path, old, new, **options):
    for name in ("old", "fresh", "reused"):
        (tmp_path / name).mkdir()
    encode_file(model, tmp_path / "old/v.npy", old, **options)
    encode_file(model, tmp_path / "fresh/v.npy", new, **options)
    reuse = str(tmp_path / "old/v.npy")
    encode_file(model, tmp_path / "reused/v.npy", new, reuse=reuse, **options)
    same_but_for_rounding(tmp_path / "reused", tmp_path / "fresh")
    return np.load(tmp_path / "old/v.npy"), np.load(tmp_path / "reused/v.npy")


def test_rows_are_copied_and_the_rest_encoded(model, tmp_path, capsys):
    lines = records(n=1)
    old, new = fresh_and_reused(model, tmp_path, lines, edited(lines), keep=["n"])
    told = f"57 of 60 records are as in {tmp_path}/old/v.npy\n"
    assert capsys.readouterr().err.endswith(told)
    for row, of_old in ((0, 0), (21, 20), (59, 59)):  # not one bit differs
        assert old[of_old].tobytes() == new[row].tobytes()


@pytest.mark.parametrize("window", [3, 2048])
def test_chunks(model, tmp_path, window):
    lines = records(n=1)
    new = [{**line, "n": 2} for line in edited([*lines, {**lines[1], "id": "twice"}])]
    options = {"keep": ["n"], "chunk": 4, "held": window}
    fresh_and_reused(model, tmp_path, [*lines, lines[5] | {"id": "x"}], new, **options)
    found = read_embeddings([str(tmp_path / "reused/v.npy")], fields=True)
    assert {2} == {record["n"] for record in found.fields}
    assert {"moved#0", "moved#1"} <= set(found.ids)


def test_elements_stand_where_they_stand_now(model, tmp_path):
    old = [{"id": str(i), "html": HTML.format(i)} for i in range(9)]
    new = [dict(record) for record in old]
    new[2]["html"] = new[2]["html"].replace("<h1>", "<h1 class='x'>")  # moved, not changed
    new[4]["html"] = new[4]["html"].replace("Some", "Another")
    options = {"rows": "elements", "field": ["html"]}
    before, after = fresh_and_reused(model, tmp_path, old, new, **options)
    assert before.shape == after.shape
    where = [tmp_path / name / "v.fields.jsonl" for name in ("old", "reused")]
    assert where[0].read_bytes() != where[1].read_bytes()


def test_the_output_may_be_the_older_file(run, model, tmp_path):
    def encode(*flags):
        done = run("encode", "-m", model, "lines.jsonl", *flags)
        assert 0 == done.returncode, done.stderr
        return done.stderr.decode()

    lines = records()
    write(tmp_path / "lines.jsonl", *lines)
    encode("-o", "v.npy")
    write(tmp_path / "lines.jsonl", *edited(lines))
    said = encode("--reuse", "v.npy", "-o", "v.npy")
    assert "structkit: 57 of 60 records are as in v.npy\n" == said
    assert [line["id"] for line in edited(lines)] == read_embeddings([str(tmp_path / "v.npy")]).ids
    for output in ("v.jsonl", "v.parquet"):
        encode("--reuse", "v.npy", "-o", output)
        other = read_embeddings([str(tmp_path / output)])
        np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), other.vectors[0:60])


def test_other_settings_reuse_nothing_and_say_so(model, tmp_path, capsys):
    lines, torch = records(n=1)[:9], {"engine": "torch"}  # others are chosen by their speed
    old = str(tmp_path / "old.npy")
    encode_file(model, old, lines, chunk=4, **torch)
    copy = tmp_path / "model"
    shutil.copytree(model, copy)
    metadata = next(copy.glob("*.json"))
    metadata.write_text(metadata.read_text() + "\n")
    for name, options, other in (
        (model, {}, "chunk"),
        (model, {"chunk": 5}, "chunk"),
        (model, {"chunk": 4, "normalize": False}, "normalize"),
        (model, {"chunk": 4, "field": ["text"]}, "fields"),
        (str(copy), {"chunk": 4}, "model_sha256"),
    ):
        encode_file(name, tmp_path / "a.npy", lines, **torch, **options)
        capsys.readouterr()
        encode_file(name, tmp_path / "b.npy", lines, reuse=old, **torch, **options)
        reason = f"(it was encoded with another {other})"
        expected = f"structkit: 0 of 9 records are as in {old} {reason}\n"
        assert expected == capsys.readouterr().err
        assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    encode_file(model, tmp_path / "b.npy", lines, reuse=old, chunk=4, keep=["n"], **torch)
    assert capsys.readouterr().err.startswith("structkit: 9 of 9 records are as in ")


def test_files_that_cannot_be_reused_are_refused(model, tmp_path):
    path = tmp_path / "v.npy"
    encode_file(model, path, records())
    hashes = (tmp_path / "v.hashes.txt").read_text()
    (tmp_path / "v.hashes.txt").write_text(hashes[:-33])
    with pytest.raises(UserError, match=r"v.hashes.txt: holds 59 ids for 60"):
        encode_file(model, path, records(), reuse=str(path))
    (tmp_path / "v.hashes.txt").write_text(hashes)
    (tmp_path / "v.hashes.txt").write_text(hashes[33:] + hashes[:33])
    with pytest.raises(
        UserError, match="v.hashes.txt: does not belong to .*; encode the corpus again"
    ):
        encode_file(model, path, records(), reuse=str(path))
    (tmp_path / "v.hashes.txt").write_text(hashes)
    meta = json.loads((tmp_path / "v.meta.json").read_text())
    del meta["run"]
    (tmp_path / "v.meta.json").write_text(json.dumps(meta))
    with pytest.raises(UserError, match="v.npy: holds no hashes of its texts; encode once without"):
        encode_file(model, path, records(), reuse=str(path))
    with pytest.raises(UserError, match="--reuse v.jsonl is not a .npy file"):
        encode_file(model, path, records(), reuse="v.jsonl")
    with pytest.raises(UserError, match="--reuse takes one --field; encode each by itself"):
        encode_file(model, path, records(), reuse=str(path), field=["text", "id"])


@pytest.mark.parametrize("rows", ["nodes", "phrases"])
def test_nodes_of_trees(tmp_path, rows):
    """A text of one word has no phrases, and is encoded again."""
    strae = tmp_path / "strae" / "model"
    trained("strae", strae, TREES, "tree", max_steps=0, minimum_count=1)
    old = read(tmp_path / "strae" / "texts.jsonl")
    new = [*old[1:], {"id": "again", "tree": old[0]["tree"]}, {**old[1], "id": "twice"}]
    before, after = fresh_and_reused(str(strae), tmp_path, old, new, rows=rows)
    assert before[0].tobytes() in {row.tobytes() for row in after}


def test_a_table_of_token_vectors_gives_the_bytes_of_a_fresh_run(table, tmp_path):
    """It computes each text alone: also what is encoded anew has the same bits."""
    lines = records()
    encode_file(table, tmp_path / "old.npy", lines)
    for name, options in (("fresh", {}), ("reused", {"reuse": str(tmp_path / "old.npy")})):
        (tmp_path / name).mkdir()
        encode_file(table, tmp_path / name / "v.npy", edited(lines), **options)
    for path in (tmp_path / "fresh").iterdir():
        assert path.read_bytes() == (tmp_path / "reused" / path.name).read_bytes(), path.name


def test_other_settings_leave_the_engine_its_precision(table, tmp_path):
    encode_file(table, tmp_path / "old.npy", records(), length=4)
    meta = encode_file(table, tmp_path / "new.npy", records(), reuse=str(tmp_path / "old.npy"))
    assert "highest" == meta["run"]["precision"]


def test_the_place_of_code_is_read_and_hashed(model, tmp_path, capsys):
    place = {"path": "tea/pot.py", "lines": [1, 2], "scope": "class Pot", "names": ["boil"]}
    chunks = [{"id": str(n), "code": f"return {n}", **place} for n in range(3)]
    written = [
        {"id": str(n), "code": f"tea/pot.py pot class Pot boil return {n}"} for n in range(3)
    ]
    encode_file(model, tmp_path / "v.npy", chunks, field=["code"])
    reuse = str(tmp_path / "v.npy")
    encode_file(model, tmp_path / "w.npy", written, field=["code"], reuse=reuse)
    chunks[1]["path"] = "tea/kettle.py"
    encode_file(model, tmp_path / "x.npy", chunks, field=["code"], reuse=reuse)
    told = [line for line in capsys.readouterr().err.splitlines() if "are as in" in line]
    assert ["3 of 3", "2 of 3"] == [line.split(": ")[1][:6] for line in told]
