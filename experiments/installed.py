"""The package and license of each Python file that is installed in a folder.

    python -m experiments.installed FOLDER -o FILE

A record for each file: `path` as `structkit collect FOLDER` has it, `package`, `version` and
`license`.
Files of packages that state no license are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import orjson

CLASSIFIER = "License :: "
LONGEST = 80  # of a license's name; longer, it is the license's text


def license_of(package: Distribution) -> str:
    """The license that a package states, in the newest of the three ways."""
    metadata = package.metadata
    fields = (metadata.get_all(each) or [""] for each in ("License-Expression", "License"))
    stated = next((value for value, *_ in fields if value), "")
    classified = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier") or []
        if each.startswith(CLASSIFIER)
    ]
    if stated.strip() and len(stated) <= LONGEST and stated.upper() != "UNKNOWN":
        return " ".join(stated.split())
    return ", ".join(classified)


def licensed(folder: str) -> Iterator[dict[str, str]]:
    """The records of all Python files of the packages in a folder."""
    seen: set[str] = set()
    for package in sorted(distributions(path=[folder]), key=lambda each: each.metadata["Name"]):
        name = license_of(package)
        for file in package.files or () if name else ():
            path = str(Path(folder, file))
            if path.endswith(".py") and path not in seen:
                seen.add(path)
                facts = {"package": package.metadata["Name"], "version": package.version}
                yield {"path": path, **facts, "license": name}


if __name__ == "__main__":
    folder, _, output = sys.argv[1:]
    lines = [orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in licensed(folder)]
    Path(output).write_bytes(b"".join(lines))
