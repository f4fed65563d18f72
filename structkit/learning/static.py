"""Tables of token vectors, whose mean embeds a text: they need only a tokenizer and NumPy.

No torch is imported here, for programs that start often. Folders are as in model2vec and
sentence-transformers.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray
from tokenizers import Tokenizer, models
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from structkit.embeddings.vectors import Int8Rows, IntArray, Vectors
from structkit.errors import UserError, flag, wrong_usage
from structkit.learning.folders import (
    CONFIG_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    damage_error,
    read_json,
    read_weights,
    weight_types,
    write_module_list,
    write_weights,
)
from structkit.learning.metadata import (
    MODULE_PREFIX,
    TABLE_MODULE,
    UNLIMITED_LENGTHS,
    explain_malformed,
    has_metadata,
    own_metadata,
    plain_metadata,
    read_metadata,
)
from structkit.learning.model import TokenModel
from structkit.learning.tokens import Tokenizing
from structkit.records.jsonl import Record
from structkit.records.output import write_json
from structkit.structure.bags import Bags

SMALL_BATCH_TOKENS = 10_000
MODEL2VEC_MAX_TOKENS = 512  # the length of its texts, where none is stated
TABLE_MODEL_TYPE = "model2vec"  # whose folders these are


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of a text, and how often each occurs, both (different tokens,).

    One may be there twice; `size` counts them all.
    """

    ids: IntArray
    counts: Vectors
    size: int

    def __len__(self) -> int:
        return self.size


@dataclass(frozen=True)
class Table:
    """A vector for each token, (vocabulary, dim), and the tokenizer.

    A text's embedding is the mean of its tokens' vectors; with `saturating`, a token that occurs n
    times counts √n times. model2vec does not count the unknown token (`ignored`), and reads at
    most so many `characters` for each token of a text that it may cut.
    """

    rows: Vectors | Int8Rows
    tokenizer: Tokenizer
    saturating: bool = False
    ignored: int | None = None
    characters: int | None = None

    @cached_property
    def floats(self) -> Vectors:
        """The vectors of all tokens."""
        return self.rows[:]

    def means(self, inputs: Sequence[Sequence[int] | TokenCounts]) -> Vectors:
        """Return the means of texts' tokens, (texts, dim); zeros for a text without tokens."""
        if self.ignored is not None:  # `TokenCounts` lack it already
            inputs = [
                ids
                if isinstance(ids, TokenCounts)
                else [each for each in ids if each != self.ignored]
                for ids in inputs
            ]
        vectors_of = self._vectors_of(inputs)
        means = np.zeros((len(inputs), self.rows.shape[1]), np.float32)
        for text, ids in enumerate(inputs):  # one by one stays in the processor's cache
            if not len(ids):
                continue
            tokens, counts = (ids.ids, ids.counts) if isinstance(ids, TokenCounts) else (ids, None)
            if self.saturating:
                tokens, places = np.unique(tokens, return_inverse=True)
                counts = np.sqrt(np.bincount(places, counts), dtype=np.float32)
            vectors = vectors_of(np.asarray(tokens))
            means[text] = (vectors.sum(0) if counts is None else counts @ vectors) / len(ids)
        return means

    def _vectors_of(
        self, inputs: Sequence[Sequence[int] | TokenCounts]
    ) -> Callable[[IntArray], Vectors]:
        """Return the function from tokens of these texts to their vectors, (tokens, dim)."""
        if sum(map(len, inputs)) >= SMALL_BATCH_TOKENS:
            return lambda ids: self.floats.take(ids, axis=0)
        # for a few lines, all vectors would take longer
        tokens = [each.ids if isinstance(each, TokenCounts) else each for each in inputs]
        known = np.flatnonzero(np.bincount(np.fromiter(chain.from_iterable(tokens), np.int64)))
        vectors = self.rows[known]
        return lambda ids: vectors.take(np.searchsorted(known, ids), axis=0)

    def write(self, folder: Path, *, normalize: bool) -> None:
        """Write files for model2vec, and for sentence-transformers if the mean is a plain one.

        Numbers have 16 bits, as in model2vec.
        """
        # as in model2vec's `StaticModelConfig`, except for the last field, which is ours
        config = {
            "model_type": TABLE_MODEL_TYPE,
            "architectures": ["StaticModel"],
            "hidden_dim": self.rows.shape[1],
            "normalize": normalize,
            "max_length": None,
            "saturating": self.saturating,
        }
        kind = f"{MODULE_PREFIX}{TABLE_MODULE}"
        if self.saturating:  # it would compute another mean, so it must refuse
            kind = "structkit.only_structkit_encodes_with.saturating"
        later = [(f"{MODULE_PREFIX}Normalize", "1_Normalize")] if normalize else []
        write_module_list(folder, [(kind, ""), *later])
        write_json(folder / CONFIG_FILE, config)
        write_weights(folder, {"embeddings": self.floats.astype(np.float16)})
        self.tokenizer.save(str(folder / TOKENIZER_FILE))

    @classmethod
    def read(cls, folder: Path, *, ours: bool = True) -> Table:
        """Read the table in a folder. Errors: a missing or damaged file, another model."""
        if not is_table(folder):
            raise damage_error(
                "is missing, or describes a model other than a table", folder / CONFIG_FILE
            )
        tokenizer = _read_tokenizer(folder / TOKENIZER_FILE)
        rows = _read_vectors(folder / WEIGHTS_FILE)
        if len(rows) < tokenizer.get_vocab_size():
            raise damage_error(
                f"has {len(rows):,} rows, but the tokenizer {tokenizer.get_vocab_size():,} tokens",
                folder / WEIGHTS_FILE,
            )
        config = read_json(folder / CONFIG_FILE) or {}
        saturating = bool(config.get("saturating"))
        if ours or not config:
            return cls(rows, tokenizer, saturating)
        whole = config.get("max_length", MODEL2VEC_MAX_TOKENS) is None
        characters = None if whole else int(np.median([*map(len, tokenizer.get_vocab())]))
        return cls(rows, tokenizer, saturating, _unknown_token(tokenizer), characters)


def is_table(folder: Path) -> bool:
    """Return whether a folder holds a table and no other model."""
    config = read_json(folder / CONFIG_FILE)
    if config is not None and (not isinstance(config, dict) or "model_type" in config):
        return isinstance(config, dict) and config["model_type"] == TABLE_MODEL_TYPE
    # sentence-transformers writes no config.json beside a table, model2vec may name no type in it
    rows = "embedding.weight" if config is None else "embeddings"
    return (folder / TOKENIZER_FILE).is_file() and rows in weight_types(folder / WEIGHTS_FILE)


def _library_metadata(folder: Path) -> Record:
    """Return how the library that wrote a table reads texts and normalizes embeddings.

    `from_end` says that a long text loses its beginning.
    """
    config = read_json(folder / CONFIG_FILE)
    with explain_malformed(f"{CONFIG_FILE} or {TOKENIZER_FILE} of {folder}"):
        cut = read_json(folder / TOKENIZER_FILE).get("truncation") or {} if config is None else {}
        most = (
            cut.get("max_length")
            if config is None
            else config.get("max_length", MODEL2VEC_MAX_TOKENS)
        )
        if most is not None and (type(most) is not int or most < 1):
            raise ValueError(f"max_length {most!r:.80}")
        lengths = UNLIMITED_LENGTHS if most is None else dict.fromkeys(UNLIMITED_LENGTHS, most)
        if config is None:
            return {"lengths": lengths, "from_end": cut.get("direction") == "Left"}
        return {"lengths": lengths, "normalize": bool(config.get("normalize"))}


def _read_tokenizer(file: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_str(file.read_text("utf-8"))
    except OSError as error:
        raise damage_error(f"cannot be read: {error.strerror}", file) from None
    except Exception as error:  # tokenizers has no exception class
        raise damage_error(f"is not a tokenizer: {str(error)[:200]}", file) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _read_vectors(file: Path) -> Vectors | Int8Rows:
    """Return the vectors by token; model2vec may store weights and rows separately."""
    stored: dict[str, NDArray[Any]] = read_weights(file.parent)
    name = next((name for name in ("embeddings", "embedding.weight") if name in stored), None)
    if name is None or stored[name].ndim != 2:
        raise damage_error("holds no table of embeddings", file)
    rows = stored[name]
    if "mapping" in stored:
        rows = rows[stored["mapping"]]
    if "weights" not in stored:
        return rows.astype(np.float32)
    weights = stored["weights"].astype(np.float32)
    if rows.dtype == np.int8:
        return Int8Rows(rows, weights)
    return rows.astype(np.float32) * weights[:, None]


def _unknown_token(tokenizer: Tokenizer) -> int | None:
    """Return the token for what a tokenizer does not know, if it has one."""
    token = getattr(tokenizer.model, "unk_token", None)
    if isinstance(tokenizer.model, models.Unigram):
        number: int | None = orjson.loads(tokenizer.to_str())["model"].get("unk_id")
        return number
    return None if token is None else tokenizer.token_to_id(token)


TABLE_POOLING = "mean"  # the pooling of a table


class TableTokenizing(Tokenizing):
    """The tokenizer of a table: no special tokens; words of BERT's kind are remembered.

    With `characters`, a text of n tokens has at most n times as many.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        lengths: dict[str, int],
        prompts: Mapping[str, str] | None,
        characters: int | None = None,
        *,
        from_end: bool = False,
    ) -> None:
        super().__init__(tokenizer, lengths, prompts, from_end=from_end)
        self.opening, self.closing = [], []
        self.words = BertWords.of(tokenizer)
        self.characters = characters

    def truncated_ids(
        self, texts: Sequence[str], kind: str
    ) -> tuple[list[Sequence[int]], list[bool]]:
        length = self.lengths[kind]
        parts = [text[: self.characters and self.characters * length] for text in texts]
        if self.words is None:
            ids, cut = super().truncated_ids(parts, kind)
        else:
            whole = [*map(self.words.ids, parts)]
            part = slice(-length, None) if self.from_end else slice(length)
            ids, cut = [each[part] for each in whole], [len(each) > length for each in whole]
        shorter = map(len, parts)
        return ids, [a or len(b) > c for a, b, c in zip(cut, texts, shorter, strict=True)]


class StaticEncoder(TokenModel):
    """A table that encodes, with the prompts, lengths and normalization of a model's metadata."""

    tokenizing: TableTokenizing

    def __init__(self, table: Table, metadata: Record) -> None:
        self.table = table
        self.normalize = bool(metadata["normalize"])
        self.tokenizing = TableTokenizing(
            table.tokenizer,
            metadata["lengths"],
            metadata.get("prompts"),
            table.characters,
            from_end=bool(metadata.get("from_end")),
        )
        self.truncation = self.tokenizing.truncation

    def embed(self, inputs: Sequence[Sequence[int] | TokenCounts]) -> Vectors:
        """Return one embedding per input, (inputs, dim)."""
        means = self.table.means(inputs)
        return normalized(means) if self.normalize else means

    @property
    def reads_bags(self) -> bool:
        """Whether documents are bags of words to it: so they are split in a fast way."""
        reading = self.tokenizing
        plain = not (reading.prompts.get("document") or reading.characters or reading.from_end)
        return plain and reading.words is not None

    def of_bags(self, texts: Sequence[str], bags: Bags) -> Vectors:
        """Return the embeddings of documents, whose pieces are counted, if it `reads_bags`."""
        words, length = self.tokenizing.words, self.tokenizing.lengths["document"]
        assert words is not None
        of_pieces = words.of_pieces(bags.number)
        if (ignored := self.table.ignored) is not None:
            of_pieces = [
                tuple(each for each in ids if each != ignored) if ignored in ids else ids
                for ids in of_pieces
            ]
        of_texts, ids, counts = bags.spread(of_pieces)
        counts = counts.astype(np.float32)
        starts = np.searchsorted(of_texts, np.arange(len(texts) + 1)).tolist()
        sizes = np.bincount(of_texts, counts, len(texts)).astype(int).tolist()
        inputs: list[Sequence[int] | TokenCounts] = [
            TokenCounts(ids[first:end], counts[first:end], size)
            for (first, end), size in zip(pairwise(starts), sizes, strict=True)
        ]
        special = words.is_special("\n".join(texts))  # few are
        whole = [
            size <= length and not (special and words.is_special(text))
            for text, size in zip(texts, sizes, strict=True)
        ]
        rest = [place for place, each in enumerate(whole) if not each]
        read = self.tokenizing.ids([texts[place] for place in rest], "document")
        for place, each in zip(rest, read, strict=True):
            inputs[place] = each
        return self.embed(inputs)


def open_table(folder: Path, changes: Record) -> tuple[StaticEncoder, Record] | None:
    """Open the table in a model folder with its changed metadata; None without one.

    Errors: `UserError` for a pooling that is not the mean.
    """
    ours = has_metadata(folder)
    own = read_metadata(folder) if ours else own_metadata(folder)
    place = own.get("transformer", folder)
    if not is_table(place):
        return None
    if not ours:
        own = plain_metadata(TABLE_POOLING) | {"normalize": False} | own | _library_metadata(place)
    metadata = own | changes
    if metadata["pooling"] != TABLE_POOLING:
        raise wrong_usage(
            f"{folder} is a table of token vectors, which has no pooling {metadata['pooling']}",
            f"leave {flag('pooling')} out",
        )
    return StaticEncoder(Table.read(place, ours=ours), metadata), metadata | {"folder": folder}


def static_word_vectors(folder: Path, words: Sequence[str]) -> dict[int, Vectors]:
    """Return the vectors of words in a table by their places: the means of their tokens'.

    A word without a known token has none. Errors: a folder without a table.
    """
    opened = open_table(folder, {})
    if opened is None:
        raise UserError(
            "holds no table of token vectors",
            "name a folder that structkit train static wrote, or a file of word vectors",
        ).at(str(folder))
    table = opened[0].table
    encoded = table.tokenizer.encode_batch_fast(list(words), add_special_tokens=False)
    strange = _unknown_token(table.tokenizer)
    ids_of = {}
    for place, encoding in enumerate(encoded):
        if ids := [number for number in encoding.ids if number != strange]:
            ids_of[place] = ids
    return dict(zip(ids_of, table.means([*ids_of.values()]), strict=True))


def normalized(embeddings: Vectors) -> Vectors:
    """Return embeddings (texts, dim) of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    scaled: Vectors = embeddings / np.maximum(lengths, 1e-12)
    return scaled


class BertWords(dict[str, tuple[int, ...]]):
    """Tokens of words that occurred before, as BERT's tokenizer splits them.

    Source code repeats the same words, so that few texts need the tokenizer: this takes a quarter
    of its time.
    """

    # BERT's words: runs of letters and digits, and each other character; all beyond ASCII are
    # letters here, and the tokenizer cuts words that have it
    ASCII = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
    ANY = re.compile(r"[^\x00-/:-@\[-`{-\x7f\s]+|[!-/:-@\[-`{-~]")
    # the tokenizer removes these and joins their neighbors into one word
    CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f\x85]")
    MAXIMUM = 1 << 20  # words that are kept

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.lowercase: bool = tokenizer.normalizer.lowercase
        self.added = [each.content for each in tokenizer.get_added_tokens_decoder().values()]

    @cached_property
    def wordpiece(self) -> models.WordPiece | None:
        """The model of ASCII words: alone it takes a third of the time of its tokenizer."""
        model = self.tokenizer.model
        if isinstance(model, models.WordPiece) and model.token_to_id(model.unk_token) is not None:
            return model
        return None

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self | None:
        """Return the words of a tokenizer that splits texts as BERT's does; None for another."""
        cleans, cuts = tokenizer.normalizer, tokenizer.pre_tokenizer
        clean = isinstance(cleans, BertNormalizer) and cleans.clean_text
        return cls(tokenizer) if clean and isinstance(cuts, BertPreTokenizer) else None

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= self.MAXIMUM:
            self.clear()
        self[word] = ids = tuple(self.tokenizer.encode(word, add_special_tokens=False).ids)
        return ids

    def of_pieces(self, pieces: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each piece (`structure.bags`)."""
        if len(self) >= self.MAXIMUM:
            self.clear()
        return [self.get(each) or self._of_piece(each) for each in pieces]

    def _of_piece(self, piece: str) -> tuple[int, ...]:
        if self.wordpiece is None or not piece.isascii():
            return self[piece]
        lower = piece.lower() if self.lowercase else piece
        parts = lower.replace("_", " _ ").split() if "_" in piece else [lower]
        for part in parts:
            if part not in self:
                self[part] = tuple(token.id for token in self.wordpiece.tokenize(part))
        self[piece] = ids = tuple(chain.from_iterable(map(self.__getitem__, parts)))
        return ids

    def is_special(self, text: str) -> bool:
        """Return whether the tokens of a text are not those of its pieces and signs."""
        return bool(self.CONTROL.search(text)) or any(each in text for each in self.added)

    def ids(self, text: str) -> array[int]:
        """Return the tokens of a text."""
        if self.is_special(text):
            return array("I", self.tokenizer.encode(text, add_special_tokens=False).ids)
        ascii = text.isascii()  # lower case is the same in all libraries
        text = text.lower() if ascii and self.lowercase else text
        words = (self.ASCII if ascii else self.ANY).findall(text)
        return array("I", chain.from_iterable(map(self.__getitem__, words)))
