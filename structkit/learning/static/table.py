"""A table of token vectors in a folder, as of model2vec and sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from structkit.embeddings.vectors import Vectors
from structkit.learning.folders.damage import damaged
from structkit.learning.folders.facts import TABLE, json_of
from structkit.records.output import write_json

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
KIND = "model2vec"  # whose folders these are


@dataclass(frozen=True)
class Table:
    """A vector for each token, (vocabulary, dim), and the tokenizer.

    A text's embedding is the mean of its tokens' vectors; with `saturating`, a token that occurs n
    times counts √n times.
    """

    rows: Vectors
    tokenizer: Tokenizer
    saturating: bool = False

    def means(self, inputs: Sequence[Sequence[int]]) -> Vectors:
        """The means of texts' tokens, (texts, dim); zeros for a text without tokens."""
        means = np.zeros((len(inputs), self.rows.shape[1]), np.float32)
        for text, ids in enumerate(inputs):  # one by one stays in the processor's cache
            if self.saturating and ids:
                different, counts = np.unique(ids, return_counts=True)
                roots = np.sqrt(counts, dtype=np.float32)
                means[text] = roots @ self.rows[different] / len(ids)
            elif ids:
                means[text] = self.rows.take(ids, axis=0).sum(0) / len(ids)
        return means

    def write(self, folder: Path, *, normalize: bool) -> None:
        """Write files for model2vec, and for sentence-transformers if the mean is a plain one.

        Numbers have 16 bits, as in model2vec.
        """
        # as in model2vec's `StaticModelConfig`, except for the last field, which is ours
        config = {
            "model_type": KIND,
            "architectures": ["StaticModel"],
            "hidden_dim": self.rows.shape[1],
            "normalize": normalize,
            "max_length": None,
            "saturating": self.saturating,
        }
        kind = f"sentence_transformers.models.{TABLE}"
        if self.saturating:  # it would compute another mean, so it must refuse
            kind = "structkit.only_structkit_encodes_with.saturating"
        modules = [{"idx": 0, "name": "0", "path": "", "type": kind}]
        if normalize:
            (folder / "1_Normalize").mkdir()
            type_ = "sentence_transformers.models.Normalize"
            modules.append({"idx": 1, "name": "1", "path": "1_Normalize", "type": type_})
        write_json(folder / "modules.json", modules)
        write_json(folder / CONFIG, config)
        save_file({"embeddings": self.rows.astype(np.float16)}, folder / WEIGHTS)
        self.tokenizer.save(str(folder / TOKENIZER))

    @classmethod
    def read(cls, folder: Path) -> Table:
        """The table in a folder. Errors: a file that is missing, damaged, or from another table."""
        if not is_table(folder):
            raise damaged("is missing, or describes a model other than a table", folder / CONFIG)
        tokenizer = _tokenizer(folder / TOKENIZER)
        rows = _rows(folder / WEIGHTS)
        if len(rows) < tokenizer.get_vocab_size():
            problem = (
                f"has {len(rows):,} rows, but the tokenizer {tokenizer.get_vocab_size():,} tokens"
            )
            raise damaged(problem, folder / WEIGHTS)
        config = json_of(folder / CONFIG) or {}
        return cls(rows, tokenizer, bool(config.get("saturating")))


def is_table(folder: Path) -> bool:
    """Whether a folder holds a table and no other model."""
    config = json_of(folder / CONFIG)
    if config is not None:
        return isinstance(config, dict) and config.get("model_type") == KIND
    # sentence-transformers writes no config.json beside a table
    return (folder / TOKENIZER).is_file() and "embedding.weight" in _names(folder / WEIGHTS)


def normalizes(folder: Path) -> bool:
    """Whether the config of a table says that texts are scaled to length 1."""
    return bool((json_of(folder / CONFIG) or {}).get("normalize"))


def _tokenizer(file: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_str(file.read_text("utf-8"))
    except OSError as error:
        raise damaged(f"cannot be read: {error.strerror}", file) from None
    except Exception as error:  # tokenizers raises no class of its own
        raise damaged(f"is not a tokenizer: {str(error)[:200]}", file) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _names(file: Path) -> set[str]:
    try:
        with safe_open(file, "numpy") as weights:
            return set(weights.keys())
    except (OSError, SafetensorError, ValueError):
        return set()


def _rows(file: Path) -> Vectors:
    """The vectors by token; model2vec may store weights and row numbers of tokens separately."""
    try:
        stored = load_file(file)
    except OSError as error:
        raise damaged(
            f"cannot be read: {error.strerror or 'there is no such file'}", file
        ) from None
    except (SafetensorError, ValueError) as error:
        raise damaged(f"is damaged or cut short (safetensors: {error})", file) from None
    name = next((name for name in ("embeddings", "embedding.weight") if name in stored), None)
    if name is None or stored[name].ndim != 2:
        raise damaged("holds no table of embeddings", file)
    rows = stored[name].astype(np.float32)
    if "mapping" in stored:
        rows = rows[stored["mapping"]]
    if "weights" in stored:
        rows = rows * stored["weights"].astype(np.float32)[:, None]
    if not np.isfinite(rows).all():
        raise damaged("holds numbers that are not finite", file)
    return rows
