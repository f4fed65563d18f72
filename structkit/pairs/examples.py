"""Which field of a record is its query, and which the document that answers it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from structkit.errors import UserError, flag, leave_out
from structkit.records.fields import DOCUMENT, QUERY, QUERY_OF, SOURCES, text_name
from structkit.records.jsonl import Record, json_kind, text_field
from structkit.seeds import random_for
from structkit.structure.code.languages import without_docstring

# query and document of every kind of record that holds both
KINDS = [(QUERY_OF[name], name) for name in DOCUMENT if name in QUERY_OF]
FIELD = re.compile(r"\{(\w+)\}")  # in a template
LISTS = ("bullets", "product_bullet_point")  # a string is a list too, one item per line (ESCI)


@dataclass(frozen=True)
class Fields:
    """The fields with a record's query and document; None: by the kind of record."""

    query: str | None = None
    positive: str | None = None
    template: str | None = None

    def __post_init__(self) -> None:
        if self.template is not None and not FIELD.search(self.template):
            problem = f"{flag('positive_template', self.template)} names no fields in braces"
            remedy = "for example 'title : {title} text : {description}'"
            raise UserError(problem, remedy, status=2)

    def example(self, record: Record, seed: int) -> Record:
        """Query and positive of one record that holds both.

        >>> fields = Fields(template="title : {title} text : {description}")
        >>> record = {"id": "1", "bullets": "Red", "title": "Cup", "description": "A cup."}
        >>> fields.example(record, 0)
        {'query': 'Red', 'positive': 'title : Cup text : A cup.'}
        """
        query, positive = self._kind(record)
        asked = text(record, query, seed, "query")
        if query == "docstring" and isinstance(record.get(positive), str):
            record = {**record, positive: without_docstring(record[positive], record)}
        if self.template is not None:
            return {"query": asked, "positive": fill(self.template, record)}
        return {"query": asked, "positive": text(record, positive, seed, "positive")}

    def _kind(self, record: Record) -> tuple[str, str]:
        if self.query and self.positive:
            return self.query, self.positive
        for side, name in ((1, self.positive), (0, self.query)):
            kinds = [kind for kind in KINDS if (name or kind[side]) == kind[side]]
            for kind in kinds:
                if kind[side] in record:
                    return self.query or kind[0], self.positive or kind[1]
        if self.template and self.query:
            return self.query, "positive"
        problem = f"the record is not code, product or HTML document: it has {', '.join(record)}"
        raise UserError(problem, f"name its fields with {flag('query')} and {flag('positive')}")

    def query_text(self, record: Record) -> str:
        """The text of a record that is a query."""
        name = self.query or text_name(record, QUERY, f"name one with {flag('query')}")
        return text(record, name, 0, "query")

    def document_text(self, record: Record) -> str:
        """The text of a record that is a document."""
        if self.template is not None:
            return fill(self.template, record)
        name = self.positive or text_name(record, SOURCES, f"name one with {flag('positive')}")
        return text(record, name, 0, "positive")


def text(record: Record, field: str, seed: int, setting: str) -> str:
    """The text in a field; of a list, one nonempty item drawn by `(seed, id)`."""
    value: Any = record.get(field)
    another = f"name another with {flag(setting)}"
    if isinstance(value, str) and field in LISTS:
        value = value.splitlines()
    if isinstance(value, list):
        if other := [json_kind(item) for item in value if not isinstance(item, str)]:
            problem = f'field "{field}" is a list with {other[0]}, not of strings alone'
            raise UserError(problem, another)
        full = [item for item in value if item.strip()]
        value = random_for(seed, record["id"], field).choice(full) if full else ""
    else:
        value = text_field(record, field, f"{another}, or {leave_out()}", named=True)
    if not value.strip():
        raise UserError(f'field "{field}" is empty', leave_out())
    return str(value)


def fill(template: str, record: Record) -> str:
    """The template fill with the record's fields; null is empty, a list is its items joined.

    A field that is missing, and fields that are all empty, raise.
    """
    values = {name: _value(record, name) for name in FIELD.findall(template)}
    if not any(map(str.strip, values.values())):
        raise UserError(f"the fields {', '.join(values)} are empty", "leave the record out")
    return FIELD.sub(lambda match: values[match[1]], template).rstrip()


def _value(record: Record, name: str) -> str:
    value = record.get(name)
    if name in record and value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    remedy = f"change {flag('positive_template')}, which names it"
    return text_field(record, name, remedy, named=True)
