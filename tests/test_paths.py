"""What is written is none of what is read, as every command checks first; the user's folders."""

import os
import pwd
import sys
from pathlib import Path

import pytest
import typer
from conftest import completed, environment
from soak.verdicts import state

from structkit.cli.main import app
from structkit.errors import UserError
from tests.cli.complaints import GOOD, complaint

# lines that write `lost`, which they read too, or two things to one place, with their names
LOST = Path(__file__).with_name("lost.txt").read_text("utf-8").splitlines()


@pytest.fixture
def laid(tmp_path):
    """Inputs of any kind: what is refused is refused before they are read."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.partial").mkdir()
    names = "lost other other2 lost.gz lost.svg lost.npy other.npy lost.ids.txt"
    for name in f"{names} folder/in folder.partial/in".split():
        (tmp_path / name).write_bytes(GOOD)
    (tmp_path / "link").symlink_to("lost")
    (tmp_path / "link.npy").symlink_to("lost.npy")
    os.link(tmp_path / "lost", tmp_path / "hard")
    return tmp_path


@pytest.fixture
def refused(laid, monkeypatch):
    """The error that a command ends with, in this process: there are many cases."""

    def refused(*arguments):
        monkeypatch.chdir(laid)
        before = state(laid)
        with pytest.raises((UserError, typer.BadParameter)) as caught:
            app(list(arguments), standalone_mode=False)
        assert 2 == (getattr(caught.value, "status", None) or caught.value.exit_code)
        assert before == state(laid)
        return str(caught.value)

    return refused


@pytest.mark.parametrize("line", LOST)
def test_no_output_is_an_input(refused, line):
    message = refused(*line.split()[1:])
    words = ("the input", "one is the other", "one is inside the other")
    assert any(each in message for each in words), message


def test_stdin_and_stdout_may_be_the_file(run, laid):
    before = state(laid)
    flags = ["--on-error", "skip", "--rejects", "lost", "-o", "out"]
    with open(laid / "lost", "rb") as file:
        message = complaint(run("mask-entities", *flags, stdin=file), 2)
    assert "--rejects lost is the input stdin; choose another path" == message
    with open(laid / "lost", "ab") as file:  # would never end
        message = complaint(run("mask-entities", "lost", stdout=file), 2)
    assert "stdout is the input lost; choose another path" == message
    assert before == state(laid)


@pytest.mark.parametrize("command", ["mask-entities", "pair"])
@pytest.mark.parametrize("output", ["lost", "link", "hard"])
def test_a_record_wise_command_works_in_place(run, laid, command, output):
    (laid / "lost").write_bytes(GOOD.replace(b'"code"', b'"docstring":"Gives.","code"'))
    expected = run(command, "lost").stdout
    assert expected
    done = run(command, "lost", "-o", output)
    assert 0 == done.returncode, done.stderr
    assert (laid / "link").is_symlink()
    assert expected == (laid / output).read_bytes()


def test_devices_are_no_files(run, laid):
    done = run("mask-entities", "/dev/null", "-o", "/dev/null")
    assert "no records; the output is empty" == complaint(done, 0)


@pytest.mark.parametrize("command", ["mask-entities", "fuse"])
def test_an_empty_name_is_refused(refused, command):
    assert refused(command, "").endswith(" is empty; give it a value")


TWICE = {
    "fuse": "fuse - -",
    "search": "search - --method bm25",
    "search-texts": "search - --method hybrid --texts - --queries other",
    "score": "score --qrels -",
    "rerank": "rerank lost --corpus - --queries -",
    "plot": "plot ranks - --qrels - -o x.svg",
    "train": "train contrastive --validate - -o new",
}


@pytest.mark.parametrize("line", TWICE.values(), ids=TWICE)
def test_stdin_is_read_once(refused, line):
    assert "stdin is read twice; give a file for one of them" == refused(*line.split())


FOLDERS = """
import os, pwd, sys
if sys.argv[1:]:
    pwd.getpwuid = {}.__getitem__  # the system does not know the user
from structkit.cli.main import prepare_libraries
prepare_libraries()
from structkit.paths import cache_folder, data_folder
print(cache_folder("ask"), data_folder(), os.environ.get("TORCHINDUCTOR_CACHE_DIR"))
print(os.path.expanduser("~"))
print(os.getenv("XDG_CACHE_HOME"))
"""


def folders(*arguments, **variables):
    """The user's folders in a process with those variables; None unsets one."""
    given = {name: value for name, value in variables.items() if value is not None}
    inherited = {"TORCHINDUCTOR_CACHE_DIR", *variables} - {*given}
    unset = [word for name in inherited for word in ("-u", name)]
    command = ["env", *unset, sys.executable, "-c", FOLDERS, *arguments]
    done = completed(command, env=environment(**given), text=True, cwd="/")
    assert 0 == done.returncode, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("home", "cache"), [(None, ""), ("", None), ("relative", "."), ("~", "relative")]
)
def test_a_home_that_is_no_absolute_path_is_that_of_the_system(home, cache):
    own = pwd.getpwuid(os.getuid()).pw_dir
    found = folders(HOME=home, XDG_CACHE_HOME=cache, XDG_DATA_HOME=cache)
    assert [f"{own}/.cache/structkit/ask", f"{own}/.local/share/structkit"] == found[:2]
    assert own == found[3] and "None" == found[4]
    assert found[2] in ("None", f"{own}/.cache/structkit/torch")


def test_folders_that_are_absolute_stay(tmp_path):
    found = folders(HOME=str(tmp_path), XDG_CACHE_HOME=None, XDG_DATA_HOME="/data")
    assert [f"{tmp_path}/.cache/structkit/ask", "/data/structkit"] == found[:2]
    assert [str(tmp_path), "None"] == found[3:]


def test_a_user_without_a_home_keeps_nothing_and_is_answered(tmp_path):
    found = folders("unknown", HOME="", XDG_CACHE_HOME=None, XDG_DATA_HOME=None)
    assert ["/dev/null/.cache/structkit/ask", "None"] == found[:3:2]
    (tmp_path / "area.py").write_text("def area(radius):\n    return radius\n")
    ask = "import structkit; print(*(each['path'] for each in structkit.ask('.', ['area'])))"
    start = "import pwd; pwd.getpwuid = {}.__getitem__; "
    command = ["env", "-u", "XDG_CACHE_HOME", "-u", "XDG_DATA_HOME", sys.executable, "-c"]
    done = completed([*command, start + ask], env=environment(HOME=""), text=True, cwd=tmp_path)
    assert "area.py\n" == done.stdout
    assert "structkit: nothing is kept in /dev/null/" in done.stderr
