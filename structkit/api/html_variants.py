"""`structkit.html_variants`."""

from structkit.api.stage import stage
from structkit.commands import html_variants as command

html_variants = stage("html_variants", command.Variation, command.html_variants)
