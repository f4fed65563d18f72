"""encode -o: NAME.npy and what stands beside it, Parquet, and runs that were stopped."""

import json

import numpy as np
import pytest
from pyarrow import parquet

from structkit.commands.encode import check_output
from structkit.commands.encode import write_embeddings as command_line
from structkit.embeddings.reading import read_embeddings
from structkit.errors import UserError
from structkit.learning.encoding.settings import EncodingSettings
from structkit.records.stream import Stream
from tests.jsonl import contents
from tests.model_encodings import encode_file, encoding_of, records, stopped_after


def write(model, path, lines=None, **options):
    return encode_file(model, path, records(n=1) if lines is None else lines, **options)


@pytest.mark.parametrize("name", ["v.npy", "v.parquet"])
def test_no_record_at_all(model, tmp_path, name):
    (tmp_path / "empty.jsonl").write_text("\n")
    before = contents(tmp_path)
    stream = Stream([str(tmp_path / "empty.jsonl")], str(tmp_path / name))
    with pytest.raises(UserError, match="empty.jsonl: holds no record to encode; name a file"):
        command_line(encoding_of(model, "document"), stream)
    assert before == contents(tmp_path)


def test_parquet(model, tmp_path):
    names = [str(tmp_path / f"v.{ending}") for ending in ("npy", "parquet")]
    of_npy, meta = (write(model, name, chunk=4, keep=["n"]) for name in names)
    file = parquet.ParquetFile(names[1])
    table = file.read().replace_schema_metadata(file.metadata.metadata)
    assert "fixed_size_list<element: float>[64]" == str(table.schema.field("embedding").type)
    assert meta == json.loads(file.metadata.metadata[b"structkit"])
    parquet.write_table(table, names[1], row_group_size=2)  # as others may write it
    expected, found = (read_embeddings([name], fields=True) for name in names)
    assert (expected.ids, expected.doc_ids) == (found.ids, found.doc_ids)
    assert len(found.ids) > 60 == len(set(found.doc_ids)) and "d1#0" in found.ids
    assert of_npy["model_sha256"] == found.model == expected.model
    assert [{**each, "n": "1"} for each in expected.fields] == found.fields
    np.testing.assert_array_equal(expected.vectors[:999], found.vectors[:999])


def test_files_stand_beside_the_vectors_and_none_of_another_kind(model, tmp_path):
    write(model, tmp_path / "v.npy", chunk=4, keep=["n"])
    names = ["v.doc_ids.txt", "v.fields.jsonl", "v.hashes.txt", "v.ids.txt", "v.meta.json", "v.npy"]
    assert names == sorted(contents(tmp_path))
    (tmp_path / ".v.doc_ids.txt.4194304.partial").write_bytes(b"of a killed run")
    write(model, tmp_path / "v.npy")
    assert names[2:] == sorted(contents(tmp_path))


def test_a_stopped_run_leaves_nothing(model, tmp_path):
    with pytest.raises(SystemExit):
        write(model, tmp_path / "v.npy", stopped_after(records(), 30))
    assert {} == contents(tmp_path)


def test_wrong_usage(model, tmp_path):
    several = EncodingSettings(model=model, field=("id", "text"))
    with pytest.raises(UserError, match="several --field need JSONL output"):
        check_output(several, str(tmp_path / "v.npy"))
    with pytest.raises(UserError, match="--quantize is for NAME.npy files"):
        check_output(EncodingSettings(model=model, quantize="int8"), "v.jsonl")
