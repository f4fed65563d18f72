"""`ask --uses`: definitions of a symbol, and lines that use it."""

from functools import partial

import pytest

import structkit
from tests.jsonl import write_files

FILES = {
    "pool.py": """\
import pool  # wait for a pool

# waits
@retry
def wait(pool):
    \"\"\"Never wait in vain.\"\"\"
    return pool.wait("wait") or f"wait {wait}"


class Pool:
    def close(self):
        later = wait(self); wait(later)
        # wait(self)
        self.waiting = await_all
""",
    "tests/test_pool.py": "from pool import wait\n\n\ndef test_wait():\n    assert wait(1)\n",
    "pool.js": "// wait\nfunction wait() {}\nconst s = 'wait', t = `wait ${wait()}`;\n",
    "pool.go": "package pool\n\nfunc (p *Pool) wait() { p.wait() }\n",
    "pool.rb": "def wait\n  puts :wait, wait\nend\n",
    "pool.rs": 'fn main() {\r\n    wait(); // wait\r\n    println!("wait");\r\n}\r\n',
    "pool.md": "# wait\n\nCall `wait()`.\n",
    "pool.css": ".wait { color: red }\n",
}


@pytest.fixture
def uses(tmp_path):
    write_files(tmp_path, FILES)

    def uses(name, **options):
        found = structkit.ask(tmp_path, uses=name or None, no_cache=True, no_model=True, **options)
        return [
            (each["path"].removeprefix(f"{tmp_path}/"), each["line"], each.get("symbol"))
            for each in found
        ]

    return uses


def test_definitions_come_first_then_uses_outside_comments_and_strings(uses):
    found = uses("wait")
    definitions = [("pool.go", 3, "Pool.wait"), ("pool.js", 2, "wait"), ("pool.py", 5, "wait")]
    assert [*definitions, ("pool.rb", 1, "wait")] == sorted(found[:4])
    assert [
        ("pool.js", 3, None),
        ("pool.py", 7, "wait"),
        ("pool.py", 12, "Pool.close"),
        ("pool.rb", 2, "wait"),
        ("pool.rs", 2, "main"),
    ] == sorted(found[4:9])
    assert [("tests/test_pool.py", 1, None), ("tests/test_pool.py", 5, "test_wait")] == found[9:]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("Pool.close", ("pool.py", 11, "Pool.close")),
        ("Pool::close", ("pool.py", 11, "Pool.close")),
        ("Pool", ("pool.py", 10, "Pool")),
        ("close", ("pool.py", 11, "Pool.close")),
        ("waiting", ("pool.py", 14, "Pool.close")),
    ],
)
def test_a_symbol_may_have_its_containers(uses, name, first):
    assert first == uses(name)[0]


def test_files_and_tokens_bound_the_uses(uses):
    assert {"pool.js"} == {path for path, *_ in uses("wait", glob=("*.js",))}
    assert {"tests/test_pool.py"} == {path for path, *_ in uses("wait", kind="tests")}
    assert 0 < len(uses("wait", tokens=20)) < 8
    assert [] == uses("nowhere") == uses("color")


def test_definitions_calls_imports_and_mentions_are_told_apart(tmp_path):
    files = {
        "a.py": "from a import name\nimport b.name\nname(1)\no.name(2)\nf(name)\nz = name\n",
        "b.js": "import { name } from './a'\nname(1)\no.name()\nf(name)\n",
        "c.go": "package c\n\nfunc name() {}\n\nfunc d() {\n\tname()\n\tgo f(name)\n}\n",
        "d.java": "import a.name;\nclass D { void f() { x.name(1); f(name); } }\n",
    }
    write_files(tmp_path, files)
    found = structkit.ask(tmp_path, uses="name", no_cache=True, no_model=True)
    uses = {
        (each["path"].removeprefix(f"{tmp_path}/"), each["line"]): each["use"] for each in found
    }
    assert ["import", "import", "call", "call", "mention", "mention"] == [
        uses["a.py", line] for line in range(1, 7)
    ]
    assert ["import", "call", "call", "mention"] == [uses["b.js", line] for line in range(1, 5)]
    assert ["definition", "call", "mention"] == [uses["c.go", line] for line in (3, 6, 7)]
    assert ["import", "call"] == [uses["d.java", line] for line in (1, 2)]


def test_a_name_that_no_code_has_is_answered_with_similar_ones(uses, capsys):
    assert [] == uses("wiat_for") and [] == uses("Wait")
    assert "no code has the name Wait; did you mean wait" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("a.py", "SIZE = 3\ndef f():\n    SIZE = g(SIZE)\n"),
        ("a.ts", "enum E { RED, SIZE = 1 }\nSIZE += 1\n"),
        ("A.java", "class A {\n  int SIZE = g();\n  SIZE a;\n}\n"),
        ("a.c", "#define SIZE 3\nint a = SIZE;\n"),
        ("a.kt", "val SIZE: Int = 4\nfun f() = SIZE\n"),
        ("a.go", "package a\nvar b, SIZE = 3, 4\nvar c = SIZE\n"),
        ("a.cs", "class A {\n  const int SIZE = 3;\n  SIZE b = c();\n}\n"),
        ("a.swift", "let SIZE = 3\nlet b = SIZE\n"),
    ],
)
def test_a_constant_and_a_field_are_defined_where_they_are_declared(tmp_path, file, code):
    write_files(tmp_path, {file: code})
    found = list(structkit.ask(tmp_path, uses="SIZE", no_cache=True, no_model=True))
    assert "definition" == found[0]["use"] and {"mention"} >= {each["use"] for each in found[1:]}
    first = next(line for line in code.splitlines() if "SIZE" in line)
    assert first == found[0]["code"]


@pytest.mark.parametrize(
    ("file", "code", "called"),
    [
        ("a.py", "class A:\n    def f(a):\n        # no()\n        b(c, 'd()').e(g)\n", "b e"),
        ("a.py", "def f(a):\n    b(a), b(a)\n    return [C(d) for e in f(a)]\n", "b C f"),
        ("a.js", "function f(a) { b?.c(d); return new E(`${g(h)}`) }\n", "c E g"),
        ("A.java", "class A { void f(int a) { b.c(d); new E<G>(h(a)); i::j; } }\n", "c E h"),
        ("a.rs", 'fn f(a: u8) { b::c(a); d!("{}", e); g.h::<T>(1) }\n', "c d h"),
        ("a.rb", "def f(a)\n  b a\n  c.d { e!(a) }\n  g(a) if a.h?\nend\n", "b d e! g h?"),
        ("a.sh", 'f() {\n  b "$1"\n  c=$(d b)\n}\nf\n', "b d"),
        (
            "a.ex",
            "defmodule A do\n  def f(a) do\n    b(a)\n    C.d(a) |> e()\n  end\nend\n",
            "b d e",
        ),
        ("a.cs", "class A { void f() { new B<C>(d); this.e<G>(h); } }\n", "B e"),
        ("a.kt", "fun f(a: Int) {\n B<C>(a)\n a.d<E<G>>(3)\n if (a < b) h(1)\n}\n", "B d h"),
        ("a.swift", "func f(a: Int) {\n B<C>(a)\n a.d<E>(3)\n if a < b { g(1) }\n}\n", "B d g"),
        ("a.scala", "object A { def f(a: Int) = { new B[C](a); d[E](a); a.g[H]() } }", "B d g"),
        ("a.cpp", "void f(int a) {\n b<C>(a);\n new D<E>(a);\n g::h<C>(a);\n}\n", "b D h"),
        ("a.go", "package a\nfunc f(a int) {\n\tB[C](a)\n\td.E[int](a)\n}\n", "B E"),
        ("a.dart", "void f(int a) {\n b<C>(a);\n a.d(e);\n var g = H<C>(a);\n}\n", "b d H"),
        ("a.ps1", "function f($a) {\n $a.b.c().d(1)\n [E]::g($a.h)\n I-J $a\n}\n", "c d g I-J"),
        ("a.ts", "function f(a) { b<C>(a); new D<E>(a) }\ninterface I { g<T>(h: T): T }\n", "b D"),
    ],
)
def test_calls_are_listed_by_name(tmp_path, file, code, called):
    write_files(tmp_path, {file: code, "b.go": "package b\n\nfunc g() { f() }\n"})
    found = list(structkit.ask(tmp_path, calls="f", no_cache=True, no_model=True))
    assert called.split() == [each["calls"] for each in found]
    assert {f"{tmp_path}/{file}"} == {each["path"] for each in found}
    lines = code.splitlines()
    assert all(each["calls"] in lines[each["line"] - 1] for each in found)
    assert all(each["symbol"].split(".")[-1] == "f" for each in found)


def test_a_symbol_without_calls_says_so(uses, capsys):
    for name in ("waiting", "wiat", "Pool.await_all", "Queue.close", "test_pool.Pool"):
        assert [] == uses("", calls=name)
    told = capsys.readouterr().err
    assert "waiting is used here, but not defined; name a function" in told
    assert "no code has the name wiat; did you mean wait?" in told
    assert "Pool.await_all is used here, but not defined" in told
    assert "no definition has the name Queue.close; close is defined at " in told
    assert "pool.py:11\n" in told


@pytest.mark.parametrize(
    ("file", "code", "name", "other"),
    [
        ("src/Server.zig", "pub fn start() void {\n    wait();\n}\n", "Server.start", "Pool.start"),
        ("lib/pool.py", "def start():\n    wait()\n", "lib.pool.start", "lib.other.start"),
        ("lib/pool/__init__.py", "def start():\n    wait()\n", "pool.start", "lib.start"),
        ("http/get.go", "package http\n\nfunc start() {\n\twait()\n}\n", "http.start", "get.http"),
        ("net/mod.rs", "fn start() {\n    wait();\n}\n", "net::start", "mod::net"),
        ("pool.js", "class Pool {\n  start() { wait() }\n}\n", "pool.Pool.start", "Queue.start"),
    ],
)
def test_a_name_may_begin_with_its_file_or_folder(tmp_path, file, code, name, other):
    write_files(tmp_path, {file: code})
    ask = partial(structkit.ask, tmp_path, no_cache=True, no_model=True)
    assert ["wait"] == [each["calls"] for each in ask(calls=name)]
    assert "definition" == list(ask(uses=name))[0]["use"]
    assert [] == list(ask(calls=other))
