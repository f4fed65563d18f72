"""encode --reuse of what shards wrote, before and after they are merged."""

import json

import numpy as np
import pytest

from structkit import merge_embeddings
from structkit.commands.encode import encode_to_file
from structkit.commands.encode import write as command_line
from structkit.embeddings.reading import read_embeddings
from structkit.errors import UserError
from structkit.records.jsonl import Shard
from structkit.records.stream import Stream
from tests.commands.test_encode import model, records  # noqa: F401
from tests.embeddings.test_reuse import write
from tests.model_encodings import encoding_of


def sharded(model, folder, **options):  # noqa: F811
    """The corpus by two runs with --shard, merged."""
    whole = json_lines(folder / "c.jsonl", records(n=1))
    parts = [str(folder / f"{number}.npy") for number in range(2)]
    for number, part in enumerate(parts):
        stream = Stream([whole], part, shard=Shard(number, 2), others=(".npy",))
        command_line(encoding_of(model, "document", **options), stream)
    merge_embeddings(parts, output=str(folder / "all.npy"))
    return str(folder / "all.npy")


def json_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("options", [{}, {"chunk": 2}])
def test_what_shards_wrote_is_reused_whole_and_by_shards(model, tmp_path, capsys, options):  # noqa: F811
    merged = sharded(model, tmp_path, **options)
    write(model, tmp_path / "v.npy", records(n=1), reuse=merged, **options)
    assert capsys.readouterr().err.endswith("60 of 60 records are as in " + merged + "\n")
    before = np.load(merged)
    found = read_embeddings([str(tmp_path / "v.npy")])
    rows = {id_: row for row, id_ in enumerate(read_embeddings([merged]).ids)}
    for row, id_ in enumerate(found.ids):
        assert before[rows[id_]].tobytes() == found.vectors[row].tobytes()
    (tmp_path / "again").mkdir()
    again = sharded(model, tmp_path / "again", reuse=merged, **options)
    assert 2 == capsys.readouterr().err.count("30 of 30 records are as in")
    assert np.load(again).tobytes() == before.tobytes()


def test_merged_files_of_other_settings_hold_no_hashes(model, tmp_path, capsys):  # noqa: F811
    lines = records(n=1)
    write(model, tmp_path / "a.npy", lines[:30])
    write(model, tmp_path / "b.npy", lines[30:], field=["text"])
    parts = [str(tmp_path / name) for name in ("a.npy", "b.npy")]
    merge_embeddings(parts, output=str(tmp_path / "all.npy"))
    told = f"{parts[1]} has another fields than {parts[0]}: encode --reuse cannot use"
    assert told in capsys.readouterr().err
    with pytest.raises(UserError, match="holds no hashes of its texts"):
        encoding_of(model, "document", reuse=str(tmp_path / "all.npy"))


def test_a_merged_file_is_no_finished_run(model, tmp_path):  # noqa: F811
    merged = sharded(model, tmp_path)
    encoding = encoding_of(model, "document")
    with pytest.raises(UserError, match="the records differ from those that the run began with"):
        encode_to_file(encoding.texts(records(n=1)), merged, encoding, resume=True)
