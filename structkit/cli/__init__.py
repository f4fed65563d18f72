"""The command line: one file a command, its flags beside its name. May import every room."""

from structkit.cli.app import app as app
from structkit.cli.app import main as main
