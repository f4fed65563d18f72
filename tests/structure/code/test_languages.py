"""Golden cases of every language: the folder of a case names the plugin that reads it."""

import json
from pathlib import Path

import pytest

from structkit import mask_entities
from structkit.registry import load
from structkit.structure.code.grammar import words
from structkit.structure.sentinels import unmask
from tests.structure.code.sources import CODE

FOLDER = Path("fixtures/languages")
CASES = sorted(FOLDER.glob("*/*.txt"))  # one text
RECORDS = sorted(FOLDER.glob("*/*.json"))  # a record with all that its language reads


def name(path):
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", CASES, ids=name)
def test_golden(path, golden):
    text = path.read_bytes().decode().split("---input---\n")[1].split("\n---masked---\n")[0]
    record = {"id": path.stem, "language": path.parent.name, "code": text}
    [made] = mask_entities([record])
    assert unmask(made["masked"], made["entities"]) == text
    golden(
        path,
        f"---input---\n{text}\n---masked---\n{made['masked']}\n---target---\n{made['target']}\n",
    )


@pytest.mark.parametrize("path", RECORDS, ids=name)
def test_golden_record(path, golden):
    case = json.loads(path.read_text("utf-8"))
    for expected in ("masked", "target", "entities"):
        case.pop(expected, None)
    [made] = mask_entities([{**case, "id": path.stem, "language": path.parent.name}])
    assert unmask(made["masked"], made["entities"]) in case.values()
    expected = {**case, **{field: made[field] for field in ("masked", "target", "entities")}}
    golden(path, json.dumps(expected, ensure_ascii=False, indent=2) + "\n")


# texts with keywords that are names elsewhere, or that the grammar takes for names; their names
KEYWORDS = [
    ("c", "int *__attribute__((pure)) f(int a) { __typeof__(a) b = a; return 0; }", "f a b a"),
    ("c", "const int __signed__ q; volatile __const int r; __try { } __finally { }", "q r"),
    ("c", "__label__ d; __auto_type c = b; __real__ x; _BitInt(3) y; asm_ = 1;", "d c b x y asm_"),
    ("cpp", "export module a.b;\nimport c;\nint f() { return 1; }", "a b c f"),
    ("cpp", "module;\nexport import d;\nimport :e;\nmodule :private;", "d e"),
    ("cpp", "int import = 1; int module = 2; f(import, module);", "import module f import module"),
    ("cpp", "struct A { int f(this Self self); int h(this auto&& me); };", "f self h me"),
    ("cpp", "__typeof__(a) b; int __restrict p; contract_assert(x); _BitInt(3) y;", "a b p x y"),
    ("csharp", "partial int this[int i] { get; set; } ~A() {} x = get + set;", "i A x get set"),
    (
        "java",
        "int f(A o) { return switch (o) { case B b -> 1; case null, default -> 0; }; }",
        "f o o b",
    ),
    (
        "java",
        "class A { void f() { xs.forEach(_ -> run()); ys.merge((_, b) -> b); } }",
        "f xs forEach run ys merge b b",
    ),
    (
        "java",
        "import module java.base; class A { int module = 1, record; }",
        "java base module record",
    ),
    (
        "javascript",
        "class A { static accessor x = 1; } accessor in y; accessor.z;",
        "A x accessor y accessor z",
    ),
    (
        "javascript",
        'import defer * as c from "d"; import source e from "f"; defer(source);',
        "c e defer source",
    ),
    ("php", "<?php class P { public string $n { get => $this->n; final set { f(); } } }", "n n f"),
    ("php", "<?php interface I { public $y { &get; #[B] set(int $v) { } } }", "y v"),
    (
        "php",
        "<?php $x->get(); function get() { get(); set($a); } A::set();",
        "x get get get set a A set",
    ),
    ("ruby", "xs.map { it || 1 }; ys.each { _1 + _2 }; -> { it.a if it }", "xs map ys each a"),
    ("ruby", 'it "works" do x end; it { y }; it("z") { }', "it x it y it"),
    ("ruby", "xs.each { |it| it }; it = 1", "xs each it it it"),
    ("rust", "use std::io::Write as _; fn f() { w.flush(); }", "std io Write f w flush"),
    (
        "rust",
        'unsafe extern "C" { pub safe fn sqrt(x: f64); safe static Y: u8; } let safe = 1;',
        "sqrt x Y safe",
    ),
    ("rust", "gen fn f() {} auto trait A {} become g(); let auto = do yeet raw;", "f g auto raw"),
    ("typescript", "class S { static accessor a = 0; override accessor b = 1; }", "a b"),
    (
        "typescript",
        "interface Box<in out T> { get(): T } class C<in T, out U> { p(t: T) {} }",
        "T get T U p t",
    ),
    (
        "typescript",
        "let out = 1; f(in_, out); a < out; x.accessor = y;",
        "out f in_ out a out x accessor y",
    ),
]


@pytest.mark.parametrize(("language", "text", "names"), KEYWORDS)
def test_a_keyword_is_no_name(language, text, names):
    spans = load("language", language)().names(text)
    assert names == " ".join(text[start:end] for start, end in spans)


# the words of each grammar's table that are names in other places, or of no code
SOFT = {
    "c": "asm noreturn offsetof",
    "cpp": "final noreturn offsetof override restrict",
    "csharp": "Cdecl Fastcall Stdcall Thiscall add alias and annotations ascending assembly async "
    "await by checksum descending disable enable equals field file from get group hidden init into "
    "join let managed method module not notnull on or orderby param partial property record remove "
    "required restore scoped select set type typevar unmanaged warning warnings when where with "
    "yield",
    "java": "exports module open opens permits provides record requires sealed to transitive uses "
    "when with yield",
    "javascript": "as async from get meta of set static target using",
    "php": "bool encoding enum float int object strict_types string ticks",
    "python": "_ __future__ case exec match print type",
    "ruby": "i r ri",
    "rust": "block default expr expr_2021 gen ident item lifetime literal meta pat pat_param path "
    "raw stmt try tt ty union vis",
    "typescript": "abstract accessor any as assert asserts async boolean declare from get global "
    "implements infer interface is keyof meta module namespace never number object of override "
    "private protected public readonly require satisfies set static string symbol target type "
    "unknown using",
}


@pytest.mark.parametrize("language", CODE)
def test_the_keywords_of_each_grammar_are_known(language):
    plugin = load("language", language)
    known = plugin.grammar.reserved | plugin.outline.keywords
    assert {*SOFT.get(language, "").split()} == words(plugin.grammar.pointer) - known
