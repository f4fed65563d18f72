"""The page of docs/examples/quickstart.ipynb, made with the site: cells and what they show."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

NOTEBOOK = Path("docs/examples/quickstart.ipynb")
PAGE, PICTURE = "guide/quickstart.md", "guide/quickstart-{}.png"


def on_files(files: Files, config: Any) -> Files:
    """Add the page and its pictures to the site."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    pictures: list[str] = []
    text = "\n\n".join(part for cell in cells for part in _parts(cell, pictures)) + "\n"
    files.append(File.generated(config, PAGE, content=text.replace("../docs/guide/", "")))
    for number, picture in enumerate(pictures):
        data = base64.b64decode(picture)
        files.append(File.generated(config, PICTURE.format(number), content=data))
    return files


def _parts(cell: dict[str, Any], pictures: list[str]) -> Iterator[str]:
    """The Markdown of a cell and of what it shows; pictures are added to `pictures`."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if picture := data.get("image/png"):
            yield f"![What the cell above draws]({Path(PICTURE.format(len(pictures))).name})"
            pictures.append(picture)
        else:
            shown = "".join(output.get("text", data.get("text/plain", "")))
            yield f'<div class="shown" markdown>\n\n```text\n{shown.rstrip()}\n```\n\n</div>'
