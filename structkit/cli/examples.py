"""Examples at the end of each --help."""


def shown(examples: str) -> str:
    """The end of a command's help: lines that stay as they are."""
    lines = examples.strip().splitlines()
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
