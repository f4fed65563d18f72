"""The notebook of docs/examples/ runs, and shows what comes of it."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path("docs/examples/quickstart.ipynb")


def texts(notebook):
    """What is printed or shown below each cell; of a picture its words."""
    return [
        [each.get("text") or each["data"]["text/plain"] for each in cell.get("outputs", [])]
        for cell in notebook.cells
    ]


@pytest.mark.long
def test_it_shows_what_comes_of_it(tmp_path, monkeypatch, golden):
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    kept = nbformat.read(NOTEBOOK, as_version=4)
    ran = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(ran, timeout=120, resources=where, record_timing=False).execute()
    [picture] = [
        each["data"]["image/png"]
        for cell in ran.cells
        for each in cell.get("outputs", [])
        if "image/png" in each.get("data", {})
    ]
    assert len(picture) > 4000
    if texts(kept) != texts(ran):  # another matplotlib draws other bytes of the same picture
        ran.metadata["language_info"] = {"name": "python"}
        golden(NOTEBOOK, nbformat.writes(ran) + "\n")
    assert NOTEBOOK.stat().st_size < 60_000
