"""Composable command-line tools for structured text: mask, vary, parse, train, encode, search."""

import os

__version__ = "0.1.0"

# read when torch is first imported: waiting threads sleep, because spinning ones take twice the
# time on a busy machine
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
