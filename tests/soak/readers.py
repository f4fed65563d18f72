"""What `fuzz` gives its inputs to: each reader of the project, with inputs that are good."""

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from structkit import registry
from structkit.collecting.sources import LeftOut
from structkit.collecting.walking import Walk
from structkit.commands.html_variants import Settings as VariantSettings
from structkit.commands.html_variants import html_variants
from structkit.commands.mask_entities import Settings as MaskSettings
from structkit.commands.mask_entities import mask_entities
from structkit.embeddings.reading import read_embeddings
from structkit.errors import UserError
from structkit.formats.rows import DelimitedRows, ParagraphRows
from structkit.learning.folders.facts import own_facts
from structkit.records.jsonl import Records, accepted
from structkit.records.output import dump
from structkit.scoring.qrels import read_qrels
from structkit.scoring.runs import read_run
from structkit.structure.sentinels import unmask
from structkit.structure.trees.brackets import read as read_brackets
from tests.hostile import good

LANGUAGES = Path("fixtures/languages").resolve()
JSONL = b'{"id":"a","text":"tea \\u00e9 \\"b\\"","n":[1,-1.5e3,null,true]}\n{"id":2,"text":""}\n'
FACTS = {"pooling": "mean", "normalize": True, "lengths": {"query": 8}, "prompts": {"query": "q: "}}


class Reader(NamedTuple):
    """`read` gets the path of a file that it may write, and the bytes that it is to read."""

    good: list[bytes]
    read: Callable[[Path, bytes], None]


def of_file(name: str, read: Callable[[str], object], path: Path, data: bytes) -> None:
    """Read a file of this content; an error of the whole file has its name and a remedy."""
    (path / name).write_bytes(data)
    try:
        read(str(path / name))
    except UserError as error:
        assert error.file and error.remedy, error


def rows(kind: Callable[[str], object], path: str) -> None:
    """Read all rows, some of them rejected."""
    rejected = []
    for each in accepted(iter, kind(path), rejected.append):
        dump(each)
    for each in rejected:
        assert each.error.line and each.error.remedy, each
        dump(each.record())


def embeddings(path: str) -> None:
    """Read a matrix; its ids stand beside it."""
    Path(path).with_suffix(".ids.txt").write_text(good.IDS)
    found = read_embeddings([path])
    assert len(found.ids) == found.vectors.shape[0]
    found.vectors[:].sum()


def sources(path: str) -> None:
    """Read every file of an archive; what is left out says why."""
    for each in Walk(hidden=True, archives=True, max_file_bytes=100_000).sources([path]):
        if isinstance(each, LeftOut):
            assert each.problem and each.remedy and each.error.file, each
        else:
            assert each.size <= 100_000


def facts(path: str) -> None:
    """Read what a model folder says of itself."""
    own_facts(Path(path).parent)


def of_text(read: Callable[[str], None], path: Path, data: bytes) -> None:
    """Read a text."""
    try:
        read(data.decode("utf-8", "replace"))
    except UserError as error:
        assert error.remedy, error


def brackets(text: str) -> None:
    """A tree is read back from what is written of it."""
    tree = read_brackets(text)
    assert tree.words


def variants(source: str, text: str) -> None:
    """The variants of a page."""
    [made] = html_variants([{"id": "1", source: text}], VariantSettings(from_=source))
    dump(made)


def masked(language: str, text: str) -> None:
    """A masked function is what it was once its entities are put back."""
    [made] = mask_entities([{"id": "1", "language": language, "code": text}], MaskSettings())
    dump(made)
    assert text == unmask(made["masked"], made["entities"])


def example(language: str) -> list[bytes]:
    """The inputs of a language's fixtures."""
    found = []
    for case in sorted((LANGUAGES / language).glob("*.txt")):
        code = case.read_bytes().partition(b"---input---\n")[2]
        found.append(code.partition(b"\n---")[0])
    return found


def records(path: str) -> None:
    """Read JSONL."""
    rows(lambda path: Records.read([path]), path)


READERS = {
    "jsonl": Reader([JSONL], partial(of_file, "a.jsonl", records)),
    "gzip": Reader([gzip.compress(JSONL)], partial(of_file, "a.jsonl.gz", records)),
    "csv": Reader(
        [b'a,b\n1,2\n"3\n""x",4\n'],
        partial(of_file, "a.csv", partial(rows, lambda path: DelimitedRows([path], ","))),
    ),
    "paragraphs": Reader(
        [b"1\ta\n2\tb\n\n3\tc\n"],
        partial(of_file, "a.conllu", partial(rows, lambda path: ParagraphRows([path]))),
    ),
    "run": Reader(
        [b"q Q0 d 1 0.5 t\nq Q0 e 2 0.25 t\n", b'{"query_id":"q","doc_id":"d","score":1.5}\n'],
        partial(of_file, "a.run", read_run),
    ),
    "qrels": Reader(
        [b"q 0 d 1\nq 0 e 0\n", b'{"query_id":"q","doc_id":"d","relevance":1}\n'],
        partial(of_file, "a.qrels", read_qrels),
    ),
    "npy": Reader([good.saved()], partial(of_file, "a.npy", embeddings)),
    "zip": Reader([good.zipped()], partial(of_file, "a.zip", sources)),
    "tar": Reader([good.tarred()], partial(of_file, "a.tar.gz", sources)),
    "facts": Reader([json.dumps(FACTS).encode()], partial(of_file, "structkit.json", facts)),
    "brackets": Reader([good.TREE.encode()], partial(of_text, brackets)),
    "html": Reader([good.HTML.encode()], partial(of_text, partial(variants, "html"))),
    "markdown": Reader([good.MARKDOWN.encode()], partial(of_text, partial(variants, "markdown"))),
}
READERS |= {
    language: Reader(example(language), partial(of_text, partial(masked, language)))
    for language in registry.names("language")
    if language not in ("html", "product") and example(language)
}
