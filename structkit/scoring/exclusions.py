"""Documents that a query may not find: its own, as in BEIR, or those that it lists, as in BRIGHT.

Tests: tests/commands/test_score.py.
"""

from __future__ import annotations

from typing import Any

from structkit.errors import RECORD_REMEDY, UserError, missing
from structkit.records.fields import items
from structkit.records.jsonl import Record, Records, json_kind, parse_each
from structkit.settings import setting

OWN_ID = "self"
EXCLUDED_IDS_FIELD = "excluded_ids"  # of a query, as BRIGHT calls it


def exclude_setting(group: str | None = None) -> Any:
    """Declare which documents rankings leave out."""
    return setting(
        (),
        "Leave out a document with the query's own id (self; BEIR: ArguAna, Quora), or those in "
        f"`{EXCLUDED_IDS_FIELD}` of the queries in a file (BRIGHT).",
        metavar="self|FILE",
        reads=OWN_ID,
        group=group,
    )


class Exclusions:
    """The documents to leave out for each query; `most` is their largest number.

    Errors: a file without the field `excluded_ids`.
    """

    def __init__(self, exclude: tuple[str, ...]) -> None:
        self.own = OWN_ID in exclude
        self.listed: dict[str, set[str]] = {}
        for file in exclude:
            if file != OWN_ID:
                listed = dict(parse_each(Records.read([file]), _excluded_ids))
                if not any(listed.values()):
                    raise missing(EXCLUDED_IDS_FIELD, (), "name queries that have it").at(file)
                for query_id, doc_ids in listed.items():
                    self.listed.setdefault(query_id, set()).update(doc_ids)
        self.most = self.own + max(map(len, self.listed.values()), default=0)

    def of(self, query_id: str) -> set[str]:
        """Return the ids of the documents to leave out for a query."""
        own = {query_id} if self.own else set[str]()
        return own | self.listed.get(query_id, set())


def _excluded_ids(record: Record) -> list[str]:
    value = record.get(EXCLUDED_IDS_FIELD) or []
    if not isinstance(value, list):
        problem = f'field "{EXCLUDED_IDS_FIELD}" is {json_kind(value)}, not an array'
        raise UserError(problem, RECORD_REMEDY)
    return items(value)
