"""`structkit.encode`."""

from structkit.api.stage import stage
from structkit.commands.encode import encoded
from structkit.learning.encode.encoding import Encoding

encode = stage("encode", Encoding, encoded)
