"""A command as a function: its settings as keywords, dicts instead of files, records out.

Tests: tests/api/test_api.py.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from secrets import token_hex
from typing import Any, Self, TypeAlias, cast, get_args
from urllib.parse import quote
from weakref import finalize

from structkit.command import Command, Group, command_of
from structkit.errors import Python, UserError, flag, unknown, use_surface, wrong_usage
from structkit.extras import missing_training_package
from structkit.paths import Named
from structkit.records.jsonl import JSON_NAMES, Block, Lines, Record, Records, Shard
from structkit.records.output import dump
from structkit.records.stream import (
    ErrorOptions,
    InputOptions,
    Options,
    OutputOptions,
    Rejects,
    stage_of,
)
from structkit.settings import Setting, make, settings_of

Rows: TypeAlias = "Iterable[Mapping[str, Any]]"  # a DataFrame too
Names: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
# by torch for its compiler, and for ONNX Runtime before it is imported
LIBRARY_VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "ORT_DISABLE_TELEMETRY")
DICTS_PER_BLOCK = 256  # dicts in a block for a parser


def rows(given: Any) -> Any:
    """Return what was given; of a DataFrame of pandas or polars its rows, a dict each."""
    if callable(dicts := getattr(given, "to_dicts", None)):  # polars
        return dicts()
    if hasattr(given, "columns") and callable(dicts := getattr(given, "to_dict", None)):
        return dicts("records")
    return given


def texts_as(field: str, given: Any) -> Iterator[Any]:
    """Return dicts unchanged, and strings, or one string, as dicts with that field."""
    records = [given] if isinstance(given, str) else rows(given)
    return ({field: record} if isinstance(record, str) else record for record in records)


class DictLines(Lines):
    """Dicts as the lines of a file, so that they are numbered, checked and named as its records.

    Their numbers are the places in errors: `records:3: …`.
    """

    def __init__(self, records: Rows, name: str = "records") -> None:
        self.files, self.file, self.total = [name], name, None
        self.line = self.number = self.bytes = 0
        self.records = rows(records)

    def blocks(self) -> Iterator[Block]:
        records = iter(self.records)
        while dicts := list(islice(records, DICTS_PER_BLOCK)):
            first = self.line + 1
            yield from self._counted(
                b"".join(self._dumped(record, line) for line, record in enumerate(dicts, first))
            )

    def _dumped(self, record: object, line: int) -> bytes:
        if not isinstance(record, Mapping):
            raise UserError(f"a record is {type(record).__name__}, not a dict", "give dicts").at(
                self.file, line
            )
        try:
            return dump(dict(record))
        except (TypeError, AttributeError, UnicodeEncodeError):
            kinds = {name: type(value).__name__ for name, value in record.items()}
            unfit = [f"{name!r} ({kind})" for name, kind in kinds.items() if kind not in JSON_NAMES]
            problem = f"JSON cannot hold the record's {', '.join(unfit) or 'values'}"
            raise UserError(problem, "convert it, or leave it out").at(self.file, line) from None


class ParameterFiles:
    """Temporary files for data in a program's memory, while a command reads them.

    Messages name them after their parameters. Their removal is arranged before they exist, so that
    Ctrl-C at any time leaves none.
    """

    def __init__(self) -> None:
        self.surface = Python()
        self.folder = os.path.join(tempfile.gettempdir(), f"structkit-{token_hex(8)}")
        self._remove = finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._remove()
        except KeyboardInterrupt:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def files(self, given: Mapping[str, Names | Rows] | Names | Rows, parameter: str) -> list[str]:
        """Return the given names, or the name of a new file with the given records."""
        if isinstance(given, Mapping) and all(map(_is_scores, given.values())):
            given = _score_rows(given)
        if isinstance(given, Mapping):
            values_by_name = ((str(name), value) for name, value in given.items())
            return [Named(self.files(value, name)[0], name) for name, value in values_by_name]
        if isinstance(given, str | os.PathLike):
            return [os.fspath(given)]
        records = iter(rows(given))
        first = next(records, None)
        if isinstance(first, str | os.PathLike):
            return [os.fspath(first), *map(os.fspath, records)]
        os.makedirs(self.folder, 0o700, exist_ok=True)
        folder = tempfile.mkdtemp(dir=self.folder)  # two may have one name
        path = os.path.join(folder, quote(parameter, safe="") + ".jsonl")
        self.surface.files[path] = parameter
        with open(path, "wb") as file:
            all_records = chain([] if first is None else [first], records)
            file.writelines(block.data for block in DictLines(all_records, parameter).blocks())
        return [path]


def _is_scores(value: object) -> bool:
    """Return whether this is what pytrec_eval has for a query: a number for each document."""
    return isinstance(value, Mapping) and not any(
        isinstance(score, Mapping) for score in value.values()
    )


def _score_rows(given: Mapping[Any, Any]) -> Iterator[Record]:
    """Yield the rows of a run or judgements as pytrec_eval has them."""
    for query, documents in given.items():
        for document, value in documents.items():
            ids = {"query_id": str(query), "doc_id": str(document)}
            yield {**ids, "score": value, "relevance": value}


@contextmanager
def library_variables_removed() -> Iterator[None]:
    """Remove the environment variables that a library sets while the block runs."""
    absent = [name for name in LIBRARY_VARIABLES if name not in os.environ]
    try:
        yield
    finally:
        for name in absent:
            os.environ.pop(name, None)


@contextmanager
def as_in_python(surface: Python | None = None) -> Iterator[None]:
    """Spell settings in errors as Python does, also in the error of a missing package."""
    with use_surface(surface or Python()), library_variables_removed():
        try:
            yield
        except ModuleNotFoundError as error:
            if lack := missing_training_package(error):
                raise lack from None
            raise


def function_of(name: str) -> Callable[..., Any]:
    """Return the function `name` of the Python interface, made from the command's declaration.

    A group takes the name of one of its commands first. Settings are checked when the function is
    called, records when they are read.
    """
    declared = command_of(name.replace("_", "-"))
    known = [] if isinstance(declared, Group) else parameters(declared)

    def function(*given: Any, **values: Any) -> Any:
        inputs = ParameterFiles()
        with as_in_python(inputs.surface):
            return _call(declared, bind(name, known, given, values), inputs)

    def group_function(command: str, /, *given: Any, **values: Any) -> Any:
        inputs = ParameterFiles()
        with as_in_python(inputs.surface):
            member = declared.command(command)
            return _call(member, bind(command, parameters(member), given, values), inputs)

    result: Any = function
    command_line = declared.name
    if isinstance(declared, Group):
        result = group_function
        command_line += " NAME"
        summaries = (f"{command}: {declared.summary(command)}" for command in declared.names())
        about = "\n".join([declared.help, "", *summaries])
    else:
        about = inspect.cleandoc(declared.work.__doc__ or "").partition("\n\n>>>")[0]
        result.__signature__ = inspect.Signature(known)
    result.__name__ = result.__qualname__ = name
    result.__module__ = "structkit"
    flags = f"The keywords are the flags of `structkit {command_line}`; -h explains them."
    result.__doc__ = f"{about}\n\n{textwrap.fill(flags + ' ' + TYPE_NAMES, 96)}"
    return cast(Callable[..., Any], result)


def bind(
    name: str, declared: list[inspect.Parameter], given: tuple[Any, ...], values: dict[str, Any]
) -> dict[str, Any]:
    """Return arguments by parameter. Errors: an unknown or a missing one."""
    try:
        return inspect.Signature(declared).bind(*given, **values).arguments
    except TypeError as error:
        known = [parameter.name for parameter in declared]
        for keyword in values:
            if keyword not in known:
                raise unknown(f"parameter of {name}", keyword, known) from None
        remedy = f"see help(structkit.{name})"
        if str(error).endswith("'model'"):
            remedy = "give model='builtin', a folder or a name of the Hub"
        raise wrong_usage(f"{name}: {error}", remedy) from None


def is_stage(command: Command) -> bool:
    """Return whether a command turns records into records."""
    return any(issubclass(kind, Options) for kind in command.also)


def reads_records(command: Command) -> bool:
    """Return whether a command reads records of its arguments, or of stdin."""
    return any(issubclass(kind, InputOptions) for kind in command.also)


def settings_classes(command: Command) -> list[type]:
    """Return the classes of its settings that a function has."""
    errors = (
        kind for kind in command.also if issubclass(kind, ErrorOptions) or not _of_files(kind)
    )
    return [command.settings, *errors]


def _of_files(kind: type) -> bool:
    """Return whether a class has settings of files, which are records here."""
    return issubclass(kind, InputOptions | OutputOptions)


def parameters(command: Command) -> list[inspect.Parameter]:
    """Return a function's parameters: records or arguments by position, then keywords."""
    result = []
    if reads_records(command):
        default: Any = ()
        if command.instead:
            default = None
        elif is_stage(command):
            default = inspect.Parameter.empty
        types = ["Rows" if is_stage(command) else "Files"]
        if command.texts:
            types.append("Iterable[str]")
        if default is None:
            types.append("None")
        first = inspect.Parameter("records", inspect.Parameter.POSITIONAL_ONLY, default=default)
        result.append(first.replace(annotation=ShownType(" | ".join(types))))
    keywords = [
        setting for kind in settings_classes(command) for setting in _keywords(command, kind)
    ]
    keywords.sort(key=lambda setting: not setting.argument)  # positional ones come first
    for setting in keywords:
        kind: Any = inspect.Parameter.KEYWORD_ONLY
        if setting.argument:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = inspect.Parameter.empty if setting.required else setting.default
        shown = type_of(command, setting)
        result.append(inspect.Parameter(setting.name, kind, default=default, annotation=shown))
    return result


class ShownType(str):
    """The text of a type, as help() shows it."""

    __repr__ = str.__str__


# names of files or folders that hold no records, or are not read as such
PATH_SETTINGS = {"cache", "init_embeddings", "model", "output", "reuse", "validate"}
# settings that are runs or judgements
SCORE_SETTINGS = {"qrels", "negatives_from", "teacher", "compare", "fit"}
# commands whose model, which may be loaded, turns texts into embeddings
ENCODING_COMMANDS = ("ask", "encode", "search")
# meanings of the names of types
TYPE_NAMES = (
    "Path is a str or os.PathLike; Rows are dicts, or a DataFrame of pandas or polars; Files are a "
    "Path, several, Rows, Scores, or a dict of names with such; Scores are pytrec_eval's dicts, "
    "{query: {document: score or grade}}."
)


def type_of(command: Command, setting: Setting) -> ShownType:
    """Return the type that a function takes for a setting of its command."""
    if setting.name == "model" and command.name in ENCODING_COMMANDS:
        shown = "Path | LoadedModel"
    elif setting.name in PATH_SETTINGS or setting.writes:
        shown = "Path"
    elif setting.reads and setting.is_list:
        shown = "Files"
    elif setting.reads:
        shown = "Path | Rows | Scores" if setting.name in SCORE_SETTINGS else "Path | Rows"
    elif setting.choices and not setting.is_list:
        shown = f"Literal[{', '.join(map(repr, setting.choices))}]"
    else:
        # lists are taken too; the module's annotations are texts
        shown = re.sub(r"tuple\[(.+?), \.\.\.\]", r"list[\1] | tuple[\1, ...]", setting.type_text)
        if setting.is_list and setting.accepts_single_text:
            shown = f"str | {shown}"
    # None where the type has none: the start model decides
    if (type(None) in get_args(setting.hint) or setting.default is None) and "None" not in shown:
        shown += " | None"
    return ShownType(shown)


def _keywords(command: Command, kind: type) -> list[Setting]:
    return [
        setting
        for setting in settings_of(kind)
        if setting.name not in command.without
        if setting.name in ("on_error", "rejects", "shard") or not _of_files(kind)
    ]


def _call(command: Command, given: dict[str, Any], inputs: ParameterFiles) -> Any:
    """Return the command's result; a generator keeps the files that it reads until it ends."""
    records: Any = None
    if reads_records(command):  # a setting of others may be named so
        records = given.pop("records", None if is_stage(command) else ())
    with ExitStack() as stack:
        stack.enter_context(inputs)
        settings = [_settings(command, kind, given, inputs) for kind in settings_classes(command)]
        if not is_stage(command):
            if reads_records(command):
                settings.append(InputOptions(files=tuple(inputs.files(records, "records"))))
            result = command.work(*settings)
        else:
            lines = _input_lines(command, settings[0], records)
            result = _stage_results(command, settings[0], settings[1], lines)
        if isinstance(result, Iterator):
            return _yield_then_close(result, stack.pop_all(), inputs.surface)
        return result


def _input_lines(command: Command, settings: Any, records: Any) -> Lines:
    """Return the lines of records, or of the file that replaces them."""
    file = getattr(settings, command.instead) if command.instead else None
    if command.instead and (file is None) == (records is None):
        raise wrong_usage(
            f"the input is either records or {flag(command.instead)}", "give one of them"
        )
    if file is not None:
        return Lines([file])
    if command.texts:
        records = texts_as(command.texts(settings), records)
    return DictLines(records)


def _stage_results(
    command: Command, settings: Any, options: Options, lines: Lines
) -> Iterator[Record]:
    """Yield what a command makes of records, when they are read."""
    shard = None if options.shard is None else Shard.parse(options.shard)
    records = Records(lines, shard, numbered=command.numbered)
    with Rejects(options.on_error, options.rejects) as rejects:
        yield from stage_of(command, settings).results(records, rejects.add)


def _settings(command: Command, kind: type, given: dict[str, Any], inputs: ParameterFiles) -> Any:
    values, given = {}, with_model_setting(given)
    for setting in _keywords(command, kind):
        if setting.name not in given:
            continue
        value = given[setting.name]
        if setting.reads and value is not None:
            files = inputs.files(value, setting.name)
            value = files if setting.is_list else files[0]
        values[setting.name] = value
    return make(kind, values)


def with_model_setting(given: dict[str, Any]) -> dict[str, Any]:
    """Return values of parameters, with a loaded model as commands take it."""
    model = given.get("model")
    return {**given, "model": getattr(model, "as_setting", model)} if "model" in given else given


def _yield_then_close(
    records: Iterator[Record], stack: ExitStack, surface: Python
) -> Iterator[Record]:
    """Yield the records with errors as Python spells them, and close the stack at the end."""
    with stack:
        while True:
            with as_in_python(surface):  # not while the caller has the record
                try:
                    record = next(records)
                except StopIteration:
                    return
            yield record
