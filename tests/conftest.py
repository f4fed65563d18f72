"""What every test may use: the installed program as a user runs it, and goldens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from structkit.progress import hushed
from tests.cli.alone import alone

alone()  # before tests are made of lists of plugins

# the same examples at every run, on every machine; `make soak` draws new ones
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Golden = Callable[[Path, str], None]

PROGRAM = (sys.executable, "-m", "structkit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="Rewrite the expected files; then read them."
    )


@pytest.fixture(scope="session", autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes what the user's own questions have kept."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        yield


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """A test that runs a command with -q within this process silences no test after it."""
    with hushed(False):
        yield


def environment(**changes: str) -> dict[str, str]:
    """A plain environment: 80 columns, no color settings, no coverage of what is not tested."""
    plain = {
        name: value
        for name, value in os.environ.items()
        if name not in {"NO_COLOR", "FORCE_COLOR", "COLORTERM", "PYTHONPATH"}
    }
    return {**plain, "COLUMNS": "80", "TERM": "xterm", **changes}


def as_at_a_prompt() -> None:
    """In a new process: Ctrl-C is heard, also where these tests run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `structkit ARGUMENTS` in the test's folder: `run("pair", input=b"…", env={…})`."""

    def run(
        *arguments: str | Path,
        input: bytes | None = b"",
        env: dict[str, str] | None = None,
        timeout: float = 60,
        **options: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        if "stdin" not in options:
            options["input"] = input
        return subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            env=environment(**(env or {})),
            timeout=timeout,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with a file; `--update-goldens` rewrites the file."""

    def golden(path: Path, actual: str) -> None:
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(actual.encode())
        assert path.exists(), f"{path} does not exist; pytest --update-goldens writes it"
        assert path.read_bytes().decode() == actual  # line ends count

    return golden
