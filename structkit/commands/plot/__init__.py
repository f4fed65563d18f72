"""Draw embeddings, ranking probabilities, losses, trees."""

from __future__ import annotations

from structkit.commands.plot import embeddings, losses, ranks, trees
from structkit.settings import Group

COMMAND = Group(
    name="plot",
    help="Draw what the papers draw, to .svg, .png or .pdf (extra: plot).",
    below={each.COMMAND.name: each.COMMAND for each in (embeddings, ranks, losses, trees)},
    reads="embeddings: `id`, `embedding`; ranks: `query_id`, `doc_id`, `score`; "
    "losses: `step`, `loss`; trees: `tree`, `FIELD_tree`",
    examples="""
structkit plot embeddings pages.npy queries.jsonl -o embeddings.svg
structkit parse-trees sentences.jsonl --field text | structkit plot trees -o trees.svg
""",
)
