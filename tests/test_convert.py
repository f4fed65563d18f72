"""convert: other tools' files become records and come back; what a format cannot hold is told."""

import json
from pathlib import Path

import pytest

from structkit import registry
from structkit.commands.convert import Conversion
from structkit.interchange import Options

FIXTURES = Path("fixtures/formats")
FORMATS = registry.names("format")


def convert(files, output, source=None, target=None, part=None, rejects=None, **options):
    """One conversion, as the command makes it; the files that it wrote."""
    strict = options.pop("strict", False)
    conversion = Conversion.of(source, target, Options(**options), strict=strict, quiet=True)
    jobs = conversion.jobs([str(file) for file in files], str(output), part)
    conversion.run(jobs, rejects)
    return jobs


def lines(path):
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def write(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


@pytest.mark.parametrize("folder", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_a_folder_of_every_format(folder, tmp_path, golden):
    name = folder.name.partition(".")[0].replace("_", "-")
    records = tmp_path / "records"
    convert([folder], f"{records}/", source=name)
    found = sorted(path.name for path in records.iterdir())
    for part in found:
        golden(folder / "records" / part, (records / part).read_text("utf-8"))
    assert sorted(path.name for path in (folder / "records").iterdir()) == found


# what is written in another shape than it was read
OTHER_SHAPE = {"ptb": "one tree a line"}


@pytest.mark.parametrize("folder", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_the_same_bytes_come_back(folder, tmp_path, capsys):
    name = folder.name.partition(".")[0].replace("_", "-")
    conversion = Conversion.of(name, None)
    checked = 0
    for part, files in conversion.source.inside(str(folder)).items():
        if conversion.source.parts[part].write and name not in OTHER_SHAPE:
            back = tmp_path / Path(files[0]).name
            convert([folder / f"records/{part}.jsonl"], back, target=name, part=part, strict=True)
            assert Path(files[0]).read_bytes() == back.read_bytes()
            checked += 1
    assert checked or name in OTHER_SHAPE
    assert "" == capsys.readouterr().err


def test_every_format_has_a_fixture():
    assert FORMATS == sorted(
        {path.name.partition(".")[0].replace("_", "-") for path in FIXTURES.iterdir()}
    )
