"""A corpus of texts ready for BM25: read from records, or an index that was saved."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from structkit.embeddings.reading import identified
from structkit.errors import UserError
from structkit.plugin import flag_of
from structkit.records.jsonl import Records
from structkit.records.texts import document_text
from structkit.records.whole import refuse_existing
from structkit.searching.bm25_folder import is_saved

if TYPE_CHECKING:
    from structkit.searching.bm25 import BM25

SAVE = "--save-index"


def lexical_index(
    corpus: Sequence[str],
    given: Mapping[str, Any],
    *,
    save_index: str | None = None,
) -> BM25:
    """The index of texts in files, or of a saved folder; `save_index` keeps it, replacing an older.

    `given` are settings, or None where they are not: `k1`, `b` and `stopwords` of `BM25`, and
    `document_field` and `paths` of `document_text`. Errors: a folder that was built with other
    settings.
    """
    if len(corpus) == 1 and os.path.isdir(corpus[0]):
        if save_index:
            raise UserError(f"{corpus[0]} is an index already", f"leave {SAVE} out", status=2)
        return _opened(corpus[0], given)
    if save_index and not is_saved(save_index):
        refuse_existing(save_index, SAVE)
    known = {name: value for name, value in given.items() if value is not None}
    field, paths = known.pop("document_field", None), known.pop("paths", None)
    records = Records.read(corpus)
    doc_ids: list[str] = []

    def texts() -> Iterator[str]:
        for doc_id, text in identified(
            records, lambda record: document_text(record, field, paths=paths)
        ):
            doc_ids.append(doc_id)
            yield text

    try:
        reading = {"document_field": field, "paths": paths}
        index = _bm25()(doc_ids, texts(), **known, reading=reading)
    except UserError as error:
        raise error.at(records.lines.file) from None
    if save_index:
        index.save(save_index)
    return index


def _bm25() -> type[BM25]:
    """The class, imported late with bm25s and SciPy, which a search of embeddings does not need."""
    from structkit.searching.bm25 import BM25

    return BM25


def _opened(folder: str, given: Mapping[str, Any]) -> BM25:
    index = _bm25().open(folder)
    known = {**index.settings, **index.reading}
    for name, value in given.items():
        if value is not None and value != known.get(name):
            remedy = "leave it out, or build another index with --save-index"
            problem = f"was built with {_told(name, known.get(name))}, not {_told(name, value)}"
            raise UserError(problem, remedy).at(folder)
    return index


def _told(name: str, value: object) -> str:
    """A setting as its flag.

    >>> _told("k1", 1.5), _told("stopwords", False), _told("document_field", None)
    ('--k1 1.5', '--no-stopwords', 'the default of --document-field')
    """
    if value is True:
        return flag_of(name)
    if value is False:
        return flag_of(f"no_{name}")
    return f"the default of {flag_of(name)}" if value is None else f"{flag_of(name)} {value}"
