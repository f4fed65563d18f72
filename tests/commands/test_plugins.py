"""plugins: kind, name and one line each, as JSONL in a pipe and as a table on a terminal."""

import json

from terminals import seen

from structkit.registry import plugins


def test_one_record_each(run):
    done = run("plugins")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(plugins()) == len(records)
    assert {"kind", "name", "pack", "summary"} == set(records[0])
    assert all(record["summary"] for record in records)
    assert ("method", "santa") in {(record["kind"], record["name"]) for record in records}


def test_a_table_on_a_terminal(tmp_path):
    shown = seen(tmp_path, "plugins").splitlines()
    assert ["kind", "name", "summary"] == shown[0].split()
    assert any(line.startswith("language  python ") for line in shown)
