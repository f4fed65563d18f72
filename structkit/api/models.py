"""A model that is loaded once, and encodes from then on: texts in, an array out.

Tests: tests/api/test_loading.py.
"""

from __future__ import annotations

import inspect
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from structkit.api.functions import (
    DictLines,
    as_in_python,
    bind,
    parameters,
    rows,
    texts_as,
    with_model_setting,
)
from structkit.command import command_of
from structkit.embeddings.vectors import Vectors
from structkit.errors import wrong_usage
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.engines import open_engine
from structkit.learning.encoding.settings import OPENING_SETTINGS, EncodingSettings, Opened
from structkit.records.jsonl import Records, accepted, raise_error
from structkit.searching.index import float32_scores
from structkit.settings import make

# settings of `encode` that choose the model, and how it reads texts
MODEL_SETTINGS = ("model", *OPENING_SETTINGS, "offline")
TEXT_SETTINGS = ("records", "as_", "field", "length")


@cache
def encode_parameters(*names: str) -> list[inspect.Parameter]:
    """Return parameters of `structkit.encode`; the model may be positional here."""
    known = {parameter.name: parameter for parameter in parameters(command_of("encode"))}
    model = known["model"].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [{**known, "model": model}[name] for name in names]


class LoadedModel:
    """A model in memory, as `structkit.load` returns it; threads take turns."""

    def __init__(self, settings: EncodingSettings) -> None:
        self._settings = settings
        self._opened = open_engine(settings)
        self._encode_lock = Lock()
        self.as_setting = Opened(settings.model)  # commands take it where they take a name
        self.as_setting.opened = self._opened
        self.as_setting.settings = settings

    def encode(self, *given: Any, **values: Any) -> Vectors:
        """Return the embeddings of texts, or of records, in their order: float32, (texts,
        dimensions).

        One string gives one vector. The keywords are flags of `structkit encode --help`. Errors:
        `UserError` for a record without its field; cut texts are counted on stderr.
        """
        with as_in_python():
            chosen = bind("LoadedModel.encode", encode_parameters(*TEXT_SETTINGS), given, values)
            records = chosen.pop("records")
            model = {name: getattr(self._settings, name) for name in MODEL_SETTINGS}
            settings = make(EncodingSettings, {**model, **chosen})
            if len(settings.field) > 1:
                raise wrong_usage("an array holds one field", "encode each by itself")
            listed = [records] if isinstance(records, str) else list(rows(records))
            with (
                self._encode_lock
            ):  # the source of the records, read before, may use this model too
                vectors = self._encoded(settings, listed)
            return vectors[0] if isinstance(records, str) else vectors

    def similarity(self, queries: Vectors, documents: Vectors) -> Vectors:
        """Return the scores by which `search` ranks with this model: (queries, documents).

        Both arrays are (texts, dimensions), as `encode` returns them, or one vector.
        """
        kind = self._opened[1].get("similarity") or "dot"
        return float32_scores(np.atleast_2d(queries), np.atleast_2d(documents), kind)

    def _encoded(self, settings: EncodingSettings, records: Any) -> Vectors:
        encoding = Encoding(settings, opened=self._opened)
        lines = DictLines(texts_as(encoding.first_field, records))
        texts = accepted(encoding.read, Records(lines), raise_error)
        try:
            embedded = [vectors for _, vectors in encoding.windows(texts)]
            encoding.report()
        finally:
            encoding.truncation.drain()  # of a call that was stopped too
        if embedded:
            return np.concatenate(embedded)
        return encoding.embed(["(a b)"])[:0]  # as wide as others; for models of trees a tree

    encode.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
            *encode_parameters(*TEXT_SETTINGS),
        ]
    )


def load(*given: Any, **values: Any) -> LoadedModel:
    """Load a model once: from a folder, by a name of the Hub, `minilm` or `builtin`.

    The keywords are flags of `structkit encode --help`. Errors: `UserError` for a model that is
    missing, damaged, or does not support a setting.

    >>> load("builtin").encode(["tea is hot", "ice is cold"]).shape
    (2, 256)
    """
    with as_in_python():
        chosen = bind("load", encode_parameters(*MODEL_SETTINGS), given, values)
        return LoadedModel(make(EncodingSettings, with_model_setting(chosen)))


load.__signature__ = inspect.Signature(encode_parameters(*MODEL_SETTINGS))  # type: ignore[attr-defined]
