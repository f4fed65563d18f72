"""Memory of a training step of models of real shapes on a card, computed without one.

    python -m experiments.sizes [MODEL …]

A chunk's forward and backward pass runs on fake CUDA tensors, which have sizes but no numbers. What
stays in memory is added: weights, gradients and AdamW's state. Attention is the memory-efficient
kernel, in bfloat16. The passes are those of transformers, with a loss over all states; structkit's
trainer adds little. See the table in docs/guide/models.md.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import masking_utils

from structkit.learning.encoders.models import prepare_layers
from structkit.registry import load
from tests.gpu.pretend import GUARD, built

GB = 1e9
CARDS = {"16 GB": 15, "24 GB": 23, "80 GB": 78}  # what is free of them
RESERVED = 1.0  # GB of CUDA itself and of holes between tensors: an estimate
LARGE: dict[str, Any] = {"hidden_size": 1024, "num_attention_heads": 16}
T5_BASE: dict[str, Any] = {
    "d_model": 768,
    "d_ff": 3072,
    "num_heads": 12,
    "num_layers": 12,
    "decoder_start_token_id": 0,
}
CONFIGS: dict[str, Any] = {
    "BERT-base": lambda: hf.BertConfig(vocab_size=30522),
    "T5-base": lambda: hf.T5Config(**T5_BASE),
    "XLM-R-large": lambda: hf.XLMRobertaConfig(
        **LARGE,
        vocab_size=250002,
        num_hidden_layers=24,
        intermediate_size=4096,
        max_position_embeddings=8194,
    ),
    "Qwen3-0.6B": lambda: hf.Qwen3Config(
        **LARGE,
        vocab_size=151936,
        num_hidden_layers=28,
        intermediate_size=3072,
        num_key_value_heads=8,
        head_dim=128,
        tie_word_embeddings=True,
        use_cache=False,
    ),
}
# method, model, texts in a chunk, tokens of a document
CASES = [
    ("santa", "T5-base", 16, 240),
    ("seal", "BERT-base", 8, 512),
    ("seal", "XLM-R-large", 1, 4096),
    ("seal", "XLM-R-large", 8, 4096),
    ("seal", "Qwen3-0.6B", 1, 4096),
]
TARGET = 35  # tokens of SANTA's targets
FLAGS: dict[str, dict[str, Any]] = {
    "": {},
    "`--checkpointing`": {"checkpointing": True},
    "`--lora-rank 16`": {"lora_rank": 16},
    "both": {"checkpointing": True, "lora_rank": 16},
}


class Track(TorchDispatchMode):
    """The bytes of all tensors on the card, and their highest sum."""

    def __init__(self) -> None:
        super().__init__()
        self.live, self.peak, self.seen = 0, 0, dict[int, int]()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, and count the storages that it made."""
        out = function(*args, **(kwargs or {}))
        for each in tree_leaves(out):
            if isinstance(each, Tensor) and each.device.type == "cuda":
                self.add(each.untyped_storage())
        return out

    def add(self, storage: Any) -> None:
        """Count a storage until it is freed."""
        if (key := storage._cdata) not in self.seen:
            self.seen[key] = storage.nbytes()
            self.live += storage.nbytes()
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self.free, key)

    def free(self, key: int) -> None:
        """Forget a storage."""
        self.live -= self.seen.pop(key, 0)


def pretend() -> None:
    """Let a CPU build of torch make fake CUDA tensors that attend as on a card."""
    ctypes.CDLL(os.environ[GUARD]).install()
    torch._C._set_only_lift_cpu_tensors(True)
    torch.cuda.is_available = lambda: True
    torch.cuda.is_bf16_supported = lambda including_emulation=True: True
    torch.cuda._lazy_init = lambda: None
    for name in ("_ignore_bidirectional_mask_sdpa", "_ignore_causal_mask_sdpa"):
        setattr(masking_utils, name, lambda *args, **options: False)  # texts of several lengths
    nn.functional.scaled_dot_product_attention = attend


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attend by the memory-efficient kernel, which keeps no weights of pairs of tokens."""
    if enable_gqa:
        groups = query.shape[1] // key.shape[1]
        key, value = (each.repeat_interleave(groups, 1) for each in (key, value))
    query, key, value = (each.to(torch.bfloat16) for each in (query, key, value))
    bias = None
    if attn_mask is not None:
        bias = attn_mask.to(query.dtype).expand(*query.shape[:3], key.shape[2])
    kernel = torch.ops.aten._scaled_dot_product_efficient_attention
    return kernel(query, key, value, bias, True, dropout_p, is_causal, scale=scale)[0]


def model_of(name: str) -> Any:
    """Return a model of this shape; SANTA's T5 has its decoder."""
    config = CONFIGS[name]()
    if config.is_encoder_decoder:
        return hf.T5ForConditionalGeneration(config)
    pooler = {} if name.startswith("Qwen") else {"add_pooling_layer": False}
    return hf.AutoModel.from_config(config, **pooler)


def move(model: Any) -> None:
    """Move a model's weights to the card as fake ones; tied weights stay tied."""
    moved: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, each in module._parameters.items():
            if each is not None:
                empty = torch.empty(each.shape, device="cuda")
                moved.setdefault(id(each), nn.Parameter(empty, each.requires_grad))
                module._parameters[name] = moved[id(each)]
        for name, each in module._buffers.items():
            if each is not None:
                module._buffers[name] = torch.empty(each.shape, dtype=each.dtype, device="cuda")


def loss_of(model: Any, count: int, length: int) -> Tensor:
    """Return a loss over one chunk: its documents, and SANTA's targets for a T5."""
    ids = torch.zeros(count, length, dtype=torch.int64, device="cuda")
    texts = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if not model.config.is_encoder_decoder:
        return model(**texts)[0][:, 0].float().sum()
    states = model.get_encoder()(**texts)[0]
    target = torch.zeros(count, TARGET, dtype=torch.int64, device="cuda")
    decoder = model.get_decoder()
    decoded = decoder(input_ids=target, encoder_hidden_states=states, use_cache=False)[0]
    scores = model.lm_head(decoded.flatten(0, 1)).float()
    return nn.functional.cross_entropy(scores, target.flatten()) + decoded[:, 0].float().sum()


def computed(method: str, name: str, count: int, length: int, flags: Any) -> tuple[float, float]:
    """Return the gigabytes that stay during a training, and the most that a chunk adds."""
    gc.collect()
    settings = load("method", method)(model="start", **flags)
    with torch.device("meta"):
        model = model_of(name)
        prepare_layers(model, settings)
    track = Track()
    with FakeTensorMode(allow_non_fake_inputs=True):
        move(model)
        model.train()
        whole = sum(each.numel() for each in model.parameters())
        trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
        with track, torch.autograd.set_multithreading_enabled(False):
            with torch.autocast("cuda", torch.bfloat16):
                loss = loss_of(model, count, length)
            loss.backward()
    # gradients are part of the peak: they appear while the pass goes back
    return (4 * whole + 8 * trained) / GB, track.peak / GB


def table(chosen: list[str]) -> Iterator[str]:
    """Yield the lines of the table for these models; all of them if there is none."""
    yield "| method | model | chunk | flags | stays | chunk adds | together | smallest card |"
    yield "|---|---|---:|---|---:|---:|---:|---|"
    for method, name, count, length in CASES:
        for label, flags in FLAGS.items() if name in (chosen or CONFIGS) else ():
            stays, peak = computed(method, name, count, length, flags)
            total = stays + peak + RESERVED
            card = next((card for card, free in CARDS.items() if total <= free), "none")
            chunk = f"{count} × {length:,}"
            sizes = (f"{each:.1f} GB" for each in (stays, peak, total))
            cells = [method, name, chunk, label or "none", *sizes]
            yield f"| {' | '.join([*cells, card])} |"


def with_guard(run: Callable[[], None]) -> None:
    """Start Python again with the library that fake CUDA tensors need, then run."""
    if GUARD in os.environ:
        return run()
    with tempfile.TemporaryDirectory() as folder:
        names = built(Path(folder, "guard.so"))
        command = [sys.executable, "-m", "experiments.sizes", *sys.argv[1:]]
        sys.exit(os.spawnve(os.P_WAIT, sys.executable, command, {**os.environ, **names}))


def main() -> None:
    """Print the table."""
    pretend()
    for line in table(sys.argv[1:]):
        print(line, flush=True)


if __name__ == "__main__":
    with_guard(main)
