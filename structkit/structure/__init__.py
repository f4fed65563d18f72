"""The structure of text: code, HTML, trees. May import records and below."""

from typing import TypeAlias

# A stretch of a text, text[start:end]: half-open, in characters. A plain pair, because there is
# one for every name of a program and a class would cost a tenth of the whole masking.
Span: TypeAlias = tuple[int, int]
