"""Good inputs of readers, for tests that spoil them."""

import io
import tarfile
import zipfile
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

FILES = {"a.py": b"def f(a):\n    return a\n", "b/c.md": b"# Tea\n\nGreen.\n", "d.html": b"<p>One."}
HTML = (
    '<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body class="a b"><h1>'
    "Tea &amp; milk</h1><p>Green <b>tea</b>.<ul><li>hot<li>cold</ul><table><tr><td>1<td>2</table>"
    "<pre>a\n b</pre><!-- c --><script>if (1<2) {}</script><svg><path/></svg>é</body></html>"
)
MARKDOWN = (
    "# Tea\n\n*tea* `x`.\n\n- hot\n- cold\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```py\nx\n```\n"
)
TREE = "(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. -RRB-))"
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
IDS = "a\nb\nc\n"


def saved() -> bytes:
    """`ROWS` as .npy."""
    with io.BytesIO() as file:
        np.save(file, ROWS)
        return file.getvalue()


def zipped(files: dict[str, bytes] = FILES) -> bytes:
    """A zip archive of these files."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in files.items():
                packed.writestr(name, content)
        return file.getvalue()


def tarred(files: dict[str, bytes] = FILES, mode: str = "w:gz") -> bytes:
    """A tar archive of these files."""
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode=mode) as packed:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                packed.addfile(info, io.BytesIO(content))
        return file.getvalue()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    """These rows as Parquet."""
    with io.BytesIO() as file:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        return file.getvalue()


def answered(
    crawl: WARCWriter, address: str, page: bytes, status: str = "200 OK", **headers: str
) -> None:
    """Write the answer of a server as a crawler keeps it."""
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    http = StatusAndHeaders(status, named, protocol="HTTP/1.1")
    content = io.BytesIO(page)
    crawl.write_record(crawl.create_warc_record(address, "response", content, http_headers=http))
