"""A setting of a method: a field with its help, its source and its bounds."""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from typing import Any, Literal

from structkit.errors import UserError, spoken

Group = Literal["common", "method", "model", "texts", "loss", "schedule", "speed", "run"]
# the headings of a long help, in its order
GROUPS: dict[str, str] = {
    "common": "Options",
    "method": "Method",
    "model": "Model",
    "texts": "Texts",
    "loss": "Loss",
    "schedule": "Schedule and validation",
    "speed": "Memory and speed",
    "run": "Run",
}


def setting(
    default: Any,
    help: str,
    source: str = "",
    choices: tuple[str, ...] | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    usual: Any = MISSING,
    group: Group | None = None,
) -> Any:
    """A field of a method's settings: default, one line of help, and the default's source.

    `low` and `high` bound a number, `group` is where the help lists it, by default with what the
    method alone has; a field that overrides an inherited default keeps its bounds and group.
    With `usual`, None means the start model's own value, and `usual` if it has none.
    """
    metadata = {"help": help, "source": source, "choices": choices, "bounds": (low, high)}
    if group:
        metadata["group"] = group
    if usual is not MISSING:
        metadata["usual"] = usual
    return field(default=default, metadata=metadata)


def bounds(kind: type, name: str) -> tuple[float, float] | None:
    """The lowest and the highest value of a setting, in a class or in one that it extends."""
    for each in kind.__mro__:
        setting = vars(each).get("__dataclass_fields__", {}).get(name)
        if setting is not None and setting.metadata.get("bounds", (None,))[0] is not None:
            low, high = setting.metadata["bounds"]
            return low, high
    return None


def group_of(kind: type, name: str) -> str:
    """The group of a setting: a key of `GROUPS`."""
    for each in kind.__mro__:
        setting = vars(each).get("__dataclass_fields__", {}).get(name)
        if setting is not None and "group" in setting.metadata:
            return str(setting.metadata["group"])
    return "method"


def check(settings: Any) -> None:
    """Raise if a setting is not one of its choices or out of its bounds: wrong usage."""
    for each in fields(settings):
        value, flag = getattr(settings, each.name), flag_of(each.name)
        if value is None:
            continue
        if isinstance(value, str) and not _is_utf8(value):  # a model folder records it as JSON
            raise UserError(f"{flag} {value} is not UTF-8", "give it another name", status=2)
        if (choices := each.metadata.get("choices")) and value not in choices:
            raise UserError(
                f"{flag} {value} is not {' or '.join(choices)}", "name one of them", status=2
            )
        if limits := bounds(type(settings), each.name):
            low, high = limits
            if not low <= value <= high:  # NaN is in no range
                raise UserError(
                    f"{flag} {value} is not in {spoken(low)} … {spoken(high)}",
                    "give a number in this range",
                    status=2,
                )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def flag_of(name: str) -> str:
    """The flag of a setting.

    >>> flag_of("max_steps")
    '--max-steps'
    """
    return "--" + name.replace("_", "-")


def help_of(metadata: Any) -> str:
    """A setting's help with its source, as `train METHOD --help` shows it."""
    text = str(metadata.get("help", ""))
    if "usual" in metadata:
        usual = metadata["usual"]
        said = ("no", "yes")[usual] if isinstance(usual, bool) else usual or "none"
        text += f"; default: the model's own, otherwise {said}"
    return f"{text} ({metadata['source']})" if metadata.get("source") else text
