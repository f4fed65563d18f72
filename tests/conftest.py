"""What every test may use: the installed program as a user runs it, and goldens."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from structkit.cli.main import main
from structkit.processes import make_repeatable
from structkit.progress import hush
from tests.cli.alone import alone
from tests.warm.starting import PROGRAM as WARM
from tests.warm.starting import warm_process

make_repeatable()  # as the command line does, before torch is imported
alone()  # before tests are made of lists of plugins

# the same examples at every run, on every machine; `make soak` draws new ones, and more. A machine
# that has much else to do draws them slowly
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=25, **PATIENT)
settings.register_profile("random", print_blob=True, max_examples=200, **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Golden = Callable[[Path, str], None]

PROGRAM = (sys.executable, "-m", "structkit")
WARM_OPTIONS = {"cwd", "stdin", "stdout", "stderr"}


def warm_program(folder: Path) -> Path:
    """A program in a folder that asks the warm process, whatever variables its caller exports."""
    variables = environment().items()
    words = ["env", "-i", *(f"{name}={value}" for name, value in variables), *WARM]
    (folder / "structkit").write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    (folder / "structkit").chmod(0o755)
    return folder / "structkit"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="Run the tests that have expected files, and rewrite these; then read them.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """One warm process for all workers; it imports nothing before its first run."""
    if hasattr(config, "workerinput"):
        return
    started = ExitStack()
    os.environ["STRUCTKIT_WARM"] = started.enter_context(warm_process(environment()))
    config.add_cleanup(started.close)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among what all files import, now or later: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--update-goldens`, run only the tests that have expected files."""
    if config.getoption("--update-goldens"):
        others = [each for each in items if "golden" not in getattr(each, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [each for each in items if "golden" in getattr(each, "fixturenames", ())]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """What repeats the order of tests that failed."""
    seed = config.getoption("randomly_seed", None)
    if exitstatus and isinstance(seed, int):
        terminalreporter.write_line(f"the order was that of --randomly-seed={seed}")


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Of long texts that should be equal, the first line that differs."""
    if op == "==" and isinstance(left, str | bytes) and isinstance(right, type(left)):
        if max(len(left), len(right)) > 200:
            return [f"the first difference is in {first_difference(left, right)}"]
    return None


def first_difference(left: str | bytes, right: str | bytes) -> str:
    """The first line that differs, of both; long ones from a little before the difference.

    >>> first_difference("a\\nb\\n", "a\\nc\\n")
    "line 2: 'b\\\\n' is not 'c\\\\n'"
    """
    lines = zip_longest(left.splitlines(True), right.splitlines(True), fillvalue=left[:0])
    for number, (one, other) in enumerate(lines, 1):
        if one != other:
            start = max(0, len(os.path.commonprefix([one, other])) - 40)
            shown = [repr(each[start : start + 160]) for each in (one, other)]
            return f"line {number}: {shown[0]} is not {shown[1]}"
    return "nothing"


@pytest.fixture(scope="session", autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes what the user's own questions have kept."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        yield


# set once: how MKL computes, and by pytest
STAYING = {"MKL_CBWR", "PYTEST_CURRENT_TEST"}


@pytest.fixture(autouse=True)
def alike() -> Iterator[None]:
    """A test that runs a command within this process changes nothing for those after it.

    It may have been quiet, or have set a variable: then the warm process could run no command.
    """
    hush(False)  # a fixture of a module may have run one too
    before = dict(os.environ)
    yield
    hush(False)
    for name in {*os.environ, *before} - STAYING:
        if name not in before:
            del os.environ[name]
        elif os.environ.get(name) != before[name]:
            os.environ[name] = before[name]


def environment(**changes: str) -> dict[str, str]:
    """A plain environment: 80 columns, no color settings, no coverage of what is not tested."""
    plain = {
        name: value
        for name, value in os.environ.items()
        if name not in {"NO_COLOR", "FORCE_COLOR", "COLORTERM", "PYTHONPATH"}
    }
    return {**plain, "COLUMNS": "80", "TERM": "xterm", **changes}


def completed(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[Any]:
    """What comes of a program, in the environment of the tests."""
    return subprocess.run(command, **{"env": environment(), "capture_output": True, **options})


def python(
    *words: str | Path, cwd: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    """What comes of a new process of this Python with these words."""
    command = [sys.executable, *words]
    return completed(command, cwd=cwd, env=environment(**changes), text=True)


def as_at_a_prompt() -> None:
    """In a new process: Ctrl-C is heard, also where these tests run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `structkit ARGUMENTS` in the test's folder: `run("pair", input=b"…", env={…})`.

    A warm process runs it, but where `cold` asks for a start, or an option or variable needs one.
    """

    def run(
        *arguments: str | Path,
        input: bytes | str | None = b"",
        env: dict[str, str] | None = None,
        timeout: float = 240,
        cold: bool = False,
        **options: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        program = WARM if not cold and options.keys() <= WARM_OPTIONS else PROGRAM
        options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        if "stdin" not in options:
            options["input"] = input.encode() if isinstance(input, str) else input
        return subprocess.run(
            [*program, *map(str, arguments)],
            env=environment(**(env or {})),
            timeout=timeout,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def here(tmp_path: Path) -> Run:
    """Run it in this process, which is sooner, where neither start nor end of a process matters."""

    def here(
        *arguments: str | Path,
        input: bytes | str = b"",
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
    ) -> subprocess.CompletedProcess[bytes]:
        hush(False)  # the one before may have set it to be quiet
        with ExitStack() as opened, chdir(cwd), pytest.MonkeyPatch.context() as patch:
            variables = environment(**(env or {}))
            for name in {*os.environ, *variables}:
                patch.setenv(name, variables.get(name, ""))
            files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(input.encode() if isinstance(input, str) else input)
            files[0].seek(0)
            for number, name in enumerate(("stdin", "stdout", "stderr")):
                opened.callback(os.close, before := os.dup(number))
                opened.callback(os.dup2, before, number)
                os.dup2(files[number].fileno(), number)
                stream = open(number, "w" if number else "r", closefd=False)
                opened.callback(stream.close)
                patch.setattr(sys, name, stream)
            status = status_of(*map(str, arguments))
            sys.stdout.flush(), sys.stderr.flush()
            outputs = [os.pread(file.fileno(), 1 << 30, 0) for file in files[1:]]
        return subprocess.CompletedProcess(arguments, status, *outputs)

    return here


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an encoder that was not trained."""
    from tests.model_encodings import untrained  # seconds, for torch

    return untrained(tmp_path_factory.mktemp("encoder"))


# positions of RoBERTa begin elsewhere, and ModernBERT has none
LIKE = ["bert", "roberta", "modernbert", pytest.param("xlm-roberta", marks=pytest.mark.long)]


@pytest.fixture(scope="session", params=LIKE)
def bert_like(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small random encoder like BERT."""
    from tests.learning.encoders.small import bert_like  # seconds, for torch

    return bert_like(request.param, tmp_path_factory.mktemp("models") / request.param)


def status_of(*words: str) -> int:
    """The exit status of `structkit WORDS`, run in this process."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", ["structkit", *words])
        for name in ("stdout", "stderr"):  # the program has its own
            patch.setattr(sys, name, getattr(sys, name))
        main()
    return ended.value.code or 0


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with a file; `--update-goldens` rewrites the file."""

    def golden(path: Path, actual: str) -> None:
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(actual.encode())
        assert path.exists(), f"{path} does not exist; pytest --update-goldens writes it"
        expected = path.read_bytes().decode()  # line ends count
        told = f"{path}, {first_difference(expected, actual)}; --update-goldens rewrites it"
        assert expected == actual, told

    return golden
