"""Equal runs give equal bits on every processor: how torch computes is settled before it."""

import os
import pwd
import sys

import pytest
import torch
from conftest import completed, environment, python

from structkit import machine
from structkit.learning.training import devices
from tests.benchmarks import reproducible

PROGRAM = """
import os, sys
from structkit import machine
assert "torch" not in sys.modules
os.environ.pop("MKL_CBWR", None)  # what was settled for the processor that this runs on
print(machine.make_repeatable(sys.argv[1]), flush=True)  # MKL prints by itself
import torch
torch.ones(64, 64) @ torch.ones(64, 64)
"""


FOLDERS = """
import os, pwd, sys
if sys.argv[1:]:
    pwd.getpwuid = {}.__getitem__  # the system does not know the user
import structkit
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


@pytest.fixture
def cpuinfo(tmp_path, monkeypatch):
    """A function that writes what another processor says of itself; nothing is chosen yet."""
    # MKL reads its variable at its first product: now, or all tests after this one compute slowly
    torch.ones(64, 64) @ torch.ones(64, 64)
    monkeypatch.setenv("MKL_CBWR", "")
    monkeypatch.delenv("MKL_CBWR")

    def cpuinfo(maker):
        file = tmp_path / "cpuinfo"
        file.write_text(f"processor\t: 0\nvendor_id\t: {maker}\ncpu family\t: 25\n")
        return str(file)

    return cpuinfo


@pytest.mark.skipif("mkl" not in str(devices.torch.__config__.show()), reason="torch has no MKL")
@pytest.mark.parametrize(
    ("maker", "mode"),
    [
        ("AuthenticAMD", "CNR:COMPATIBLE"),
        pytest.param("GenuineIntel", "CNR:OFF", marks=pytest.mark.long),
    ],
)
def test_torch_computes_as_was_settled_before_its_import(cpuinfo, maker, mode):
    done = python("-c", PROGRAM, cpuinfo(maker), MKL_VERBOSE="1")
    assert "\n" == done.stdout[:1] and mode in done.stdout, done.stderr


def test_what_the_user_chose_stays_and_is_told(cpuinfo, monkeypatch):
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    assert "MKL_CBWR is AVX2; leave it unset" == machine.make_repeatable(cpuinfo("AuthenticAMD"))
    assert "" == machine.make_repeatable(cpuinfo("GenuineIntel"))
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    assert "" == machine.make_repeatable(cpuinfo("AuthenticAMD"))


def test_a_torch_that_is_there_already_is_told(cpuinfo):
    why = "torch was imported before structkit; import structkit first"
    assert why == machine.make_repeatable(cpuinfo("AuthenticAMD"))


def test_no_processor_information_changes_nothing(cpuinfo, tmp_path, monkeypatch):
    assert "" == machine.make_repeatable(str(tmp_path / "none"))
    (tmp_path / "arm").write_text("processor\t: 0\nCPU implementer\t: 0x41\n")
    assert "" == machine.make_repeatable(str(tmp_path / "arm"))
    assert not machine.is_slow()


def test_large_products_go_through_onednn_where_mkl_is_slow(cpuinfo):
    assert "highest" == devices.fastest_matmul()
    machine.make_repeatable(cpuinfo("AuthenticAMD"))
    torch.manual_seed(0)
    left, right = torch.randn(128, 384), torch.randn(384, 256)
    exact = left.double() @ right.double()
    with devices.matmul("medium"):
        error = (left @ right - exact).abs().max() / exact.abs().max()
    # without such instructions torch has no oneDNN for float32, and some processors round to bf16
    able = devices.has_bf16(torch.device("cpu")) and error < devices.HARMLESS
    assert ("medium" if able else "highest") == devices.fastest_matmul()


@pytest.mark.long
def test_equal_runs_are_counted(capsys):
    assert 0 == reproducible.main(["contrastive", "--runs", "2"])
    assert "contrastive        1 distinct of 2 models" in capsys.readouterr().out
