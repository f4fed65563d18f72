"""The command line: one file a command, its flags beside its name. May import every room."""

from structkit.cli.main import main as main
