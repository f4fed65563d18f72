"""Draw the losses of training runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from structkit.commands.plot.pictures import COLORS, LINES, PictureSettings, looks, names, save
from structkit.errors import UserError
from structkit.records.jsonl import Records
from structkit.records.lines import input_name
from structkit.settings import Command, file_setting


@dataclass(frozen=True, kw_only=True)
class Settings(PictureSettings):
    """Draw the loss over the steps of training runs."""

    files: tuple[str, ...] = file_setting(
        "Model folders, or logs of `train --log-format json`.", ..., metavar="FILES", argument=True
    )


def losses(settings: Settings) -> None:
    """Draw the loss over the steps, from model folders or what `train --log-format json` wrote."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for name, file in zip(names(settings.files), settings.files, strict=True):
        records = Records.read([_log(file)])
        for record in records:
            if all(isinstance(record.get(each), int | float) for each in ("step", "loss")):
                steps, values = curves.setdefault(name, ([], []))
                steps.append(record["step"])
                values.append(record["loss"])
    if not curves:
        problem = UserError("no line holds a step and a loss", "train with --log-format json")
        raise problem.at(input_name(settings.files[0]))

    def draw(axes: Any) -> None:
        rows = zip(curves.items(), looks(LINES, COLORS), strict=False)
        for (name, (steps, values)), (line, color) in rows:
            axes.plot(steps, values, linestyle=line, color=color, label=name)
        axes.set(xlabel="step", ylabel="loss")
        axes.legend()

    save(draw, settings.output, (6, 4))


def _log(name: str) -> str:
    """The log of a training: a file, or that in a model folder."""
    from structkit.learning.folders.facts import LOSSES

    return os.path.join(name, LOSSES) if os.path.isdir(name) else name


COMMAND = Command(losses, Settings, losses)
