"""Base class of each kind of plugin: a plugin file provides one class named after its kind.

A file of languages/ has `class Language(plugin.Language)`. A class that takes flags is a frozen
dataclass whose fields are these flags with their defaults; a field without a default is required.
Each class lives in the room that its signatures need, which is imported on first use.

Tests: tests/test_registry.py.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from structkit.settings import setting as setting

if TYPE_CHECKING:
    from structkit.formats.interchange import Format as Format
    from structkit.learning.model import Model as Model
    from structkit.learning.training.method import Method as Method
    from structkit.ranking.reranking import Ranker as Ranker
    from structkit.searching.hits import Backend as Backend
    from structkit.structure.code.languages import Language as Language
    from structkit.structure.code.languages import Profile as Profile
    from structkit.structure.trees.parsers import Parser as Parser
    from structkit.structure.trees.parsers import Unparsed as Unparsed

MODULE_OF_CLASS = {
    "Backend": "searching.hits",
    "Format": "formats.interchange",
    "Language": "structure.code.languages",
    "Method": "learning.training.method",
    "Model": "learning.model",
    "Parser": "structure.trees.parsers",
    "Profile": "structure.code.languages",
    "Ranker": "ranking.reranking",
    "Unparsed": "structure.trees.parsers",
}


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF_CLASS:
        raise AttributeError(f"module 'structkit.plugin' has no attribute {name!r}")
    return getattr(import_module(f"structkit.{MODULE_OF_CLASS[name]}"), name)
