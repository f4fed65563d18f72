"""`structkit.mask_entities`."""

from structkit.api.stage import stage
from structkit.commands import mask_entities as command

mask_entities = stage("mask_entities", command.Masking, command.mask_entities)
