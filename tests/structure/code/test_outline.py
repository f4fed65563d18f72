"""Functions, their names and their documentation, as each language's own tool has them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from structkit.registry import load
from structkit.structure.code.languages import without_docstring


def program(language, text):
    return load("language", language).outline.parse(text, text.encode())


def documentation(language, text):
    """The name and the documentation of each function, in order."""
    parsed = program(language, text)
    functions = [each for each in parsed.definitions if each.kind == "function"]
    return [(each.name, parsed.doc_comment(each)) for each in functions]


# what the compiler of TypeScript attaches (ts.getJSDocCommentsAndTags)
JSDOC = {
    "blank line": ("/** Adds. */\n\nfunction f() {}", "Adds."),
    "linters": (
        "/** Adds. */\n// eslint-disable-next-line\n/* istanbul ignore next */\n"
        "// NOSONAR\n// @ts-ignore\n// prettier-ignore\nexport default function f() {}",
        "Adds.",
    ),
    "linters in its form": ("/** Adds. */\n/** @ts-ignore */\nfunction f() {}", "Adds."),
    "of types": ("/** Adds. */\n/** @typedef {x} A */\n/** @import x */\nfunction f() {}", "Adds."),
    "tags": (
        "/**\n * Adds.\n * @param {A} x `@import`\n */\nfunction f() {}",
        "Adds.\n@param {A} x `@import`",
    ),
    "the last one": ("/** Old. */\n/** Adds. */\nfunction f() {}", "Adds."),
    "on one line": ("/** Old. */ /** Adds. */ function f() {}", "Adds."),
    "of a statement before": ("x(); /** Of x. */\nfunction f() {}", ""),
    "of a line before": ("x(); // Of x.\n/** Adds. */\nfunction f() {}", "Adds."),
    "not JSDoc": ("/* Adds. */\n// Adds.\n/**/\nfunction f() {}", ""),
    "before a statement": ("/** Of x. */\nx();\nfunction f() {}", ""),
    "license": ("/**\n * @license MIT\n */\n\nfunction f() {}", ""),
    "copyright": ("#!/usr/bin/env node\n/** Copyright 2020 A. */\n\nfunction f() {}", ""),
    "module": ("x();\n/** @module a */\nfunction f() {}", ""),
    "license and its own": ("/** @license MIT */\n\n/** Adds. */\nfunction f() {}", "Adds."),
    "variable": ("/** Adds. */\n\nexport const f = async () => {};", "Adds."),
    "first of two": ("/** Adds. */\nconst f = () => {}, x = 1;", "Adds."),
    "chain": ("/** Adds. */\nexports.a = exports.f = function () {};", "Adds."),
    "returned": ("return {\n  /** Adds. */\n\n  f: () => {},\n};", "Adds."),
    "method of an object": ("x = {\n  a: 1, // Of a.\n  /** Adds. */\n  f() {},\n};", "Adds."),
    "private field": ("class A {\n  /** Adds. */\n  // x\n  f = () => {};\n}", "Adds."),
    "after a field": ("class A {\n  x = 1; /** Of x. */\n  f() {}\n}", ""),
    "on the line of the class": ("class A { /** Adds. */ f() {} }", "Adds."),
    "decorated": ("class A {\n  /** Adds. */\n\n  @B() // x\n  @C\n  f() {}\n}", "Adds."),
    "CRLF": ("/**\r\n * Adds.\r\n *\r\n * More.\r\n */\r\nfunction f() {}", "Adds.\n\nMore."),
    "CR": ("/**\r * Adds.\r */\rfunction f() {} // x\rfunction g() {}", "Adds."),
}


ANGULAR = """
@Component({ selector: "a" })
export class A {
  /** Handles. */
  @HostListener("resize", ["$event"])
  // eslint-disable-next-line
  @Other()
  f(event: Event) {}

  /** Guarded. */
  @UseGuards(B)

  @Get(":id")
  protected async g(@Param("id") id: string): Promise<void> {}

  @Get()
  /** After a decorator, which is too late. */
  h() {}

  /** Sets. */
  @Input() set i(value: string) {}

  /** Adds strings. */
  add(a: string): string;
  add(a: number): number;
  add(a: any) { return a; }

  k(a: string): string;
  /** Of l. */
  l(): void {}
}
"""


def test_methods_of_typescript_keep_decorators_and_documentation():
    expected = [("f", "Handles."), ("g", "Guarded."), ("h", ""), ("i", "Sets.")]
    assert [*expected, ("add", "Adds strings."), ("l", "Of l.")] == documentation(
        "typescript", ANGULAR
    )
    parsed = program("typescript", ANGULAR)
    starts = [parsed.data[each.start :].split()[0] for each in parsed.definitions[1:4]]
    assert [b'@HostListener("resize",', b"@UseGuards(B)", b"@Get()"] == starts


# what javac attaches (com.sun.source.util.DocTrees)
JAVA = {
    "blank line and comments": (
        "/** Adds. */\n\n// NOSONAR\n/* x */\n@A @B(1)\nvoid f() {}",
        "Adds.",
    ),
    "the last one": ("/** Old. */\n/** Adds. */\nvoid f() {}", "Adds."),
    "after an annotation": ("@A\n/** Adds. */\nvoid f() {}", ""),
    "between annotations": ("/** Adds. */\n@A // x\n@B\nvoid f() {}", "Adds."),
    "no javadoc": ("/* Adds. */\n/**/\nvoid f() {}", ""),
    "of a field": ("int x; /** Of x. */\nvoid f() {}", ""),
    "of a field before": ("/** Of x. */\nint x;\nvoid f() {}", ""),
    "constructor": ("/** Adds. */\n\n@A f() {}", "Adds."),
    "Markdown": (
        "/// Adds **two**.\n///\n/// @param x one\n@A\nvoid f() {}",
        "Adds **two**.\n\n@param x one",
    ),
    "Markdown after a block": ("/** Old. */\n/// Adds.\nvoid f() {}", "Adds."),
    "Markdown before a block": ("/// Old.\n/** Adds. */\nvoid f() {}", "Adds."),
    "the last run": ("/// Old.\n\n/// Adds.\n// x\nvoid f() {}", "Adds."),
    "rulers": ("/////////////\n/// Adds.\n/// ---------\n/////////////\nvoid f() {}", "Adds."),
    "CRLF": ("/**\r\n * Adds.\r\n * More.\r\n */\r\n\r\nvoid f() {}", "Adds.\nMore."),
}


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("javac"), reason="needs javac")
def test_javadoc_is_that_of_javac(tmp_path):
    """But for a comment behind a field, which is about the field to us."""
    cases = [text for name, (text, _) in JAVA.items() if name not in ("of a field", "constructor")]
    path = tmp_path / "A.java"
    path.write_text("".join(f"class A{n} {{\n{text}\n}}\n" for n, text in enumerate(cases)))
    command = ["java", str(Path(__file__).with_name("Docs.java")), str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [
        f"{name}\t{words}".replace("\n", "\\n")
        for name, words in documentation("java", path.read_text())
    ]
    assert len(cases) == len(lines)
    assert [line.replace("\\n ", "\\n") for line in lines] == found


# what go/parser attaches, without directives (ast.CommentGroup.Text)
GO = {
    "lines": ("// F adds.\n// More.", "F adds.\nMore."),
    "blank line": ("// Section.\n", ""),
    "directive": ("// F adds.\n//\n//go:noinline", "F adds."),
    "directive between": ("// F adds.\n//lint:ignore U1000 x\n// More.", "F adds.\nMore."),
    "export": ("//export F", ""),
    "line and extern": ("// F adds.\n//line a.go:1\n//extern f", "F adds."),
    "linter": ("//nolint:errcheck // x\n// F adds.", "F adds."),
    "no directive": ("// F adds.\n//TODO: more", "F adds.\nTODO: more"),
    "block": ("/* F adds. */", "F adds."),
    "block and line": ("// F adds.\n/* More. */", "F adds.\nMore."),
    "trailing": ("var x = 1 // Of x.", ""),
    "after a trailing one": ("var x = 1 // Of x.\n// F adds.", "F adds."),
    "CRLF": ("// F adds.\r\n// More.\r", "F adds.\nMore."),
}


# what rustdoc attaches
RUST = {
    "blank lines, comments, attributes": (
        "/// Adds.\n\n// x\n/* y */\n#[inline] // z\n/// More.\nfn f() {}",
        "Adds.\nMore.",
    ),
    "attribute": (
        '#[doc = "Adds."]\n#[must_use]\n#[doc = r#" "More"."#]\nfn f() {}',
        'Adds.\n"More".',
    ),
    "not hidden": ("/// Adds.\n#[doc(hidden)]\nfn f() {}", "Adds."),
    "block": ("/**\n * Adds.\n */\npub fn f() {}", "Adds."),
    "block and line": ("/** Adds. */\n/// More.\nfn f() {}", "Adds.\nMore."),
    "no documentation": ("//// Adds.\n/*** Adds. */\n/**/\n// Adds.\nfn f() {}", ""),
    "of the module": ("//! Of a.\n\nfn f() {}", ""),
    "trailing": ("const X: u8 = 1; // Of X.\nfn f() {}", ""),
    "inside": ("fn f() {\n    //! Adds.\n    /*! More. */\n    // x\n    x();\n}", "Adds.\nMore."),
    "before and inside": ("/// Adds.\nfn f() {\n    // x\n    //! More.\n}", "Adds.\nMore."),
    "not inside": ("fn f() {\n    x();\n    /// Of x.\n}", ""),
    "heading": ("/// Adds.\n///\n/// # Panics\nfn f() {}", "Adds.\n\n# Panics"),
}


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("rustdoc"), reason="needs rustdoc")
def test_documentation_is_that_of_rustdoc(tmp_path):
    texts = [text.replace("fn f", f"fn f{n}") for n, (text, _) in enumerate(RUST.values())]
    texts = [text for text in texts if "//!" not in text and "hidden" not in text]
    path = tmp_path / "a.rs"
    path.write_text("\n\n".join(texts))
    command = "rustdoc -Z unstable-options --output-format json --document-private-items -o"
    subprocess.run(
        [*command.split(), str(tmp_path), str(path)],
        env=os.environ | {"RUSTC_BOOTSTRAP": "1"},
        capture_output=True,
        check=True,
    )
    items = json.loads((tmp_path / "a.json").read_text())["index"].values()
    right = {each["name"]: each["docs"] for each in items if "function" in each["inner"]}
    found = dict(documentation("rust", path.read_text()))
    assert len(texts) == len(right)
    for name, words in right.items():
        assert " ".join((words or "").split()) == " ".join(found[name].split())


# what the parser of phpDocumentor attaches
PHP = {
    "blank line and comments": (
        "/** Adds. */\n\n// phpcs:ignore\n# x\n#[A]\nfunction f() {}",
        "Adds.",
    ),
    "the last one": ("/** Old. */\n/** Adds. */\nfunction f() {}", "Adds."),
    "after an attribute": ("#[A('x')]\n/** Adds. */\nfunction f() {}", "Adds."),
    "between attributes": ("/** Old. */\n#[A]\n/** Adds. */\n#[B]\nfunction f() {}", "Adds."),
    "after a modifier": ("class A {\n#[B]\nfinal /** Adds. */ static function f() {}\n}", "Adds."),
    "no space": ("/**Adds.*/\nfunction f() {}", ""),
    "of a statement": ("/** Of x. */\n$x = 1;\nfunction f() {}", ""),
    "trailing": ("$x = 1; /** Of x. */\nfunction f() {}", ""),
    "license": ("/**\n * @license MIT\n */\n\nfunction f() {}", ""),
    "in a class": (
        "class A {\n/** Adds. */\n\n#[B, C(1)]\nfinal public function f() {}\n}",
        "Adds.",
    ),
    "of a property": ("class A {\n/** Of x. */\npublic $x;\nfunction f() {}\n}", ""),
}


# what the compiler of C# attaches
CSHARP = {
    "directives": (
        "/// <summary>Adds.</summary>\n#pragma warning disable X\n#region x\n[A] // x\nvoid F() {}",
        "Adds.",
    ),
    "blank line": ("/// Adds.\n\n// x\nvoid F() {}", "Adds."),
    "block": ("/** <summary>Adds.</summary> */\nvoid F() {}", "Adds."),
    "the last run": ("/// Old.\n// x\n/// Adds.\n/// More.\nvoid F() {}", "Adds.\nMore."),
    "before a directive": ("/// Adds.\n#if NET8_0\n[A]\n#endif\nvoid F() {}", "Adds."),
    "before a choice": ("/// Adds.\n#if NET8_0 && X\nvoid F() {}\n#endif", "Adds."),
    "in a choice": ("#if X\n/// Adds.\nvoid F() {}\n#endif", "Adds."),
    "no documentation": ("//// Adds.\n/*** Adds. */\n// Adds.\nvoid F() {}", ""),
    "of a field": ("/// Of x.\nint x;\nvoid F() {}", ""),
    "entities": (
        '/// Is &lt; <see cref="B"/> &amp;amp; &quot;c&quot;.\nvoid F() {}',
        'Is < B &amp; "c".',
    ),
    "CDATA": ("/// <![CDATA[a < b && <c/>]]> &gt; <d>e</d>\nvoid F() {}", "a < b && <c/> > e"),
}


# what Doxygen attaches
C = {
    "block": ("/** Adds. */", "Adds."),
    "file": ("/** @file a.c\n *  @brief All. */", ""),
    "group": ("/// @defgroup a A\n/// Everything.", ""),
    "page": ("/*! \\mainpage Welcome\n * Hello. */", ""),
    "structure": ("/**\n * Text.\n * @struct A\n */", ""),
    "members": ("/** @name Filling\n * @{ */", ""),
    "another function": ("/** @fn int other(void)\n * Adds. */", ""),
    "this function": ("/** @fn int f(void)\n * Adds. */", "@fn int f(void)\nAdds."),
    "end of a group": ("/** @} */", ""),
    "before a group": ("/** Adds. */\n/** @{ */", "Adds."),
    "of what is before": ("int x;\n/**< Of x. */", ""),
    "in a group": ("/** @ingroup a\n * Adds in C:\\file. */", "@ingroup a\nAdds in C:\\file."),
    "rulers": ("/*===========\n * Adds.\n * ------\n ==========*/", "Adds."),
}


# what RDoc attaches
RUBY = {
    "lines": ("# Adds.\n# More.\ndef f; end", "Adds.\nMore."),
    "blank line": ("# Section.\n\n# Adds.\n\ndef f; end", "Adds."),
    "magic": ("# frozen_string_literal: true\n\ndef f; end", ""),
    "magic before": ("# -*- coding: utf-8 -*-\n# typed: strict\n# Adds.\ndef f; end", "Adds."),
    "linter": ("# Adds.\n# rubocop:disable Metrics\ndef f; end", "Adds."),
    "nodoc": ("# :nodoc:\ndef f; end", ""),
    "script": ("#!/usr/bin/env ruby\ndef f; end", ""),
    "license": ("# Copyright 2020 A.\n# MIT\n\ndef f; end", ""),
    "block": ("=begin\nAdds.\n=end\ndef f; end", "Adds."),
    "private": ("# Adds.\nprivate def f; end", "Adds."),
    "private part": ("#--\n# Secret.\n#++\n# Adds.\ndef f; end", "Adds."),
    "how to call": ("##\n# :call-seq:\n#   f -> x\n#\n# Adds.\ndef f; end", "Adds."),
    "trailing": ("x = 1 # Of x.\ndef f; end", ""),
    "in a class": ("class A # Of A.\n  # Adds.\n  def self.f; end\nend", "Adds."),
}


# of each language the cases, and the file around one
DOCUMENTED = {
    "c": (C, "CASE\nint f(void) { return 1; }\n"),
    "cpp": (C, "CASE\nint f() { return 1; }\n"),
    "csharp": (CSHARP, "class A {\nCASE\n}\n"),
    "go": (GO, "package a\n\nCASE\nfunc F() {\n}\n"),
    "java": (JAVA, "/** Of A. */\nclass A {\nCASE\n}"),
    "javascript": (JSDOC, "CASE"),
    "php": (PHP, "<?php\nCASE\n"),
    "ruby": (RUBY, "CASE"),
    "rust": (RUST, "CASE"),
    "typescript": (JSDOC, "CASE"),
}
CASES = {
    f"{language}, {name}": (language, around.replace("CASE", text), expected)
    for language, (cases, around) in DOCUMENTED.items()
    for name, (text, expected) in cases.items()
}


@pytest.mark.parametrize(("language", "text", "expected"), CASES.values(), ids=CASES)
def test_a_function_has_the_documentation_of_its_own_tool(language, text, expected):
    found = documentation(language, text)
    if "script" in language:
        found = found[:1]
    name = "F" if language in ("csharp", "go") else "f"
    assert [(name, expected)] == found


NAMES = r"""
class A {
  *[Symbol.iterator]() {}
  'x.y'() {}
  ["a b"]() {}
  [b.c]() {}
  #d() {}
  get e() {}
  set e(x) {}
  static async *f() {}
  'g.h' = () => {};
}
const o = { 'i.j': function () {}, [Symbol.species]: () => {}, k() {}, "l": async () => {} };
B['m.n'] = function () {};
B.prototype[Symbol.match] = function () {};
const C = forwardRef((props, ref) => null);
const D = React.memo(React.forwardRef(function E() {}), (a, b) => a === b);
const onF = useCallback(async () => {}, []);
exports.g = asyncHandler(async (request) => {});
module.exports = function () {};
const h = (function () {});
export default memo(() => null);
const not = items.map((x) => x), nor = z.lazy(() => 1);
const neither = (function () { return 1; })();
(function iife() {})();
items.forEach(function callback() {});
const I = class { j() {} };
module.exports = class K { l() {} };
"""


def test_names_of_javascript():
    names = "[Symbol.iterator] x.y a\xa0b [b.c] #d e e f g.h"
    paths = [f"A.{name}".replace("\xa0", " ") for name in names.split(" ")]
    paths += "i.j [Symbol.species] k l B.m.n B.[Symbol.match] C D onF exports.g".split()
    paths += "module.exports h default iife callback I.j K.l".split()
    for language in ("javascript", "typescript"):
        found = [each for each in program(language, NAMES).definitions if each.kind == "function"]
        assert paths == [each.path for each in found]
        assert ("", "x.y") == (found[1].owner, found[1].name)


def test_casts_of_typescript_hide_no_function():
    text = "const F = memo(forwardRef<A>((p) => 1)) as any as C; const g = (<T>(x: T) => x) as D;"
    assert [("F", ""), ("g", "")] == documentation("typescript", text)


def test_exports_without_a_name_are_the_default():
    for text in ("export default function () {}", "export default () => {};"):
        assert [("default", "")] == documentation("typescript", text)
    [scope, method] = program("typescript", "export default class { m() {} }").definitions
    assert ("class", "default.m") == (scope.kind, method.path)


HEREDOCS = """
def a
  f(<<~X, <<-'Y', <<Z)
    one #{g(<<~IN)}
      def inner
      IN
    def fake
  X
    two #{x}
    Y
zed
Z
end

def b
  <<~"SQL".strip
    select #{<<~SQL.lines.map { |l| "#{l}" }.join}
      def no
    SQL
    #{h do
      <<~T
        def neither
      T
    end}
  SQL
end

def c(x = <<~D) = x
  # def nor this: <<~NEVER #{1}
D

def d; [1 << 2, 3 <<C]; end
"""


def test_heredocs_inside_heredocs_swallow_no_method():
    parsed = program("ruby", HEREDOCS)
    assert ["a", "b", "c", "d"] == [each.path for each in parsed.definitions]
    [first, *_] = parsed.definitions
    assert HEREDOCS.encode() == parsed.data
    assert [2, 13] == [first.row + 1, first.end_row + 1]


@pytest.mark.parametrize("language", DOCUMENTED)
def test_the_documentation_of_a_function_is_not_in_its_code(language):
    documented = 0
    texts = [text for of, text, _ in CASES.values() if of == language]
    for text in [*texts, *([ANGULAR] if language == "typescript" else [])]:
        parsed = program(language, text)
        for each in parsed.definitions:
            words = parsed.doc_comment(each)
            documented += bool(words)
            code = parsed.data[each.start : each.whole.end_byte].decode()
            code = without_docstring(code, {"language": language})
            assert not [line for line in filter(None, words.split("\n")) if line in code]
    assert documented


FUNCTIONS = sorted(Path("fixtures/functions").glob("*/*.txt"))


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_functions_that_grammars_lose(path, golden):
    """The name of each function with its containers, its lines and its documentation."""
    text = path.read_bytes().decode().split("---input---\n")[1].split("\n---functions---\n")[0]
    parsed = program(path.parent.name, text)
    lines = [
        f"{each.row + 1}-{each.end_row + 1} {each.path}: {json.dumps(parsed.doc_comment(each))}\n"
        for each in parsed.definitions
        if each.kind == "function"
    ]
    golden(path, f"---input---\n{text}\n---functions---\n{''.join(lines)}")
