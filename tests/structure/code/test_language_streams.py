"""Code of every language as a stream: workers, shards, and texts that would hold it up."""

from __future__ import annotations

from pathlib import Path
from time import thread_time

import orjson
import pytest

from structkit.commands.mask_entities import mask_entities
from structkit.errors import UserError
from structkit.registry import load
from structkit.structure.code import grammar
from tests.conftest import Run
from tests.structure.code.test_language_laws import CODE, FIXTURES

# this grammar takes 40 s for it, inside a class; the half of it takes 7 s
SLOW = "(a)-" * 2000


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "LIMIT", 0.2)


@pytest.mark.usefixtures("impatient")
def test_a_text_that_takes_too_long_is_rejected_and_the_next_one_is_read() -> None:
    names = load("language", "csharp")().names
    start = thread_time()
    with pytest.raises(UserError) as error:
        names(SLOW)
    assert str(error.value) == "parsing takes longer than 0.2 s; leave the record out"
    assert thread_time() - start < 2
    assert names("x = y;") == [(0, 1), (4, 5)]


def test_attributes_without_a_member_are_no_slow_pattern() -> None:
    start = thread_time()
    assert load("language", "php")().names("#[A]" * 5000 + "f($x);")
    assert thread_time() - start < 2


# what nests, repeats and stays open: in most grammars something of it is ambiguous
DEEP = (
    "(",
    "[",
    "{",
    "a<b",
    "a<b<",
    "(a)(",
    "a?(b):",
    "(a)=>",
    "a(b,",
    "if(a<b>(",
    "x=>",
    "\n \t{",
)


# one for the quick tests: what differs between languages is in their laws
EACH = ["python", *(pytest.param(n, marks=pytest.mark.long) for n in CODE if n != "python")]


@pytest.mark.parametrize("language", EACH)
@pytest.mark.usefixtures("impatient")
def test_no_text_holds_the_stream_up(language: str) -> None:
    for unit in DEEP:
        start = thread_time()
        records = [{"id": "1", "language": language, "code": unit * 3000 + "name"}]
        try:
            list(mask_entities(records))
        except UserError as error:
            assert error.problem.startswith(("parsing takes longer", "the text holds no entity"))
        assert thread_time() - start < 3, unit


@pytest.mark.parametrize("language", EACH)
def test_workers_and_shards_change_nothing(language: str, run: Run, tmp_path: Path) -> None:
    lines = [
        orjson.dumps({"id": f"{language}-{number}", "code": text}) + b"\n"
        for number, text in enumerate(FIXTURES[language])
    ]
    for number in range(3):  # a block for the workers begins with every file
        (tmp_path / f"{number}.jsonl").write_bytes(b"".join(lines[number::3]))

    def masked(*flags: str) -> list[bytes]:
        files = [f"{number}.jsonl" for number in range(3)]
        command = ("mask-entities", "--language", language, "--mask-ratio", "0.5", *files, *flags)
        done = run(*command, "--on-error", "skip")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    whole = masked()
    assert len(whole) >= len(lines) - 1
    assert whole == masked("--workers", "2")
    shards = [masked("--shard", f"{index}/2") for index in range(2)]
    assert sorted(whole) == sorted(shards[0] + shards[1])
