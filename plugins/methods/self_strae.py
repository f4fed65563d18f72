"""Self-StrAE: StrAE on trees that the model makes by merging the most similar neighbors.

Records: `text`, or a `tree` whose leaves are the words.
Source: Opper et al. 2023, "StrAE: Autoencoding for Pre-Trained Embeddings using Explicit
Structure" (https://aclanthology.org/2023.emnlp-main.469), section 5 and appendix B.
"""

from __future__ import annotations

from structkit.learning.strae.channels import ChannelSettings
from structkit.settings import settings_class


@settings_class
class Method(ChannelSettings):
    """Settings of Self-StrAE; for WikiText-103 the paper has a rate of 5e-5 and temperature 0.6."""

    example = "structkit train self-strae sentences.jsonl -o models/self-strae"
