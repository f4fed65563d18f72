"""A pretended CUDA device for a CPU build of torch: its tensors have real values.

Within `pretended_gpu()` torch finds one GPU. Each operation on its tensors is computed by the CPU;
an operation that mixes devices, waits for the GPU, or copies to it is counted by its source line.
This reaches into torch 2.13, and needs the library of guard.cpp loaded before torch's own.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

TORCH = "2.13"
GUARD = "STRUCTKIT_TEST_GUARD"  # names the library of guard.cpp
CUDA = torch.device("cuda", 0)

aten = torch.ops.aten
# their result, or its size, is needed on the CPU: it waits until the GPU is done
WAITING = {
    *(aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default),
    *(aten._unique2.default, aten.unique_dim.default, aten.unique_consecutive.default),
    *(aten.bincount.default, aten.equal.default, aten.repeat_interleave.Tensor),
}
INDEXING = {
    *(aten.index.Tensor, aten.index_put.default, aten.index_put_.default),
    aten._index_put_impl_.default,
}
COPYING = {
    *(aten._to_copy.default, aten.copy_.default),
    *(aten.lift_fresh.default, aten.lift_fresh_copy.default),
}
UPDATES = {aten._fused_adamw_.default, aten._fused_adam_.default}  # the end of a step


def built(library: Path) -> dict[str, str]:
    """Compile the device; return the variables with which Python has to start."""
    torch_folder = Path(torch.__file__).parent
    include, libraries = torch_folder / "include", torch_folder / "lib"
    subprocess.run(
        [
            *("g++", "-O1", "-w", "-shared", "-fPIC", "-std=c++20"),
            *(str(Path(__file__).with_name("guard.cpp")), "-o", str(library)),
            *("-I", str(include), "-I", str(include / "torch/csrc/api/include")),
            *("-L", str(libraries), "-lc10", "-ltorch_cpu", "-ltorch"),
        ],
        check=True,
    )
    return {GUARD: str(library), "LD_PRELOAD": str(library), "LD_LIBRARY_PATH": str(libraries)}


@dataclass
class Counts:
    """What happened on the pretended device, by source line; `steps` has the waits of each step."""

    mixed: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    copies: Counter[str] = field(default_factory=Counter)
    kernels: int = 0
    moved: set[str] = field(default_factory=set)  # the types of weights that were moved
    steps: list[Counter[str]] = field(default_factory=list)
    since: Counter[str] = field(default_factory=Counter)

    def wait(self, what: str) -> None:
        """Count an operation for which the CPU waits."""
        line = f"{source_line()} {what}"
        self.waits[line] += 1
        self.since[line] += 1

    def update(self) -> None:
        """End a step of training."""
        self.steps.append(self.since)
        self.since = Counter()


COUNTS = Counts()  # of the block that is being run


def source_line() -> str:
    """The line of ours that is being run, or else the one of transformers."""
    frame, other = sys._getframe(2), "?"
    while frame:
        path = frame.f_code.co_filename
        place = f"{path.rpartition('site-packages/')[2]}:{frame.f_lineno}"
        if "/structkit/learning/" in path or "/plugins/" in path:
            return place.rpartition("/structkit/")[2]
        if other == "?" and "/transformers/" in path:
            other = place
        frame = frame.f_back
    return other


class Pretended(torch.Tensor):
    """A tensor on the pretended device; `held` has its values."""

    held: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, real):
        shape = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device="meta")
        made = torch.Tensor._make_subclass(
            cls, shape, False, dispatch_device=True, device_for_backend_keys=CUDA
        )
        made.held = real.detach()
        return made

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        return compute(operation, args, kwargs or {})

    device = property(lambda self: CUDA)
    is_cuda = property(lambda self: True)
    is_cpu = is_meta = property(lambda self: False)

    def get_device(self):
        return 0

    def data_ptr(self):
        return self.held.data_ptr()

    def untyped_storage(self):
        return self.held.untyped_storage()

    def tolist(self):
        COUNTS.wait("tolist")
        return self.held.tolist()

    def numpy(self, **options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def __array__(self, *args, **options):
        return self.numpy()

    def __repr__(self):
        return f"Pretended({self.held!r})"

    def __reduce_ex__(self, protocol):
        return self.held.__reduce_ex__(protocol)  # a checkpoint is read onto the CPU

    def __deepcopy__(self, memo):
        made = Pretended(self.held.clone())
        parameter = isinstance(self, nn.Parameter)
        return nn.Parameter(made, self.requires_grad) if parameter else made


def unwrap(value):
    return value.held if isinstance(value, Pretended) else value


def compute(operation, args, kwargs):
    """Run an operation of torch on real values, count it, and say where its result is."""
    if operation is torch.ops.prim.device.default:
        return CUDA
    if operation is aten._fused_sdp_choice.default:
        return 0  # attention by plain products
    leaves = tree_leaves((args, kwargs))
    pretended = [each for each in leaves if isinstance(each, Pretended)]
    plain = [
        each
        for each in leaves
        if isinstance(each, torch.Tensor) and not isinstance(each, Pretended)
    ]
    device = kwargs.get("device")
    target = None if device is None else torch.device(device).type
    if pretended or target == "cuda":
        count(operation, args, pretended, plain, target)
    own = dict(kwargs)
    if target == "cuda":
        own["device"] = torch.device("cpu")
    if own.get("pin_memory"):
        own["pin_memory"] = False
    real = operation(*tree_map(unwrap, args), **tree_map(unwrap, own))
    there = target == "cuda" or (pretended and target != "cpu")
    if not there or operation is aten._local_scalar_dense.default:
        return real
    written = written_arguments(operation, args, kwargs)
    if written is not None:
        return written
    return tree_map(lambda each: Pretended(each) if isinstance(each, torch.Tensor) else each, real)


def written_arguments(operation, args, kwargs):
    """The arguments that an operation writes into and returns; None if it returns new tensors."""
    schema = operation._schema
    if not any(is_written(each) for each in schema.returns):
        return None
    written = [
        kwargs[each.name] if each.name in kwargs else args[place]
        for place, each in enumerate(schema.arguments)
        if is_written(each)
    ]
    return written[0] if len(schema.returns) == 1 else tuple(written[: len(schema.returns)])


def is_written(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


def count(operation, args, pretended, plain, target):
    """Count what an operation does to the speed and the order of the pretended device."""
    if not operation.is_view:
        COUNTS.kernels += 1
    if operation in UPDATES:
        COUNTS.update()
        return  # its step counts are on the CPU by choice
    if operation in INDEXING and pretended:
        if not isinstance(args[0], Pretended):
            COUNTS.mixed[f"{source_line()} {operation} into a CPU tensor"] += 1
        index = [each for each in args[1] if each is not None]
        for each in index:
            if not isinstance(each, Pretended):
                COUNTS.copies[f"{source_line()} index on the CPU"] += 1
            elif each.dtype in (torch.bool, torch.uint8):
                COUNTS.wait("boolean index")
    elif pretended and operation not in COPYING:
        if any(each.dim() for each in plain):  # a number may be anywhere
            COUNTS.mixed[f"{source_line()} {operation} with a CPU tensor"] += 1
    if operation in WAITING and pretended:
        COUNTS.wait(str(operation).split(".")[1])
    if operation is aten._to_copy.default:
        if pretended and target == "cpu":
            COUNTS.wait("copy to the CPU")
        elif plain and target == "cuda":
            COUNTS.copies[f"{source_line()} to the GPU"] += 1
    elif operation is aten.copy_.default and pretended and plain:
        if isinstance(args[0], Pretended):
            COUNTS.copies[f"{source_line()} copy_"] += 1
        else:
            COUNTS.wait("copy_ to the CPU")


class Everywhere(TorchDispatchMode):
    """Operations without a pretended tensor, which may make one."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return compute(operation, args, kwargs or {})


def move(module, convert):
    """Replace each tensor of a module by `convert(tensor)`; shared ones stay shared."""
    known = {}
    for part in module.modules():
        for name, weight in part._parameters.items():
            if weight is not None:
                if id(weight) not in known:
                    known[id(weight)] = nn.Parameter(convert(weight.data), weight.requires_grad)
                part._parameters[name] = known[id(weight)]
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = convert(buffer)
    return module


def converted(tensor, dtype):
    return Pretended(tensor.held.to(dtype)) if tensor.is_floating_point() else tensor


def to_pretended(tensor):
    COUNTS.moved.add(str(tensor.dtype).removeprefix("torch."))
    return tensor if isinstance(tensor, Pretended) else Pretended(tensor)


STUBS = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "is_bf16_supported": lambda including_emulation=True: True,
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
    "manual_seed": lambda seed: None,
    "manual_seed_all": lambda seed: None,
    "_is_in_bad_fork": lambda: False,
    "_lazy_init": lambda: None,
}


@contextmanager
def replaced(owner, **functions) -> Iterator[None]:
    """Have other functions of torch in a block."""
    before = {name: getattr(owner, name) for name in functions}
    for name, function in functions.items():
        setattr(owner, name, function)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(owner, name, function)


@contextmanager
def pretended_gpu() -> Iterator[Counts]:
    """Within, torch has a GPU of our making; yields what is counted from here on."""
    global COUNTS
    COUNTS = Counts()
    ctypes.CDLL(os.environ[GUARD]).install()
    plain_to = nn.Module.to

    def to(module, *args, **kwargs):
        first = args[0] if args else kwargs.get("device")
        if isinstance(first, str | torch.device) and torch.device(first).type == "cuda":
            return move(module, to_pretended)
        weights = module.parameters()
        if isinstance(first, torch.dtype) and any(isinstance(each, Pretended) for each in weights):
            return move(module, lambda each: converted(each, first))
        return plain_to(module, *args, **kwargs)

    with (
        replaced(torch.cuda, **STUBS),
        replaced(nn.Module, to=to),
        replaced(torch, inference_mode=torch.no_grad),
        replaced(torch.Tensor, pin_memory=lambda tensor: tensor),
        only_lifting_cpu_tensors(),
        Everywhere(),
        torch.autograd.set_multithreading_enabled(False),
    ):
        yield COUNTS


@contextmanager
def only_lifting_cpu_tensors() -> Iterator[None]:
    """Have `torch.tensor(…, device="cuda")` made on the CPU and copied."""
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        yield
    finally:
        torch._C._set_only_lift_cpu_tensors(False)


def on_device(gpu: bool):
    """The pretended GPU, or the CPU."""
    return pretended_gpu() if gpu else nullcontext(Counts())
