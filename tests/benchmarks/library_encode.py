"""Encode a file of texts by sentence-transformers alone, as a program of its own.

python -m tests.benchmarks.library_encode MODEL BACKEND TEXTS.jsonl OUT.npy [SAVED]

With SAVED the model is written there as well, with what its backend exports at the first time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer


def main(model: str, backend: Any, texts: str, out: str, saved: str = "") -> None:
    torch.set_num_threads(1)
    library = SentenceTransformer(
        model, device="cpu", backend=backend, local_files_only=True, model_kwargs=options(backend)
    )
    lines = Path(texts).read_text("utf-8").splitlines()
    np.save(out, library.encode([json.loads(line)["text"] for line in lines]))
    if saved:
        library.save_pretrained(saved)


def options(backend: str) -> dict[str, object]:
    """What has ONNX Runtime use one thread, too."""
    if backend != "onnx":
        return {}
    from onnxruntime import SessionOptions

    session = SessionOptions()
    session.intra_op_num_threads = 1
    return {"session_options": session, "provider": "CPUExecutionProvider"}


if __name__ == "__main__":
    main(*sys.argv[1:])
