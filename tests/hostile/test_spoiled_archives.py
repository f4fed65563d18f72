"""Archives of `collect`: spoiled, or made to write outside, to fill memory, or never to end."""

import pytest
from hostile.good import tarred, zipped
from hostile.spoiling import examples, spoiled
from hypothesis import given

from structkit.collecting.units import Collector, Units
from structkit.collecting.walking import LeftOut, Walk, WalkOptions

WEB = b"".join(
    b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a/%d\r\n"
    b"Content-Type: text/html\r\nContent-Length: 8\r\n\r\n<p>Tea.\n\r\n\r\n" % number
    for number in range(3)
)


def found(path, most=100_000):
    """The sources in an archive, and what is left out; each of these with a reason."""
    sources, left = [], []
    for each in Walk(WalkOptions(max_file_bytes=most)).sources([str(path)]):
        if isinstance(each, LeftOut):
            assert each.problem and each.remedy and each.error.file
            left.append(each)
        else:
            assert each.size <= most + 1
            sources.append(each)
    return sources, left


@pytest.mark.parametrize(
    ("name", "good"),
    [("a.zip", zipped()), ("a.tar.gz", tarred()), ("a.tar", tarred(mode="w")), ("a.warc", WEB)],
)
def test_spoiled_archives(tmp_path, name, good):
    path = tmp_path / name

    @examples(80)
    @given(spoiled(good))
    def check(data):
        path.write_bytes(data)
        found(path)

    path.write_bytes(good)
    sources, left = found(path)
    assert (3, []) == (len(sources), left)
    assert Collector(Units())(sources).records >= 3
    check()


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize(
    "name", ["../out.py", "/out.py", "a/../../out.py", "..\\out.py", "a/b/../../.."]
)
def test_names_that_lead_outside_are_refused(tmp_path, pack, name):
    path = tmp_path / ("a.zip" if pack is zipped else "a.tar.gz")
    path.write_bytes(pack({name: b"x = 1\n"}))
    sources, left = found(path)
    assert not sources
    assert "leads out of the archive" in left[0].problem
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_bombs_are_refused(tmp_path, pack):
    path = tmp_path / ("a.zip" if pack is zipped else "a.tar.gz")
    path.write_bytes(pack({"a.py": b"x" * 20_000_000, "b.py": b"x = 1\n"}))
    assert path.stat().st_size < 100_000
    done = Collector(Units(max_file_bytes=100_000))(found(path)[0])
    assert 1 == done.records
    assert ["has more than 100,000 bytes"] == [each.problem for each in done.left_out]


def test_a_size_that_lies_is_refused(tmp_path):
    data = zipped({"a.py": b"x" * 5_000})
    size, lie = (5_000).to_bytes(4, "little"), (5).to_bytes(4, "little")
    assert size in data
    (tmp_path / "a.zip").write_bytes(data.replace(size, lie))
    sources, left = found(tmp_path / "a.zip")
    assert not sources
    assert "cannot be read" in left[0].problem
