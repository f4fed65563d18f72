"""Archives in folders, what stands in archives beside files, damaged ones, and crawls."""

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from structkit import collect
from structkit.errors import UserError

ARCHIVES = ["a.tar", "a.tar.gz", "a.tgz", "a.jar", "a.whl", "a.zip"]


@pytest.fixture
def project(tmp_path):
    """A folder with archives of every kind in a folder of it."""
    folder = tmp_path / "project/sub"
    folder.mkdir(parents=True)
    (folder / "b.py").write_text("b = 1\n")
    for name in ARCHIVES:
        pack(folder / name, {"a.py": b"a = 1\n", "in.zip": b"PK\3\4"})
    return tmp_path / "project"


def pack(file: Path, members: dict[str, bytes]):
    if ".t" in file.name:
        mode = file.suffix[1:].replace("tar", "").replace("tgz", "gz")
        with tarfile.open(file, f"w:{mode}") as packed:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                packed.addfile(info, io.BytesIO(content))
        return
    with zipfile.ZipFile(file, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)


def paths(done):
    assert 0 == done.returncode, done.stderr
    return [json.loads(line)["path"] for line in done.stdout.splitlines()]


def test_archives_in_a_folder_are_left_out_and_told(project, run):
    done = run("collect", "project", "--rejects", "rejects.jsonl")
    assert ["project/sub/b.py"] == paths(done)
    assert b"structkit: 6 paths left out (6 x an archive)\n" == done.stderr
    rejects = map(json.loads, (project.parent / "rejects.jsonl").open())
    assert [
        (f"project/sub/{name}", "an archive; include it with --archives")
        for name in sorted(ARCHIVES)
    ] == [(each["record"]["path"], each["reason"]) for each in rejects]


def test_archives_in_a_folder_are_opened_if_asked_for(project, run):
    done = run("collect", "project", "--archives")
    inside = [f"project/sub/{name}/a.py" for name in sorted(ARCHIVES)]
    assert [*inside, "project/sub/b.py"] == paths(done)
    assert b"structkit: 6 paths left out (6 x an archive in an archive)\n" == done.stderr
    assert done.stdout == run("collect", "project", "--archives", "--workers", 2).stdout


COMPRESSED = {"a.md.gz": gzip, "a.py.bz2": bz2, "a.txt.xz": lzma}


def test_compressed_files_are_read_if_named_or_asked_for(tmp_path, run):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, module in COMPRESSED.items():
        (folder / name).write_bytes(module.compress(b"tea = 'hot'\n"))
    done = run("collect", "folder")
    assert [] == paths(done)
    assert done.stderr.startswith(b"structkit: 3 paths left out (3 x compressed)\n")
    done = run("collect", "folder", "--archives")
    inside = [f"folder/{name}/{name.rpartition('.')[0]}" for name in COMPRESSED]
    assert inside == paths(done)
    languages = [json.loads(line)["language"] for line in done.stdout.splitlines()]
    assert ["markdown", "python", "text"] == languages
    assert done.stdout == run("collect", *(f"folder/{name}" for name in COMPRESSED)).stdout
    done = run("collect", "folder", "--archives", "--max-file-bytes", "11")
    assert b"3 x has more than 11 bytes" in done.stderr
    pack(tmp_path / "p.zip", {"a.md.gz": b"x"})
    assert b"1 x compressed in an archive" in run("collect", "p.zip").stderr


@pytest.mark.parametrize("name", COMPRESSED)
def test_a_compressed_file_that_is_damaged_is_told(tmp_path, run, name):
    whole = COMPRESSED[name].compress(b"tea = 'hot'\n" * 99)
    for content in (whole[:-9], b"tea = 'hot'\n"):
        (tmp_path / name).write_bytes(content)
        done = run("collect", name)
        assert [] == paths(done)
        assert b"structkit: 1 path left out (1 x cannot be read: " in done.stderr


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_links_in_a_tar_lead_to_what_is_in_it_and_nowhere_else(tmp_path, run, name):
    (tmp_path / "secret.py").write_text("secret = 1\n")
    with tarfile.open(tmp_path / name, "w:gz" if name.endswith("gz") else "w") as packed:
        info = tarfile.TarInfo("a.py")
        info.size = 6
        packed.addfile(info, io.BytesIO(b"a = 1\n"))
        for number, (kind, target) in enumerate(
            [
                (tarfile.LNKTYPE, "a.py"),
                (tarfile.LNKTYPE, "../secret.py"),
                (tarfile.LNKTYPE, str(tmp_path / "secret.py")),
                (tarfile.LNKTYPE, "link1.py"),
                (tarfile.SYMTYPE, "a.py"),
                (tarfile.SYMTYPE, "../secret.py"),
                (tarfile.CHRTYPE, ""),
            ]
        ):
            info = tarfile.TarInfo(f"link{number}.py")
            info.type, info.linkname = kind, target
            packed.addfile(info)
    done = run("collect", name)
    assert [f"{name}/a.py", f"{name}/link0.py"] == paths(done)
    assert b"secret" not in done.stdout
    told = b"structkit: 6 paths left out (5 x a link in an archive; 1 x not a regular file)\n"
    assert told == done.stderr


def test_a_member_without_a_name_is_told_and_the_others_are_read(tmp_path, run):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for name in ("a.md", "", "b.md"):
            info = zipfile.ZipInfo("x")
            info.filename = name
            packed.writestr(info, "# Tea\n\nGreen.\n")
    done = run("collect", "a.zip")
    paths = [json.loads(line)["path"] for line in done.stdout.splitlines()]
    assert (0, ["a.zip/a.md", "a.zip/b.md"]) == (done.returncode, paths)
    assert b"structkit: 1 path left out (1 x has no name in the archive)\n" == done.stderr
    done = run("collect", "a.zip", "--on-error", "fail")
    told = b"structkit: a.zip/: has no name in the archive; pack the archive again\n"
    assert (1, told) == (done.returncode, done.stderr)


@pytest.mark.parametrize("name", ["../evil.py", "/etc/evil.py", "a/../../evil.py"])
def test_no_name_leads_out_of_an_archive(tmp_path, name, run):
    for archive in ("a.zip", "a.tar.gz"):
        pack(tmp_path / archive, {name: b"x = 1", "good.py": b"y = 2"})
        done = run("collect", archive)
        assert [f"{archive}/good.py"] == paths(done)
        assert "its name leads out of the archive" in done.stderr.decode()
    assert ["a.tar.gz", "a.zip"] == sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["p.zip", "p.tar", "p.tar.gz", "p.tar.xz", "p.warc.gz"])
def test_damaged_archives_give_one_clear_line(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "warc" in name:
        crawl(Path(name))
    else:
        pack(Path(name), {f"{number}.py": b"a = 1\n" * 99 for number in range(9)})
    good = Path(name).read_bytes()
    rng = random.Random(0)
    told = 0
    for round in range(20):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 30)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        Path(name).write_bytes(bad[: rng.randint(1, len(bad))] if round % 2 else bad)
        try:
            list(collect([name], unit="file"))
        except UserError as error:
            told += 1
            assert str(error).startswith(name) or "http" in str(error)
            assert "; " in str(error)
    assert told


def crawl(file):
    """Two pages as a crawler keeps them, and one that is not there."""
    with file.open("wb") as handle:
        writer = WARCWriter(handle, gzip=True)
        for number, status in enumerate(["200 OK", "200 OK", "404 Not Found"]):
            media = [("Content-Type", "text/html; charset=latin-1")]
            headers = StatusAndHeaders(status, media, protocol="HTTP/1.0")
            page = io.BytesIO(f"<h1 id=a>Page</h1><p>caf\u00e9 {number}".encode("latin-1"))
            address = f"http://example.org/{number % 2}"
            writer.write_record(
                writer.create_warc_record(address, "response", page, http_headers=headers)
            )


def test_pages_of_a_crawl_stand_under_their_addresses(tmp_path, run):
    crawl(tmp_path / "c.warc.gz")
    done = run("collect", "c.warc.gz", "--unit", "section")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    addresses = ["http://example.org/0#a", "http://example.org/1#a"]
    assert addresses == [each["id"] for each in records]
    assert "caf\u00e9" in records[0]["text"]
    assert "an error page of a server" in done.stderr.decode()
