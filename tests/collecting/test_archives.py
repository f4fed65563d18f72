"""Archives in folders, what stands in archives beside files, damaged ones, and crawls."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
import zlib
from itertools import accumulate
from pathlib import Path

import pytest
from hostile.good import answered, tarred, zipped
from warcio.warcwriter import WARCWriter

from tests.jsonl import write_files

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
    mode = "w" if file.suffix == ".tar" else "w:gz"
    file.write_bytes(tarred(members, mode) if ".t" in file.name else zipped(members))


def paths(done):
    assert 0 == done.returncode, done.stderr
    return [json.loads(line)["path"] for line in done.stdout.splitlines()]


def test_archives_are_left_out_of_a_folder_and_read_where_they_are_named(project, here):
    done = here("collect", "project", "--rejects", "rejects.jsonl")
    assert ["project/sub/b.py"] == paths(done)
    assert b"structkit: 6 paths left out (6 x an archive or compressed)\n" == done.stderr
    rejects = map(json.loads, (project.parent / "rejects.jsonl").open())
    assert [
        (f"project/sub/{name}", "an archive or compressed; name it too")
        for name in sorted(ARCHIVES)
    ] == [(each["record"]["path"], each["reason"]) for each in rejects]
    named = [f"project/sub/{name}" for name in sorted(ARCHIVES)]
    done = here("collect", *named)
    assert [f"{name}/a.py" for name in named] == paths(done)
    assert b"structkit: 6 paths left out (6 x packed in an archive)\n" == done.stderr
    assert done.stdout == here("collect", *named, "--workers", 2).stdout


COMPRESSED = {"a.md.gz": gzip, "a.py.bz2": bz2, "a.txt.xz": lzma}


def test_compressed_files_are_left_out_of_a_folder_and_read_where_they_are_named(tmp_path, here):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, module in COMPRESSED.items():
        (folder / name).write_bytes(module.compress(b"tea = 'hot'\n"))
    done = here("collect", "folder")
    assert [] == paths(done)
    assert done.stderr.startswith(b"structkit: 3 paths left out (3 x an archive or compressed)\n")
    named = [f"folder/{name}" for name in COMPRESSED]
    done = here("collect", *named)
    inside = [f"folder/{name}/{name.rpartition('.')[0]}" for name in COMPRESSED]
    assert inside == paths(done)
    languages = [json.loads(line)["language"] for line in done.stdout.splitlines()]
    assert ["markdown", "python", "text"] == languages
    done = here("collect", *named, "--max-file-bytes", "11")
    assert b"3 x has more than 11 bytes" in done.stderr
    pack(tmp_path / "p.zip", {"a.md.gz": b"x"})
    assert b"1 x packed in an archive" in here("collect", "p.zip").stderr


@pytest.mark.parametrize("name", COMPRESSED)
def test_a_compressed_file_that_is_damaged_is_told(tmp_path, here, name):
    whole = COMPRESSED[name].compress(b"tea = 'hot'\n" * 99)
    for content in (whole[:-9], b"tea = 'hot'\n"):
        (tmp_path / name).write_bytes(content)
        done = here("collect", name)
        assert [] == paths(done)
        assert b"structkit: 1 path left out (1 x cannot be read: " in done.stderr


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_links_in_a_tar_lead_to_what_is_in_it_and_nowhere_else(tmp_path, here, name):
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
    done = here("collect", name)
    assert [f"{name}/a.py", f"{name}/link0.py"] == paths(done)
    assert b"secret" not in done.stdout
    told = b"structkit: 6 paths left out (6 x a link or a device in an archive)\n"
    assert told == done.stderr


def test_a_member_without_a_name_is_told_and_the_others_are_read(tmp_path, here):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for name in ("a.md", "", "b.md"):
            info = zipfile.ZipInfo("x")
            info.filename = name
            packed.writestr(info, "# Tea\n\nGreen.\n")
    done = here("collect", "a.zip")
    assert ["a.zip/a.md", "a.zip/b.md"] == paths(done)
    told = b"structkit: 1 path left out (1 x has no name, or it leads out of the archive)\n"
    assert told == done.stderr
    done = here("collect", "a.zip", "--on-error", "fail")
    told = (
        b"structkit: a.zip/: has no name, or it leads out of the archive; pack the archive again\n"
    )
    assert (1, told) == (done.returncode, done.stderr)


def crawl(file):
    """Two pages as a crawler keeps them, and one that is not there."""
    with file.open("wb") as handle:
        writer = WARCWriter(handle, gzip=True)
        media = {"Content_Type": "text/html; charset=latin-1"}
        for number, status in enumerate(["200 OK", "200 OK", "404 Not Found"]):
            page = f"<h1 id=a>Page</h1><p>caf\u00e9 {number}".encode("latin-1")
            answered(writer, f"http://example.org/{number % 2}", page, status, **media)


def test_pages_of_a_crawl_stand_under_their_addresses(tmp_path, here):
    crawl(tmp_path / "c.warc.gz")
    done = here("collect", "c.warc.gz", "--unit", "section")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    addresses = ["http://example.org/0#a", "http://example.org/1#a"]
    assert addresses == [each["id"] for each in records]
    assert "caf\u00e9" in records[0]["text"]
    assert "an error page of a server" in done.stderr.decode()


def chunked(content):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)


def test_content_codings_of_a_crawl(tmp_path, here):
    text = b"<h1>Tea</h1><p>Green tea."
    packed = gzip.compress(text)
    codings = {
        "gzip": packed,
        "x-gzip": packed,
        "X-GZIP": packed,
        "gzip, identity": packed,
        "identity": text,
        "deflate": zlib.compress(text),
        "gzip ": text,  # a crawler decoded it already
    }
    with (tmp_path / "c.warc").open("wb") as handle:
        writer = WARCWriter(handle, gzip=False)
        for number, (coding, content) in enumerate(codings.items()):
            named = {"Content_Type": "text/html", "Content_Encoding": coding}
            answered(writer, f"http://example.org/{number}", content, **named)
            named["Transfer_Encoding"] = "chunked"
            answered(writer, f"http://example.org/c{number}", chunked(content), **named)
    done = here("collect", "c.warc")
    assert b"" == done.stderr
    found = [json.loads(line)["html"] for line in done.stdout.splitlines()]
    assert [text.decode()] * 2 * len(codings) == found


def test_the_language_of_an_answer(tmp_path, here):
    answers = {
        "http://example.org/x.js?v=3": ("", "javascript"),
        "http://example.org/a.py#top": ("text/plain", "python"),
        "http://example.org/b.go;v=1?a.py": ("application/octet-stream", "text"),
        "http://example.org/app.php": ("text/css; charset=utf-8", "css"),
        "http://example.org/data": ("application/ld+json", "json"),
        "http://example.org/feed": ("application/rss+xml", "xml"),
        "http://example.org/s": ("application/x-javascript", "javascript"),
        "http://example.org/m": ("text/markdown", "markdown"),
        "http://example.org/h.js": ("text/html", "html"),
        "http://example.org/n?x=a.py": ("text/plain", "text"),
        "http://example.org/1.py": ("application/xhtml+xml", "html"),
        "http://example.org/2.py": ("application/x-httpd-php; charset=utf-8", "php"),
        "http://example.org/3.py": ("application/ecmascript", "javascript"),
        "http://example.org/4.py": ("text/x-c++", "cpp"),
        "http://example.org/5.py": ("image/svg+xml", "xml"),
    }
    with (tmp_path / "c.warc").open("wb") as handle:
        writer = WARCWriter(handle, gzip=False)
        for address, (media, _) in answers.items():
            answered(writer, address, b"# A\n", **({"Content_Type": media} if media else {}))
    done = here("collect", "c.warc", "--unit", "file")
    found = {each["path"]: each["language"] for each in map(json.loads, done.stdout.splitlines())}
    assert {address: language for address, (_, language) in answers.items()} == found


@pytest.mark.parametrize("name", ["whole.warc.gz", "whole.warc", "twice.warc.gz"])
def test_a_crawl_may_be_compressed_as_a_whole(tmp_path, here, name):
    crawl(tmp_path / "c.warc.gz")
    plain = gzip.decompress((tmp_path / "c.warc.gz").read_bytes())
    half = len(plain) // 2
    parts = [plain[:half], plain[half:]] if name == "twice.warc.gz" else [plain]
    (tmp_path / name).write_bytes(b"".join(map(gzip.compress, parts)))
    assert here("collect", "c.warc.gz").stdout == here("collect", name).stdout != b""


def answer(number, media="Content-Type: text/html\r\n", page=b"<p>Page.", length=0, status="200"):
    """A record of an answer; `length` is added to its Content-Length."""
    http = f"HTTP/1.1 {status} OK\r\n{media}\r\n".encode() + page
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/{number}\r\n"
        f"Content-Length: {len(http) + length}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


RECORDS = [answer(number) for number in range(9)]
MEMBERS = [gzip.compress(each, mtime=0) for each in RECORDS]
LARGE = gzip.compress(answer(9, page=bytes(range(97, 123)) * 99_000), 0)
FLIPPED = MEMBERS[4][:40] + bytes([MEMBERS[4][40] ^ 255]) + MEMBERS[4][41:]
PACKED_PAGE = gzip.compress(b"<p>" + bytes(range(32, 127)) * 999)
CODED = "Content-Type: text/html\r\nContent-Encoding: gzip\r\n"
# the members or records, and the numbers of the pages that are lost
SPOILED = {
    "cut by a byte": ([*MEMBERS[:8], MEMBERS[8][:-1]], ""),
    "cut in half": ([*MEMBERS[:8], MEMBERS[8][:60]], "8"),
    "cut in a header": ([*MEMBERS, b"\x1f\x8b\x08"], ""),
    "junk behind": ([*MEMBERS, b"junk of 18 bytes.."], ""),
    "junk between": ([*MEMBERS[:4], b"junk", *MEMBERS[4:]], ""),
    "broken": ([*MEMBERS[:4], FLIPPED, *MEMBERS[5:]], "4"),
    "broken sum": ([*MEMBERS[:4], MEMBERS[4][:-8] + bytes(8), *MEMBERS[5:]], "4"),
    "first broken": ([MEMBERS[0][:50], *MEMBERS[1:]], "0"),
    "large one broken": ([*MEMBERS[:4], LARGE[:-99], *MEMBERS[4:]], "9"),
    "broken inside": ([gzip.compress(b"".join(RECORDS[:4])[:-40]), *MEMBERS[4:]], "34"),
    "shorter": ([*RECORDS[:8], RECORDS[8][:-6]], "8"),
    "cut in its head": ([*RECORDS, b"WARC/1.0\r\nWARC-Type: resp"], ""),
    "too long": ([*RECORDS[:4], answer(4, length=30), *RECORDS[5:]], "45"),
    "too short": ([*RECORDS[:4], answer(4, length=-3), *RECORDS[5:]], "4"),
    "words between": ([*RECORDS[:4], b"WARC is no record.\r\n", *RECORDS[4:]], ""),
    "no length": ([*RECORDS[:4], RECORDS[4].replace(b"-L", b"-M"), *RECORDS[5:]], "4"),
    "content": ([*RECORDS[:8], answer(8, CODED, PACKED_PAGE[:99] + b"!" * 99)], "8"),
}


@pytest.mark.parametrize(("parts", "lost"), SPOILED.values(), ids=SPOILED)
def test_what_is_whole_in_a_damaged_crawl_is_read(tmp_path, here, parts, lost):
    (tmp_path / "c.warc.gz").write_bytes(b"".join(parts))
    done = here("collect", "c.warc.gz")
    assert [f"http://a/{number}" for number in range(9) if str(number) not in lost] == paths(done)
    assert 1 == done.stderr.count(b"\n")
    assert done.stderr.startswith(b"structkit: 1 path left out (1 x cannot be read: ")
    assert b"attribute" not in done.stderr
    done = here("collect", "c.warc.gz", "--on-error", "fail")
    assert (1, 1) == (done.returncode, done.stderr.count(b"\n"))


WHOLE = gzip.compress(b"".join(RECORDS), mtime=0)
# the last one is cut in its head, in its page, behind it, in the sum of the file
CUTS = [len(zlib.compress(b"".join(RECORDS[:number]))) for number in range(1, 10)]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("size", [*CUTS, len(WHOLE) - 9, len(WHOLE) - 8, len(WHOLE) - 1])
def test_pages_before_the_cut_of_a_crawl_in_one_piece(tmp_path, here, size, beside):
    (tmp_path / "a.warc.gz").write_bytes(WHOLE[:size])
    (tmp_path / "b.warc").write_bytes(answer("b"))
    unpacked = zlib.decompressobj(31).decompress(WHOLE[:size])
    ends = accumulate(len(record) for record in RECORDS)
    whole = sum(end - len("\r\n\r\n") <= len(unpacked) for end in ends)
    done = here("collect", "a.warc.gz", *["b.warc"] * beside, "--rejects", "rejects")
    assert [*(f"http://a/{number}" for number in range(whole)), *["http://a/b"] * beside] == paths(
        done
    )
    assert "it ends in the middle of a record" in (tmp_path / "rejects").read_text()


def test_captures_of_one_address(tmp_path, here):
    """They have the same ids in one file, in several, and in one or two archives."""
    first, second = [*RECORDS[:2], answer(0)], [answer(0), answer("0~2"), RECORDS[1]]
    whole = {"archive/a.warc": b"".join(first), "archive/b.warc": b"".join(second)}
    write_files(tmp_path, {"a.warc": whole["archive/a.warc"], "b.warc": whole["archive/b.warc"]})
    write_files(tmp_path, {"both.warc": b"".join([*first, *second]), "both.wacz": zipped(whole)})
    inner = {f"{name[8]}.wacz": zipped({name: data}) for name, data in whole.items()}
    deep = {
        "again.wacz": zipped({"a.wacz": zipped(whole)}),
        "no.wacz": b"PK",
        "datapackage.json": b"{}",
    }
    write_files(
        tmp_path, {"multi.wacz": zipped({**inner, **deep}), "none.wacz": zipped({"a": b""})}
    )
    right = [f"http://a/{name}" for name in ("0", "1", "0~2", "0~3", "0~2~2", "1~2")]
    for names in (["a.warc", "b.warc"], ["both.warc"], ["both.wacz"], ["multi.wacz"]):
        done = here("collect", *names, "--unit", "file")
        assert right == paths(done)
    assert b"1 x packed in an archive; 1 x cannot be read: File is not a zip file" in done.stderr
    assert b"1 x holds no WARC" in here("collect", "none.wacz").stderr


PACKAGE = """<?xml version="1.0"?><opf:package xmlns:opf="http://www.idpf.org/2007/opf">
<opf:metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Kettle
&amp; Book</dc:title></opf:metadata><opf:manifest>
<opf:item id="z" href="z.xhtml" media-type="application/xhtml+xml"/>
<opf:item href="../a%20b.html#top" id='a' media-type="application/xhtml+xml"/>
<opf:item id="odd" href="page10" media-type="application/xhtml+xml"/>
<opf:item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/>
<opf:item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
</opf:manifest><opf:spine><opf:itemref idref="z"/><opf:itemref idref="a"/><opf:itemref idref="z"/>
<opf:itemref idref="odd" linear="no"/><opf:itemref idref="gone"/><opf:itemref idref="?"/>
</opf:spine></opf:package>"""


def test_chapters_of_a_book(tmp_path, here):
    """As its package lists them, by their declared types, and below its title."""
    package = '<rootfile full-path="/OEBPS/a.opf" media-type="application/oebps-package+xml"/>'
    container = f'<r><rootfile full-path="a.pdf" media-type="application/pdf"/>{package}</r>'
    files = {"mimetype": "application/epub+zip", "META-INF/container.xml": container}
    files |= {"OEBPS/a.opf": PACKAGE, "OEBPS/nav.xhtml": "<p>Contents</p>", "OEBPS/b.css": "a {}"}
    files |= {"OEBPS/z.xhtml": "<title>Boiling</title><script/><p>Heat it.</p>"}
    files |= {"a b.html": "<p>Pour.</p>", "OEBPS/page10": "<h1>The Kettle &amp; Book</h1>"}
    (tmp_path / "b.epub").write_bytes(zipped({name: text.encode() for name, text in files.items()}))
    done = here("collect", "b.epub")
    pages = [json.loads(line) for line in done.stdout.splitlines()]
    book = "The Kettle & Book"
    assert [
        ("b.epub/OEBPS/z.xhtml", "html", f"{book}: Boiling", "Boiling Heat it."),
        ("b.epub/a b.html", "html", book, "Pour."),
        ("b.epub/OEBPS/page10", "html", book, book),
    ] == [(page["path"], page["language"], page["title"], page["text"]) for page in pages]
    assert b"1 path left out (1 x cannot be read: " in done.stderr


def test_answers_of_a_crawl_that_are_pages(tmp_path, here):
    page = b"\n<!DOCTYPE html><p>One."
    records = [
        answer("203", status="203"),
        answer("206", status="206"),
        answer("no media", media="", page=page),
        answer("unknown.py", media="Content-Type: unknown/unknown\r\n", page=page),
        answer("a.py", media="", page=b"x = 1"),
        answer("", page=b"example.org A 1.2.3.4").replace(b"http://a/", b"dns:example.org"),
        answer(
            "chunked", "Content-Type: text/html\r\nTransfer-Encoding: CHUNKED\r\n", chunked(page)
        ),
    ]
    (tmp_path / "c.warc").write_bytes(b"".join(records))
    done = here("collect", "c.warc", "--unit", "file")
    assert b"" == done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    names = "203 206 no%20media unknown.py a.py chunked"
    assert [f"http://a/{name}" for name in names.split()] == [each["path"] for each in found]
    kinds = ["html", "html", "html", "html", "python", "html"]
    assert kinds == [each["language"] for each in found]


def test_pages_of_wacz_and_files_of_epub_and_zstd(tmp_path, here):
    files = {"archive/a.warc.gz": b"".join(MEMBERS), "pages/pages.jsonl": b"{}\n"}
    (tmp_path / "c.wacz").write_bytes(zipped(files))
    assert [f"http://a/{number}" for number in range(9)] == paths(here("collect", "c.wacz"))
    (tmp_path / "b.epub").write_bytes(zipped({"OEBPS/1.xhtml": b"<html><p>One.</p></html>"}))
    assert ["b.epub/OEBPS/1.xhtml"] == paths(here("collect", "b.epub"))
    zstd = pytest.importorskip("backports.zstd")
    (tmp_path / "a.tar.zst").write_bytes(zstd.compress(tarred({"b/a.py": b"a = 1\n"}, "w")))
    (tmp_path / "a.py.zst").write_bytes(zstd.compress(b"a = 1\n"))
    done = here("collect", "a.tar.zst", "a.py.zst")
    assert ["a.py.zst/a.py", "a.tar.zst/b/a.py"] == paths(done)


# the system that packed it, the names, and those that are read
SEPARATORS = [
    (0, ["dir\\win.py", "dir\\"], ["dir/win.py"]),
    (0, ["..\\win.py", "dir\\..\\a.py"], ["a.py"]),
    (0, ["C:\\a\\b.py"], ["C:/a/b.py"]),
    (3, ["a\\b.py", "c.py"], ["a/b.py", "c.py"]),
]


@pytest.mark.parametrize(("system", "names", "expected"), SEPARATORS)
def test_backslashes_of_windows_are_folders(tmp_path, here, system, names, expected):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for name in names:
            info = zipfile.ZipInfo(name)
            info.create_system = system
            packed.writestr(info, "a = 1\n")
    assert [f"a.zip/{name}" for name in expected] == paths(here("collect", "a.zip"))
