"""Golden cases of every language: the folder of a case names the plugin that reads it."""

from pathlib import Path

import pytest

from structkit.commands.mask_entities import mask_entities
from structkit.structure.sentinels import unmask

CASES = sorted(Path("fixtures/languages").glob("*/*.txt"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden(path, golden):
    text = path.read_bytes().decode().split("---input---\n")[1].split("\n---masked---\n")[0]
    record = {"id": path.stem, "language": path.parent.name, "code": text}
    [made] = mask_entities([record])
    assert unmask(made["masked"], made["entities"]) == text
    golden(
        path,
        f"---input---\n{text}\n---masked---\n{made['masked']}\n---target---\n{made['target']}\n",
    )


def test_every_language_has_cases():
    from structkit.registry import names

    assert set(names("language")) == {path.parent.name for path in CASES}
