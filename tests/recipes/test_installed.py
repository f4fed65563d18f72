"""The licenses of installed packages, in each of the ways in which packages state them."""

import pytest

from tests.benchmarks.installed import licensed

OLD = "License: MIT\nClassifier: License :: OSI Approved :: MIT License\n"
STATED = {
    "License-Expression: Apache-2.0\n": "Apache-2.0",
    OLD: "MIT",
    "License: UNKNOWN\nClassifier: License :: OSI Approved :: BSD License\n": "BSD License",
    "License: "
    + "all of the text " * 9
    + "\nClassifier: License :: Public Domain\n": "Public Domain",
    "Classifier: Framework :: Sphinx\n": None,
}


@pytest.mark.parametrize("stated", STATED, ids=list(map(str, STATED.values())))
def test_each_file_has_the_license_of_its_package(tmp_path, stated):
    (tmp_path / "tea").mkdir()
    for name in ("tea/__init__.py", "tea/notes.txt"):
        (tmp_path / name).touch()
    facts = tmp_path / "tea-1.2.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Tea\nVersion: 1.2\n{stated}")
    (facts / "RECORD").write_text(
        "tea/__init__.py,,\ntea/notes.txt,,\ntea-1.2.dist-info/RECORD,,\n"
    )
    record = {"path": f"{tmp_path}/tea/__init__.py", "package": "Tea", "version": "1.2"}
    expected = [{**record, "license": STATED[stated]}] if STATED[stated] else []
    assert list(licensed(str(tmp_path))) == expected
