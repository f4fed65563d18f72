"""One model over several processes, each of which holds a part of every weight: `--shard-model`.

torch's FSDP2 gathers the weights of a layer while it computes. So all processes must call the same
layers in the same order: gradient caching has one with fewer texts compute others, times 0.

Tests: tests/learning/training/test_sharding.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed import fsdp
from torch.distributed.checkpoint import filesystem, state_dict_loader, state_dict_saver
from torch.distributed.device_mesh import init_device_mesh

from structkit.errors import UserError, flag
from structkit.learning.training.devices import place, rank, ranks


class Shards:
    """The weights of a module, divided among all processes, layer by layer; and their gradients.

    Gradients are added up by the last backward pass of a step, after `start`.
    """

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.module: Any = module
        if not hasattr(fsdp, "fully_shard"):
            raise UserError(f"{flag('shard_model')} needs a newer torch", "install torch 2.8")
        mesh = init_device_mesh(device.type, (ranks(),))
        for part in [*layers(module), module]:
            sharded: Any = fsdp.fully_shard(part, mesh=mesh)
            sharded.set_gradient_divide_factor(1.0)  # a loss is a mean over the whole batch already
            sharded.set_force_sum_reduction_for_comms(True)  # gloo has no other
        # it gathers what it needs between the layers, such as the embeddings of tokens
        fsdp.register_fsdp_forward_method(module, "embedded")
        place(module, device)
        self.finish()

    def start(self) -> None:
        """Exchange the gradients of the next backward pass, with those before it."""
        self.module.set_requires_gradient_sync(True)

    def finish(self) -> None:
        """Keep the gradients that come from here on, until `start`."""
        self.module.set_requires_gradient_sync(False)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint holds of the module: each weight that is trained, once."""
        weights = {f"module.{name}": each for name, each in self.module.named_parameters()}
        return {name: each.detach() for name, each in weights.items() if each.requires_grad}

    def save(self, folder: Path, optimizer: torch.optim.Optimizer) -> None:
        """Write the weights and the state of their optimizer: each process its part."""
        tensors = self.tensors()
        for number, moments in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": each for name, each in moments.items()}
        state_dict_saver.save(tensors, checkpoint_id=folder)

    def load(self, folder: Path, optimizer: torch.optim.Optimizer) -> None:
        """Read what any number of processes wrote with `save`."""
        tensors, moments = self.tensors(), dict[int, dict[str, Tensor]]()
        weights = [each for group in optimizer.param_groups for each in group["params"]]
        for key in filesystem.FileSystemReader(folder).read_metadata().state_dict_metadata:
            kind, number, *name = key.split(".")
            if kind == "optimizer":
                like = torch.zeros_like(weights[int(number)].detach())
                tensors[key] = torch.zeros(()) if name == ["step"] else like
                moments.setdefault(int(number), {})[name[0]] = tensors[key]
        state_dict_loader.load(tensors, checkpoint_id=folder)
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})

    def whole(self, build: Callable[[], Any]) -> Any:
        """Return the whole module, on the CPU of the first process; None in the others."""
        state = {}
        for name, each in self.module.state_dict().items():
            tensor = each.full_tensor() if hasattr(each, "full_tensor") else each
            if rank() == 0:
                state[name] = tensor.cpu()
        if rank():
            return None
        made = build()
        made.load_state_dict(state)
        return made


def layers(module: nn.Module) -> list[nn.Module]:
    """Return the layers of all stacks in a module that are in no other stack."""
    stacks: dict[str, nn.ModuleList] = {}
    for name, part in module.named_modules():
        if isinstance(part, nn.ModuleList) and not name.startswith(tuple(stacks)):
            stacks[f"{name}."] = part
    return [layer for stack in stacks.values() for layer in stack]
