"""Settings of every method: their bounds, and that wrong usage is refused before any work."""

import math
import resource
import shlex
from functools import cache

import pytest
from conftest import WARM
from terminals import shown

from structkit import registry
from structkit.cli.main import Commands
from structkit.command import command_of
from structkit.errors import UserError
from structkit.progress import quiet_block
from structkit.settings import settings_of

METHODS = registry.names("method")
NUMBERS = (int, float, int | None, float | None)


@cache
def made(name):
    """The command `train NAME`: making it takes longer than what it refuses."""
    return Commands(command_of("train")).get_command(None, name)


def called(name, *flags):
    """`structkit train NAME FLAGS missing.jsonl`, here and now."""
    with quiet_block(False):
        made(name).main([*map(str, flags), "missing.jsonl"], standalone_mode=False)


@pytest.mark.parametrize("name", METHODS)
def test_every_number_has_two_bounds(name):
    for setting in settings_of(registry.load("method", name)):
        if setting.hint in NUMBERS:
            assert math.isfinite(setting.low) and math.isfinite(setting.high), setting


def test_a_batch_has_at_most_a_million_records():
    contrastive = registry.load("method", "contrastive")
    assert 1_000_000 == contrastive(batch_size=1_000_000).batch_size
    with pytest.raises(UserError, match="--batch-size 1000001 is not "):
        contrastive(batch_size=1_000_001)


def test_a_missing_model_is_told_before_records_are_read():
    with pytest.raises(UserError, match="there is no model folder ./nowhere"):
        called("contrastive", "--model", "./nowhere")


@pytest.mark.long
def test_a_model_beyond_memory_is_told(run, tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "some words"}\n')
    limit = 16 << 30  # bytes of addresses
    found = run(
        *"train bi-lstm -o model --minimum-count 1 --embedding-size 100000 texts.jsonl".split(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert 1 == found.returncode
    told = found.stderr.decode()
    assert told.startswith("structkit: there is not enough memory") and "; lower --batch" in told
    assert ["texts.jsonl"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.long
def test_what_takes_seconds_is_told_on_a_terminal(tmp_path):
    data = tmp_path / "texts.jsonl"
    data.write_text('{"text": "some words"}\n' * 50_000)
    command = f"train bi-lstm --minimum-count 1 --max-steps 1 -o {tmp_path / 'model'}".split()
    # what a terminal gets of stderr
    words = shlex.join([*WARM, *command, str(data)])
    told = shown(tmp_path, ["sh", "-c", f"{words} 2>&1 >/dev/null"])
    assert all(text in told for text in ("loading bi-lstm", "making the model", "read: "))
