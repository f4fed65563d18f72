"""Kinds of files: whether a file is text, in which language, and who wrote it."""

import posixpath
import re
from dataclasses import dataclass, field
from functools import cache

from structkit.collecting import MARKDOWNS
from structkit.collecting.encodings import is_wide
from structkit.registry import canonical, plugins_of

CODE_CONTENT = "code"
HTML_CONTENT = "html"
MARKDOWN_CONTENT = "markdown"
TEXT_CONTENT = "text"
# the unit in which files of a kind are collected
USUAL_UNITS = {
    CODE_CONTENT: "chunk",
    HTML_CONTENT: "page",
    MARKDOWN_CONTENT: "page",
    TEXT_CONTENT: "sentence",
}
# languages whose files are read as those of Markdown
NOTEBOOK = "notebook"
RESTRUCTURED = "restructuredtext"
ASCIIDOC = "asciidoc"
PLAIN_TEXT = "text"
# the content of files in these languages; those in others are code
CONTENTS = {
    HTML_CONTENT: HTML_CONTENT,
    **dict.fromkeys((MARKDOWN_CONTENT, NOTEBOOK, RESTRUCTURED, ASCIIDOC), MARKDOWN_CONTENT),
    PLAIN_TEXT: TEXT_CONTENT,
}

# languages without a plugin: their files are cut at blank lines. The tables of libraries give an
# ending several languages, other names for them (shell for bash), and prose (.rst, .tex) among code
EXTENSIONS_WITHOUT_PLUGIN = """
asciidoc: adoc asciidoc
awk: awk gawk mawk
batch: bat cmd
bazel: bzl bazel BUILD WORKSPACE
clojure: clj cljs cljc edn
cmake: cmake CMakeLists.txt
coffeescript: coffee litcoffee
css: css scss sass less
csv: csv tsv
cuda: cu cuh
cython: pyx pxd pxi
dockerfile: dockerfile Dockerfile Containerfile
elm: elm
erlang: erl hrl
fish: fish
fortran: f f77 f90 f95 f03
fsharp: fs fsi fsx
glsl: glsl vert frag wgsl hlsl
graphql: graphql gql
groovy: groovy gradle Jenkinsfile
handlebars: hbs handlebars mustache
haskell: hs lhs
ini: ini cfg conf properties editorconfig
jinja: jinja jinja2 j2
json: json jsonc json5 jsonl ndjson geojson
julia: jl
lisp: lisp lsp el scm rkt
make: mk mak Makefile makefile GNUmakefile
meson: meson.build meson_options.txt
nim: nim
nix: nix
notebook: ipynb
objective-c: m mm
ocaml: ml mli
pascal: pas dpr
perl: pl pm t pod
protobuf: proto
r: r R
restructuredtext: rst rest
solidity: sol
svelte: svelte
tcl: tcl
terraform: tf tfvars hcl
toml: toml
vim: vim vimrc
vue: vue
xml: xml xsd xsl xslt svg plist csproj
yaml: yaml yml
"""
LOWERCASE_FILE_NAMES = ("dockerfile", "makefile", "vimrc")
ADDRESS_PATH = re.compile(r"[a-z][a-z\d+.-]*://[^/?#]*([^?#]*?)(?:~\d+)?(?:[?#].*)?$", re.I | re.S)
# that run the files of languages without a plugin
INTERPRETERS_WITHOUT_PLUGIN = """
awk: awk gawk mawk
erlang: escript
fish: fish
groovy: groovy
haskell: runghc runhaskell
julia: julia
make: make gmake
ocaml: ocaml
perl: perl
r: r Rscript
tcl: tclsh wish
"""
SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([\w.+-]+)")

# of a line that a person wrote, and of the lines of a file on average
MAX_LINE_CHARACTERS = 5_000
MAX_MEAN_LINE_CHARACTERS = 250
LOCK_FILES = frozenset(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml poetry.lock uv.lock pdm.lock "
    "Pipfile.lock Cargo.lock composer.lock Gemfile.lock go.sum flake.lock bun.lock".split()
)
GENERATED_NAME = re.compile(
    r"""
    (?: _pb2 (?:_grpc)? \.pyi?                      # Protocol Buffers in Python
      | \.pb\. (?: go | cc | h ) | \.pb\.gw\.go     # … in Go and C++
      | _generated\.\w+
      | \.g\. (?: cs | dart ) | \.designer\.cs
      | \.map                                       # of minified code
    )$
    """,
    re.X | re.I,
)
GENERATED_TEXT = re.compile(
    r"""
      @generated\b
    | \b code [ ] generated [ ] (?: by | from ) \b
    | <auto-?generated
    | \b do [ ] not [ ] edit \b .{0,80} \b generated \b
    | \b generated \b .{0,80} \b do [ ] not [ ] (?: edit | modify ) \b
    | \b auto (?: matically | - )? [ ]? generated [ ] (?: by | from ) \b
    | \b generated [ ] (?: from [ ] \S+ [ ] )? by [ ] (?:
          the [ ] protocol [ ] buffer [ ] compiler | the [ ] grpc \b | antlr | coffeescript
        | cython | grammar-?kit | haxe | jflex | jison | jooq | lemon | peg\.?js | pegjs | peggy
        | re2c | ragel | roxygen2 )
    | \b machine [ ] generated \b
    | \b this [ ] is [ ] an? [ ] (?: auto-? )? generated [ ] file \b
    | ^ /\* [ ] A [ ] Bison [ ] parser, [ ] made [ ] by
    """,
    re.X | re.I | re.S,
)
CLAIM_CHARACTERS = 1_000  # characters in which a file declares that it is generated
# after such a line, the words are a text that the program itself writes
DEFINITION_LINE = re.compile(
    r"^(?:(?:async )?def|class|function|func) |^(?:const |let |var )?\w+ = ", re.M
)
HEAD_BYTES = 8_000  # bytes, as many as git looks at
CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b"))
BINARY_SIGNATURES = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"\x7fELF",
)


def is_binary(data: bytes, media: str = "") -> bool:
    r"""Return whether bytes are not text: an early NUL, or many control characters.

    >>> is_binary(b"a\0b"), is_binary("\ufeffa".encode("utf-16-le"))
    (True, False)
    """
    head = data[:HEAD_BYTES]
    if head.startswith(BINARY_SIGNATURES):
        return True
    if is_wide(head, media):
        return False
    return b"\0" in head or len(head) - len(head.translate(None, CONTROL_BYTES)) > len(head) / 50


@dataclass(frozen=True)
class ContentKind:
    """Kind of a file's content: `name` is one of code, html, markdown and text."""

    name: str
    language: str
    xml: bool = field(default=False, repr=False)  # XHTML, which is read as XML


def content_kind(path: str, text: str, media: str = "", given: str = "") -> ContentKind:
    """Return the kind of a file: by a server's content type, its name, its text, or as `given`.

    >>> content_kind("a/b.py", ""), content_kind("run", "#!/usr/bin/env python3")
    (ContentKind(name='code', language='python'), ContentKind(name='code', language='python'))
    """
    name = file_name(path)
    dotted = "." in name
    ending = name.rpartition(".")[2] if dotted else ""
    if ending not in _extensions():
        ending = ending.lower()
    language = named_language(path)
    language = next((each for each, sign in _claims(ending) if sign.search(text)), language)
    # a name without an ending is weaker than the interpreter: `go` may be a script
    if (language is None or not dotted) and (match := SHEBANG.match(text)):
        interpreters = _languages_in(INTERPRETERS_WITHOUT_PLUGIN)
        interpreters |= declared_by_languages("interpreters")
        bare = match[1].rstrip("0123456789.")
        language = interpreters.get(match[1]) or interpreters.get(bare) or language
    if language is None and given in _extensions().values():
        language = given
    of_media = _media_language(media)
    xml = "xhtml" in media.lower() if of_media else ending in ("xhtml", "xht")
    language = of_media or language or PLAIN_TEXT
    return ContentKind(CONTENTS.get(language, CODE_CONTENT), language, xml)


def named_language(path: str) -> str | None:
    """Return the language of a file by its name alone; None if that does not tell it.

    >>> [named_language(path) for path in ("a/b.py", "Makefile", "a.C", "notes.txt")]
    ['python', 'make', 'cpp', None]
    """
    name, extensions = file_name(path), _extensions()
    if "." not in name:  # an ending alone is no name
        is_whole = len(name) > 4 and name != name.lower() or name in LOWERCASE_FILE_NAMES
        return extensions.get(name) if is_whole else None
    ending = name.rpartition(".")[2]  # `.C` is C++, `.R` is R
    return extensions.get(name) or extensions.get(ending) or extensions.get(ending.lower())


def file_name(path: str) -> str:
    """Return the name of a file; an address loses its query and a repeated one's number.

    >>> file_name("a/b.py"), file_name("https://example.org/x.js?v=3~2"), file_name("http://a.go")
    ('b.py', 'x.js', '')
    """
    if match := ADDRESS_PATH.match(path):
        path = match[1]
    return posixpath.basename(path)


@cache
def _media_language(media: str) -> str | None:
    """Return the language of a content type; None for a vague one such as `text/plain`.

    >>> list(map(_media_language, ("text/html; charset=x", "image/svg+xml", "text/plain")))
    ['html', 'xml', None]
    """
    kind = media.partition(";")[0].strip().lower().partition("/")[2]
    types = (kind, kind.removeprefix("x-"), kind.rpartition("+")[2])
    names = (canonical("language", each) for each in types)
    kinds = _extensions() | {each: each for each in _extensions().values()}
    return next((kinds[name] for name in names if name in kinds), None)


@cache
def declared_by_languages(sign: str) -> dict[str, str]:
    """Return what the plugins of languages declare as a sign, each with the language's name."""
    return {
        each: plugin.name
        for plugin in plugins_of("language")
        for each in getattr(plugin.signs, sign)
    }


def _languages_in(table: str) -> dict[str, str]:
    """Return the language of each sign in a table with a line for each language."""
    languages: dict[str, str] = {}
    for line in table.split("\n"):
        language, _, signs = line.partition(": ")
        languages |= dict.fromkeys(signs.split(), language)
    return languages


@cache
def _extensions() -> dict[str, str]:
    """Return the language of each extension and whole name; plugins take precedence."""
    languages = _languages_in(EXTENSIONS_WITHOUT_PLUGIN)
    languages |= {ending: MARKDOWN_CONTENT for ending in MARKDOWNS}
    return languages | declared_by_languages("extensions")


@cache
def _claims(ending: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return the languages that claim files with another one's extension, each by a pattern."""
    return [
        (plugin.name, re.compile(plugin.signs.claims[1]))
        for plugin in plugins_of("language")
        if plugin.signs.claims[:1] == (ending,)
    ]


def is_minified(path: str, text: str) -> bool:
    """Return whether code was minified by a program: its lines are too long for people."""
    if ".min." in file_name(path):
        return True
    lengths = list(map(len, text.split("\n")))
    return len(text) / len(lengths) > MAX_MEAN_LINE_CHARACTERS or max(lengths) > MAX_LINE_CHARACTERS


def is_generated(path: str, text: str) -> bool:
    """Return whether a program wrote the code, by its name, head or length of lines.

    >>> is_generated("a.go", "// Code generated by stringer; DO NOT EDIT.")
    True
    >>> is_generated("a.py", "HEAD = '// Code generated by a.py; DO NOT EDIT.'")
    False
    """
    name = file_name(path)
    if name in LOCK_FILES or GENERATED_NAME.search(name) or is_minified(path, text):
        return True
    head = text[:CLAIM_CHARACTERS]
    if not any(word in head.lower() for word in ("generated", "bison")):
        return False
    claim = GENERATED_TEXT.search(head)
    return claim is not None and not DEFINITION_LINE.search(text, 0, claim.start())
