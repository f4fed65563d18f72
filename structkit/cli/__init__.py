"""The command line: flags, help and completion made of settings.

May import every room but api.
"""

from structkit.cli.main import main as main
