"""Help and wrong flags are told without importing what only the work needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment
from imported import imported

from structkit import registry
from structkit.settings import COMMANDS


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_light(command: str) -> None:
    heavy, page = imported(*([command] if command else []), "--help")
    assert set() == heavy
    assert f"Usage: structkit {command}".strip().encode() in page


def test_a_search_of_embeddings_reads_no_words(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": "1", "embedding": [1.0, 0.0]}\n')
    heavy, run = imported("search", str(path), "--queries", str(path))
    assert not heavy & {"scipy", "torch"}
    assert b'"doc_id":"1"' in run


def test_html_is_read_without_markdown(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b'{"id": "1", "html": "<p>tea"}\n')
    heavy, written = imported("html-variants", str(path))
    assert {"lxml"} == heavy
    assert b'"tagged":"<p>tea</p>"' in written


@pytest.mark.parametrize("method", registry.names("method"))
def test_help_of_a_method_is_light(method: str) -> None:
    heavy, page = imported("train", method, "--help")
    assert heavy <= {"numpy"}  # a plan of steps shuffles with it
    assert f"Usage: structkit train {method}".encode() in page


def test_a_wrong_flag_of_a_method_is_told_without_its_model() -> None:
    script = (
        "import sys; from structkit import registry\n"
        "from structkit.errors import UserError\n"
        "method = registry.load('method', 'seal')\n"
        "for wrong in ({'epochs': 0}, {'model': chr(0xdcff)}):\n"
        "    try: method(**wrong)\n"
        "    except UserError as error: print(error.problem.encode('ascii', 'replace').decode())\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment())
    told = ["--epochs 0 is not in 1 ? 1,000,000", "--model ? is not UTF-8", "False"]
    assert told == done.stdout.decode().splitlines()
