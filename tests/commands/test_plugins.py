"""plugins: kind, name and one line each, as JSONL in a pipe and as a table on a terminal."""

import json
import os
import pty
import subprocess

from conftest import PROGRAM, environment

from structkit.registry import plugins


def test_one_record_each(run):
    done = run("plugins")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(plugins()) == len(records)
    assert {"kind", "name", "pack", "summary"} == set(records[0])
    assert all(record["summary"] for record in records)
    assert ("method", "santa") in {(record["kind"], record["name"]) for record in records}


def test_a_table_on_a_terminal():
    parent, child = pty.openpty()
    subprocess.run([*PROGRAM, "plugins"], stdout=child, env=environment(), check=True)
    os.close(child)
    shown = os.read(parent, 1 << 16).decode().splitlines()
    os.close(parent)
    assert ["kind", "name", "summary"] == shown[0].split()
    assert any(line.startswith("language  python ") for line in shown)
