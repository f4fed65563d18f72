"""`structkit.search`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, TypeAlias

from structkit.api.arguments import check, in_python
from structkit.api.given import Given, Held, Names, Rows, texts_as
from structkit.commands import search as command
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.records.jsonl import Record, Records
from structkit.searching.bm25_folder import method_of
from structkit.searching.fusion import SHARE
from structkit.searching.hits import SearchOptions

Queries: TypeAlias = "Iterable[str | Mapping[str, Any]]"


def search(
    corpus: Names | Rows,
    queries: Queries,
    /,
    *,
    k: int = 100,
    method: str | None = None,
    model: str | None = None,
    engine: str = "auto",
    texts: Names | Rows | None = None,
    document_field: str | None = None,
    query_field: str | None = None,
    paths: bool | None = None,
    exclude_self: bool = False,
    explain: bool = False,
    filters: Sequence[str] = (),
    similarity: str = "dot",
    dense_share: float = SHARE,
    k1: float | None = None,
    b: float | None = None,
    stopwords: bool | None = None,
    index: str = "flat",
    parameters: str | None = None,
    save_index: str | None = None,
    recall_sample: int = 0,
    rescore: Sequence[str] = (),
    backend: str | None = None,
    database_url: str | None = None,
    table: str | None = None,
    reload: bool = False,
) -> Iterator[Record]:
    """The k best documents of each query, best first: `query_id`, `doc_id`, `score`, `rank`.

    `corpus` and `texts` are dicts, or names of files. A query is a dict with an embedding or a
    text, or a string; a string's id is its number, from 1. The parameters are the command's flags.
    """
    given = dict(locals())
    corpus, queries = given.pop("corpus"), given.pop("queries")
    with in_python(signature(search).parameters):
        asked: Rows = texts_as(query_field or "query", queries, "queries")
        check("search", given, given)
        options = SearchOptions(
            **{each: given.pop(each) for each in OPTIONS},
            filters=tuple(given.pop("filters")),
            rescore=tuple(given.pop("rescore")),
        )
    return _run(corpus, asked, options, **given)


# of the embeddings' backend
OPTIONS = (
    *("index", "parameters", "similarity", "explain", "save_index", "recall_sample"),
    *("database_url", "table", "reload"),
)


def _run(
    corpus: Names | Rows,
    queries: Rows,
    options: SearchOptions,
    *,
    method: str | None,
    model: str | None,
    engine: str,
    texts: Names | Rows | None,
    query_field: str | None,
    **given: Any,
) -> Iterator[Record]:
    with in_python(signature(search).parameters), Held() as held:
        files = held.files(corpus, "corpus")
        yield from command.search(
            files,
            Records(Given(queries, "queries")),
            method=method_of(files, method),
            options=options,
            encoding=_encoding(model, query_field, engine) if model else None,
            query_field=query_field,
            texts=None if texts is None else held.files(texts, "texts"),
            **given,
        )


def _encoding(model: str, field: str | None, engine: Any) -> Encoding:
    fields = () if field is None else (field,)
    return Encoding(EncodingSettings(model=model, as_="query", field=fields, engine=engine))
