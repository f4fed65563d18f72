"""ColBERT's model and its scores."""

import string
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from structkit.errors import UserError
from structkit.learning.encoders.dual_encoder import DualEncoder
from structkit.learning.encoders.encoder import Encoder
from structkit.learning.encoders.heads import Dense
from structkit.learning.encoders.models import TableModel
from structkit.learning.encoders.rows import RowTokens
from structkit.learning.training.devices import gather

ROW_DIMENSIONS = 128  # numbers of a row (ColBERT, section 4.1)
NO_ACTIVATION = {"activation_function": "torch.nn.modules.linear.Identity"}
BLOCK_PRODUCTS = 1 << 24  # products of rows in memory at a time


class ColBERT(DualEncoder):
    """Contrastive training on the rows of texts: (texts, rows, width), zeros behind the last."""

    def __init__(self, settings: Any, encoder: Encoder, negatives: int) -> None:
        add_rows(encoder, settings)
        super().__init__(settings, encoder, negatives)

    def embedded(self, inputs: Any, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return self.encoder.rows(inputs.texts[name].tokens.shortened(rows), name)[0], {}

    def shape(self, embedded: list[Tensor]) -> tuple[int, ...]:
        longest = max((each.shape[1] for each in embedded), default=1)
        return max(gather(longest)), self.width

    def scores(self, queries: Tensor, documents: Tensor) -> Tensor:
        return maxsim_scores(queries, documents)


def maxsim_scores(queries: Tensor, documents: Tensor, block: int = BLOCK_PRODUCTS) -> Tensor:
    """Return the sum over a query's rows of the best product with a row of a document.

    `queries` and `documents` are (texts, rows, dim), scores (queries, documents). Rows of zeros are
    none, and a document of none scores minus infinity. Only the products of some queries' rows are
    in memory at a time; they are computed again for the gradient. Source: ColBERT, eq. 3.

    >>> documents = torch.tensor([[[0.6, 0.8], [0.8, -0.6]], [[0.0, 1.0], [0.0, 0.0]]])
    >>> maxsim_scores(torch.eye(2)[None], documents)
    tensor([[1.6000, 1.0000]])
    """
    absent = ~documents.any(-1)  # (documents, rows)
    flat = documents.flatten(0, 1).T  # (dim, documents * rows)

    def scores(some: Tensor) -> Tensor:
        # (some, query rows, documents, rows)
        products = (some @ flat).view(*some.shape[:2], *absent.shape)
        return products.masked_fill(absent, float("-inf")).amax(-1).sum(1)

    size = max(1, block // max(1, queries.shape[1] * absent.numel()))
    if size >= len(queries):
        return scores(queries)
    again: Any = partial(checkpoint, scores, use_reentrant=False, preserve_rng_state=False)
    return torch.cat([again(some) for some in torch.split(queries, size)])


def add_rows(encoder: Encoder, settings: Any) -> None:
    """Make an encoder give a row per token, by a projection of its own or a new one.

    Errors: `UserError` for a table of token vectors.
    """
    if isinstance(encoder.model, TableModel):
        raise UserError(
            "the model is a table of token vectors, which do not depend on their text",
            "start from a transformer",
        )
    skipped = encoder.row_tokens.skipped
    if settings.skip_punctuation != bool(skipped):
        skipped = list(string.punctuation) if settings.skip_punctuation else []
    said = {"skipped": skipped, "query_expansion": settings.query_expansion}
    encoder.row_tokens = RowTokens(encoder.tokenizer, said)
    encoder.part, encoder.similarity, encoder.normalize = "tokens", "maxsim", True
    head = list(encoder.head or ())
    projects = any(isinstance(each, Dense) for each in head)
    width = settings.dimensions or (encoder.width if projects else ROW_DIMENSIONS)
    if not projects or width != encoder.width:
        config = {
            "in_features": encoder.width,
            "out_features": width,
            "bias": False,
            **NO_ACTIVATION,
        }
        encoder.head = nn.Sequential(*head, Dense(config, nn.Identity()))
