"""Self-StrAE: StrAE on trees that the model makes by merging the most similar neighbors.

Records: `text`, or a `tree` whose leaves are the words.
Source: Opper et al. 2023, "StrAE: Autoencoding for Pre-Trained Embeddings using Explicit
Structure" (https://aclanthology.org/2023.emnlp-main.469), section 5 and appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from structkit.learning.strae.settings import StraeSettings


@dataclass(frozen=True)
class Method(StraeSettings):
    """Settings of Self-StrAE; for WikiText-103 the paper has 5e-5, temperature 0.6, range 1e-4."""

    example: ClassVar[str] = "structkit train self-strae sentences.jsonl -o models/self-strae"
