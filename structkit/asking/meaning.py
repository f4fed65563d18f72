"""The embeddings of passages by a model, of which only new ones are computed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import orjson

from structkit.asking.folder import Folder
from structkit.asking.postings import IndexedFile, moves
from structkit.embeddings.rows import TextEncoding
from structkit.embeddings.vectors import Floats, Vectors
from structkit.progress import Position, announce, progress
from structkit.records.texts import document_text

NAMES = ("model", "embedded", "vectors")


class Meaning:
    """The embeddings of a folder's passages, and the model that encodes questions."""

    def __init__(self, folder: Folder, encoding: Callable[[str], TextEncoding]) -> None:
        self._queries = encoding("query")
        about = self._queries.meta()
        model = str(about["model_sha256"]).encode()
        kept = folder.store.parts(NAMES)
        files: list[IndexedFile] = []
        before = np.empty((0, 1), np.float32)
        if kept and kept["model"] == model:
            files = [IndexedFile(*each) for each in orjson.loads(kept["embedded"])]
            rows = sum(each.passages for each in files)
            before = np.frombuffer(kept["vectors"], np.float32).reshape(rows, -1)
        self.vectors = before  # (passages, dimensions)
        if files != folder.files:
            self.vectors = _updated(folder, files, before, encoding("document"), about["model"])
            data = (model, orjson.dumps(list(map(list, folder.files))), self.vectors.tobytes())
            with folder.store.changing():
                folder.store.put_parts(dict(zip(NAMES, data, strict=True)))

    def scores(self, question: str) -> Floats:
        """The inner product of each passage with a question, (passages,)."""
        _, vectors = next(self._queries.embedded([{"id": "1", "text": question}]))
        scores: Floats = self.vectors @ vectors[0]
        return scores


def _updated(
    folder: Folder, files: list[IndexedFile], before: Vectors, documents: TextEncoding, name: str
) -> Vectors:
    """The embeddings of all passages: known ones, and computed ones of the other files."""
    moved = moves(files, folder.files)
    known = {(each.path, each.hash) for each in files}
    others = [each.path for each in folder.files if (each.path, each.hash) not in known]
    place = np.ones(len(folder), bool)
    place[moved[moved >= 0]] = False  # where a new one goes
    new, done = [], 0
    if place.any():
        announce(f"encoding {place.sum():,} passages with {name}")
    records = (
        {"id": record["id"], "text": document_text(record)} for record in folder.all_records(others)
    )
    with progress("encode", lambda: Position(done, done, int(place.sum()))):
        for _, vectors in documents.embedded(records):
            new.append(vectors)
            done += len(vectors)
    added = np.concatenate(new) if new else before[:0]
    whole = np.empty((len(folder), (added if new else before).shape[1]), np.float32)
    whole[moved[moved >= 0]] = before[moved >= 0]
    whole[place] = added
    return whole
