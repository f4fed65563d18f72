"""What torch computes with: a device at its fastest precision, processes that share it, weights.

Every process ("rank") embeds its share of a batch; embeddings are exchanged, so that each sees all
negatives, and gradients are added up: without dropout, the result equals one process's.

Tests: tests/learning/training/test_devices.py, tests/test_reproducibility.py.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from structkit.errors import UserError, flag
from structkit.learning.folders import WEIGHTS_FILE, damage_error, read_weights, write_weights
from structkit.learning.model import Model
from structkit.processes import is_mkl_compatible

ON_CPU = {"on_cpu": True}  # marks a field of a batch that no device computes with
BF16_CAPABILITIES = ("avx512_bf16", "amx_bf16", "bf16")  # x86, x86, Arm
MAX_PRODUCT_ERROR = 1e-5  # of the largest number of a product


def chosen_device(name: str | None = None) -> torch.device:
    """Return the device of that name, or the fastest one available."""
    if name:
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a computation's lack of memory into an error with a remedy.

    Other faults of a device, such as an illegal memory access, are not changed.
    """
    try:
        yield
    except Exception as error:
        if not lacks_memory(error):
            raise
        raise UserError(
            "there is not enough memory",
            f"lower {flag('batch_size')}, the lengths or the sizes of the model, or set "
            f"{flag('chunk_size')}",
        ) from None


def lacks_memory(error: BaseException) -> bool:
    """Return whether torch or Python raised this because memory was too small.

    >>> lacks_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
    False
    """
    # torch has no exception class for this on a CPU
    of_cpu = "DefaultCPUAllocator" in str(error)
    return of_cpu or isinstance(error, MemoryError | torch.OutOfMemoryError)


def has_bf16(device: torch.device) -> bool:
    """Return whether bfloat16 is faster than float32, in the device's hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # oneDNN also claims bfloat16 where it only emulates it, slower than float32; an older torch
    # has no such list
    able: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(able.get(name) for name in BF16_CAPABILITIES)


def fastest_matmul() -> str:
    """Return the fastest harmless matmul precision: `highest` is MKL, `medium` oneDNN.

    Timing never decides, so that equal runs have equal bits: if MKL runs at full speed, oneDNN
    gains nothing; if MKL has its slow code, all but small products gain.
    """
    if not is_mkl_compatible() or not has_bf16(torch.device("cpu")):
        return "highest"  # without such instructions torch has no oneDNN for float32
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(128, 384, generator=generator)
    right = torch.randn(256, 384, generator=generator)
    products = []
    for precision in ("highest", "medium"):
        with matmul(precision):
            products.append(nn.functional.linear(left, right))
    exact, product = products
    error = float((product - exact).abs().max() / exact.abs().max())
    return (
        "medium" if error < MAX_PRODUCT_ERROR else "highest"
    )  # some processors do round to bfloat16


@contextmanager
def matmul(precision: str) -> Iterator[None]:
    """Compute float32 products at a precision of `torch.set_float32_matmul_precision`."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


Value = TypeVar("Value")


def with_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a batch of dataclasses and dicts, with `change(tensor)` for each tensor in it."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: with_tensors(each, change) for name, each in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    own = [each.name for each in fields(value) if not each.metadata.get("on_cpu")]
    return replace(value, **{name: with_tensors(getattr(value, name), change) for name in own})


def rank() -> int:
    """Return the number of this process, 0 if it is the only one."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def world_size() -> int:
    """Return the number of processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def share(records: int) -> slice:
    """Return this process's adjacent share of a batch's records.

    >>> share(5)
    slice(0, 5, None)
    """
    return slice(records * rank() // world_size(), records * (rank() + 1) // world_size())


def gather_rows(rows: Tensor, first: int, total: int) -> Tensor:
    """Return the rows of all processes, (total, …); this one's begin at `first`."""
    if world_size() == 1:
        return rows
    # zeros and a sum instead of all_gather: shares may be of unequal size, or empty
    everything = rows.new_zeros(total, *rows.shape[1:])
    everything[first : first + len(rows)] = rows
    distributed.all_reduce(everything)
    return everything


def total(value: float) -> float:
    """Return the sum of a number over all processes."""
    if world_size() == 1:
        return value
    numbers = torch.tensor([value], dtype=torch.float64)  # on the CPU: no GPU is waited for
    distributed.all_reduce(numbers)
    return float(numbers.item())


def sum_gradients(module: nn.Module) -> None:
    """Replace every gradient by its sum over all processes; a weight without any keeps none."""
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    having = torch.tensor([weight.grad is not None for weight in weights]).int()
    distributed.all_reduce(having)  # on the CPU
    exchanges = []
    for weight, count in zip(weights, having.tolist(), strict=True):
        if count:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
            exchanges.append(distributed.all_reduce(weight.grad, async_op=True))
    for exchange in exchanges:
        exchange.wait()


def same_parameters(module: nn.Module) -> None:
    """Give every process the parameters of the first."""
    for weight in [*module.parameters(), *module.buffers()]:
        distributed.broadcast(weight.data, 0)


def gather(value: Value) -> list[Value]:
    """Return the values of all processes, in their order."""
    if world_size() == 1:
        return [value]
    of_ranks: list[Any] = [None] * world_size()
    distributed.all_gather_object(of_ranks, value)
    return of_ranks


def trained_state(module: nn.Module) -> dict[str, Any]:
    """Return the state of a module without the weights that its training never changes."""
    fixed = fixed_weights(module)
    return {name: each for name, each in module.state_dict().items() if name not in fixed}


def fixed_weights(module: nn.Module) -> dict[str, Tensor]:
    """Return the weights by name that need no gradient."""
    weights = module.named_parameters(remove_duplicate=False)
    return {name: weight for name, weight in weights if not weight.requires_grad}


def load_trained(module: nn.Module, state: dict[str, Any]) -> None:
    """Restore what `trained_state` returned, or a whole state."""
    module.load_state_dict(fixed_weights(module) | state)


class TorchModel(nn.Module, Model):
    """A trained model that torch computes."""

    @property
    def device(self) -> torch.device:
        """The device on which it computes."""
        return next(self.parameters()).device

    @abstractmethod
    def batch(self, inputs: Sequence[Any]) -> Any:
        """Return some inputs as one batch."""

    @abstractmethod
    def embed(self, batch: Any) -> Tensor:
        """Return one embedding per input, (inputs, dim)."""


def save_state(module: nn.Module, folder: Path) -> None:
    """Write the weights of a module."""
    state = module.state_dict()
    write_weights(folder, {name: each.cpu().numpy() for name, each in state.items()})


def load_state(module: nn.Module, folder: Path) -> None:
    """Give a module the weights in a folder. Errors: `UserError` where they are not its own."""
    stored = {name: torch.from_numpy(each) for name, each in read_weights(folder).items()}
    try:
        module.load_state_dict(stored)
    except RuntimeError as error:  # a heading, and a line for each difference
        first = str(error).partition("\n")[2].partition("\n")[0].strip()
        raise damage_error(f"is of another model: {first:.200}", folder / WEIGHTS_FILE) from None
