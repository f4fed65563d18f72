"""What a plugin file provides, a module for each kind, and how a method declares its settings.

A plugin file has one class named after its kind, which extends the class of that name here: a
file of languages/ has `class Language(plugin.Language)`. A class that takes flags is a frozen
dataclass whose fields are these flags with their defaults; one without a default is required.
As part of the ground this package imports only `errors` and `settings`.
"""

from structkit.plugin.backend import Backend
from structkit.plugin.flags import configured, takes
from structkit.plugin.format import Format
from structkit.plugin.language import Language
from structkit.plugin.method import Method
from structkit.plugin.model import Model
from structkit.plugin.parser import Parser, Unparsed
from structkit.plugin.ranker import Ranker
from structkit.settings import GROUPS, bounds, check, flag_of, group_of, help_of, setting

__all__ = [
    "GROUPS",
    "Backend",
    "Format",
    "Language",
    "Method",
    "Model",
    "Parser",
    "Ranker",
    "Unparsed",
    "bounds",
    "check",
    "configured",
    "flag_of",
    "group_of",
    "help_of",
    "setting",
    "takes",
]
