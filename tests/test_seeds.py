"""Randomness depends on the seed and the record, and on nothing else."""

from __future__ import annotations

import json

from conftest import Run

from structkit.seeds import key
from tests.jsonl import lines

RECORD = {"language": "python", "code": "a = b + c + d + e + f + g"}
LINES = lines(*({"id": f"r{number}", **RECORD} for number in range(20))).encode().splitlines()
FLAGS = ("mask-entities", "--mask-ratio", "0.5")


def test_keys_stay_what_they_are() -> None:
    # blake2b(b"0\0doc-1", digest_size=8), as coreutils' `b2sum -l 64` gives it
    assert 0x5BFAEFB833BCED38 == key(0, "doc-1")


def test_the_same_record_gets_the_same_bytes_in_any_order(run: Run) -> None:
    forward = run(*FLAGS, input=b"\n".join(LINES)).stdout.splitlines()
    backward = run(*FLAGS, "--workers", "2", input=b"\n".join(LINES[::-1])).stdout.splitlines()
    assert 20 == len(forward)
    assert forward == backward[::-1]
    assert 1 < len({str(json.loads(line)["entities"]) for line in forward})
    assert forward != run(*FLAGS, "--seed", "1", input=b"\n".join(LINES)).stdout.splitlines()
