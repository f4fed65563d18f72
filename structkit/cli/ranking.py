"""Flags of the commands that rank hits: which rankers count how much, and what they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structkit.cli.completion import plugin_names
from structkit.cli.options import Preset

if TYPE_CHECKING:
    from structkit.ranking.weights import Weights

RANKERS = "Rankers"
RankerFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--ranker",
        metavar="NAME[=WEIGHT]",
        rich_help_panel=RANKERS,
        autocompletion=plugin_names("ranker"),
        help="A ranker to use; `structkit plugins` lists them. None is used unless named.",
    ),
]
PresetFlag = Annotated[
    Preset | None,
    typer.Option("--for", rich_help_panel=RANKERS, help="A preset of rankers and weights."),
]
WeightsFile = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="FILE",
        rich_help_panel=RANKERS,
        help="Weights that rerank --fit wrote.",
    ),
]
GroupFlag = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="FIELD",
        rich_help_panel=RANKERS,
        help="Hits with the same value of it are a group, as by `path`.",
    ),
]
RepeatsFlag = Annotated[
    float | None,
    typer.Option(
        "--repeats",
        min=0,
        max=1,
        rich_help_panel=RANKERS,
        help="What a hit counts for each better one of its group; 0 keeps one.  "
        "[default: 0, or that of the weights]",
    ),
]
EmbeddingsFlag = Annotated[
    str | None,
    typer.Option(
        "--embeddings",
        metavar="FILE",
        rich_help_panel=RANKERS,
        help="maxsim: embeddings of the documents, .npy or JSONL.",
    ),
]
QueryEmbeddingsFlag = Annotated[
    str | None,
    typer.Option(
        "--query-embeddings",
        metavar="FILE",
        rich_help_panel=RANKERS,
        help="maxsim: embeddings of the queries.",
    ),
]


def chosen_weights(
    preset: Preset | None,
    file: str | None,
    rankers: Sequence[str] | None,
    group: str | None,
    repeats: float | None,
) -> Weights:
    """The weights that flags name."""
    from structkit.ranking.weights import chosen, weight_of

    return chosen(preset, file, dict(map(weight_of, rankers or ())), group, repeats)


def ranker_flags(**flags: Any) -> dict[str, Any]:
    """The flags of rankers that are given."""
    return {name: value for name, value in flags.items() if value is not None}
