"""Rankers: what each says of hits, worked by hand; nothing a ranker says depends on order."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from structkit.errors import UserError
from structkit.ranking.candidates import Candidate, Query
from structkit.ranking.reranking import Weights
from structkit.registry import load, names


def hits(*records: dict[str, Any]) -> list[Candidate]:
    return [
        Candidate(str(number), 1 - number / 10, record) for number, record in enumerate(records)
    ]


def said(name: str, query: str, *records: dict[str, Any]) -> list[float]:
    return load("ranker", name)().scores(Query("q", query), hits(*records)).tolist()


def paths(*names: str) -> list[dict[str, Any]]:
    return [{"path": name} for name in names]


@pytest.mark.parametrize(
    ("query", "path", "expected"),
    [
        ("retry", "pkg/retry_test.go", -1),
        ("retry", "src/RetryTest.java", -1),
        ("retry", "tests/retry.py", -1),
        ("retry", "src/retry.spec.ts", -1),
        ("testing client", "src/testing.py", 0),
        ("retry", "src/attestation.py", 0),
        ("how do the tests retry", "tests/retry.py", 0),
        ("retry", "examples/retry.py", -1),
        ("retry", "vendor/net/retry.go", -1),
        ("retry", "api/retry.pb.go", -1),
        ("retry", "types/retry.d.ts", -1),
        ("retry", "pkg/_compat.py", -1),
        ("compat types", "pkg/_compat.py", 0),
        ("retry", "vendor/net/tests/retry.go", -2),
        ("how do the tests retry", "vendor/net/tests/retry.go", -1),
    ],
)
def test_files_of_kinds_that_seldom_answer_are_demoted(
    query: str, path: str, expected: int
) -> None:
    assert [expected] == said("path-kinds", query, {"path": path})


@pytest.mark.parametrize(
    ("query", "demoted", "others"),
    [
        ("parse", ["api/v1/parse.ts"], ["api/v2/a.ts", "api/v2/b.ts", "c.ts"]),
        ("parse in V1", [], ["api/v1/parse.ts", "api/v2/a.ts"]),
        ("parse in v3", ["v2/a.ts"], ["v3/a.ts", "v4/a.ts"]),
        ("parse", ["v9/a.ts"], ["v10/a.ts"]),
        ("parse", [], ["one/v1/a.ts", "two/v2/a.ts", "vat/a.ts"]),
        ("pool", ["include/pool.h"], ["src/pool.cc", "src/queue.h"]),
        ("which header has the pool", [], ["pool.h", "pool.c"]),
    ],
)
def test_files_are_demoted_for_others_among_the_hits(query, demoted, others) -> None:
    expected = [-1.0] * len(demoted) + [0.0] * len(others)
    assert expected == said("path-kinds", query, *paths(*demoted, *others))


def test_words_of_paths_count_by_rarity() -> None:
    found = said("path-words", "json reader", *paths("json.py", "reader.py", "json/x.py", "y.py"))
    assert found[1] > found[0] > found[2] > found[3] == 0
    assert [1.0] == said("path-words", "how is it routed", *paths("net/route.py"))
    assert [1.0] == said("path-words", "thread pool", *paths("src/threadpool.c"))
    assert said("path-words", "routers", *paths("src/routing/mod.rs", "src/a.rs")) == [1.0, 0.0]
    assert said("path-words", "", *paths("a.py")) == [0.0]


def test_definitions_of_symbols() -> None:
    def found(query: str, path: str, *names: str) -> float:
        return said("definitions", query, {"path": path, "names": list(names)})[0]

    assert 1.0 == found("Router", "router.go", "Router", "Router.Add")
    assert 2 / 3 == pytest.approx(found("Router", "mux.go", "Router"))
    assert 0.5 == found("Router", "router.py", "router")
    assert 1.0 == found("Rack::Response", "response.rb", "Rack.Response")
    assert 0.5 == found("what toJson does", "to_json.go", "toJson")
    assert 0.0 == found("what the router does", "router.go", "router")
    assert 0.25 == found("how to_json works", "to_json.java", "Gson.toJson")
    assert 0.0 == found("Router", "router.go")


def test_names_say_what_is_asked() -> None:
    record = {"names": ["Client.open", "Client.openPool"]}
    assert [1.0, 0.0] == said("name-words", "open pools", record, {})


def test_the_best_hit_of_a_coherent_file_rises() -> None:
    found = said("coherence", "x", *paths("a", "b", "b", "b"))
    # b has 0.9 + 0.8 + 0.7, a has 1
    assert [pytest.approx(1 / 2.4), 1.0, 0.0, 0.0] == found
    assert [1.0, 0.5] == pytest.approx(
        load("ranker", "coherence")()
        .scores(Query("q", ""), [Candidate("1", 1.0, {}), Candidate("2", 0.5, {})])
        .tolist()
    )


@pytest.mark.parametrize("name", sorted(set(names("ranker")) - {"maxsim"}))
def test_a_ranker_reads_any_record_in_any_order(name: str) -> None:
    records = [
        {"path": "src/pool.py", "names": ["Pool", None]},
        {"path": 3, "names": "Pool"},
        {"name": "pool"},
        {},
        {"path": "src/pool_test.py", "names": ["TestPool"]},
    ]
    some = hits(*records)
    ranker = load("ranker", name)()
    for text in ("Pool", "how pools work", "", "..."):
        forth = ranker.scores(Query("q", text), some)
        back = ranker.scores(Query("q", text), some[::-1])
        assert (len(some),) == forth.shape
        assert (np.abs(forth) <= 1).all()
        np.testing.assert_allclose(forth, back[::-1])


def rows(path: Path, records: Iterable[dict[str, Any]]) -> str:
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return str(path)


def test_maxsim_is_the_mean_of_the_best_cosines(tmp_path: Path) -> None:
    documents = [
        {"id": "a1", "doc_id": "a", "embedding": [2, 0]},
        {"id": "b1", "doc_id": "b", "embedding": [3, 4]},
        {"id": "a2", "doc_id": "a", "embedding": [0, 5]},
    ]
    queries = [
        {"id": "q1", "doc_id": "q", "embedding": [1, 0]},
        {"id": "q2", "doc_id": "q", "embedding": [0, 1]},
    ]
    flags = {
        "embeddings": rows(tmp_path / "d.jsonl", documents),
        "query_embeddings": rows(tmp_path / "q.jsonl", queries),
    }
    ((ranker, _),) = Weights({"maxsim": 1.0}).ranking(flags).rankers
    some = [Candidate("a", 1.0, {}), Candidate("b", 0.0, {})]
    assert [1.0, pytest.approx(0.7)] == ranker.scores(Query("q", ""), some).tolist()
    with pytest.raises(UserError, match='d.jsonl: document "c" of the run has no row'):
        ranker.scores(Query("q", ""), [Candidate("c", 1.0, {})])
    with pytest.raises(UserError, match="the ranker maxsim needs --embeddings"):
        Weights({"maxsim": 1.0}).ranking()
    with pytest.raises(UserError, match="no ranker takes --embeddings"):
        Weights({"coherence": 1.0}).ranking(flags)
