"""Words or subwords of a corpus as numbers, for models that learn their own embeddings.

`Vocabulary.of(sentences, …)` counts the words of sentences (sequences of words);
`vocabulary.ids(words)` gives for each word the list of its ids: one for a word vocabulary, one or
more with subwords; `len(vocabulary)` is the number of rows of an embedding table. Id 0 is the
unknown word: it stands for words too rare for their own row, so that it is trained. `save` and
`load` keep it in a model folder. `coverage` counts words and unknown ones.

Tests: tests/learning/strae/test_init_embeddings.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from structkit.errors import UserError, flag
from structkit.learning.folders import damage_error
from structkit.learning.tokens import Truncation

UNKNOWN_WORD = "<unk>"
WORDS_FILE = "vocabulary.json"
PIECES_FILE = "tokenizer.json"
WORD_START = "▁"  # start of the first subword of a word


class Coverage(Truncation):
    """Counts of words that were looked up and of unknown ones, as messages.

    `fate` describes the treatment of unknown words. The counts are not part of a checkpoint: a
    resumed training reads all its records again.
    """

    def __init__(self, fate: str = "are not in the vocabulary and share one embedding") -> None:
        super().__init__()
        self.fate = fate
        self.words: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.without: Counter[str] = Counter()  # texts without a node of a kind

    def add(self, kind: str, words: int, unknown: int) -> None:
        """Count words (`words` or `pieces`) and the unknown ones among them."""
        self.words[kind] += words
        self.unknown[kind] += unknown

    def messages(self, limit: str = "") -> list[str]:
        lines = super().messages(limit)
        for kind, unknown in sorted((+self.unknown).items()):
            words = self.words[kind]
            lines.append(f"{unknown:,} of {words:,} {kind} ({unknown / words:.1%}) {self.fate}")
        for kind, texts in (+self.without).items():
            lines.append(f"texts without {kind}, and so without a row: {texts:,}")
        return lines


class Vocabulary:
    """Lower-case words with a row each, or subwords of a byte-pair encoding trained on them."""

    def __init__(self, words: Sequence[str], bpe: Any = None) -> None:
        self.words, self.bpe = list(words), bpe
        self.coverage = Coverage()
        self._ids = {word: [number] for number, word in enumerate(self.words)}
        self._pieces: dict[str, list[int]] = {}

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sequence[str]],
        *,
        subwords: bool = False,
        size: int = 25_000,
        minimum_count: int = 2,
    ) -> Vocabulary:
        """Return words with `minimum_count` occurrences, by frequency, or `size` subwords.

        Errors: `UserError` if no word is left.
        """
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(map(str.lower, sentence))
        if subwords:
            return cls.of_pieces(train_pieces(counts, size))
        kept = [word for word, count in counts.items() if count >= minimum_count]
        kept.sort(key=lambda word: (-counts[word], word))
        if not kept:
            raise UserError(
                f"no word occurs {minimum_count} times",
                f"lower {flag('minimum_count')}, or use {flag('subwords')}",
            )
        return cls([UNKNOWN_WORD, *(word for word in kept if word != UNKNOWN_WORD)])

    @classmethod
    def of_pieces(cls, bpe: Any) -> Vocabulary:
        """Return the subwords of a byte-pair encoding."""
        numbers = bpe.get_vocab()
        return cls(sorted(numbers, key=numbers.__getitem__), bpe)

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Sequence[str]) -> list[list[int]]:
        """Return the ids of each word: one, or its subwords'; at least one."""
        words = [word.lower() for word in words]
        if self.bpe is not None:
            return self._ids_of_pieces(words)
        known, unknown = self._ids, [0]
        ids_of = [known.get(word, unknown) for word in words]
        self.coverage.add("words", len(ids_of), sum(ids is unknown for ids in ids_of))
        return ids_of

    def _ids_of_pieces(self, words: Sequence[str]) -> list[list[int]]:
        cache = self._pieces
        new = [word for word in dict.fromkeys(words) if word not in cache]
        for word, encoding in zip(new, self.bpe.encode_batch(new), strict=True):
            cache[word] = encoding.ids or [0]
        ids_of = [cache[word] for word in words]
        self.coverage.add("pieces", sum(map(len, ids_of)), sum(ids.count(0) for ids in ids_of))
        return ids_of

    def surfaces(self, words: Sequence[str]) -> list[str]:
        """Return the leaves of a sentence: words, or the letters of their subwords."""
        if self.bpe is None:
            return list(words)
        surfaces: list[str] = []
        for word in words:
            read = word.lower()
            letters = word if len(word) == len(read) else read
            cut = self.bpe.encode(read)
            pieces = []
            for name, (start, end) in zip(cut.tokens, cut.offsets, strict=True):
                # the mark of a word's start may be a separate subword without letters
                pieces.append(WORD_START if name == WORD_START else letters[start:end])
            surfaces += pieces or [word]
        return surfaces

    def text(self, number: int) -> str:
        """Return the word or subword of an id, as people read it."""
        return self.words[number].removeprefix(WORD_START)

    def save(self, folder: Path) -> None:
        """Write `vocabulary.json`, and `tokenizer.json` where there are subwords."""
        content: dict[str, Any] = {"subwords": self.bpe is not None}
        if self.bpe is None:
            content["words"] = self.words
        else:
            self.bpe.save(str(folder / PIECES_FILE))
        (folder / WORDS_FILE).write_bytes(orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE))

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Load what `save` wrote. Errors: `UserError` if a file is missing or damaged."""
        try:
            content = orjson.loads((folder / WORDS_FILE).read_bytes())
            if not content["subwords"]:
                return cls(content["words"])
            bpe = Tokenizer.from_str((folder / PIECES_FILE).read_text("utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damage_error(f"cannot be read: {error}", folder / WORDS_FILE) from None
        return cls.of_pieces(bpe)


def train_pieces(counts: Counter[str], size: int) -> Any:
    """Train a byte-pair encoding of at most `size` subwords on words and their counts.

    Subwords consist of characters, the thousand most frequent ones, so that people can read a tree
    whose leaves are subwords; other characters are unknown.
    """
    bpe: Any = Tokenizer(models.BPE(unk_token=UNKNOWN_WORD, fuse_unk=True))
    bpe.normalizer = normalizers.NFC()
    bpe.pre_tokenizer = pre_tokenizers.Metaspace(WORD_START)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[UNKNOWN_WORD],
        limit_alphabet=1000,
        show_progress=False,
    )
    # each word as often as it occurs, so that merges follow the text
    texts = (" ".join([word] * count) for word, count in sorted(counts.items()))
    bpe.train_from_iterator(texts, trainer)
    return bpe
