"""A corpus of texts ready for BM25: read from records, or an index that was saved."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from structkit.embeddings.reading import identified
from structkit.errors import UserError, flag
from structkit.records.jsonl import Records
from structkit.records.output import refuse_existing
from structkit.records.texts import document_text
from structkit.searching.bm25 import BM25
from structkit.searching.bm25_folder import is_saved
from structkit.searching.options import WordOptions


def lexical_index(
    corpus: Sequence[str], options: WordOptions, *, save_index: str | None = None
) -> BM25:
    """The index of texts in files, or of a saved folder; `save_index` keeps it, replacing an older.

    Errors: a folder that was built with other settings.
    """
    given = {each.name: getattr(options, each.name) for each in fields(WordOptions)}
    if len(corpus) == 1 and os.path.isdir(corpus[0]):
        if save_index:
            remedy = f"leave {flag('save_index')} out"
            raise UserError(f"{corpus[0]} is an index already", remedy, status=2)
        return _opened(corpus[0], given)
    if save_index and not is_saved(save_index):
        refuse_existing(save_index, flag("save_index"))
    reading = {name: given.pop(name) for name in ("document_field", "paths")}
    known = {name: value for name, value in given.items() if value is not None}
    records = Records.read(corpus)
    doc_ids: list[str] = []

    def texts() -> Iterator[str]:
        for doc_id, text in identified(
            records,
            lambda record: document_text(record, options.document_field, paths=options.paths),
        ):
            doc_ids.append(doc_id)
            yield text

    try:
        index = BM25(doc_ids, texts(), **known, reading=reading)
    except UserError as error:
        raise error.at(records.lines.file) from None
    if save_index:
        index.save(save_index)
    return index


def _opened(folder: str, given: dict[str, Any]) -> BM25:
    index = BM25.open(folder)
    known = {**index.settings, **index.reading}
    for name, value in given.items():
        if value is not None and value != known.get(name):
            remedy = f"leave it out, or build another index with {flag('save_index')}"
            built = f"was built with {_setting(name, known.get(name))}"
            raise UserError(f"{built}, not {_setting(name, value)}", remedy).at(folder)
    return index


def _setting(name: str, value: object) -> str:
    """A setting in a message.

    >>> _setting("k1", 1.5), _setting("stopwords", False), _setting("document_field", None)
    ('--k1 1.5', '--no-stopwords', 'the default of --document-field')
    """
    return f"the default of {flag(name)}" if value is None else flag(name, value)
