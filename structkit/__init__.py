"""Composable command-line tools for structured text: mask, vary, parse, train, encode, search."""

import os

__version__ = "0.1.0"

# read when torch is first imported, by whomever: threads that wait for each other sleep, because
# on a busy machine spinning threads cost twice the time
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
