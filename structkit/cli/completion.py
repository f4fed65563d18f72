"""What a shell completes besides flags and choices: names of plugins."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from structkit import registry

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
