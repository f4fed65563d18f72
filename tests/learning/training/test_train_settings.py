"""Settings of every method: their bounds, and that wrong usage is refused before any work."""

import math
import os
import pty
import resource
import subprocess
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import get_type_hints

import pytest
import typer
from conftest import PROGRAM, environment

from structkit import registry
from structkit.cli.main import Commands
from structkit.errors import UserError
from structkit.learning.training.settings import RunOptions
from structkit.progress import hushed
from structkit.settings import bounds, command_of, flag_of

METHODS = registry.names("method")


def numeric(kind):
    """The numeric settings of a class that are flags."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        if hints[field.name] in (int, float, int | None, float | None):
            yield field.name, hints[field.name] in (float, float | None)


def both(name):
    method = registry.load("method", name)
    every = [(kind, *each) for kind in (method, RunOptions) for each in numeric(kind)]
    return [each for each in every if each[1] not in method.idle_options()]


CASES = [(name, *each) for name in METHODS for each in both(name)]


@cache
def made(name):
    """The command `train NAME`: making it takes longer than what it refuses."""
    return Commands(command_of("train")).get_command(None, name)


def called(name, *flags):
    """`structkit train NAME FLAGS missing.jsonl`, here and now."""
    with hushed(False):
        made(name).main([*map(str, flags), "missing.jsonl"], standalone_mode=False)


@pytest.mark.parametrize(("name", "kind", "setting", "real"), CASES)
def test_a_number_out_of_its_bounds_is_refused_before_records_are_read(name, kind, setting, real):
    limits = bounds(kind, setting)
    low, high = limits
    assert math.isfinite(low) and math.isfinite(high)
    extremes = [-(10**30), 10**30] + ([math.nan, math.inf] if real else [])
    for value in [low - 1, high + 1, *extremes]:
        # what no computation can use is refused by every command, in words of its own
        with pytest.raises((UserError, typer.BadParameter)) as refused:
            called(name, f"{flag_of(setting)}={value}")
        assert 2 == getattr(refused.value, "status", 2)
        with pytest.raises(UserError, match=rf"^{flag_of(setting)} \S+ is not in ") as caught:
            kind(**{setting: value})
        assert 2 == caught.value.status
    for value in limits:
        with pytest.raises(UserError) as caught:
            called(name, f"{flag_of(setting)}={value}")
        assert "is not in" not in str(caught.value)


@pytest.mark.parametrize("name", METHODS)
def test_an_option_of_a_run_is_a_flag_where_it_does_something(name):
    method = registry.load("method", name)
    flags = {each.name for each in made(name).params}
    steps = method().plan(2).steps > 0
    for option in ("save_every", "log_every", "log_format"):
        assert steps == (option in flags)
    assert (steps and method.shared) == ("nproc" in flags)
    assert {"output", "overwrite", "resume", "on_error", "rejects"} <= flags


@pytest.mark.parametrize(
    ("name", "flags", "message"),
    [
        ("contrastive", "--architecture bert --pooling first-decoder-token", "bert has no decoder"),
        ("seal", "--pooling first-decoder-token", "bert has no decoder"),
        ("santa", "--alignment-weight 0 --entity-weight 0", "are both 0"),
        ("strae", "--channels 7", "is not a multiple of 7 channels"),
        ("roberta", "--embedding-size 7", "is not a multiple of 10 heads"),
        ("strae", "--overwrite --resume", "exclude each other"),
        ("strae", "--patience 1", "--patience needs --validate; add it"),
        ("strae", "-o .", "-o . names no new folder"),
        ("strae", "-o ..", "-o .. names no new folder"),
        ("strae", "-o /", "-o / names no new folder"),
        ("strae", "-o models/..", "names no new folder"),
        ("strae", "--rejects r.jsonl", "--rejects needs --on-error"),
    ],
)
def test_wrong_usage_is_refused_before_records_are_read(
    name, flags, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        called(name, *flags.split(" "))
    assert message in str(caught.value)
    assert 2 == caught.value.status
    assert [] == list(tmp_path.iterdir())


def test_a_missing_model_is_told_before_records_are_read():
    with pytest.raises(UserError, match="there is no model folder ./nowhere"):
        called("contrastive", "--model", "./nowhere")


def test_a_model_beyond_memory_is_told(run, tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "some words"}\n')
    limit = 16 << 30  # bytes of addresses
    found = run(
        *"train bi-lstm -o model --minimum-count 1 --embedding-size 100000 texts.jsonl".split(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert 1 == found.returncode
    assert found.stderr.decode().startswith("structkit: there is not enough memory; lower --batch")
    assert ["texts.jsonl"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.long
def test_what_takes_seconds_is_told_on_a_terminal(tmp_path):
    data = tmp_path / "texts.jsonl"
    data.write_text('{"text": "some words"}\n')
    command = f"train bi-lstm --minimum-count 1 --max-steps 1 -o {tmp_path / 'model'}".split()
    for more, said in ([], True), (["--overwrite", "-q"], False):
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [*PROGRAM, *command, *more, str(data)],
            stderr=child, stdout=subprocess.PIPE, env=environment(),
        )  # fmt: skip
        os.close(child)
        shown = b""
        with suppress(OSError):  # its end
            while part := os.read(parent, 1 << 16):
                shown += part
        assert 0 == process.wait(60)
        os.close(parent)
        process.stdout.close()
        assert said == (b"loading bi-lstm" in shown) == (b"making the model" in shown)
        assert not said or b"read" in shown
