"""`structkit.encode`."""

from structkit.api.stage import stage
from structkit.commands.encode import encoded
from structkit.learning.encode.encoding import Encoding


def _field(encoding: Encoding) -> str:
    """The field that is read."""
    return encoding.fields[0] if encoding.fields else encoding.reader.known[0]


encode = stage("encode", Encoding, encoded, field=_field)
