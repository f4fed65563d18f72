"""--ray, without Ray: what it refuses before any work, and what it says where Ray is missing."""

import sys
from pathlib import Path

import pytest
from conftest import status_of

from structkit.errors import UserError
from structkit.records.cluster import check_version
from structkit.records.stream import InputOptions, Stream, WorkerOptions
from structkit.settings import make
from structkit.version import __version__

GOOD = '{"id": "1", "language": "python", "code": "x = y"}\n'
ADDRESS = "127.0.0.1:6379"


def test_the_processors_of_a_cluster_are_not_chosen():
    with pytest.raises(UserError, match="--workers is for --ray local") as raised:
        Stream.of(make(WorkerOptions, {"ray": ADDRESS, "workers": 2}), InputOptions())
    assert 2 == raised.value.status


def test_pair_refuses_it_for_what_is_read_here(capsys):
    for flags in (["--queries", "q"], ["--negatives-from", "run"]):
        words = ("pair", *flags, "--corpus", "c", "--qrels", "j", "--ray", "local")
        assert 2 == status_of(*words)
        assert f"{flags[0]} takes no --ray; leave one out" in capsys.readouterr().err


def test_without_ray_one_line_says_what_installs_it(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    Path("in.jsonl").write_text(GOOD)
    words = ("mask-entities", "in.jsonl", "-o", "out.jsonl", "--ray", "local")
    assert 1 == status_of(*words)
    told = "structkit: this needs the package ray; pip install ray\n"
    assert told == capsys.readouterr().err
    assert ["in.jsonl"] == [path.name for path in tmp_path.iterdir()]


def test_another_version_on_a_node_is_an_error():
    check_version(__version__)
    told = r"has structkit .*, and not 0\.0\.7; install the same"
    with pytest.raises(UserError, match=told) as e:
        check_version("0.0.7")
    assert 2 == e.value.status  # no record is to blame, also with --on-error skip
