"""Every reader of bytes, spoiled: what it reads is right, or one clear error says what helps.

Code of every language is in tests/structure/code/test_language_laws.py, saved indexes are in
tests/searching, and whole commands are in tests/soak.
"""

import gzip
import struct
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pytest
from hostile.good import HTML, IDS, MARKDOWN, ROWS, TREE, parquet, saved, tarred, zipped
from hostile.spoiling import examples, spoiled
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy

from structkit import html_variants, mask_entities, parse_trees
from structkit.collecting.ignoring import Patterns
from structkit.collecting.units import UNIT_READERS, Units, _collect_batch
from structkit.collecting.walking import LeftOut, Walk, WalkOptions
from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import EmbeddingRow
from structkit.embeddings.writing import VectorFiles
from structkit.errors import UserError
from structkit.formats.interchange import FormatParts, records_of_row
from structkit.records.jsonl import Records, accepted
from structkit.records.output import dump
from structkit.scoring.qrels import read_judgements, read_qrels
from structkit.scoring.runs import read_run

FORMATS = Path("fixtures/formats")
# a part of a format, and the file that holds it
PARTS = {
    "beir corpus": "beir/corpus.jsonl",
    "codesearchnet corpus": "codesearchnet/test.jsonl",
    "esci qrels": "esci/examples.jsonl",
    "flagembedding examples": "flagembedding/train.jsonl",
    "ptb trees": "ptb/test.mrg",
    "pyserini embeddings": "pyserini/embeddings.jsonl",
    "sentence-transformers examples": "sentence_transformers/train.jsonl",
    "structdocretrieval corpus": "structdocretrieval/test.json",
    "tevatron corpus": "tevatron.v2/corpus.jsonl",
    "trec run": "trec/run.trec",
    "wands corpus": "wands/product.csv",
}


def drained(rows, each=dict):
    """What rows give; each reject has its line and a remedy."""
    rejected = []
    for made in accepted(each, rows, rejected.append):
        dump(made)
    for each in rejected:
        assert each.error.line and each.error.remedy
        dump(each.record())


def of_tool(name, path):
    """A part of another tool's format."""
    tool, part = name.split()
    read = FormatParts.load(tool, "test").parts[part]
    drained(read.rows([str(path)]), lambda row: records_of_row(read, row))


def vectors(path):
    """Rows of embeddings; their ids stand beside a .npy."""
    path.with_suffix(".ids.txt").write_text(IDS)
    found = read_embeddings([str(path)])
    assert len(found.ids) == found.vectors.shape[0]
    found.vectors[:]


def archive(path, most=100_000):
    """The sources in an archive; what is left out has a reason."""
    for each in Walk(WalkOptions(max_file_bytes=most)).sources([str(path)]):
        if isinstance(each, LeftOut):
            assert each.problem and each.remedy and each.error.file
        else:
            assert each.size <= most + 1


def text(path):
    return path.read_bytes().decode("utf-8", "replace")


def made(command, **fields):
    """What a command makes of a record."""
    for found in command([{"id": "1", **fields}]):
        dump(found)


GOOD = b"".join(
    orjson.dumps({"id": f"é{n}", "text": 'a "b" \\ \n c', "numbers": [n, -1.5, 2**40]}) + b"\n"
    for n in range(3)
)
TABLE = [
    {"id": name, "embedding": row.tolist()} for name, row in zip(IDS.split(), ROWS, strict=True)
]
RUN = b'{"query_id":"q","doc_id":"d","score":1.5,"rank":1}\n{"query_id":"q","doc_id":2,"score":1}\n'
QRELS = b'{"query_id":"q","doc_id":"d","relevance":1,"start_line":1,"end_line":2}\n' + (
    b'{"query_id":"q","doc_id":2,"relevance":0}\n'
)
WEB = b"".join(
    b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a/%d\r\n"
    b"Content-Type: text/html\r\nContent-Length: 8\r\n\r\n<p>Tea.\n\r\n\r\n" % number
    for number in range(3)
)


def records(path):
    drained(Records.read([str(path)]))


def lines(read):
    return lambda path: read(str(path))


def html(**settings):
    return lambda path: made(partial(html_variants, **settings), text=text(path), html=text(path))


def masked(language):
    return lambda path: made(
        mask_entities, language=language, title=HTML, query=HTML, html=text(path),
        description=text(path),
    )  # fmt: skip


def collected(path):
    """The records of all units in a file, or in an archive, without an unexpected error."""
    for unit in UNIT_READERS:
        sources = [*Walk(WalkOptions()).sources([str(path)])]
        done = _collect_batch(sources, Units(unit))
        assert not [each for each in done.left_out if "report it" in each.remedy]
        for line in done.output.splitlines():
            orjson.loads(line)


def inside(archive, name, **others):
    """What reads an archive that holds a spoiled file of this name, and others."""

    def read(path):
        files = {name: path.read_bytes(), **others}
        whole = path.with_name(archive)
        whole.write_bytes(zipped(files))
        collected(whole)

    return read


CELLS = [
    {"cell_type": "markdown", "source": ["# Tea\n", "Green."], "metadata": {}},
    {"cell_type": "code", "source": "x = 1", "outputs": [{"text": ["1"]}], "execution_count": 1},
    {"cell_type": "raw", "source": [], "attachments": {"a.png": {}}},
]
LANGUAGE = {"language_info": {"name": "python"}, "kernelspec": {"language": "python"}}
RST = (
    "Tea\n===\n\n.. _hot:\n\nGreen `tea <a.rst>`_.\n\n.. code:: py\n\n   x\n\n"
    "==  ==\na   b\n==  ==\n"
)
ADOC = "= Tea\n:toc:\n\n[[hot]]\n== Hot\n\n|===\n|a |b\n|===\n\n----\nx\n----\nterm:: what\n"
YAML = "---\ntitle: 'Tea'\ntags: [a, b]\nlong: |\n  x\n---\n"
TOML = '+++\ntitle = "Tea"\n[a.b]\nc = [1, 2]\n+++\n'
PACKAGE = (
    "<package><metadata><title>Tea</title></metadata><manifest><item id='a' href='a%20b.xhtml' "
    "media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>"
)
CONTAINER = '<rootfile full-path="b.opf" media-type="application/oebps-package+xml"/>'
XHTML = b"<html xmlns='http://www.w3.org/1999/xhtml'><h1>Tea</h1></html>"
DOCUMENTS = {
    "notebook": ("a.ipynb", orjson.dumps({"cells": CELLS, "metadata": LANGUAGE, "nbformat": 4})),
    "reStructuredText": ("a.rst", RST.encode()),
    "AsciiDoc": ("a.adoc", ADOC.encode()),
    "YAML": ("a.md", (YAML + MARKDOWN).encode()),
    "TOML": ("a.md", (TOML + MARKDOWN).encode()),
    "document": ("a.html", HTML.encode()),
    "XHTML": ("a.xhtml", XHTML),
    "text": ("a.txt", "One. Two!\r\n\r\nThree é.".encode()),
    "crawl": ("a.warc", WEB),
    "tar of documents": ("a.tar", tarred(mode="w")),
}

# the name of a file, what it holds, and what reads it
READERS = {
    **{name: (file, good, collected) for name, (file, good) in DOCUMENTS.items()},
    "package of a book": (
        "b.opf",
        PACKAGE.encode(),
        inside(
            "a.epub", "b.opf", **{"META-INF/container.xml": CONTAINER.encode(), "a b.xhtml": XHTML}
        ),
    ),
    "container of a book": (
        "c.xml",
        CONTAINER.encode(),
        inside(
            "a.epub", "META-INF/container.xml", **{"b.opf": PACKAGE.encode(), "a b.xhtml": XHTML}
        ),
    ),
    "archived crawl": ("c.warc", WEB, inside("a.wacz", "archive/c.warc")),
    "pages of an archived crawl": (
        "p",
        b'{"url":"http://a/0"}\n',
        inside("a.wacz", "pages/pages.jsonl", **{"archive/c.warc": WEB}),
    ),
    "ignore file": (
        "a",
        b"*.py\n!/a/**/b\n[a-z]?\\ \n",
        lambda path: Patterns.of(path.read_bytes().split(b"\n")),
    ),
    "table, .csv": (
        "a.csv",
        b'query,positive,label\n"a ""b""\n",c,1\n,"",2\n',
        partial(of_tool, "sentence-transformers examples"),
    ),
    "records": ("a.jsonl", GOOD, records),
    "records, gzip": ("a.jsonl.gz", gzip.compress(GOOD * 20, mtime=0), records),
    "records, Parquet": ("a.parquet", parquet([*map(orjson.loads, GOOD.splitlines())]), records),
    "run": ("a", RUN, lines(read_run)),
    "run, columns": ("a", b"q Q0 d 1 0.5 t\nq Q0 e 2 0.25 t\n", lines(read_run)),
    "qrels": ("a", QRELS, lines(read_qrels)),
    "qrels, columns": ("a", b"q 0 d 1\nq 0 e 0\n", lines(read_qrels)),
    "qrels, BEIR": ("a", b"query-id\tcorpus-id\tscore\nq\td\t1\n", lines(read_qrels)),
    "judgements": ("a", QRELS, lambda path: list(read_judgements(str(path)))),
    "embeddings, .npy": ("a.npy", saved(), vectors),
    "embeddings, Parquet": ("a.parquet", parquet(TABLE), vectors),
    "zip": ("a.zip", zipped(), archive),
    "tar, gzip": ("a.tar.gz", tarred(), archive),
    "tar": ("a.tar", tarred(mode="w"), archive),
    "WARC": ("a.warc", WEB, archive),
    "HTML": ("a", HTML.encode(), html()),
    "HTML, all tags": ("a", HTML.encode(), html(tags="all")),
    "Markdown": ("a", MARKDOWN.encode(), html(from_="markdown", field="text")),
    "brackets": (
        "a",
        TREE.encode(),
        lambda path: made(partial(parse_trees, parser="brackets", field=["t"]), t=text(path)),
    ),
    "a page to mask": ("a", HTML.encode(), masked("html")),
    "a product to mask": ("a", HTML.encode(), masked("product")),
    **{
        name: (Path(file).name, (FORMATS / file).read_bytes()[:2_000], partial(of_tool, name))
        for name, file in PARTS.items()
    },
}


@pytest.mark.parametrize("name", READERS)
@examples(80)
@given(data=st.data())
def test_spoiled_input_is_read_or_one_clear_error(name, tmp_path, data):
    file, good, read = READERS[name]
    (tmp_path / file).write_bytes(data.draw(spoiled(good, 6)))
    try:
        read(tmp_path / file)
    except UserError as error:
        assert error.remedy


@pytest.mark.parametrize("name", READERS)
def test_the_good_input_is_read(name, tmp_path):
    file, good, read = READERS[name]
    (tmp_path / file).write_bytes(good)
    read(tmp_path / file)


@examples(100)
@given(kind=st.sampled_from(["int8", "binary"]), data=st.data())
def test_spoiled_codes(tmp_path, kind, data):
    with VectorFiles(str(tmp_path / "a.npy"), quantize=kind) as files:
        files.add([EmbeddingRow(name) for name in IDS.split()], ROWS)
        files.finish({"quantize": kind})
    path = data.draw(st.sampled_from(sorted(tmp_path.iterdir())))
    path.write_bytes(data.draw(spoiled(path.read_bytes())))
    try:
        found = read_embeddings([str(tmp_path / "a.npy")]).vectors[:]
    except UserError as error:
        assert error.file and error.remedy
    else:
        assert found.dtype == np.float32 and np.isfinite(found).all()


NUMBERS = st.sampled_from(
    [-1, 0, 1, 3, 4, 12, 2**31, 2**40, 2**62, 2**63, 2**64, 10**30, True, "x"]
)
SHAPES = st.lists(NUMBERS, max_size=4).map(tuple) | NUMBERS
KINDS = st.sampled_from(["<f4", ">f4", "<f8", "|O", "V0", "V9", "f4,f4", "<U9", "<M8", "", "nope"])


@examples(100)
@given(SHAPES, KINDS, st.booleans(), st.sampled_from([1, 2, 3]), st.integers(0, 60))
def test_headers_that_lie(tmp_path, shape, kind, by_columns, version, length):
    header = f"{{'descr': {kind!r}, 'fortran_order': {by_columns}, 'shape': {shape}, }}".encode()
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    (tmp_path / "a.npy").write_bytes(npy.magic(version, 0) + size + header + bytes(length))
    (tmp_path / "a.ids.txt").write_text(IDS)
    try:
        assert read_embeddings([str(tmp_path / "a.npy")]).vectors[:].nbytes <= 4 * length
    except UserError as error:
        assert error.file and error.remedy
