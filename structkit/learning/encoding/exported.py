"""Encoders that were exported: computed without torch, and kept in the user's cache."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

import structkit
from structkit.learning.encoding.runtimes import Runtime
from structkit.learning.training.tokens import Chunk, Tokenizing, TokenModel
from structkit.machine import cache_folder
from structkit.records.jsonl import Record
from structkit.records.output import whole_folder

ABOUT = "about.json"
TOKENIZER, PLAIN = "tokenizer.json", "plain-tokenizer.json"
SAMPLE = ["a", "Green tea, two cups.", "def add(a, b): return a + b  # <p>café</p> 一二三"]
LONG = "Green tea is picked in spring; water of 80 degrees, two minutes. " * 9
BATCH_TOKENS = 512  # with more, the states of a layer no longer fit in the cache


class ExportedEncoder(TokenModel):
    """An exported encoder: texts to embeddings, as `Encoder` computes them."""

    batch_tokens = BATCH_TOKENS
    precision: str | None = "highest"

    def __init__(self, runtime: Runtime, folder: Path, about: Record) -> None:
        self.runtime, self.name, self.dtype = runtime, runtime.name, runtime.dtype
        self.compute = runtime.opened(folder)
        self.version = about["runtime"]
        padding, split = about["padding"], about["split_special_tokens"]
        plain = folder / PLAIN
        self.tokenizing = Tokenizing(
            FastTokenizer(folder / TOKENIZER, padding, split=split),
            about["lengths"],
            about["prompts"],
            about["mcls_every"],
            plain=FastTokenizer(plain, padding, split=split) if plain.exists() else None,
            positions=about["positions"],
        )
        self.truncation = self.tokenizing.truncation
        self.sample = np.array(about["sample"], np.float32)

    @property
    def model(self) -> ExportedEncoder:
        """The encoder itself: it needs no other."""
        return self

    def embeddings(self, inputs: Sequence[list[int] | Chunk]) -> NDArray[np.float32]:
        """The embeddings of some inputs, computed together, (inputs, dim)."""
        ids = [each.ids if isinstance(each, Chunk) else each for each in inputs]
        lengths = np.array([len(row) for row in ids])
        mask = np.arange(lengths.max()) < lengths[:, None]  # (inputs, length)
        padded = np.full(mask.shape, self.tokenizing.padding, np.int64)
        padded[mask] = np.concatenate([np.array(row, np.int64) for row in ids])
        return self.compute(padded, mask.astype(np.int64))

    def agreement(self) -> float:
        """The least cosine between its embeddings of sample texts and those of torch."""
        embeddings = self.embeddings(self.inputs(SAMPLE, "document"))
        self.truncation.clear()
        cosines = (embeddings * self.sample).sum(1) / (
            np.linalg.norm(embeddings, axis=1) * np.linalg.norm(self.sample, axis=1)
        )
        return float(np.nan_to_num(cosines).min())

    def agrees(self) -> bool:
        """Whether it computes here what torch computed when the encoder was exported."""
        runtime = self.runtime
        return self.version == runtime.version() and self.agreement() >= runtime.agreement


class Encoded(dict[str, Any]):
    """What `FastTokenizer` returns: lists by name, and the encodings themselves."""

    def __init__(self, encodings: Sequence[Encoding], *, single: bool) -> None:
        self.encodings = encodings
        names = {
            "input_ids": "ids",
            "offset_mapping": "offsets",
            "special_tokens_mask": "special_tokens_mask",
        }
        for name, own in names.items():
            lists = [getattr(each, own) for each in encodings]
            self[name] = lists[0] if single else lists


class FastTokenizer:
    """A tokenizer from a file, as `Tokenizing` needs it.

    `split` reads the names of special tokens as ordinary text.
    """

    is_fast = True

    def __init__(self, file: Path, padding: int | None, *, split: bool) -> None:
        self.backend = Tokenizer.from_file(str(file))
        self.backend.no_padding()
        self.backend.encode_special_tokens = split
        self.pad_token_id = padding

    def __call__(
        self,
        texts: str | Sequence[str],
        *,
        truncation: bool = False,
        max_length: int | None = None,
        add_special_tokens: bool = True,
        **shown: bool,
    ) -> Encoded:
        """The tokens of a text, or of each of several."""
        if truncation and max_length is not None:
            self.backend.enable_truncation(max_length)
        else:
            self.backend.no_truncation()
        single = isinstance(texts, str)
        batch = [texts] if isinstance(texts, str) else list(texts)
        encodings = self.backend.encode_batch(batch, add_special_tokens=add_special_tokens)
        return Encoded(encodings, single=single)


def kept(model: Path, changes: Mapping[str, Any], runtime: Runtime) -> tuple[Path, Record] | None:
    """The export of a model folder with these changes for a runtime, and the notes on it.

    None where there is none, or where the model has changed since.
    """
    place = _place(model, changes, runtime)
    try:
        about: Record = orjson.loads((place / ABOUT).read_bytes())
        signature = _signature(model)
    except (OSError, ValueError):
        return None
    return (place, about) if about.get("signature") == signature else None


@contextmanager
def keeping(
    model: Path, changes: Mapping[str, Any], runtime: Runtime
) -> Iterator[tuple[Path, Record]]:
    """A folder for an export, and the notes on it; it takes its place when it is complete.

    Exports of models that no longer exist are removed.
    """
    place = _place(model, changes, runtime)
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place.parent)
    with whole_folder(place) as new:
        about: Record = {"model": str(model.resolve()), "signature": _signature(model)}
        yield new, about
        (new / ABOUT).write_bytes(orjson.dumps(about))


def _place(model: Path, changes: Mapping[str, Any], runtime: Runtime) -> Path:
    named = f"{model.resolve()} {sorted(changes.items())} {runtime.name} {runtime.dtype}"
    return (
        cache_folder("engines")
        / hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    )


def _signature(model: Path) -> str:
    """A hash that changes with any file of a model folder, and with the version of structkit.

    The files are not read: the inode number and the times of a file tell that it was written.
    """
    digest = hashlib.sha256(structkit.__version__.encode())
    for file in sorted(file for file in model.rglob("*") if file.is_file()):
        is_ = file.stat()
        facts = (file.relative_to(model), is_.st_ino, is_.st_size, is_.st_mtime_ns, is_.st_ctime_ns)
        digest.update(repr(facts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sweep(cache: Path) -> None:
    for about in cache.glob(f"*/{ABOUT}"):
        try:
            gone = not Path(orjson.loads(about.read_bytes())["model"]).is_dir()
        except (OSError, ValueError, LookupError, TypeError):
            gone = True
        if gone:
            shutil.rmtree(about.parent, ignore_errors=True)
