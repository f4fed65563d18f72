"""Write a model whose weights are a pickle again, with safe weights, which structkit reads.

    python -m experiments.weights NAME -o FOLDER

NAME is a folder, or a model on the Hugging Face Hub. torch takes tensors alone out of the pickle
(`weights_only`), so that nothing in it runs. Settings are copied, and a tokenizer that has no
tokenizer.json gets one.
"""

from __future__ import annotations

import argparse
import pickle
import shutil
import sys
from pathlib import Path

import huggingface_hub
import safetensors.torch
import torch
from transformers import AutoTokenizer

from structkit.records.output import whole_folder

SETTINGS = ("*.json", "*.txt", "*.model")


def folder_of(name: str) -> Path:
    """Return a folder, or a download from the Hub."""
    if Path(name).is_dir():
        return Path(name)
    patterns = [*SETTINGS, "pytorch_model*.bin"]
    return Path(huggingface_hub.snapshot_download(name, allow_patterns=patterns))


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Read all weights of a folder; a pickle that holds anything else is refused."""
    files = sorted(folder.glob("pytorch_model*.bin"))
    if not files:
        sys.exit(f"{folder}: has no pytorch_model.bin; its weights need no conversion")
    found: dict[str, torch.Tensor] = {}
    for file in files:
        try:
            found |= torch.load(file, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            sys.exit(
                f"{file}: holds more than tensors, or is damaged: {str(error).splitlines()[0]}"
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="weights")
    parser.add_argument("name")
    parser.add_argument("-o", required=True, metavar="FOLDER")
    options = parser.parse_args()
    source = folder_of(options.name)
    # a copy of each: tensors of a pickle may share their memory
    weights = {name: each.contiguous().clone() for name, each in tensors(source).items()}
    with whole_folder(options.o) as folder:
        for pattern in SETTINGS:
            for file in source.rglob(pattern):
                place = folder / file.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)
        (folder / "pytorch_model.bin.index.json").unlink(missing_ok=True)
        safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
        if not (folder / "tokenizer.json").exists():
            AutoTokenizer.from_pretrained(source, use_fast=True).save_pretrained(folder)
    print(f"{options.o}: {len(weights)} weights; name it with --model or MODEL=")


if __name__ == "__main__":
    main()
