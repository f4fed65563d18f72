"""CodeSearchNet's functions: the fields of its files, in their order.

Tests: tests/commands/test_convert.py.
"""

from collections.abc import Mapping

from structkit.formats.interchange import Fields, Row

FUNCTION_FIELDS = (
    "repo path func_name original_string language code code_tokens docstring docstring_tokens sha "
    "url partition".split()
)
SAME_NAMES = dict(zip(FUNCTION_FIELDS, FUNCTION_FIELDS, strict=True))


def function_row(record: Fields, names: Mapping[str, str] = SAME_NAMES) -> Row:
    """Return the row of a function: its fields under these names and in their order."""
    row = {names["code"]: record.pop_field("code")} | record.move(names)
    return {name: row[name] for name in names.values() if name in row}
