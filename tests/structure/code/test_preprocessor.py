"""C and C++ with macros and conditionals: the functions that a reader of the code would name."""

from time import thread_time

import pytest

from structkit.registry import load
from structkit.structure.code.preprocessor import preprocess

QT = "class A : public B {\n  Q_OBJECT\n"
CASES = {
    # a macro alone
    "after a comment that ends with a backslash": (
        "cpp",
        "// | \\\n// x\nN_BEGIN\nclass A { void f() {} };",
        "A.f",
    ),
    "before an access specifier": ("cpp", QT + " public:\n  void f() {}\n};", "A.f"),
    "several in a row": ("cpp", QT + "  Q_PROPERTY(int x READ x)\npublic:\n  A() {}\n};", "A.A"),
    "at the end of a class": ("cpp", "class A {\n void f() {}\n Q_DISABLE_COPY(A)\n};", "A.f"),
    "before a class": (
        "cpp",
        "namespace n {\nN_BEGIN\nclass A { void f() {} };\nN_END\n}",
        "n.A.f",
    ),
    "before a namespace": ("cpp", "QT_BEGIN_NAMESPACE\n\nnamespace n { void f() {} }", "n.f"),
    "after a namespace": ("cpp", "namespace std VISIBLE(default) { void f() {} }", "std.f"),
    "before C's declarations": ("c", "G_BEGIN_DECLS\nint f(void) { }\nG_END_DECLS\n", "f"),
    "before a statement": ("c", "int f(void) {\n BEGIN_THREADS\n if (x) { g(); }\n}", "f"),
    "of Qt's signals": (
        "cpp",
        "class A {\nsignals:\n void s();\npublic slots:\n int f() { }\n};",
        "A.f",
    ),
    "with a label's colon": ("cpp", "class A {\nPRIVATE_UNLESS_TESTED:\n int f() { }\n};", "A.f"),
    # around a type
    "before auto": ("cpp", "FMT_CONSTEXPR auto f() -> int { }", "f"),
    "after static": ("c", "static INLINE int f() { }", "f"),
    "with the type": ("cpp", "API_EXPORT(int) f(int a) { }", "f"),
    "with the type in C": ("c", "Py_LOCAL_INLINE(int)\nf(int a)\n{ }", "f"),
    "before a type": ("c", "LUA_API lua_CFunction f (lua_State *L) { }", "f"),
    "before a template's type": ("cpp", "HWY_API Vec<T, 2> f(Vec<T> v) { }", "f"),
    "after a type": ("c", "DWORD WINAPI f(void *x) { }", "f"),
    "before a constructor": ("cpp", "class A {\n CONSTEXPR A(int x) NOEXCEPT : y(x) {}\n};", "A.A"),
    "before a conversion": (
        "cpp",
        "class A { CONSTEXPR operator int() const { } };",
        "A.operator int",
    ),
    "a type alone": ("c", "HANDLE f(int a) { }\nstatic BOOL g(void) { }", "f, g"),
    # in the head of a class
    "of a class": ("cpp", "class EXPORT A final : public B { void f() {} };", "A.f"),
    "of a class, called": ("cpp", 'class CAPABILITY("mutex") A { void f() {} };', "A.f"),
    "of a structure": ("cpp", "struct PACKED(1) A { void f() {} };", "A.f"),
    # after parameters
    "of thread safety": ("cpp", "void f() REQUIRES(mu) { g(); }", "f"),
    "two after const": ("cpp", "class A { int f() const OVERRIDE LOCKS(*mu()) { } };", "A.f"),
    "before initializers": ("cpp", "A::A(int x) LOCKS(x) : y(x) { }", "A.A"),
    "of a field": ("cpp", "class A {\n int x GUARDED_BY(mu);\n int f() { }\n};", "A.f"),
    # functions that a macro defines
    "a test": ("cpp", "TEST(Suite, Name) { f(); }", "Suite.Name"),
    "a test of a fixture": ("cpp", "TEST_F(Suite, Name) UNCHECKED { f(); }", "Suite.Name"),
    "a test with a title": ("cpp", 'TEST_CASE("adds 1.5", "[tag]") { f(); }', "adds 1.5"),
    "a call of the system": ("c", "SYSCALL_DEFINE1(close, unsigned int, fd)\n{ }", "close"),
    "a module": ("cpp", "PYBIND11_MODULE(name, m) { m.x(); }", "name"),
    "all of a head": ("c", "UNUSED(static int f(struct a *x)) { return 1; }", "f"),
    "a name": ("c", "void\nDISPATCH(name)(char **args, int n)\n{ }", "name"),
    "a loop is none": ("cpp", "void f() { FOREACH(a, b) { g(); } foreach (c, d) { g(); } }", "f"),
    "a class in capitals": ("cpp", "class RGB { RGB(int r) { } };", "RGB.RGB"),
    # heads of all kinds
    "as before 1989": ("c", "static PyObject *\nf(self, x)\n  PyObject *self;\n  int x;\n{ }", "f"),
    "in parentheses": ("c", "LUALIB_API void (f) (lua_State *L) { }", "f"),
    "a specialization": ("cpp", "template <> int A<X::Y>::f<N::T>() { }", "A<X::Y>.f"),
    "conversions": ("cpp", "A::operator const T *() const { }", "A.operator const T *"),
    "without a body": ("cpp", "class A { A() = default; void f() = delete; ~A() {} };", "A.~A"),
    "a cast": ("c", "int f(void) { int x = (int) EOF; return x; }", "f"),
}
CONDITIONALS = {
    "else if": ("if (a) {\n  }\n#if X\n  else if (b) {\n  }\n#endif", "f"),
    "two heads of a block": ("#if X\n  if (a) {\n#else\n  if (b) {\n#endif\n  }", "f"),
    "a block around": ("#ifdef X\n  if (a) {\n#endif\n  g();\n#ifdef X\n  }\n#endif", "f"),
    "a part of a condition": ("if (a\n#if X\n  && b\n#elif Y\n  && c\n#endif\n  ) {\n  }", "f"),
    "the end of one and the start of another": ("#if X\n}\nint g(int a) {\n#endif", "f g"),
    "inside another": ("#if X\n#if Y\n if (a) {\n#else\n if (b) {\n#endif\n }\n#endif", "f"),
    "whole branches": ("#if X\n  g();\n#else\n  h();\n#endif", "f"),
    "arguments": ("g(a,\n#if X\n  b\n#else\n  c\n#endif\n  );", "f"),
    "after else": ("if (a) {\n  } else\n#if X\n  if (b)\n#endif\n  {\n  }", "f"),
}


def paths(language, text):
    program = load("language", language).outline.parse(text, text.encode())
    return [each.path for each in program.definitions if each.kind == "function"]


@pytest.mark.parametrize("case", CASES)
def test_functions_beside_macros(case):
    language, text, expected = CASES[case]
    # what is around keeps its place
    text = f"int before(void) {{ return 1; }}\n{text}\nint after(void) {{ return 2; }}\n"
    assert ["before", *expected.split(", "), "after"] == paths(language, text)
    data, seen = text.encode(), preprocess(text.encode()).data
    assert [*map(len, data.split(b"\n"))] == [*map(len, seen.split(b"\n"))]


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize("case", CONDITIONALS)
def test_one_branch_of_a_conditional_is_read(case, language):
    inside, expected = CONDITIONALS[case]
    text = f"int f(int a) {{\n  {inside}\n}}\nint after(void) {{ return 2; }}\n"
    assert [*expected.split(), "after"] == paths(language, text)


def test_both_branches_with_whole_functions_are_read():
    text = "#if A\nint f(void) { }\n#else\nint g(void) { }\n#endif\n#if 0\nint h(void) { }\n#endif"
    assert ["f", "g"] == paths("c", text)
    assert ["f", "g"] == paths("cpp", text)


def test_heads_that_differ_have_one_function_with_the_lines_of_the_first():
    text = "#if A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return 1;\n}\n"
    [found] = load("language", "c").outline.parse(text, text.encode()).definitions
    assert ("f", 1, 6) == (found.name, found.row, found.end_row)


KEYWORDS = {
    "c": "int f(void) {\n} else if (x) {\n}\n",
    "cpp": "class A {\n  odd public:\n  int f() { }\n};\nswitch (x) { }\n",
    "java": "class A { void f() { } if (x) { } while (y) { } }",
    "javascript": "function f() { }\nfunction if () { }\n",
    "php": "<?php function f() { } function if() { }",
}


@pytest.mark.parametrize("language", KEYWORDS)
def test_a_keyword_is_no_name_of_a_function(language):
    assert {"f", "A.f"} >= set(paths(language, KEYWORDS[language]))


def test_members_may_have_a_keyword_for_a_name():
    assert ["A.delete", "A.constructor"] == paths(
        "javascript", "class A { delete() { } constructor() { } }"
    )
    assert ["A.class"] == paths("ruby", "class A\n  def class\n  end\nend\n")
    assert ["A.list"] == paths("php", "<?php class A { function list() { } }")


HOSTILE = (
    *(b"MACRO(", b"MACRO ", b"MACRO(a) ", b"MACRO T<", b"/*", b'"', b"'", b'R"x(', b"#if 1\n"),
    *(b"#if 1\n#else\n#endif\n", b"class A ", b"class A(", b") MACRO ", b"f(a)\nint a;\n"),
    *(b")\nint a", b"d e;b c\n)\n", b"\\\n", b"MACRO a::b<", b"(", b"{", b"TEST(a) {", b"slots "),
)


@pytest.mark.long
@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear(unit):
    def seconds(size):
        start = thread_time()
        preprocess(unit * (size // len(unit)))
        return thread_time() - start

    # of what is quadratic, 16 times as much takes 256 times as long
    small = min(seconds(10_000) for _ in range(3))
    assert min(seconds(160_000) for _ in range(3)) < 80 * small + 0.5
