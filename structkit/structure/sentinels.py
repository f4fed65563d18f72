"""T5's sentinels: entities out of a text and back into it."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from structkit.errors import UserError

COUNT = 100  # T5 has <extra_id_0> … <extra_id_99>
SENTINELS = tuple(f"<extra_id_{number}>" for number in range(COUNT))
SENTINEL = re.compile(r"<extra_id_(\d+)>")


class Masked(NamedTuple):
    """A text with its entities replaced, what a model shall predict, and the entities."""

    masked: str
    target: str
    entities: list[str]


def mask(
    text: str,
    spans: Iterable[tuple[int, int]],
    *,
    max_entities: int = COUNT - 1,
    only: Collection[str] | None = None,
    repeat: bool = True,
) -> Masked:
    """Replace the k-th distinct entity by `<extra_id_k>`, wherever it occurs among the spans.

    Entities beyond `max_entities`, and those not in `only`, stay as text. `repeat=False` gives
    each span a sentinel of its own (T5's span corruption). Source: SANTA, Eq. 6; the target's
    closing sentinel is the released code's.

    >>> mask("a = b + a", [(0, 1), (4, 5), (8, 9)])
    Masked(masked='<extra_id_0> = <extra_id_1> + <extra_id_0>', target='<extra_id_0> a \
<extra_id_1> b <extra_id_2>', entities=['a', 'b'])
    """
    numbers: dict[str, int] = {}
    entities: list[str] = []
    pieces: list[str] = []
    last = 0
    for start, end in spans:
        entity = text[start:end]
        # the same entity takes the same sentinel (SANTA, Eq. 6)
        number = numbers.get(entity) if repeat else None
        if number is None:
            if len(entities) == max_entities or (only is not None and entity not in only):
                continue
            number = numbers[entity] = len(entities)
            entities.append(entity)
        pieces += text[last:start], SENTINELS[number]
        last = end
    pieces.append(text[last:])
    return Masked("".join(pieces), target(entities), entities)


def target(entities: Sequence[str]) -> str:
    """What the decoder shall write: every sentinel with its entity, then a closing sentinel.

    >>> target(["a", "b"])
    '<extra_id_0> a <extra_id_1> b <extra_id_2>'
    """
    pairs = [f"{SENTINELS[number]} {entity}" for number, entity in enumerate(entities)]
    return " ".join([*pairs, SENTINELS[len(entities)]])


def unmask(masked: str, entities: Sequence[str]) -> str:
    """The text that was masked.

    >>> unmask("<extra_id_0> = <extra_id_1> + <extra_id_0>", ["a", "b"])
    'a = b + a'
    """
    return SENTINEL.sub(lambda match: entities[int(match[1])], masked)


def refuse_sentinels(text: str) -> None:
    """Raise if the text holds a sentinel already: undoing the mask would be ambiguous."""
    if "<extra_id_" in text and (found := SENTINEL.search(text)):
        raise UserError(f"the text already holds the sentinel {found[0]}", "was it masked before?")


def draw(entities: Sequence[str], ratio: float, rng: random.Random) -> set[str]:
    """A share of the distinct entities: max(1, ⌊ratio·n + 0.5⌋) of them.

    >>> draw(["a", "b"], 0.5, random.Random(0)) <= {"a", "b"}
    True
    """
    distinct = list(dict.fromkeys(entities))
    count = max(1, int(ratio * len(distinct) + 0.5))
    return set(rng.sample(distinct, count))


_TOKEN = re.compile(r"\w+|[^\w\s]")


def random_spans(
    text: str, ratio: float, rng: random.Random, *, mean_length: float = 3.0
) -> list[tuple[int, int]]:
    """T5's span corruption: spans of words and signs that cover about `ratio` of the text.

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
    count = min(max(1, round(noise / mean_length)), len(tokens) - noise, COUNT - 1)
    masked, kept = _pieces(noise, count, rng), _pieces(len(tokens) - noise, count, rng)
    spans, at = [], 0
    for skip, take in zip(kept, masked, strict=True):
        at += skip
        spans.append((tokens[at][0], tokens[at + take - 1][1]))
        at += take
    return spans


def _pieces(total: int, count: int, rng: random.Random) -> list[int]:
    """`total` cut into `count` random pieces of at least one."""
    cuts = [0, *sorted(rng.sample(range(1, total), count - 1)), total]
    return [end - start for start, end in zip(cuts, cuts[1:], strict=False)]
