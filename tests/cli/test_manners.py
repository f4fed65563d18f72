"""What every command promises: errors in one line, exit statuses, whole files, silence."""

from __future__ import annotations

import gzip
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import PROGRAM, Run, environment
from imported import imported
from terminals import all_of

from structkit import registry
from structkit.cli.app import COMMANDS

GOOD = b'{"id":"1","language":"python","code":"def f(a):\\n  return a"}\n'


def complaint(done: subprocess.CompletedProcess[bytes], status: int = 1) -> str:
    """The one line on stderr, without the program's name."""
    assert status == done.returncode, done.stderr.decode()
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("structkit: ")
    return lines[0].removeprefix("structkit: ")


LINES = {
    "no-json": (b"def f(): pass\n", "stdin:2: the line is not JSON", "one JSON object per line"),
    "cut-off": (b'{"id":"2","code":"x\n', "stdin:2: the line is not JSON", "one JSON object"),
    "array": (b'[{"id":"2"}]\n', "stdin:2: the line holds a JSON array, not an object", "jq -c"),
    "string": (b'"x"\n', "stdin:2: the line holds a JSON string, not an object", "jq -c"),
    "null": (b"null\n", "stdin:2: the line holds a JSON null, not an object", "jq -c"),
    "missing": (
        b'{"id":"2","language":"python","text":"x"}\n',
        'stdin:2: field "code" is missing',
        "the record has: id, language, text",
    ),
    "wrong-type": (
        b'{"id":"2","language":"python","code":["x"]}\n',
        'stdin:2: field "code" is a JSON array, not a string',
        "",
    ),
    "utf-8": (b'{"id":"2","code":"\xe9"}\n', "stdin:2: the line is not UTF-8 (byte 19)", "iconv"),
    "no-language": (
        b'{"id":"2","code":"x = 1"}\n',
        'stdin:2: field "language" is missing',
        "name it with --language",
    ),
    "unknown-language": (
        b'{"id":"2","language":"pyhton","code":"x = 1"}\n',
        "stdin:2: no language 'pyhton'; did you mean 'python'?",
        "there are: ",
    ),
    "nothing-to-do": (
        b'{"id":"2","language":"python","code":"1 + 1"}\n',
        "stdin:2: the text holds no entity to mask",
        "leave the record out",
    ),
    "id": (b'{"id":[2],"code":"x"}\n', 'stdin:2: field "id" is a JSON array', "an id is a string"),
    "deep": (b'{"id":' + b"[" * 5000 + b"]" * 5000 + b"}\n", "stdin:2: the line is not JSON", ""),
    "newline-in-field-name": (
        b'{"id":"2","language":"python","a\\nb":"x"}\n',
        'stdin:2: field "code" is missing',
        "the record has: id, language, a b",
    ),
}


@pytest.mark.parametrize("line, problem, remedy", LINES.values(), ids=LINES)
def test_a_bad_line_is_one_clear_line_and_no_file(
    run: Run, tmp_path: Path, line: bytes, problem: str, remedy: str
) -> None:
    done = run("mask-entities", "-o", "out.jsonl", input=GOOD + line + GOOD)
    message = complaint(done)
    assert message.startswith(problem)
    assert remedy in message
    assert b"" == done.stdout
    assert [] == os.listdir(tmp_path)


def test_what_stands_before_a_bad_line_is_on_stdout(run: Run) -> None:
    done = run("pair", "--query", "id", input=GOOD + b"oops\n" + GOOD)
    complaint(done)
    assert 1 == done.stdout.count(b"\n")


USAGE = {
    "option": (["mask-entities", "--langage", "go"], "--language"),
    "command": (["mask-entitie"], "did you mean 'mask-entities'"),
    "value": (["mask-entities", "--on-error", "ignore"], "'fail', 'skip'"),
    "workers": (["mask-entities", "--workers", "0"], "--workers"),
    "shard": (["mask-entities", "--shard", "3/3"], "--shard '3/3' is not I/N"),
    "language": (["mask-entities", "--language", "cobol"], "no language 'cobol'; there are: "),
    "rejects": (["mask-entities", "--rejects", "x"], "--on-error skip"),
    "one-file-twice": (
        ["mask-entities", "--on-error", "skip", "--rejects", "x", "-o", "./x"],
        "--rejects and -o name the same file",
    ),
    "split": (["pair", "--split", "train:0.5"], "sum to 1"),
}


@pytest.mark.parametrize("arguments, hint", USAGE.values(), ids=USAGE)
def test_wrong_usage_ends_with_2_before_any_work(
    run: Run, tmp_path: Path, arguments: list[str], hint: str
) -> None:
    done = run(*arguments, input=GOOD)
    assert hint.lower() in complaint(done, 2).lower()
    assert b"" == done.stdout
    assert [] == os.listdir(tmp_path)


def test_an_unknown_language_lists_what_exists(run: Run) -> None:
    listed = [json.loads(line) for line in run("plugins").stdout.splitlines()]
    names = [plugin["name"] for plugin in listed if plugin["kind"] == "language"]
    message = complaint(run("mask-entities", "--language", "cobol"), 2)
    assert f"no language 'cobol'; there are: {', '.join(names)}" == message


def corrupt(path: Path) -> None:
    whole = bytearray(gzip.compress(GOOD * 1000, mtime=0))
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(whole)


def cut_short(path: Path) -> None:
    path.write_bytes(gzip.compress(GOOD * 1000, mtime=0)[:-9])


INPUTS = {
    "folder": ("in", Path.mkdir, "in: is a folder; name the files in it"),
    "missing": (
        "in",
        lambda path: None,
        "in: cannot be read: No such file or directory; check the name",
    ),
    "corrupt-gz": ("in.gz", corrupt, "in.gz: cannot be read: "),
    "short-gz": ("in.gz", cut_short, "in.gz: cannot be read: Compressed file ended"),
    "no-gz": ("in.gz", lambda path: path.write_bytes(GOOD), "in.gz: cannot be read: Not a gzipped"),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name, make, problem", INPUTS.values(), ids=INPUTS)
def test_an_input_that_cannot_be_read(
    run: Run, tmp_path: Path, name: str, make: object, problem: str, workers: int
) -> None:
    make(tmp_path / name)  # type: ignore[operator]
    before = os.listdir(tmp_path)
    # not a record is at fault: --on-error skip does not skip over a file
    flags = ["--on-error", "skip", "--workers", workers, "-o", "out.jsonl"]
    message = complaint(run("mask-entities", *flags, name))
    assert message.startswith(problem)
    assert before == os.listdir(tmp_path)


def test_a_missing_file_is_told_before_any_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    done = run("mask-entities", "a.jsonl", "b.jsonl")
    assert "b.jsonl: cannot be read: No such file or directory; check the name" == complaint(done)
    assert b"" == done.stdout


def test_an_input_that_may_not_be_read(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(GOOD)
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        pytest.skip("this user (root) may read everything")
    problem = "Permission denied; make it readable, for example with chmod +r"
    assert f"secret.jsonl: cannot be read: {problem}" == complaint(
        run("mask-entities", "secret.jsonl")
    )


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_input_that_fails_while_it_is_read(run: Run, workers: int) -> None:
    done = run("mask-entities", "--workers", workers, "/proc/self/mem")
    assert "/proc/self/mem: cannot be read: Input/output error; copy it again" == complaint(done)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"], ids=["none", "blank", "bom"])
def test_an_empty_input_is_said(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.jsonl").write_bytes(content)
    done = run("mask-entities", "in.jsonl", "-", "-o", "out.jsonl")
    assert "no records in in.jsonl, stdin; the output is empty" == complaint(done, 0)
    assert b"" == (tmp_path / "out.jsonl").read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("count", [1, 20_000], ids=["at-the-end", "on-the-way"])
def test_a_full_disk(run: Run, count: int) -> None:
    to_stdout = run("pair", "--query", "id", input=GOOD * count, stdout=open("/dev/full", "wb"))
    problem = "No space left on device; make room, or choose another disk with -o"
    assert f"stdout: cannot be written: {problem}" == complaint(to_stdout)
    to_file = run("pair", "--query", "id", "-o", "/dev/full", input=GOOD * count)
    assert f"/dev/full: cannot be written: {problem}" == complaint(to_file)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_file_that_cannot_grow_leaves_the_old_one(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"old")
    numbered = b"".join(
        b'{"id":"%d","language":"python","code":"x"}\n' % number for number in range(20_000)
    )
    done = run(
        "pair",
        *("--query", "id", "-o", name),
        input=numbered,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert f"{name}: cannot be written: File too large; choose another name with -o" == complaint(
        done
    )
    assert [name] == os.listdir(tmp_path)
    assert b"old" == (tmp_path / name).read_bytes()


MAKE = "make its folder first, or choose another with -o"
OUTPUTS = {
    "folder": (".", "is a folder; name a file with -o"),
    "in-missing": ("no/out.jsonl", f"cannot be written: No such file or directory; {MAKE}"),
    "in-a-file": ("in.jsonl/out.jsonl", f"cannot be written: Not a directory; {MAKE}"),
}


@pytest.mark.parametrize("name, problem", OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_that_cannot_be_made(run: Run, tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "in.jsonl").write_bytes(GOOD)
    assert f"{name}: {problem}" == complaint(run("mask-entities", "in.jsonl", "-o", name))
    assert ["in.jsonl"] == os.listdir(tmp_path)


def test_a_failed_run_leaves_the_old_output(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_bytes(b"old")
    complaint(run("mask-entities", "-o", "out.jsonl", input=GOOD + b"oops\n"))
    assert b"old" == (tmp_path / "out.jsonl").read_bytes()
    assert ["out.jsonl"] == os.listdir(tmp_path)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_the_mode_of_a_file(run: Run, tmp_path: Path, name: str) -> None:
    output = tmp_path / name

    def written() -> int:
        done = run("pair", "--query", "id", "-o", name, input=GOOD, preexec_fn=lambda: os.umask(7))
        assert 0 == done.returncode
        return output.stat().st_mode & 0o777

    assert 0o660 == written()
    output.chmod(0o604)
    assert 0o604 == written()


def test_what_dead_processes_left_goes(run: Run, tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = [f".out.jsonl.{dead.pid}.partial", f".out.jsonl.{os.getpid()}.partial"]
    others = [f".other.jsonl.{dead.pid}.partial", ".out.jsonl.x.partial", "out.jsonl.1.partial"]
    for name in (*left, *others):
        (tmp_path / name).write_bytes(b"half")
    assert 0 == run("pair", "--query", "id", "-o", "out.jsonl", input=GOOD).returncode
    assert sorted([*others, left[1], "out.jsonl"]) == sorted(os.listdir(tmp_path))


def test_the_output_may_be_the_input(run: Run, tmp_path: Path) -> None:
    expected = run("mask-entities", input=GOOD).stdout
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    assert 0 == run("mask-entities", "a.jsonl", "-o", "a.jsonl").returncode
    assert expected == (tmp_path / "a.jsonl").read_bytes()


def test_the_output_goes_through_a_link(run: Run, tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_bytes(b"old")
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    assert 0 == run("mask-entities", "-o", "link.jsonl", input=GOOD).returncode
    assert (tmp_path / "link.jsonl").is_symlink()
    assert GOOD[:-2] in (tmp_path / "real.jsonl").read_bytes()


def test_the_output_may_be_dev_stdout(run: Run, tmp_path: Path) -> None:
    link = os.readlink("/dev/stdout")
    expected = run("mask-entities", input=GOOD).stdout
    assert expected == run("mask-entities", "-o", "/dev/stdout", input=GOOD).stdout
    with open(tmp_path / "out", "wb") as file:
        assert 0 == run("mask-entities", "-o", "/dev/stdout", input=GOOD, stdout=file).returncode
    assert expected == (tmp_path / "out").read_bytes()
    assert link == os.readlink("/dev/stdout")


def test_a_closed_stderr_gives_nothing_to_stdout(run: Run) -> None:
    script = 'exec "$@" 2>&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, "mask-entities"],
        input=b"",
        stdout=subprocess.PIPE,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert (0, b"") == (done.returncode, done.stdout)


def _foreground() -> None:
    """Ctrl-C counts, as at a prompt: what a shell starts behind & inherits to ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Endless:
    """The program at work on an input without an end."""

    def __init__(self, folder: Path, *arguments: str, stdout: int | None = None) -> None:
        self.folder = folder
        self.source = subprocess.Popen(["yes", GOOD.decode().strip()], stdout=subprocess.PIPE)
        self.program = subprocess.Popen(
            [*PROGRAM, "mask-entities", *arguments],
            stdin=self.source.stdout,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(),
            start_new_session=True,
            preexec_fn=_foreground,
        )
        assert self.source.stdout
        self.source.stdout.close()

    def wait_until_it_writes(self) -> None:
        for _ in range(600):
            if any(path.stat().st_size for path in self.folder.glob(".*.partial")):
                return
            time.sleep(0.05)
        raise AssertionError("nothing was written in 30 s")

    def end(self) -> tuple[int, str]:
        """Exit status and stderr."""
        _, stderr = self.program.communicate(timeout=30)
        return self.program.returncode, stderr.decode()

    def __enter__(self) -> Endless:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.kill()
        self.program.wait()
        self.source.kill()
        self.source.wait()


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_file(
    tmp_path: Path, number: signal.Signals, status: int, workers: str
) -> None:
    with Endless(tmp_path, "-o", "out.jsonl", "--workers", workers) as endless:
        endless.wait_until_it_writes()
        assert not (tmp_path / "out.jsonl").exists()
        os.killpg(endless.program.pid, number)  # as a terminal does: workers get it too
        assert (status, "") == endless.end()
    assert [] == os.listdir(tmp_path)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_changes_nothing(
    tmp_path: Path, number: signal.Signals, status: int, workers: str
) -> None:
    with Endless(tmp_path, "-o", "out.jsonl", "--workers", workers) as endless:
        endless.wait_until_it_writes()
        for _ in range(20):
            with suppress(ProcessLookupError):
                os.killpg(endless.program.pid, number)
            time.sleep(0.02)
        ended, stderr = endless.end()
    assert ended in (status, -number), stderr  # the second: by a signal when all is done
    assert "" == stderr
    assert [] == os.listdir(tmp_path)


SLOW = """
import os, time
from structkit.signals import ending, leave
from structkit.records.stream import Stream

def slow(records):
    for record in records:
        open(f"started-{os.getpid()}", "w").close()
        time.sleep(60)
        yield record

with ending():
    try:
        Stream(output="out.jsonl", workers=2).run(slow)
    except KeyboardInterrupt:
        leave(130)
"""


def test_ctrl_c_does_not_wait_for_workers(tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=_foreground,
    )
    assert program.stdin and program.stderr
    program.stdin.write(GOOD * 15_000)
    program.stdin.close()
    while len(workers := list(tmp_path.glob("started-*"))) < 2:
        time.sleep(0.05)
        assert program.poll() is None
    started = time.monotonic()
    os.killpg(program.pid, signal.SIGINT)
    assert (130, b"") == (program.wait(30), program.stderr.read())
    assert time.monotonic() - started < 3  # a block takes them 60 s and more
    for path in workers:
        assert not running(path.name.removeprefix("started-"))
        path.unlink()
    assert [] == os.listdir(tmp_path)


def test_a_killed_worker_is_an_error(tmp_path: Path) -> None:
    with Endless(tmp_path, "-o", "out.jsonl", "--workers", "2") as endless:
        endless.wait_until_it_writes()
        pid = endless.program.pid
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert 2 == len(workers)
        os.kill(int(workers[0]), signal.SIGKILL)
        status, stderr = endless.end()
    expected = "structkit: a worker process died; if it ran out of memory, use fewer --workers\n"
    assert (1, expected) == (status, stderr)
    assert [] == os.listdir(tmp_path)


def test_workers_end_with_their_killed_parent(tmp_path: Path) -> None:
    with Endless(tmp_path, "-o", "out.jsonl", "--workers", "2") as endless:
        endless.wait_until_it_writes()
        pid = endless.program.pid
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        endless.program.kill()
        endless.program.wait()
        for _ in range(100):
            if not any(running(worker) for worker in workers):
                return
            time.sleep(0.1)
    raise AssertionError("workers run on after 10 s")


def running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_closed_pipe_ends_in_silence(tmp_path: Path, workers: str) -> None:
    with Endless(tmp_path, "--workers", workers, stdout=subprocess.PIPE) as endless:
        assert endless.program.stdout
        first = endless.program.stdout.readline()
        endless.program.stdout.close()
        assert b'"masked"' in first
        status = endless.program.wait(30)
        assert endless.program.stderr
        assert (0, b"") == (status, endless.program.stderr.read())
        assert -signal.SIGPIPE == endless.source.wait(30)


def test_help_into_a_closed_pipe(run: Run) -> None:
    read, write = os.pipe()
    os.close(read)
    done = run("--help", stdout=write)
    os.close(write)
    assert (0, b"") == (done.returncode, done.stderr)


def on_terminal(tmp_path: Path, *arguments: str, **changes: str) -> bytes:
    """What a terminal at stderr gets to see."""
    (tmp_path / "in.jsonl").write_bytes(GOOD * 5_000)
    terminal, end = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, "mask-entities", "in.jsonl", "-o", "/dev/null", *arguments],
        stderr=end,
        cwd=tmp_path,
        env=environment(**changes),
    )
    os.close(end)
    seen = all_of(terminal)
    assert 0 == program.wait(60)
    return seen


def test_progress_is_for_a_terminal(run: Run, tmp_path: Path) -> None:
    seen = on_terminal(tmp_path)
    assert b"mask-entities" in seen
    assert b" records, " in seen
    assert b"\x1b[3" in seen  # a color
    assert b"" == on_terminal(tmp_path, "--quiet")
    plain = on_terminal(tmp_path, NO_COLOR="1")
    assert b" records, " in plain
    assert b"\x1b[3" not in plain
    assert b"" == run("mask-entities", input=GOOD * 5_000).stderr


def peak(input: Path, *arguments: str) -> int:
    """Kibibytes that the program takes at most; its parent is small, as the kernel counts it in."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
    )
    with open(input, "rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-S", "-c", script, *PROGRAM, *arguments],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=60,
            check=True,
        )
    return int(done.stderr)


def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    line = GOOD.replace(b'"id"', b'"unused":"%s","id"' % (b"x" * 4000))
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    few.write_bytes(line * 3_000)
    many.write_bytes(line * 30_000)  # 120 MB
    assert 1.1 * peak(few, "mask-entities") > peak(many, "mask-entities")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_light(command: str) -> None:
    heavy, page = imported(*([command] if command else []), "--help")
    assert set() == heavy
    assert f"Usage: structkit {command}".strip().encode() in page


def test_a_search_of_embeddings_reads_no_words(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": "1", "embedding": [1.0, 0.0]}\n')
    arguments = ("search", str(path), "--queries", str(path))
    found, run = imported(*arguments, of={"bm25s", "scipy", "torch"})
    assert [] == found
    assert b'"doc_id":"1"' in run


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
        "try: method(epochs=0)\n"
        "except UserError as error: print(error.problem)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment())
    assert ["--epochs 0 is not in 1 … 1,000,000", "False"] == done.stdout.decode().splitlines()


@pytest.mark.parametrize("group", ["train", "plot"])
def test_a_group_alone_shows_its_help(run: Run, group: str) -> None:
    done = run(group)
    assert (2, b"") == (done.returncode, done.stdout)
    assert run(group, "--help").stdout.decode().rstrip() == done.stderr.decode().rstrip()


def test_no_arguments_show_the_help(run: Run) -> None:
    assert run("--help").stdout == run().stdout
    assert b"Usage: structkit" in run("-h").stdout
