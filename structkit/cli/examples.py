"""Examples at the end of each --help."""


def shown(examples: str) -> str:
    """The end of a command's help: lines that are not wrapped."""
    lines = examples.strip().splitlines()
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
