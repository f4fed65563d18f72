"""Rankers: the values of each, worked by hand; no value depends on the order of hits."""

import numpy as np
import orjson
import pytest

from structkit.errors import UserError
from structkit.ranking.reranking import Candidate, Query, Weights
from structkit.registry import load, names


def hits(*records):
    return [
        Candidate(str(number), 1 - number / 10, record) for number, record in enumerate(records)
    ]


def said(name, query, *records):
    return [*load("ranker", name)().scores(Query("q", query), hits(*records))]


def paths(*names):
    return [{"path": name} for name in names]


@pytest.mark.parametrize(
    ("ranker", "query", "demoted", "others"),
    [
        ("kinds", "retry", ["pkg/retry_test.go", "src/RetryTest.java", "tests/retry.py"], []),
        ("kinds", "retry", ["src/retry.spec.ts", "examples/retry.py"], ["src/attestation.py"]),
        ("kinds", "retry", ["vendor/net/retry.go", "api/retry.pb.go", "types/retry.d.ts"], []),
        ("kinds", "retry", ["pkg/_compat.py"], ["src/retry.py"]),
        ("kinds", "testing client", [], ["src/testing.py"]),
        ("kinds", "how do the tests retry", ["vendor/net/tests/retry.go"], ["tests/retry.py"]),
        ("kinds", "compat types", [], ["pkg/_compat.py"]),
        # for others among the hits
        ("variants", "parse", ["api/v1/parse.ts"], ["api/v2/a.ts", "api/v2/b.ts", "c.ts"]),
        ("variants", "parse in V1", [], ["api/v1/parse.ts", "api/v2/a.ts"]),
        ("variants", "parse in v3", ["v2/a.ts"], ["v3/a.ts", "v4/a.ts"]),
        ("variants", "parse", ["v9/a.ts"], ["v10/a.ts"]),
        ("variants", "parse", [], ["one/v1/a.ts", "two/v2/a.ts", "vat/a.ts"]),
        ("variants", "pool", ["include/pool.h"], ["src/pool.cc", "src/queue.h"]),
        ("variants", "which header has the pool", [], ["pool.h", "pool.c"]),
        (
            "variants",
            "open a pipe",
            ["src/win/pipe.c", "lib/Windows/tty.c"],
            ["src/unix/pipe.c", "tty.c"],
        ),
        ("variants", "open a pipe on Windows", [], ["src/win/pipe.c", "src/unix/pipe.c"]),
        ("variants", "open a pipe", [], ["src/win/pipe.c", "src/win/tty.c", "src/unix/darwin.c"]),
        ("variants", "who may win", [], ["game/win/score.c", "game/score.c"]),
    ],
)
def test_files_that_seldom_answer_are_demoted(ranker, query, demoted, others):
    expected = [-1.0] * len(demoted) + [0.0] * len(others)
    assert expected == said(f"path-{ranker}", query, *paths(*demoted, *others))


def test_a_file_is_demoted_once_for_each_kind():
    assert [-2.0] == said("path-kinds", "retry", *paths("vendor/net/tests/retry.go"))


def test_words_of_paths_count_by_rarity():
    found = said("path-words", "json reader", *paths("json.py", "reader.py", "json/x.py", "y.py"))
    assert found[1] > found[0] > found[2] > found[3] == 0
    assert [1.0] == said("path-words", "how is it routed", *paths("net/route.py"))
    assert [1.0] == said("path-words", "thread pool", *paths("src/threadpool.c"))
    assert [1.0, 0.0] == said("path-words", "routers", *paths("src/routing/mod.rs", "src/a.rs"))
    assert [0.0] == said("path-words", "", *paths("a.py"))


@pytest.mark.parametrize(
    ("query", "path", "names", "expected"),
    [
        ("Router", "router.go", ["Router", "Router.Add"], 1.0),
        ("Router", "mux.go", ["Router"], 2 / 3),
        ("Router", "router.py", ["router"], 0.5),
        ("Rack::Response", "response.rb", ["Rack.Response"], 1.0),
        ("what toJson does", "to_json.go", ["toJson"], 0.25),
        ("what the router does", "router.go", ["router"], 0.0),
        ("how to_json works", "to_json.java", ["Gson.toJson"], 0.125),
        ("Router", "router.go", [], 0.0),
        # a member of another one comes after the type or function itself
        ("Engine", "engine.go", ["validator.Engine"], 2 / 3),
        ("Engine", "engine.go", ["validator.Engine", "Engine"], 1.0),
        ("Engine", "gin.go", ["validator.Engine"], 4 / 9),
        ("gin.Engine", "engine.go", ["gin.Engine"], 1.0),
    ],
)
def test_definitions_of_symbols(query, path, names, expected):
    assert [pytest.approx(expected)] == said("definitions", query, {"path": path, "names": names})


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("src/lib.rs", "pub use core::{\n    Router,\n    Other,\n};"),
        ("src/index.ts", "export { Other, Router } from './router'"),
        ("src/index.ts", "export type { Router } from './router'"),
        ("net/__init__.py", "from .router import Router as Router\n"),
        ("net/__init__.py", "from . import (\n    Other,\n    Router,\n)\n"),
    ],
)
def test_a_file_that_passes_a_symbol_on_counts_if_none_defines_it(path, code):
    record, use = {"path": path, "code": code}, {"path": "a.rs", "code": "use core::Router;"}
    assert [pytest.approx(1 / 3), 0] == said("definitions", "Router", record, use)
    assert [0, 0] == said("definitions", "what Router does", record, use)
    assert [0, 0] == said("definitions", "Route", record, use)
    defines = {"path": "router.rs", "names": ["Router"]}
    assert [0, 1] == said("definitions", "Router", record, defines)


def test_names_say_what_is_asked():
    record = {"names": ["Client.open", "Client.openPool"]}
    assert [1.0, 0.0] == said("name-words", "open pools", record, {})


def test_the_best_hit_of_a_coherent_file_rises():
    # b has 0.9 + 0.8 + 0.7, a has 1
    expected = [pytest.approx(1 / 2.4), 1.0, 0.0, 0.0]
    assert expected == said("coherence", "x", *paths("a", "b", "b", "b"))
    assert [1.0, pytest.approx(0.9)] == said("coherence", "x", {}, {})


def test_a_passage_counts_with_its_page_and_the_best_others_of_it():
    texts = [
        ("a", "boil tea"),
        ("a", "teas"),
        ("b", "tea"),
        ("b", "milk"),
        ("c", "boil"),
        ("", ""),
    ]
    records = [{"path": path, "text": text} for path, text in texts]
    one, stem, alone, other, boil, empty = said("pages", "how to boil tea", *records)
    assert 1 == one > boil > alone > other == empty == 0
    assert one > stem > alone


@pytest.mark.parametrize("name", sorted(set(names("ranker")) - {"cross-encoder", "maxsim"}))
def test_a_ranker_reads_any_record_in_any_order(name):
    some = hits(
        {"path": "src/pool.py", "names": ["Pool", None]},
        {"path": 3, "names": "Pool"},
        {"name": "pool"},
        {},
        {"path": "src/pool_test.py", "names": ["TestPool"]},
    )
    ranker = load("ranker", name)()
    for text in ("Pool", "how pools work", "", "..."):
        forth = ranker.scores(Query("q", text), some)
        back = ranker.scores(Query("q", text), some[::-1])
        assert len(some) == len(forth)
        assert (np.abs(forth) <= 1).all()
        np.testing.assert_allclose(forth, back[::-1])


def test_maxsim_is_the_sum_of_the_best_products(tmp_path):
    rows = {
        "embeddings": [("a1", "a", [2, 0]), ("b1", "b", [3, 4]), ("a2", "a", [0, 5])],
        "query_embeddings": [("q1", "q", [1, 0]), ("q2", "q", [0, 1])],
    }
    for name, each in rows.items():
        named = (dict(zip(("id", "doc_id", "embedding"), row, strict=True)) for row in each)
        (tmp_path / name).write_bytes(b"\n".join(map(orjson.dumps, named)))
    flags = {name: str(tmp_path / name) for name in rows}
    ((ranker, _),) = Weights({"maxsim": 1.0}).ranking(flags).rankers
    some = [Candidate("a", 1.0, {}), Candidate("b", 0.0, {})]
    assert [7.0, 7.0] == ranker.scores(Query("q", ""), some)
    with pytest.raises(UserError, match='embeddings: document "c" of the run has no row'):
        ranker.scores(Query("q", ""), [Candidate("c", 1.0, {})])
    with pytest.raises(UserError, match="the ranker maxsim needs --embeddings"):
        Weights({"maxsim": 1.0}).ranking()
    with pytest.raises(UserError, match="no ranker takes --embeddings"):
        Weights({"coherence": 1.0}).ranking(flags)
