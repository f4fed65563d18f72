"""Fields of records: their values by name, and the text of a record.

One order of fields holds for every command, and one place of code.
"""

from collections.abc import Mapping, Sequence
from posixpath import basename, splitext

from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record, text_field

ABSENT = object()
# documents: training example, code, html-variants, any text, product, HTML under two names
DOCUMENT_FIELDS = ("positive", "code", "untagged", "text", "description", "html", "content")
# queries: training example or query, any text, code
QUERY_FIELDS = ("query", "text", "docstring")
# what help says of them
FIRST_OF_QUERY = f"the first of {', '.join(QUERY_FIELDS)}"
FIRST_OF_DOCUMENT = f"the first of {', '.join(DOCUMENT_FIELDS)}"
# HTML as collected; StructDocRetrieval calls it content
HTML_FIELDS = ("html", "content")
# the field with the query of a document, where one record holds both
QUERY_FIELD_OF: Mapping[str, str] = {
    "positive": "query",
    "code": "docstring",
    "description": "bullets",
    "html": "query",
    "content": "query",
}
# fields from which `pair` makes a positive, without its own output
PAIRED_FIELDS = tuple(name for name in DOCUMENT_FIELDS if name != "positive")
# what adds a field
COMMAND_THAT_ADDS = {
    **dict.fromkeys(("masked", "target"), "mask-entities"),
    **dict.fromkeys(("tagged", "untagged"), "html-variants"),
    "tree": "parse-trees",
}


def remedy_for(field: str) -> str:
    """Return the remedy that adds a field.

    >>> remedy_for("masked")
    'add it with structkit mask-entities'
    """
    return f"add it with {program(COMMAND_THAT_ADDS.get(field, 'pair'))}"


def lookup(record: Record, field: str) -> object:
    """Return the value of a field, or `ABSENT`; `a.b` is in the object `a`, `_id` is an id.

    >>> lookup({"_id": "1", "meta": {"year": 2024}}, "meta.year")
    2024
    """
    if field in record:
        return record[field]
    if field == "id":
        return record.get("_id", ABSENT)
    value: object = record
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def flag_text(value: object) -> str:
    """Return a JSON value as written in a flag.

    >>> [flag_text(value) for value in ("x", 3, 0.5, True, None)]
    ['x', '3', '0.5', 'true', 'null']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def items(value: object) -> list[str]:
    """Return the texts to compare with: a value, or the items of a list; an object has none."""
    values = value if isinstance(value, list) else [value]
    return [flag_text(item) for item in values if not isinstance(item, dict | list)]


def text_name(record: Record, names: Sequence[str], remedy: str) -> str:
    """Return the first of these fields that the record has; null counts last.

    Errors: `UserError` if it has none of them.

    >>> text_name({"id": "1", "text": None, "html": "<p>x"}, DOCUMENT_FIELDS, "name one")
    'html'
    """
    there = [name for name in names if name in record]
    if not there:
        raise UserError(
            f"the record has none of the fields {', '.join(names)} (it has: {', '.join(record)})",
            remedy,
        )
    return next((name for name in there if record[name] is not None), there[0])


def is_tree(name: str) -> bool:
    """Return whether a field of this name holds a tree.

    >>> is_tree("tree"), is_tree("text_a_tree"), is_tree("text_a")
    (True, True, False)
    """
    return name == "tree" or name.endswith("_tree")


def document_text(record: Record, field: str | None = None, *, paths: bool | None = None) -> str:
    """Return a document's text after its title, and after its place in a file (`placed`).

    >>> document_text({"id": "1", "title": "Tea", "text": "It is green."})
    'Tea It is green.'
    """
    name = field or text_name(record, DOCUMENT_FIELDS, f"name one with {flag('document_field')}")
    text = text_field(record, name)
    if field is None and name in ("text", "description") and isinstance(record.get("title"), str):
        text = f"{record['title']} {text}"
    return add_place(text, record, name, paths)


def query_text(record: Record, field: str | None = None) -> str:
    """Return a query's text."""
    name = field or text_name(record, QUERY_FIELDS, f"name one with {flag('query_field')}")
    return text_field(record, name)


def add_place(text: str, record: Record, field: str, paths: bool | None = None) -> str:
    """Return a field's text after its place: with `paths` or, if None, for collected code.

    >>> chunk = {"path": "net/retry.py", "lines": [1, 1], "scope": "class Retry", "code": "pass"}
    >>> add_place("pass", chunk, "code")
    'net/retry.py retry class Retry pass'
    >>> add_place("pass", chunk, "code", paths=False)
    'pass'
    """
    if paths is None:
        paths = field == "code" and "path" in record and "lines" in record
    place = _place_of_record(record) if paths else ""
    return f"{place} {text}" if place else text


def _place_of_record(record: Record) -> str:
    """Return a text's place as `collect` records it: path, file name, scope and names."""
    path, scope, names = (record.get(field) for field in ("path", "scope", "names"))
    parts = [path, splitext(basename(path))[0]] if isinstance(path, str) else []
    if isinstance(scope, str):
        parts.append(scope)
    if isinstance(names, list):
        parts += [name for name in names if isinstance(name, str)]
    return " ".join(part for part in parts if part)
