"""--ray, where Ray is installed: the bytes of one process, also when a machine is lost."""

import gzip
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest
from conftest import PROGRAM, as_at_a_prompt, completed, environment

from tests.records.processes import in_session

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not find_spec("ray"), reason="the extra ray is not installed"),
]

CODE = Path("fixtures/code/train.jsonl").resolve()

# each record leaves a mark: the machine, the process and its id; then it waits for a go, or ends
# its process
SLOW = """
import os, sys, time
import ray
from structkit.records.jsonl import Stage
from structkit.records.stream import Stream
from structkit.errors import UserError

def slow(record):
    node = ray.get_runtime_context().get_node_id()
    with open(record["marks"], "a") as marks:
        marks.write(f"{node} {os.getpid()} {record['id']}\\n")
    if record.get("dies"):
        os._exit(1)
    while not os.path.exists(record["go"]):
        time.sleep(0.05)
    return {**record, "made": len(record["id"])}

try:
    Stream(["in.jsonl"], sys.argv[2], ray=sys.argv[1]).run(Stage(slow))
except UserError as error:
    sys.exit(str(error))
"""


@pytest.fixture(scope="module")
def short():
    """A folder with a name short enough for a socket in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield folder


@pytest.fixture(scope="module")
def clusters(short):
    """What starts a cluster of two nodes with one processor each."""
    handler = signal.getsignal(signal.SIGTERM)  # Ray replaces it
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_TMPDIR", short)
        (Path(short) / "ray").mkdir()
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", os.urandom(32).hex())
        patch.setenv("RAY_health_check_period_ms", "300")  # otherwise a loss is seen after 30 s
        patch.setenv("RAY_worker_niceness", "0")
        from ray.cluster_utils import Cluster  # reads the environment

        node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=node)
        cluster.node = node
        try:
            yield cluster
        finally:
            cluster.shutdown()
            signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def cluster(clusters):
    """Two nodes, the second of which a test may kill."""
    clusters.second = clusters.add_node(**clusters.node)
    clusters.wait_for_nodes()
    yield clusters
    for node in [*clusters.worker_nodes]:
        clusters.remove_node(node)


def parts(folder):
    """Two files, one of them compressed, with a bad record in the second."""
    lines = CODE.read_bytes().splitlines(keepends=True) * 12  # several blocks
    lines.insert(3000, b'{"id": "bad"}\n')
    first, second = folder / "a.jsonl", folder / "b.jsonl.gz"
    first.write_bytes(b"".join(lines[:2000]))
    second.write_bytes(gzip.compress(b"".join(lines[2000:])))
    return first, second


def masked(folder, *flags, files=None):
    """Status, stderr, and what mask-entities writes."""
    folder.mkdir(exist_ok=True)
    command = [*PROGRAM, "mask-entities", *flags, *map(str, files or parts(folder.parent))]
    done = completed(command, cwd=folder, timeout=300)
    return done.returncode, done.stderr, {p.name: p.read_bytes() for p in folder.iterdir()}


def test_a_cluster_writes_the_bytes_of_one_process(tmp_path, cluster):
    flags = ["-o", "out.jsonl", "--on-error", "skip", "--rejects", "rejects.jsonl", "--shard"]
    here = masked(tmp_path / "here", *flags, "0/2")
    there = masked(tmp_path / "there", *flags, "0/2", "--ray", cluster.address)
    assert here[0] == 0 and {*here[2]} == {"out.jsonl", "rejects.jsonl"}
    assert b'"id":"bad"' in here[2]["rejects.jsonl"]
    assert here == there


def test_an_error_has_the_line_and_status_of_one_process(tmp_path, cluster):
    here, there = (
        masked(tmp_path / "out", "-o", "out.jsonl", *flags)
        for flags in ([], ["--ray", cluster.address])
    )
    assert (1, {}) == (here[0], here[2]) and b"b.jsonl.gz:1001: field" in here[1]
    assert here == there


def slow(folder, address, *bad, output="out.jsonl"):
    """The script at work on 64 records of 40 kB, those in `bad` deadly; what it prints is kept."""
    marks = folder / "marks"
    marks.touch()
    places = {"marks": str(marks), "go": str(folder / "go")}
    records = [{"id": f"{n}", "text": "x" * 40_000, **places} for n in range(64)]
    for number in bad:
        records[number]["dies"] = True
    (folder / "in.jsonl").write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in records))
    with (folder / "printed").open("wb") as printed:
        program = subprocess.Popen(
            [sys.executable, "-c", SLOW, address, output],
            cwd=folder,
            env=environment(PYTHONPATH=os.getcwd()),
            stdout=printed,
            stderr=subprocess.PIPE,
        )
    return program, marks, [{**each, "made": len(each["id"])} for each in records]


def seen(marks, column, count):
    """What stands in a column of the marks, once there are `count` different ones."""
    for _ in range(2000):
        values = [line.split()[column] for line in marks.read_text().splitlines()]
        if len(found := dict.fromkeys(values)) >= count:
            return list(found)
        time.sleep(0.05)
    raise AssertionError(f"{count} did not begin in 100 s: {found}")


@pytest.mark.parametrize("lost", ["node", "worker"])
def test_what_is_lost_is_done_again_and_nothing_twice(tmp_path, cluster, lost):
    program, marks, expected = slow(tmp_path, cluster.address, output="-")
    if lost == "node":
        seen(marks, 0, 2)
        cluster.remove_node(cluster.second, allow_graceful=False)
    else:
        os.kill(int(seen(marks, 1, 2)[1]), signal.SIGKILL)
    (tmp_path / "go").touch()
    _, stderr = program.communicate(timeout=300)
    assert (0, b"") == (program.returncode, stderr)
    made = (tmp_path / "printed").read_bytes().splitlines()
    assert expected == [orjson.loads(line) for line in made]
    begun = Counter(line.split()[2] for line in marks.read_text().splitlines())
    assert {*begun} == {each["id"] for each in expected}
    assert max(begun.values()) > 1  # something was lost


def test_a_record_that_ends_every_process_is_an_error(tmp_path, cluster):
    (tmp_path / "go").touch()
    program, _, _ = slow(tmp_path, cluster.address, 9)
    _, stderr = program.communicate(timeout=300)
    assert (1, b"worker processes died, 4 times") == (program.returncode, stderr[:30])
    assert not (tmp_path / "out.jsonl").exists()


def test_where_no_cluster_is_one_line_says_so(run):
    done = run("mask-entities", CODE, "--ray", "127.0.0.1:1")
    assert (1, b"") == (done.returncode, done.stdout)
    told = b"structkit: no Ray cluster answers at 127.0.0.1:1: Connection refused; start one with "
    assert done.stderr.startswith(told) and 1 == done.stderr.count(b"\n")


ENDINGS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]


@pytest.mark.parametrize("after", [1.5, None])
@pytest.mark.parametrize(("number", "status"), ENDINGS)
def test_a_signal_leaves_no_process_and_no_file(tmp_path, short, number, status, after):
    with subprocess.Popen(["yes", CODE.open().readline().strip()], stdout=subprocess.PIPE) as yes:
        program = subprocess.Popen(
            [*PROGRAM, "mask-entities", "--ray", "local", "-o", "out.jsonl"],
            stdin=yes.stdout,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(TMPDIR=short),
            start_new_session=True,
            preexec_fn=as_at_a_prompt,
        )
        wait_for(lambda: any(Path(short).glob("structkit-ray-*/session_*")))
        if after is None:
            wait_for(lambda: any(path.stat().st_size for path in tmp_path.glob(".*.partial")))
        else:
            time.sleep(after)  # while Ray starts
        os.killpg(program.pid, number)
        _, stderr = program.communicate(timeout=60)
        yes.kill()
    assert (status, b"") == (program.returncode, stderr)
    wait_for(lambda: not in_session(program.pid))
    if number != signal.SIGKILL:  # after which nothing can clean up
        assert [] == [*tmp_path.iterdir()]
        assert [] == [*Path(short).glob("structkit-ray-*")]


def wait_for(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("not in 100 s")
