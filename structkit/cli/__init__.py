"""The command line: flags, help, completion and manual pages made of settings.

May import every room but api.
"""

from structkit.cli.main import main as main
