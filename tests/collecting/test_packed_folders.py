"""Archives and crawls are collected as folders are."""

import io
import os
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from structkit.errors import UserError
from tests.collecting.projects import made, project_in, read


@pytest.fixture
def project(tmp_path):
    return project_in(tmp_path)


def packed(project, name):
    """The folder in an archive."""
    archive = project.parent / name
    if name.endswith((".zip", ".whl")):
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(project.rglob("*"), reverse=True):
                if not path.is_symlink():
                    file.write(path, path.relative_to(project))
    else:
        mode = "w:" + name.rpartition(".")[2].replace("tar", "").replace("tgz", "gz")
        with tarfile.open(archive, mode) as file:
            for path in sorted(project.rglob("*"), reverse=True):
                file.add(path, path.relative_to(project), recursive=False)
    return archive


@pytest.mark.parametrize("name", ["p.zip", "p.whl", "p.tar", "p.tar.gz", "p.tgz", "p.tar.xz"])
def test_an_archive_is_a_folder(project, name, monkeypatch):
    archive = packed(project, name)
    monkeypatch.chdir(project.parent)
    of_folder = made("project", unit="chunk")
    found = made(name, unit="chunk")
    for record in found:
        record["path"] = record["path"].replace(f"{name}/", "project/", 1)
        record["id"] = record["id"].replace(f"{name}/", "project/", 1)
    if "gz" in name or "xz" in name:  # it can be read forward only
        found.sort(key=lambda record: os.fsencode(record["path"]))
    assert of_folder == found
    assert archive.stat().st_size


@pytest.mark.parametrize("name", ["../evil.py", "/etc/evil.py", "a/../../evil.py"])
def test_no_name_leads_out_of_an_archive(tmp_path, name, run):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(name, "x = 1")
        file.writestr("good.py", "y = 2")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as file:
        for each in (name, "good.py"):
            info = tarfile.TarInfo(each)
            info.size = 5
            file.addfile(info, io.BytesIO(b"x = 1"))
        link = tarfile.TarInfo("link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    for archive in ("a.zip", "a.tar.gz"):
        done = run("collect", archive)
        assert [f"{archive}/good.py"] == [record["path"] for record in read(done.stdout)]
        assert "its name leads out of the archive" in done.stderr.decode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "a.zip"]


@pytest.mark.parametrize("name", ["p.zip", "p.tar", "p.tar.gz", "p.tar.xz", "p.warc.gz"])
def test_damaged_archives_give_one_clear_line(project, name, monkeypatch):
    good = bytearray(web(project, name) if "warc" in name else packed(project, name).read_bytes())
    monkeypatch.chdir(project.parent)
    rng = random.Random(0)
    told = 0
    for round in range(20):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 30)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        Path(name).write_bytes(bad[: rng.randint(1, len(bad))] if round % 2 else bad)
        try:
            made(name, unit="file")
        except UserError as error:
            told += 1
            assert str(error).startswith(name) or "http" in str(error)
            assert "; " in str(error)
    assert told


def web(project, name):
    """Two pages as a crawler keeps them."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    with (project.parent / name).open("wb") as file:
        writer = WARCWriter(file, gzip=name.endswith(".gz"))
        for number, status in enumerate(["200 OK", "200 OK", "404 Not Found"]):
            headers = StatusAndHeaders(
                status, [("Content-Type", "text/html; charset=latin-1")], protocol="HTTP/1.0"
            )
            page = f"<h1 id=a>Page</h1><p>caf\u00e9 {number}".encode("latin-1")
            writer.write_record(
                writer.create_warc_record(
                    f"http://example.org/{number % 2}",
                    "response",
                    payload=io.BytesIO(page),
                    http_headers=headers,
                )
            )
    return (project.parent / name).read_bytes()


def test_pages_of_a_crawl_stand_under_their_addresses(project, run):
    web(project, "c.warc.gz")
    done = run("collect", "c.warc.gz", "--unit", "section")
    assert ["http://example.org/0#a", "http://example.org/1#a"] == [
        each["id"] for each in read(done.stdout)
    ]
    assert "caf\u00e9" in read(done.stdout)[0]["text"]
    assert "an error page of a server" in done.stderr.decode()
