"""Documents that a query may not find: its own, as in BEIR, or those that it lists, as in BRIGHT.

Tests: tests/commands/test_score.py.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from structkit.errors import RECORD_REMEDY, UserError, flag, missing
from structkit.progress import say
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
        self.listed: defaultdict[str, set[str]] = defaultdict(set)
        for file in exclude:
            if file != OWN_ID:
                parsed = parse_each(Records.read([file]), _excluded_ids)
                listed = {query_id: doc_ids for query_id, doc_ids in parsed if doc_ids}
                if not listed:
                    raise missing(EXCLUDED_IDS_FIELD, (), "name queries that have it").at(file)
                for query_id, doc_ids in listed.items():
                    self.listed[query_id].update(doc_ids)
        self.most = self.own + max(map(len, self.listed.values()), default=0)
        self.unseen = set(self.listed)  # queries that have no ranking so far
        self.found = 0

    def holds(self, query_id: str, doc_id: str) -> bool:
        """Return whether to leave a document out of the ranking of a query."""
        self.unseen.discard(query_id)
        is_listed = query_id in self.listed and doc_id in self.listed[query_id]
        self.found += is_listed
        return is_listed or (self.own and doc_id == query_id)

    def report(self) -> None:
        """Report after all rankings what has had no effect. Errors: no query has exclusions."""
        excluded = flag("exclude")
        if self.unseen and len(self.unseen) == len(self.listed):
            problem = f"{excluded}: no ranking is of one of its {len(self.listed):,} queries"
            raise UserError(problem, "name the file of the queries that are asked")
        if self.listed and not self.found:
            say(f"{excluded}: no ranking has a document that its query excludes; compare the ids")


def _excluded_ids(record: Record) -> list[str]:
    value = record.get(EXCLUDED_IDS_FIELD) or []
    if not isinstance(value, list):
        problem = f'field "{EXCLUDED_IDS_FIELD}" is {json_kind(value)}, not an array'
        raise UserError(problem, RECORD_REMEDY)
    return items(value)
