"""T5's sentinels: entities out of a text and back into it.

Tests: tests/commands/test_mask_entities.py.
"""

import random
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from structkit.errors import UserError
from structkit.structure import Span

MASKED_REMEDY = "leave the record out, or mask the original text"
MAX_SENTINELS = 100  # T5 has <extra_id_0> … <extra_id_99>
SENTINELS = tuple(f"<extra_id_{number}>" for number in range(MAX_SENTINELS))
SENTINEL = re.compile(r"<extra_id_(\d+)>")


class Masked(NamedTuple):
    """Text with its entities replaced, the text that a model should predict, and the entities."""

    masked: str
    target: str
    entities: list[str]


def mask(
    text: str,
    spans: Sequence[Span],
    *,
    max_entities: int = MAX_SENTINELS - 1,
    only: Collection[str] | None = None,
) -> Masked:
    """Replace the k-th distinct entity by `<extra_id_k>`, wherever it occurs among the spans.

    Entities beyond `max_entities`, and those not in `only`, stay as text. Source: SANTA, Eq. 6;
    the target's closing sentinel is the released code's.

    >>> mask("a = b + a", [(0, 1), (4, 5), (8, 9)]).masked
    '<extra_id_0> = <extra_id_1> + <extra_id_0>'
    """
    free = iter(SENTINELS[:max_entities])
    pieces_of: dict[str, str] = {}
    parts: list[str] = []
    add = parts.append
    last = 0
    for start, end in spans:
        entity = text[start:end]
        piece = pieces_of.get(entity)
        if piece is None:
            piece = next(free, entity) if only is None or entity in only else entity
            pieces_of[entity] = piece  # the same entity takes the same sentinel (SANTA, Eq. 6)
        add(text[last:start])
        add(piece)
        last = end
    add(text[last:])
    entities = [entity for entity, piece in pieces_of.items() if piece is not entity]
    return Masked("".join(parts), target(entities), entities)


def mask_spans(text: str, spans: Sequence[Span]) -> Masked:
    """Replace every span by a sentinel of its own, as T5's span corruption does.

    >>> mask_spans("a b a", [(0, 1), (4, 5)])
    Masked(masked='<extra_id_0> b <extra_id_1>', target='<extra_id_0> a <extra_id_1> a \
<extra_id_2>', entities=['a', 'a'])
    """
    parts: list[str] = []
    last = 0
    for (start, end), sentinel in zip(spans, SENTINELS, strict=False):
        parts += text[last:start], sentinel
        last = end
    parts.append(text[last:])
    entities = [text[start:end] for start, end in spans]
    return Masked("".join(parts), target(entities), entities)


def target(entities: Sequence[str]) -> str:
    """Return the decoder's text: every sentinel with its entity, then a closing sentinel.

    >>> target(["a", "b"])
    '<extra_id_0> a <extra_id_1> b <extra_id_2>'
    """
    pairs = [f"{SENTINELS[number]} {entity}" for number, entity in enumerate(entities)]
    return " ".join([*pairs, SENTINELS[len(entities)]])


def refuse_sentinels(text: str) -> None:
    """Raise if the text holds a sentinel already: undoing the mask would be ambiguous."""
    if "<extra_id_" in text and (match := SENTINEL.search(text)):
        raise UserError(f"the text already holds the sentinel {match[0]}", MASKED_REMEDY)


def draw(entities: Sequence[str], ratio: float, rng: random.Random) -> set[str]:
    """Draw a share of the distinct entities: max(1, ⌊ratio·n + 0.5⌋) of them.

    >>> draw(["a", "b"], 0.5, random.Random(0)) <= {"a", "b"}
    True
    """
    distinct = list(dict.fromkeys(entities))
    count = max(1, int(ratio * len(distinct) + 0.5))
    return set(rng.sample(distinct, count))


MEAN_SPAN_TOKENS = 3.0  # tokens of a span
_TOKEN = re.compile(r"\w+|[^\w\s]")


def random_spans(
    text: str,
    ratio: float,
    rng: random.Random,
    *,
    max_spans: int = MAX_SENTINELS - 1,
) -> list[Span]:
    """Corrupt spans as T5: words and punctuation that cover about `ratio` of the text.

    The number of spans and of masked tokens is fixed, their lengths and places are random; a text
    starts unmasked. Source: T5 (Raffel et al., 2020), section 3.1.4; noise density 0.15 and mean
    length 3 are its defaults.

    >>> random_spans("a b c d e f g h", 0.25, random.Random(1))
    [(12, 15)]
    """
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    noise = min(max(1, round(len(tokens) * ratio)), len(tokens) - 1)
    if noise < 1:
        return []
    count = min(max(1, round(noise / MEAN_SPAN_TOKENS)), len(tokens) - noise, max_spans)
    masked, kept = _pieces(noise, count, rng), _pieces(len(tokens) - noise, count, rng)
    spans: list[Span] = []
    at = 0
    for skip, take in zip(kept, masked, strict=True):
        at += skip
        spans.append((tokens[at][0], tokens[at + take - 1][1]))
        at += take
    return spans


def _pieces(total: int, count: int, rng: random.Random) -> list[int]:
    """Split `total` into `count` random numbers of at least one."""
    cuts = [0, *sorted(rng.sample(range(1, total), count - 1)), total]
    return [end - start for start, end in zip(cuts, cuts[1:], strict=False)]
