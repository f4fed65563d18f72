"""Files to records: whole files, functions, chunks, pages, sections, rows or sentences.

A few kilobytes of odd code can keep a grammar busy for hours, or end its process. So a child does
the work on a batch of files: if it does not finish, its files are tried one by one.
"""

import hashlib
import io
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from operator import attrgetter
from traceback import walk_tb

from structkit.collecting.asciidoc import AsciiDocPage
from structkit.collecting.chunks import cut_lines
from structkit.collecting.encodings import decode
from structkit.collecting.kinds import (
    ASCIIDOC,
    CODE_CONTENT,
    HEAD_BYTES,
    HTML_CONTENT,
    MARKDOWN_CONTENT,
    NOTEBOOK,
    PLAIN_TEXT,
    RESTRUCTURED,
    TEXT_CONTENT,
    USUAL_UNITS,
    ContentKind,
    content_kind,
    is_binary,
    is_generated,
)
from structkit.collecting.naming import UniqueNames
from structkit.collecting.notebooks import Notebook
from structkit.collecting.pages import HtmlPage, MarkdownPage, Page
from structkit.collecting.restructured import Restructured
from structkit.collecting.walking import Found, LeftOut, Source, readable_path
from structkit.errors import UserError, flag, program
from structkit.extras import LANGUAGES, MissingPackage, install
from structkit.processes import Child, group_by_size
from structkit.progress import say
from structkit.records import fields
from structkit.records.jsonl import Record, Records, text_field
from structkit.records.output import dump
from structkit.registry import canonical, fault_of
from structkit.structure.code.grammar import PARSE_MEMORY_BYTES, PARSE_MEMORY_PER_BYTE
from structkit.structure.code.languages import outline_of
from structkit.structure.code.outline import Definition, ParsedText

TEXT_FIELDS = {
    CODE_CONTENT: "code",
    HTML_CONTENT: "html",
    MARKDOWN_CONTENT: "text",
    TEXT_CONTENT: "text",
}
NAMED_BY_LINES = "L"  # the name of a unit until its lines are known: `L1-9`
BATCH_FILES = 256
BATCH_BYTES = 1 << 20
MIN_CPU_SECONDS = 5.0  # to read a batch; a megabyte takes 0.5 s
BYTES_IN_MIN_SECONDS = 2_000_000  # a larger batch may take longer, in proportion
# pages by language, except Markdown and HTML
PAGES = {RESTRUCTURED: Restructured, ASCIIDOC: AsciiDocPage, PLAIN_TEXT: Page}
# the name of a unit in its file, empty for the whole file, and the fields of the unit
NamedUnit = tuple[str, Record]


@dataclass(frozen=True)
class Units:
    """Files to read and units to cut their texts into: the flags of the command."""

    unit: str | None = None
    chunk_chars: int = 1_500
    max_file_bytes: int = 2_000_000
    generated: bool = False
    xpaths: bool = True  # of sections
    symbols: bool = False  # in chunks of code: the lines of each definition

    def of(self, kind: ContentKind) -> str:
        """Return the unit that a file of a kind is cut into."""
        return self.unit or USUAL_UNITS[kind.name]

    def records(self, path: str, text: str, kind: ContentKind) -> Iterator[Record]:
        """Yield the records of a text, in order; none if it has no such unit."""
        file_lines: list[int] = []  # of a notebook: the line in the file of each line of the text
        if kind.language == NOTEBOOK:
            notebook = Notebook.read(text)
            if self.of(kind) == "function":
                kind = ContentKind(CODE_CONTENT, canonical("language", notebook.language))
                numbered_lines = notebook.program()
            else:
                numbered_lines = notebook.markdown()
            text = "\n".join(line for line, _ in numbered_lines)
            file_lines = [number for _, number in numbered_lines]
        names = UniqueNames("~", 2)
        read_units = UNIT_READERS[self.of(kind)].get(kind.name) if text.strip() else None
        if not read_units:
            return
        for name, unit in read_units(text, kind, self):
            if file_lines:
                unit["lines"] = [file_lines[line - 1] for line in unit["lines"]]
            if name == NAMED_BY_LINES:
                name = "L{}-{}".format(*unit["lines"])
            name = names.take(name)
            text_key = next(key for key in ("html", "code", "text") if key in unit)
            content: str = unit[text_key]
            yield {
                "id": f"{path}#{name}" if name else path,
                "path": path,
                "language": kind.language,
                "lines": unit["lines"],
                "hash": hashlib.blake2b(content.encode(), digest_size=16).hexdigest(),
                **unit,
            }


def _text_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends; a carriage return alone is one, too."""
    return io.StringIO(text, newline="").readlines()


def _file_unit(text: str, kind: ContentKind, units: Units) -> Iterator[NamedUnit]:
    yield "", {"lines": [1, len(_text_lines(text.rstrip()))], TEXT_FIELDS[kind.name]: text}


def _function_units(text: str, kind: ContentKind, units: Units) -> Iterator[NamedUnit]:
    """Yield the functions of a program in its order, each with its name for an id.

    `code` is as in the file, with decorators and attributes; `docstring` is there if the program
    documents the function, inside it or in a comment before it.
    """
    parsed = _parse(text, kind)
    if not parsed:
        return
    for definition in parsed.definitions:
        if definition.kind == "function":
            code = parsed.data[definition.start : definition.end]
            record: Record = {
                "lines": [definition.row + 1, definition.end_row + 1],
                "name": definition.name,
                "scope": definition.scope,
                "code": code.decode("utf-8", "replace"),
            }
            if docstring := parsed.doc_comment(definition):
                record["docstring"] = docstring
            yield definition.path, record


def _chunk_units(text: str, kind: ContentKind, units: Units) -> Iterator[NamedUnit]:
    # code without its grammar is cut as text
    parsed = None if _missing_packages(kind) else _parse(text, kind)
    lines = _text_lines(text)
    root = parsed.tree.root_node if parsed else None
    definitions = parsed.definitions if parsed else []
    start_row = attrgetter("top" if units.symbols else "row")
    pending = sorted(definitions, key=start_row)  # those after the chunk
    pending.reverse()  # the next one is the last
    in_chunk: list[Definition] = []  # those with a line in the chunk
    for first, end in cut_lines(lines, root, units.chunk_chars):
        in_chunk = [each for each in in_chunk if first <= each.end_row]
        while pending and start_row(pending[-1]) < end:
            in_chunk.append(pending.pop())
        unit: Record = {"lines": [first + 1, end]}
        if parsed:
            unit["scope"] = _scope(in_chunk, first)
            unit["names"] = [each.path for each in in_chunk if first <= each.row < end]
        if units.symbols and parsed:
            unit["symbols"] = [
                (each.path, each.top + 1, each.name_row + 1, each.end_row + 1) for each in in_chunk
            ]
        code = "".join(lines[first:end]).rstrip("\r\n")
        yield NAMED_BY_LINES, {**unit, TEXT_FIELDS[kind.name]: code}


def _scope(definitions: list[Definition], row: int) -> str:
    """Return the scope of a line in words: the definitions that begin before it and contain it."""
    enclosing = [each for each in definitions if each.row < row <= each.end_row]
    if not enclosing:
        return ""
    innermost = enclosing[-1]
    return ", ".join(each.label for each in (*innermost.outer, innermost))


def _page_units(text: str, kind: ContentKind, units: Units) -> Iterator[NamedUnit]:
    """Yield the units that a page has by its headings, tables and paragraphs."""
    page = (
        HtmlPage(text, xpaths=units.xpaths, xml=kind.xml)
        if kind.name == HTML_CONTENT
        else PAGES.get(kind.language, MarkdownPage)(text)
    )
    unit = units.of(kind)
    if unit == "page":
        yield "", page.page()
    elif unit == "sentence":
        for number, sentence in enumerate(page.sentences(), 1):
            yield f"s{number}", sentence
    if unit in ("section", "passage"):
        yield from page.sections()
    if unit == "row" or (unit == "passage" and kind.name == HTML_CONTENT):
        yield from page.rows()


@cache
def _missing_packages(kind: ContentKind) -> tuple[str, ...]:
    """Return the package with the grammar of code, if it is not installed."""
    if kind.name == CODE_CONTENT:
        try:
            outline_of(kind.language)
        except MissingPackage as error:
            return error.packages
    return ()


def report_missing_grammars(endings: Iterable[str]) -> None:
    """Say which languages of files are read as text, and how to install their grammars."""
    kinds = (content_kind(f"file{ending}", "") for ending in sorted(endings))
    missing = {kind.language: package for kind in kinds for package in _missing_packages(kind)}
    if missing:
        remedy = f"the extra {LANGUAGES} has grammars: {install(*missing.values())}"
        say(f"read as text: {', '.join(missing)}; {remedy}")


def _parse(text: str, kind: ContentKind) -> ParsedText | None:
    """Return the parsed text, if its language has trees."""
    outline = outline_of(kind.language) if kind.name == CODE_CONTENT else None
    return outline.parse(text, text.encode("utf-8", "replace")) if outline else None


UnitReader = Callable[[str, ContentKind, Units], Iterator[NamedUnit]]
PAGE_READERS: dict[str, UnitReader] = dict.fromkeys((HTML_CONTENT, MARKDOWN_CONTENT), _page_units)
# the reader of each unit, by the kinds of content that have such units
UNIT_READERS: dict[str, dict[str, UnitReader]] = {
    "file": dict.fromkeys(USUAL_UNITS, _file_unit),
    "chunk": dict.fromkeys(USUAL_UNITS, _chunk_units),
    "function": {CODE_CONTENT: _function_units},
    "page": PAGE_READERS | {TEXT_CONTENT: _file_unit},
    "section": PAGE_READERS,
    "row": PAGE_READERS,
    "sentence": PAGE_READERS | {TEXT_CONTENT: _page_units},
    # of `ask`
    "passage": PAGE_READERS | {CODE_CONTENT: _chunk_units, TEXT_CONTENT: _chunk_units},
}


@dataclass
class Collected:
    """Result of some files: records as lines, in order, and the skipped files."""

    files: int = 0
    output: bytes = b""
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def records(self) -> int:
        """How many there are."""
        return self.output.count(b"\n")


def batches(files: Iterable[Found]) -> Iterator[list[Found]]:
    """Return some files at a time: many small ones, or a large one."""
    return group_by_size(
        files,
        (lambda _: 1, BATCH_FILES),
        (lambda each: each.size, BATCH_BYTES),
    )


class Collector:
    """Function that collects batches in a child process, which a file may crash or stall."""

    def __init__(self, units: Units) -> None:
        self.units, self.child = units, Child(partial(_collect_batch, units=units))
        content_kind("", "")  # loads what plugins declare once, before there are more processes

    def __call__(self, batch: list[Found]) -> Collected:
        size = sum(each.size for each in batch)
        seconds = MIN_CPU_SECONDS * max(1, size / BYTES_IN_MIN_SECONDS)
        collected = self.child.result(
            batch, seconds, PARSE_MEMORY_BYTES + PARSE_MEMORY_PER_BYTE * size
        )
        if collected is not None:
            return collected
        if len(batch) == 1:
            problem = f"parsing takes longer than {seconds:g} s, or too much memory"
            error = UserError(problem, f"collect it with {flag('unit', 'file')}")
            return Collected(1, left_out=[LeftOut.because(batch[0].path, error)])
        whole = Collected(len(batch))
        for each in batch:
            part = self([each])
            whole.output += part.output
            whole.left_out += part.left_out
        return whole


def _collect_batch(batch: list[Found], units: Units) -> Collected:
    collected = Collected(len(batch))
    for each in batch:
        result = each if isinstance(each, LeftOut) else _record_lines(each, units)
        if isinstance(result, LeftOut):
            collected.left_out.append(result)
        else:
            collected.output += result
    return collected


def _record_lines(source: Source, units: Units) -> bytes | LeftOut:
    """Return the lines of a file's records, or why it has none."""
    path = source.path
    try:
        data = source.content(units.max_file_bytes)
        if is_binary(data, source.media):
            return LeftOut(path, "binary", "convert it to text")
        if len(data) > units.max_file_bytes:
            problem = f"has more than {units.max_file_bytes:,} bytes"
            raise UserError(problem, f"raise {flag('max_file_bytes')}")
        text = _decode_source(data, source)
        if not text.strip():
            return LeftOut(path, "without text", "write some, or leave it out")
        kind = content_kind(path, text, source.media, source.language)
        if kind.name == CODE_CONTENT and not units.generated and is_generated(path, text):
            return LeftOut(path, "generated or minified", f"include it with {flag('generated')}")
        records = units.records(path, text, kind)
        lines = b"".join(dump(_with_fields(record, source)) for record in records)
    except MissingPackage as error:
        return LeftOut(path, error.problem, error.remedy)
    except (UserError, OSError) as error:
        return LeftOut.because(path, error)
    except MemoryError:  # it ends the child process; then each file is tried alone
        raise
    except Exception as error:
        return LeftOut.because(path, fault_of(error) or unexpected_error(error))
    if not lines:
        return LeftOut(path, f"without {units.of(kind)}s", f"choose another {flag('unit')}")
    return lines


def unexpected_error(error: Exception) -> UserError:
    """Return the error for any other exception of a reader, with its place in the program."""
    frame, line = [*walk_tb(error.__traceback__)][-1]
    place = f"{posixpath.basename(frame.f_code.co_filename)}:{line}"
    reason = " ".join(f"{type(error).__name__} in {place}: {error}".split())
    return UserError(f"cannot be read: unexpected {reason}", "leave it out, and report it")


def _decode_source(data: bytes, source: Source) -> str:
    """Decode a file, by its language's own rule if there is one."""
    if source.record is not None:  # its text is UTF-8, whatever encoding the text declares
        return data.decode("utf-8-sig")
    head = data[:HEAD_BYTES].decode("ascii", "replace")
    kind = content_kind(source.path, head, source.media, source.language)
    return decode(data, kind.language, source.media)


def _with_fields(unit: Record, source: Source) -> Record:
    """Return a unit with the other fields of the record that had its text, if any.

    `doc_id` is that record's id. The title of a chapter begins with its book's.
    """
    if source.book and "title" in unit and unit["title"] != source.book:
        unit["title"] = f"{source.book}: {unit['title']}" if unit["title"] else source.book
    record = source.record
    if record is None:
        return unit
    name = unit["id"].removeprefix(unit["path"])
    return {**record, **unit, "id": record["id"] + name, "doc_id": record["id"]}


def files_of_records(paths: Sequence[str]) -> Iterator[Found]:
    """Yield a file for each record of JSONL files, in order, with the record's other fields.

    Its text is in `code`, `html` or `text`, its name in `path`.
    """
    records = Records.read(paths)
    while True:
        try:
            for record in records:
                yield _file_of(record)
            return
        except UserError as error:
            place = records.place(error)
            yield LeftOut.because(f"{readable_path(place.file)}:{place.line}", error)


def _file_of(record: Record) -> Source:
    remedy = f"rename a field with {program('select')}: {flag('rename', 'FIELD=text')}"
    text_key = fields.text_name(record, ("code", *fields.HTML_FIELDS, "text"), remedy)
    language = record.get("language")
    return Source(
        path=text_field(record, "path") if "path" in record else record["id"],
        data=text_field(record, text_key).encode(),
        media="text/html" if text_key in fields.HTML_FIELDS else "",
        language=language if isinstance(language, str) else "",
        record={name: value for name, value in record.items() if name != text_key},
    )
