"""What the messages of `train` advise helps: a bad command, its remedy, and then it works."""

from pathlib import Path

import pytest

from structkit.cli.main import app
from structkit.errors import UserError
from structkit.progress import quiet_block

PARTS = Path(__file__).with_name("remedy_files.txt").read_text("utf-8").split("=== ")[1:]
FILES = dict(part.split("\n", 1) for part in PARTS)
TINY = "--size tiny --vocabulary-size 400 --max-steps 1 --quiet"
SMALL = "--minimum-count 1 --max-steps 1 --quiet"

# the bad command, what it says, what is done about it
TABLE = Path(__file__).with_name("remedies.txt").read_text("utf-8")
REMEDIES = TABLE.replace("TINY", TINY).replace("SMALL", SMALL).strip().split("\n\n")


def structkit(command):
    with quiet_block(False):  # a command's --quiet ends with it
        app(command.split(), standalone_mode=False)


@pytest.mark.parametrize("lines", REMEDIES, ids=lambda lines: lines.partition("\n")[0])
def test_a_remedy_helps(tmp_path, monkeypatch, lines):
    bad, said, *remedy = lines.splitlines()
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError) as caught:
        structkit(bad)
    assert said in str(caught.value)
    for step in remedy:
        structkit(step)
    assert (tmp_path / "models" / bad.split()[1] / "structkit.json").is_file()
