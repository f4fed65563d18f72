"""Bytes that are nearly right: a good file with some of it changed, cut, doubled or moved."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "random"
# signs that end or open something in one format or another, and numbers that lie
ODD = st.sampled_from(
    [bytes([each]) for each in b'\n\0"\\{}[]()<>\t ']
    + b"</ <!-- ''' /* &#0; &#1114112; -1 0 1e999 NaN 99999999999999999999".split()
    + [b"\r\n", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xff" * 8, b"\x7f" + b"\xff" * 7]
)


def examples(count: int) -> settings:
    """So many examples in each round of `make soak`, a quarter of them in `make test`."""
    return settings(
        max_examples=count if LONG else -(-count // 4),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


@st.composite
def spoiled(draw: st.DrawFn, good: bytes, most: int = 4) -> bytes:
    """A good file with a few changes."""
    data = good
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 0, 1, 1, 2, 8, 100])))
        how = draw(st.sampled_from(["replace", "flip", "cut", "double", "tail"]))
        if how == "replace":
            data = data[:start] + draw(ODD | st.binary(max_size=9)) + data[end:]
        elif how == "flip" and start < len(data):
            data = (
                data[:start]
                + bytes([data[start] ^ 1 << draw(st.integers(0, 7))])
                + data[start + 1 :]
            )
        elif how == "cut":
            data = data[:start] + data[end:]
        elif how == "double":
            data = data[:start] + data[start:end] * 3 + data[end:]
        elif how == "tail":
            data = data[:start]
    return data
