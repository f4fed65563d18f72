"""Wrong usage is one line that says what helps, before anything is read or written."""

import shlex
from pathlib import Path

import pytest

from tests.cli.complaints import complaint

TABLE = Path(__file__).with_name("wrong_usage.txt").read_text("utf-8").strip()


@pytest.mark.parametrize("lines", TABLE.split("\n\n"), ids=lambda lines: lines.partition("\n")[0])
def test_flags_that_are_wrong_or_do_not_go_together(here, tmp_path, lines):
    command, expected = lines.splitlines()
    assert expected in complaint(here(*shlex.split(command)), 2)
    assert [] == list(tmp_path.iterdir())
