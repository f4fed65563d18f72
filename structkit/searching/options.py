"""How a corpus is searched: by its embeddings, which a backend does, or by its words."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from structkit.errors import UserError, flag
from structkit.searching import K1, B
from structkit.settings import setting

INDEX = "Index"
POSTGRES = "PostgreSQL"
WORDS = "Words: bm25 and hybrid"
WORD_LIST = "words.txt"  # the file by which a saved index for BM25 is known

# parameters of an approximate index as faiss names them, with the lowest value of each
LOWEST = {"nprobe": 1, "efSearch": 1, "max_codes": 0, "k_factor_rf": 1}
FACTOR = "k_factor_rf"  # it alone may have a fraction
HIGHEST = 2**31 - 1  # faiss ignores larger ones
QUANTIZER = "quantizer_"  # prefix for the index that finds the clusters


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How a corpus of embeddings is searched; a backend refuses options that it lacks."""

    index: str = setting(
        "flat",
        "Kind: flat (exact), hnsw, ivf, int8 or binary (codes first, then vectors), or a factory "
        "string of faiss.",
        group=INDEX,
    )
    parameters: str | None = setting(
        None, "Of the index, as faiss has them: nprobe=16, efSearch=256.", group=INDEX
    )
    save_index: str | None = setting(
        None, "Save the index; DIR can then be CORPUS.", metavar="DIR", writes=True, group=INDEX
    )
    rescore: tuple[str, ...] = setting(
        (),
        "CORPUS holds codes of encode --quantize: order its best by these vectors.",
        metavar="FLOATS.npy",
        reads=True,
        group=INDEX,
    )
    similarity: Literal["dot", "cosine"] = setting(
        "dot", "Inner product, or cosine: rows are scaled to length 1.", group=INDEX
    )
    filter: tuple[str, ...] = setting(
        (), "Search only rows with this value; all must hold.", metavar="FIELD=VALUE", group=INDEX
    )
    explain: bool = setting(
        False, "Add `best`: the row by which a document was found.", group=INDEX
    )
    database_url: str | None = setting(
        None, "pgvector: postgresql://USER@HOST/DATABASE.", group=POSTGRES
    )

    def __post_init__(self) -> None:
        parse_parameters(self.parameters)
        for text in self.filter:
            if text.find("=") < 1:
                problem = f"{flag('filter', text)} names no value"
                raise UserError(problem, "write it as FIELD=VALUE", status=2)

    @property
    def cosine(self) -> bool:
        """Whether rows are scaled to length 1."""
        return self.similarity == "cosine"

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """The fields of the filters, each with its value."""
        return [(field, value) for field, _, value in (text.partition("=") for text in self.filter)]


def parse_parameters(text: str | None) -> dict[str, float]:
    """Names and values of `NAME=VALUE,NAME=VALUE`.

    >>> parse_parameters("nprobe=16,quantizer_efSearch=64")
    {'nprobe': 16.0, 'quantizer_efSearch': 64.0}
    """
    values: dict[str, float] = {}
    for part in [] if text is None else text.split(","):
        name, _, number = map(str.strip, part.partition("="))
        low = LOWEST.get(name.removeprefix(QUANTIZER))
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        whole = name == FACTOR or value.is_integer()
        if low is None or name in values or not (low <= value <= HIGHEST and whole):
            known = ", ".join(f"{name} ({low} or more)" for name, low in LOWEST.items())
            raise UserError(
                f"{flag('parameters', repr(text))}: {part!r} is not NAME=NUMBER, each name once",
                f"the names are {known}; for example nprobe=16 for ivf, efSearch=256 for hnsw",
                status=2,
            )
        values[name] = value
    return values


@dataclass(frozen=True, kw_only=True)
class WordOptions:
    """How the words of a corpus are read and weighted; an index that was saved has its own."""

    paths: bool | None = setting(
        None,
        "Read a document's `path`, `scope` and `names` too; default: for code that collect wrote.",
        group=WORDS,
    )
    document_field: str | None = setting(
        None,
        "Field with a document's text; default: the first of positive, code, "
        "untagged, text, description, html, content.",
        group=WORDS,
    )
    k1: float | None = setting(
        None,
        f"Saturation of term frequency; default: {K1}.",
        low=0.0,
        high=1000.0,
        group=WORDS,
    )
    b: float | None = setting(
        None,
        f"Length normalization; default: {B}.",
        short="-b",
        low=0.0,
        high=1.0,
        group=WORDS,
    )
    stopwords: bool | None = setting(
        None, "Leave out English function words; default: stopwords.", group=WORDS
    )


def is_saved(folder: str) -> bool:
    """Whether a folder holds an index for BM25, or one that is damaged."""
    return os.path.lexists(os.path.join(folder, WORD_LIST))


def method_of(corpus: Sequence[str], method: str | None = None) -> str:
    """How a corpus is searched: as given, or as its folder says, or dense.

    Errors: an index for BM25 that shall be searched otherwise.
    """
    lexical = len(corpus) == 1 and is_saved(corpus[0])
    if lexical and method not in (None, "bm25"):
        problem = f"is an index for {flag('method', 'bm25')}"
        raise UserError(problem, f"leave out {flag('method')}").at(corpus[0])
    return method or ("bm25" if lexical else "dense")
