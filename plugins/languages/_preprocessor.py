"""C and C++ as compilers read them: without macros, one branch of each conditional.

A grammar does not know the meaning of a macro. It mistakes `Q_OBJECT` before `public:` for a type,
and loses a function that opens in `#if` and in `#else`. Such macros are blanked by their position
alone: every other character and line stays at its place.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import tree_sitter

from structkit.structure.code import (
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    FUNCTION,
    OPAQUE_FLAGS,
    PARENTHESES,
    TO_SPACES,
    ByteSpan,
    Definition,
    DocComments,
    Outline,
    ParsedText,
    Prepared,
    nested,
    overwrite,
    owner_and_name,
)

# no group is read twice, so that time is linear: `*+` never gives back what it took
OPAQUE = (  # comments and strings; an open one extends to the end
    rb"//(?:[^\n\\]|\\.)*+",
    BLOCK_COMMENT,
    rb'R"(?P<raw>[^()\\\s"]*)\((?:.*?\)(?P=raw)"|.*)',
    DOUBLE_QUOTED,
    rb"'(?<![\da-fA-F]')(?:[^'\\\n]|\\.)*+'?",
)
COMMENT_OR_STRING = re.compile(b"|".join(OPAQUE), OPAQUE_FLAGS)
DIRECTIVES = (  # whose text is no code either
    rb"^[ \t]*#[ \t]*(?:error|warning|pragma)\b(?:[^\n\\]|\\.)*+",
    rb"#[ \t]*include[ \t]*<[^>\n]*>?",
)
TO_QUOTES = TO_SPACES.replace(b" ", b'"')
NO_LINE_END = re.compile(rb"[^\n\\]|\\(?!\r?\n)")
DIRECTIVE = re.compile(rb"#[ \t]*(\w*)((?:[^\n\\]|\\.)*+)", OPAQUE_FLAGS)
NEVER_TRUE = re.compile(rb"[\s(]*(?:0|false|FALSE)\b[\s)]*\Z")
ARGUMENTS = re.compile(rb"\s*" + PARENTHESES)
# both kinds begin alike, so that the search is fast
MACRO = re.compile(
    rb"\b[A-Z_](?:[a-z]{0,3}[A-Z0-9_]{2,}"
    # an attribute, as `__init` in Linux, but for what grammars know
    rb"|_(?<=__)(?!asm|attribute|cdecl|declspec|extension|typeof|[a-z]+call\b)[a-z]\w*+(?=\s++[\w*{]))"
    rb"\b(?=\s*+(?:[\w(~{}\[:;=-]|\Z))"
)
NEXT_TOKEN = re.compile(rb"\s*+([A-Za-z_]\w*+|::|->|==|\[\[|.|\Z)", re.DOTALL)
QUALIFIED_NAME = re.compile(rb"\s*+(?:::\s*+)?[A-Za-z_]\w*+(?:\s*+::\s*+~?[A-Za-z_]\w*+)*+")
TEMPLATE_ARGUMENTS = re.compile(rb"\s*+" + nested(rb"<", rb">", rb"[^<>;{}]*+"))
WORD_BYTES = bytes(sign for sign in range(128) if chr(sign).isalnum()) + b"_"
INITIALIZER = re.compile(rb"\s*+(?:noexcept\b\s*+)?:(?!:)")
# macros between `class` and a name: `class MACRO A {`, `struct macro(1) A final : B {`
CLASS_MACROS = re.compile(
    rb"(?:class|struct|union|enum)\b"
    rb"((?:\s++(?!class\b|struct\b)\w++(?:\s*+\([^()]*+\))?+){1,3}?)"
    rb"(?=\s++(?!final\b)[\w:]++(?:\s*+<[^<>{};]*+>)?+(?:\s++final\b)?+\s*+(?:\{|:(?!:)))"
)
# keywords that GCC, Clang and MSVC add, in all their spellings
COMPILER_KEYWORDS = frozenset(
    f"__{word}{ending}"
    for word in "attribute complex const imag real signed typeof typeof_unqual volatile".split()
    for ending in ("", "__")
).union("__auto_type __builtin_offsetof __label__ __restrict".split())
# patterns that begin with a letter are fast: attributes, and macros with arguments like them
ATTRIBUTE = re.compile(
    rb"__(?<!\w__)(?!typeof|asm|alignof)[a-z]\w*+%b\s*+|\[\[[^\[\]]*+\]\]\s*+" % ARGUMENTS.pattern
)
AFTER_ATTRIBUTE = re.compile(
    rb"(?!(?:const|noexcept|override|final|asm|try)\b|__\w++(?:\s++__\w++)*+\s*+[({])[A-Za-z_*]"
)  # follows `__printf(1, 2)` before a type
FUNCTION_HEAD = re.compile(rb"[*\s]*+(?!throw\b|[A-Z0-9_]++\b)\w++\s*+\(")
QUALIFIERS = frozenset(b"* & const volatile restrict __restrict".split())
ACCESS_WORDS = frozenset(b"public protected private".split())
INVENTED_FUNCTION = re.compile(rb"(?:T )?f+(?:\(|\Z)")
OPEN_BRACE = ord("{")
ALL_BUT_BRACES = bytes(sign for sign in range(256) if sign not in b"{}")
BRANCH_DIRECTIVES = frozenset(b"elif elifdef elifndef else endif".split())
CLASS_KEYS = frozenset(b"class struct union enum".split())
SPECIFIERS = frozenset(
    b"static inline extern virtual explicit constexpr consteval constinit friend typedef mutable "
    b"register thread_local _Noreturn __inline __inline__ __extension__ const volatile".split()
)
BUILTIN_TYPES = frozenset(
    b"auto void bool char char8_t char16_t char32_t wchar_t int short long signed unsigned float "
    b"double".split()
)
STATEMENT_WORDS = frozenset(
    b"if else for while do switch case default return goto break continue throw try catch new "
    b"delete sizeof using namespace template typename operator and or not public private protected "
    b"asm static_assert co_return co_await co_yield requires decltype in".split()
)
# no type precedes these
WORDS_AFTER_MACRO = (
    (SPECIFIERS | STATEMENT_WORDS | BUILTIN_TYPES | CLASS_KEYS)
    - frozenset(b"const volatile operator and or not in sizeof requires".split())
) | {b"~", b"[["}
SIGNS_AFTER_MACRO = frozenset((b"{", b"}", b"", b":", b";", b"="))
NAMESPACE = re.compile(rb"\bnamespace\s+[\w:]++\s*+\Z")
AFTER_PARAMETERS = frozenset(b"const noexcept override final volatile mutable throw".split())
NO_NAMES = STATEMENT_WORDS | SPECIFIERS | CLASS_KEYS | AFTER_PARAMETERS
AFTER_FUNCTION = AFTER_PARAMETERS | frozenset((b"{", b";", b"=", b":", b"->", b"try"))
TEST_MACRO = re.compile(rb"(?:TEST|BENCHMARK)\w*_[A-Z]\Z|TEST\Z")
ARGUMENT = re.compile(
    rb"\s*+(\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|[^,()\"]*+(?:"
    + PARENTHESES
    + rb"[^,()\"]*+)*+)\s*+(?:,|\Z)",
    re.DOTALL,
)

CONVERSION = re.compile(r"\boperator\s+\w")  # to a type, whose name may be qualified
# … of Doxygen: comments about the code before them, the ends of groups, and what belongs elsewhere
TRAILING_COMMENT = r"/[*/][*!/]<|/\*[*!]\s*[@\\][{}]\s*\*/|//[/!]\s*[@\\][{}]"
DOCUMENTATION = DocComments(r"//|/\*", skip=TRAILING_COMMENT)
Edit = tuple[int, int, bytes]  # from, to, and the replacement at the start: the rest is blank


def preprocess(data: bytes, more: Sequence[re.Pattern[bytes]] = ()) -> Prepared:
    r"""Blank the macros that a grammar stumbles over, and all branches but one where they differ.

    `more` are patterns whose match, or first group, a language blanks as well.

    >>> preprocess(b"class A {\n  Q_OBJECT\npublic:\n};").data
    b'class A {\n          \npublic:\n};'
    >>> preprocess(b'TEST(Suite, Name) {}')
    Prepared(data=b'T ff(           ) {}', macro_names={2: ('Suite', 'Name')})
    """
    plain = COMMENT_OR_STRING.sub(_fill, data)
    directives = list(DIRECTIVE.finditer(plain))
    seen = bytearray(plain)
    for directive in directives:
        overwrite(seen, *directive.span())
    code = bytes(seen).replace(b"\\", b" ")  # at the end of comments' lines
    edits = list(_macros(code))
    names = _names_of_macros(data, edits)
    for pattern in (CLASS_MACROS, *more):
        edits += [(*match.span(match.lastindex or 0), b"") for match in pattern.finditer(code)]
    edits += [(*span, b"") for span in _attributes(code)]
    for edit in edits:
        overwrite(seen, *edit)
    edits += [(*span, b"") for span in _dropped(bytes(seen), directives)]
    seen = bytearray(data)
    for edit in edits:
        overwrite(seen, *edit)
    return Prepared(bytes(seen), names)


def _names_of_macros(data: bytes, edits: Iterable[Edit]) -> dict[int, tuple[str, str]]:
    """Return the names of the functions that stand for macros, each as long as its macro's own."""
    names: dict[int, tuple[str, str]] = {}
    for start, end, text in edits:
        if INVENTED_FUNCTION.match(text):
            name, _, arguments = data[start:end].partition(b"(")
            arguments = arguments if text.endswith(b"(") else arguments[:-1]
            names[start + text.find(b"f")] = defined_name(name.strip(), arguments)
    return names


def place_of_name(node: tree_sitter.Node) -> ByteSpan | None:
    """Return the bytes of the name in a declaration, without parameters and template arguments."""
    name = node.child_by_field_name("declarator")
    while name and name.type.endswith("_declarator"):
        inner = name.child_by_field_name("declarator")
        name = inner or (name.named_children[0] if name.named_children else None)
    if name is None:
        return None
    start = name.start_byte
    kind = node.child_by_field_name("type")
    if kind and kind.text and kind.text.endswith(b"operator"):
        start = kind.start_byte  # `A::operator int` is no name after a type
    return start, _end_of_name(name)


def _end_of_name(name: tree_sitter.Node) -> int:
    while name.type == "qualified_identifier" and (inner := name.child_by_field_name("name")):
        name = inner
    after = name.child_by_field_name("arguments") if name.type == "template_function" else None
    if name.type == "operator_cast":
        after = name.child_by_field_name("declarator")
        while after and after.type != "abstract_function_declarator":
            after = after.named_children[-1] if after.named_children else None
    return after.start_byte if after else name.end_byte


def split_name(text: str) -> tuple[str, str]:
    """Return the class of a method that is defined outside it, if any, and the name.

    >>> split_name("Foo::operator std::string")
    ('Foo', 'operator std::string')
    """
    if conversion := CONVERSION.search(text):
        owner = text[: conversion.start()]
        return owner.removesuffix("::"), text[conversion.start() :]
    return owner_and_name(text)


def is_function(node: tree_sitter.Node, program: ParsedText, parent: Definition | None) -> bool:
    """Return whether what looks like a function is one, and no statement or macro."""
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return True
    if not declarator.type.endswith("_declarator"):  # without parameters
        place = place_of_name(node)
        name = program.data[slice(*place)] if place else b""
        if not CONVERSION.search(name.decode("utf-8", "replace")):
            return False
    if parent is None or parent.kind != FUNCTION:
        return True
    # a macro defines no function inside another
    of_macro = declarator.start_byte in program.macro_names
    return not of_macro and node.child_by_field_name("type") is not None


outline = partial(
    Outline,
    comments=DOCUMENTATION,
    names=dict.fromkeys(("function_definition", "type_definition"), place_of_name),
    split_name=split_name,
    is_function=is_function,
)


def _fill(match: re.Match[bytes]) -> bytes:
    """Return spaces for a comment, quotes for a string, with the same line ends."""
    text = match[0]
    blank = TO_SPACES if text.startswith(b"/") else TO_QUOTES
    if b"\n" in text and b"\\" in text:
        return NO_LINE_END.sub(blank[:1], text)
    return text.translate(blank)


def _before(code: bytes, at: int) -> bytes:
    """Return the word or sign before a place; empty at the start."""
    length = 64
    while True:
        some = code[max(0, at - length) : at].rstrip()
        if some or length >= at:
            break
        length *= 8
    some = some[-64:]
    word = some[len(some.rstrip(WORD_BYTES)) :]
    return word or (b"::" if some.endswith(b"::") else some[-1:])


def _attributes(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield attributes after a pointer, and macros that stand for attributes before a type."""
    last = -1  # the end of one before
    for match in ATTRIBUTE.finditer(code):
        start, end = match.span()
        before = _before(code, start)
        found = start == last or before in QUALIFIERS
        if not code.startswith((b"__attribute", b"__declspec", b"[["), start):
            found = found or before in b";{}:" or before in SPECIFIERS
            is_typed = before in BUILTIN_TYPES or _is_name(before)
            found = found or (is_typed and FUNCTION_HEAD.match(code, end) is not None)
            found = found and AFTER_ATTRIBUTE.match(code, end) is not None
        if found:
            last = end
            yield start, end


def _macros(code: bytes) -> Iterator[Edit]:
    """Yield the replacement of each macro at a place where the language has nothing."""
    last, before = 0, b""
    reader = _Reader(code)
    for match in MACRO.finditer(code):
        start, end = match.span()
        if start < last:
            continue  # an argument
        if not last or code[last:start].strip():
            before = _before(code, start)
        arguments = ARGUMENTS.match(code, end)
        after = arguments.end() if arguments else end
        text = reader.instead(match, after, before)
        if text is not None:
            last = after
            yield start, after - text.endswith(b"("), text
            if text:
                before = b")" if text.endswith(b"(") else b"T"


class _Reader:
    """Finder of macros where neither C nor C++ has a name, by the text before and after them."""

    def __init__(self, code: bytes) -> None:
        self.code = code

    def instead(self, macro: re.Match[bytes], end: int, before: bytes) -> bytes | None:
        """Return the replacement of a macro: nothing, a type, a function; None: it stays."""
        following = NEXT_TOKEN.match(self.code, end)
        after = following[1] if following else b""
        if b"::" in (before, after) or before in CLASS_KEYS:
            return None
        after_parameters = before == b")" or before in AFTER_PARAMETERS
        if after_parameters and self._ends_a_head(after, end):
            return b""
        has_arguments = end > macro.end()
        begins = before in b';{}:>]"' or before in SPECIFIERS
        if has_arguments and begins and self._ends_a_head(after, end, {b"{"}):
            return b"T ".ljust(len(macro[0]), b"f") + b"("  # a function
        typed = before in (b"*", b"&") or before in BUILTIN_TYPES or _is_name(before)
        if has_arguments and after == b"(" and (begins or typed):
            return self._named_by_arguments(macro, end, typed)
        if after in WORDS_AFTER_MACRO:
            return b"" if begins or before in b"(,)" else None
        if after in SIGNS_AFTER_MACRO:
            return self._before_sign(macro, end, before, after, begins)
        if before in b"(," or begins or typed:
            return self._before_word(after, end, has_arguments, begins, typed)
        return None

    def _before_sign(
        self, macro: re.Match[bytes], end: int, before: bytes, after: bytes, begins: bool
    ) -> bytes | None:
        """Blank a macro before a sign, where neither a value nor a name may be."""
        has_arguments = end > macro.end()
        match after:
            case b"{":
                some = self.code[max(0, macro.start() - 80) : macro.start()]
                alone = not has_arguments and before in b";{}"
                blank = alone or NAMESPACE.search(some) is not None
            case b"}" | b"":
                blank = before in b";{}:"
            case b":":
                blank = before in ACCESS_WORDS or before in b";{}"
            case b";" if has_arguments and begins:
                # `FLAG(type, name, {}, "help");` declares something of no known form
                odd = re.search(rb'[{"]', self.code[macro.end() : end])
                called = macro.end() == self.code.find(b"(", macro.end())
                return macro[0] + b"(" if odd and called else None
            case _:
                named = _is_name(before) and before != b"T"
                blank = named and (has_arguments or after == b";")
        return b"" if blank else None

    def _ends_a_head(self, after: bytes, end: int, last: Container[bytes] = AFTER_FUNCTION) -> bool:
        """Return whether the next text follows parameters; more macros may be between."""
        for _ in range(8):
            if after and after in last:
                return True
            macro = MACRO.match(self.code, self.code.find(after, end)) if after else None
            if not macro:
                return False
            arguments = ARGUMENTS.match(self.code, macro.end())
            end = arguments.end() if arguments else macro.end()
            following = NEXT_TOKEN.match(self.code, end)
            after = following[1] if following else b""
        return False

    def _named_by_arguments(self, macro: re.Match[bytes], end: int, typed: bool) -> bytes | None:
        """Return a function's name instead of `MACRO(name)`, if parameters and a body follow."""
        parameters = ARGUMENTS.match(self.code, end)
        following = NEXT_TOKEN.match(self.code, parameters.end()) if parameters else None
        if not parameters or not following:
            return None
        if not self._ends_a_head(following[1], parameters.end(), {b"{"}):
            return None
        return (b"" if typed else b"T ").ljust(len(macro[0]), b"f")

    def _before_word(
        self, after: bytes, end: int, has_arguments: bool, begins: bool, typed: bool
    ) -> bytes | None:
        """Blank macros in a row of words: the last word is a name, and one is a type."""
        if after == b"operator":
            following = NEXT_TOKEN.match(self.code, self.code.find(after, end) + len(after))
            conversion = following is not None and following[1][:1].isalpha()
            return b"" if typed or begins and conversion else None
        if not _is_name(after):
            return None
        sign, end = self._after_name(end)
        if sign == b"word":
            return b""
        if sign == b"(":
            if typed:
                return b""
            if begins and self._has_no_type(after, end):
                return b""
            return b"T" if begins and has_arguments else None
        if typed:
            return b""
        if begins and has_arguments:
            return b"T" if sign in (b";", b"=", b",", b"[") else b""
        return None

    def _after_name(self, at: int) -> tuple[bytes, int]:
        """Return the sign after a name and its template's arguments, and its place."""
        if name := QUALIFIED_NAME.match(self.code, at):
            at = name.end()
        if arguments := TEMPLATE_ARGUMENTS.match(self.code, at):
            at = arguments.end()
        while following := NEXT_TOKEN.match(self.code, at):
            sign = following[1]
            if sign[:1].isalpha() and sign != b"const" or sign[:1] in (b"_", b"~"):
                return b"word", at
            if sign not in (b"*", b"&", b"const"):
                return sign, following.start(1)
            at = following.end()
        return b"", at

    def _has_no_type(self, name: bytes, at: int) -> bool:
        """Return whether a name before parameters is a constructor's or again a macro's."""
        parameters = ARGUMENTS.match(self.code, at)
        if not parameters:
            return False
        end = parameters.end()
        if INITIALIZER.match(self.code, end):
            return True
        following = NEXT_TOKEN.match(self.code, end)
        return bool(
            MACRO.fullmatch(name) and following and not self._ends_a_head(following[1], end)
        )


def _is_name(word: bytes) -> bool:
    return (word[:1].isalpha() or word[:1] == b"_") and word not in NO_NAMES


def defined_name(macro: bytes, arguments: bytes) -> tuple[str, str]:
    """Return the suite, if any, and the name that a macro with arguments and a body defines.

    >>> defined_name(b"TEST_F", b"Suite, Name"), defined_name(b"UNUSED", b"static int f(int x)")
    (('Suite', 'Name'), ('', 'f'))
    """
    first, second = ([part.strip() for part in ARGUMENT.findall(arguments)] + [b"", b""])[:2]
    owner, name = b"", macro
    if re.fullmatch(rb"[A-Za-z_]\w*", first):
        if TEST_MACRO.search(macro) and re.fullmatch(rb"\w+", second):
            owner, name = first, second
        else:
            name = first
    elif first.startswith(b'"'):
        name = first.strip(b'"')
    elif called := re.search(rb"([A-Za-z_]\w*+)\s*+\(", first):
        name = called[1]
    return owner.decode("utf-8", "replace"), name.decode("utf-8", "replace")


class _Conditional:
    """Conditional that is being read: its directives, and whether its branches are whole.

    A grammar reads a conditional whose branches, and what is before it, hold whole statements.
    """

    def __init__(self, directive: re.Match[bytes], whole: bool) -> None:
        self.directives = [directive]
        self.whole = whole
        self.depth = 0  # braces that are open in this branch
        self.last = b""  # the last sign of this branch

    def add(self, text: bytes) -> None:
        """Add a stretch of this branch."""
        depth = lowest = self.depth
        for sign in text.translate(None, ALL_BUT_BRACES):
            depth += 1 if sign == OPEN_BRACE else -1
            lowest = min(lowest, depth)
        is_else = not self.last and text.startswith(b"else")
        self.whole = self.whole and lowest >= 0 and not is_else
        self.depth, self.last = depth, text[-1:]

    def end_branch(self, directive: re.Match[bytes]) -> None:
        """End a branch at the next directive."""
        self.whole = self.whole and not self.depth and self.last in b";}"
        self.depth, self.last = 0, b""
        self.directives.append(directive)

    def unread(self) -> Iterator[tuple[int, int]]:
        """Yield the parts to skip: a dead branch; if the branches are not whole, all but one."""
        first = self.directives[0]
        is_dead = first[1] == b"if" and NEVER_TRUE.match(first[2]) is not None
        if not self.whole:
            yield from (directive.span() for directive in self.directives)
        for number, (directive, following) in enumerate(pairwise(self.directives)):
            is_read = number > 0 or not is_dead if self.whole else number == is_dead
            if not is_read:
                yield directive.end(), following.start()


def _dropped(code: bytes, directives: list[re.Match[bytes]]) -> Iterator[tuple[int, int]]:
    """Yield the directives and branches that a grammar cannot read."""
    open_: list[_Conditional] = []
    starts = [directive.start() for directive in directives]
    last = code[: min(starts, default=0)].rstrip()[-1:]
    for directive, end in zip(directives, [*starts[1:], len(code)], strict=False):
        ended = None
        if directive[1] in (b"if", b"ifdef", b"ifndef"):
            open_.append(_Conditional(directive, whole=last in b";{}:>"))
        elif open_ and directive[1] in BRANCH_DIRECTIVES:
            open_[-1].end_branch(directive)
            ended = open_.pop() if directive[1] == b"endif" else None
        if text := code[directive.end() : end].strip():
            last = text[-1:]
            if open_:
                open_[-1].add(text)
        if ended:
            ended.whole = ended.whole and not text.startswith(b"else")
            yield from ended.unread()
