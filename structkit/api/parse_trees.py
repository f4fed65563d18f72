"""`structkit.parse_trees`."""

from structkit.api.stage import stage
from structkit.commands import parse_trees as command

parse_trees = stage("parse_trees", command.Parsing, command.parse_trees)
