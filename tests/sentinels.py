"""The inverse of masking, which tests hold it to."""

from structkit.structure.sentinels import SENTINEL


def unmask(masked, entities):
    """Return the text that was masked."""
    return SENTINEL.sub(lambda match: entities[int(match[1])], masked)
