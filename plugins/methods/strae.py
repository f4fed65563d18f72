"""StrAE: embeddings of words, phrases and sentences, composed and decomposed along given trees.

Records: `tree`, a binary tree in brackets (`structkit parse-trees`).
Source: Opper et al. 2023, "StrAE: Autoencoding for Pre-Trained Embeddings using Explicit
Structure" (https://aclanthology.org/2023.emnlp-main.469).
"""

from __future__ import annotations

from structkit.learning.strae.channels import ChannelSettings
from structkit.learning.strae.settings import GivenTrees
from structkit.settings import settings_class


@settings_class
class Method(ChannelSettings, GivenTrees):
    """Settings of StrAE, as in the paper's appendix A."""

    example = "structkit train strae trees.jsonl -o models/strae"
