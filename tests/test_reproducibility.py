"""Keyed randomness, and equal bits from equal runs: how torch computes is settled before it."""

import json

import pytest
import torch
from conftest import python

from structkit.learning.training import devices
from structkit.processes import is_mkl_compatible, make_repeatable, repeatability_problem
from structkit.reproducibility import key
from tests.jsonl import lines

RECORD = {"language": "python", "code": "a = b + c + d + e + f + g"}
LINES = lines(*({"id": f"r{number}", **RECORD} for number in range(20))).encode().splitlines()
FLAGS = ("mask-entities", "--mask-ratio", "0.5")


def test_keys_stay_what_they_are():
    # blake2b(b"0\0doc-1", digest_size=8), as coreutils' `b2sum -l 64` gives it
    assert 0x5BFAEFB833BCED38 == key(0, "doc-1")


def test_the_same_record_gets_the_same_bytes_in_any_order(run):
    forward = run(*FLAGS, input=b"\n".join(LINES)).stdout.splitlines()
    backward = run(*FLAGS, "--workers", "2", input=b"\n".join(LINES[::-1])).stdout.splitlines()
    assert 20 == len(forward)
    assert forward == backward[::-1]
    assert 1 < len({str(json.loads(line)["entities"]) for line in forward})
    assert forward != run(*FLAGS, "--seed", "1", input=b"\n".join(LINES)).stdout.splitlines()


PROGRAM = """
import os, sys
from structkit import processes
assert "torch" not in sys.modules
os.environ.pop("MKL_CBWR", None)  # the parent's, for the processor that this runs on
processes.make_repeatable(sys.argv[1])
print(processes.repeatability_problem(sys.argv[1]), flush=True)  # MKL prints by itself
import torch
torch.ones(64, 64) @ torch.ones(64, 64)
"""


@pytest.fixture
def cpuinfo(tmp_path, monkeypatch):
    """A function that writes what another processor says of itself; nothing is chosen yet."""
    # MKL reads its variable at its first product: now, or all tests after this one compute slowly
    torch.ones(64, 64) @ torch.ones(64, 64)
    monkeypatch.setenv("MKL_CBWR", "")
    monkeypatch.delenv("MKL_CBWR")

    def cpuinfo(maker, flags="avx2 avx512f"):
        file = tmp_path / "cpuinfo"
        file.write_text(f"processor\t: 0\nvendor_id\t: {maker}\nflags\t\t: {flags}\n\n")
        return str(file)

    return cpuinfo


@pytest.mark.skipif("mkl" not in str(devices.torch.__config__.show()), reason="torch has no MKL")
@pytest.mark.parametrize(
    ("maker", "flags", "mode"),
    [
        ("AuthenticAMD", "avx2 avx512f", "CNR:COMPATIBLE"),
        ("AuthenticAMD", "fma avx2", "CNR:OFF"),
        pytest.param("GenuineIntel", "avx2 avx512f", "CNR:OFF", marks=pytest.mark.long),
    ],
)
def test_torch_computes_as_was_settled_before_its_import(cpuinfo, maker, flags, mode):
    done = python("-c", PROGRAM, cpuinfo(maker, flags), MKL_VERBOSE="1")
    assert "\n" == done.stdout[:1] and mode in done.stdout, done.stderr


def test_what_the_user_chose_stays_and_is_told(cpuinfo, monkeypatch):
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    make_repeatable(cpuinfo("AuthenticAMD"))
    remedy = "set it to COMPATIBLE before torch is imported"
    assert f"MKL_CBWR is AVX2; {remedy}" == repeatability_problem(cpuinfo("AuthenticAMD"))
    assert "" == repeatability_problem(cpuinfo("GenuineIntel"))
    monkeypatch.delenv("MKL_CBWR")
    assert f"MKL_CBWR is unset; {remedy}" == repeatability_problem(cpuinfo("AuthenticAMD"))
    make_repeatable(cpuinfo("AuthenticAMD"))
    assert "" == repeatability_problem(cpuinfo("AuthenticAMD"))


def test_no_processor_information_changes_nothing(cpuinfo, tmp_path):
    (tmp_path / "arm").write_text("processor\t: 0\nCPU implementer\t: 0x41\n")
    for name in ("none", "arm"):
        make_repeatable(str(tmp_path / name))
        assert "" == repeatability_problem(str(tmp_path / name))
    assert not is_mkl_compatible()


def test_large_products_go_through_onednn_where_mkl_is_slow(cpuinfo):
    assert "highest" == devices.fastest_matmul()
    make_repeatable(cpuinfo("AuthenticAMD"))
    torch.manual_seed(0)
    left, right = torch.randn(128, 384), torch.randn(384, 256)
    exact = left.double() @ right.double()
    with devices.matmul("medium"):
        error = (left @ right - exact).abs().max() / exact.abs().max()
    # without such instructions torch has no oneDNN for float32, and some processors round to bf16
    able = devices.has_bf16(torch.device("cpu")) and error < devices.MAX_PRODUCT_ERROR
    assert ("medium" if able else "highest") == devices.fastest_matmul()
