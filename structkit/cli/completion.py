"""What a shell completes besides flags and choices: names of plugins and of measures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from structkit import registry

MEASURES = (
    *("nDCG@10", "nDCG@100", "RR@10", "RR@100", "R@10", "R@100", "R@1000", "Success@1"),
    *("Success@5", "Success@10", "P@1", "P@10", "AP", "Rprec", "Bpref", "Judged@10"),
)
Completions = list[tuple[str, str]]  # each a name, and what it is


def plugin_names(kind: str) -> Callable[[str], Completions]:
    """What completes the name of a plugin of a kind, without importing it."""

    def complete(incomplete: str) -> Completions:
        return [
            (plugin.name, brief(plugin.summary()))
            for plugin in registry.plugins()
            if plugin.kind == kind and plugin.name.startswith(incomplete)
        ]

    return complete


def brief(text: str) -> str:
    """The beginning of a description, on one line: a shell takes each line for another word.

    >>> brief("Words.") + brief("Stanza's parser: `pip install stanza` and its English models")
    "Words.Stanza's parser: `pip install stanza` and …"
    """
    return textwrap.shorten(text, 45, placeholder=" …").replace("[", r"\[")  # typer reads markup


def measures(incomplete: str) -> list[str]:
    """What completes the last of several measures in one argument."""
    before, blank, last = incomplete.rpartition(" ")
    return [before + blank + name for name in MEASURES if name.startswith(last)]
