"""The command line: flags made of settings; errors are one line and an exit status.

Tests: tests/cli/test_manners.py.
"""

from __future__ import annotations

import errno
import gc
import inspect
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_install_completion_arguments

from structkit import registry
from structkit.command import Command, Group, Program
from structkit.errors import UserError, flag, spell_settings
from structkit.paths import ignore_relative_folders, keep_apart, move_torch_cache
from structkit.processes import exit_program, make_repeatable, raise_at_signals
from structkit.progress import complain, guard_streams, hush
from structkit.settings import (
    HELP_GROUPS,
    Setting,
    files_of,
    format_value,
    make,
    parse_text,
    settings_of,
)
from structkit.version import __version__


def first_words(text: str) -> str:
    """Return the beginning of a description on one line, because a shell completes line by line.

    >>> first_words("Stanza's parser: `pip install stanza` and its English models")
    "Stanza's parser: `pip install stanza` and …"
    """
    return textwrap.shorten(text, 45, placeholder=" …").replace("[", r"\[")  # typer reads markup


Rows = list[tuple[str, str]]  # names with their meanings
DEFAULT_GROUP = "Options"  # the group of flags that name no other
MIN_GROUPED_FLAGS = 12  # flags of a page that has groups


class RawTexts:
    """Leaves a flag's texts as they are, for settings to read.

    typer has pydantic read them, whose import alone takes as long as a small command.
    """

    def coerce(self, value: Any, **place: Any) -> Any:
        """Return the text or texts unchanged."""
        return value


class HelpPage:
    """The --help of a command: its records, then its flags, common ones first.

    A flag names its group as `rich_help_panel`; groups come in the order of the flags. Short pages
    have none.
    """

    records: Mapping[str, str] = {}
    """Fields of records by their use."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and flags, whose values are the given texts."""
        inherited: Any = super()
        parameters: list[Any] = inherited.get_params(ctx)
        for parameter in parameters:
            parameter.get_runtime_param = RawTexts
        return parameters

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the flags that complete the typed text."""
        inherited: Any = super()
        items = inherited.shell_complete(ctx, incomplete)
        for item in items:
            item.help = first_words(item.help or "")
        return items

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of the page."""
        command: Any = self
        for heading, rows in sections(command, ctx).items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        if isinstance(self, TyperGroup):
            command.format_commands(ctx, formatter)


def sections(command: Any, ctx: Any) -> dict[str, Rows]:
    """Return the headings of a command's page, each with names and meanings."""
    rows_of: dict[str, Rows] = {"Arguments": []}
    rows_of["Records"] = list(command.records.items())
    rows_of[DEFAULT_GROUP] = []
    parameters = command.get_params(ctx)
    grouped = len(parameters) >= MIN_GROUPED_FLAGS
    for parameter in parameters:
        if record := parameter.get_help_record(ctx):
            heading = DEFAULT_GROUP
            if parameter.param_type_name == "argument":  # typer writes `FILE <list[str]>`
                heading = "Arguments"
                ellipsis = "" if parameter.nargs == 1 else "…"
                record = (f"{parameter.metavar}{ellipsis}", record[1])
            elif grouped:
                heading = getattr(parameter, "rich_help_panel", None) or DEFAULT_GROUP
            rows_of.setdefault(heading, []).append(record)
    return rows_of


CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}
MAX_SHOWN_BOUND = 1e6  # bounds above this are not shown


class Flags(HelpPage, TyperCommand):
    """A command whose parameters are settings."""


def command(declared: Command) -> Any:
    """Return a command with one flag per setting, which makes and checks the settings."""
    kinds, without = (declared.settings, *declared.also), declared.without
    flags = {
        kind: [setting for setting in settings_of(kind) if setting.name not in without]
        for kind in kinds
    }
    every_setting = [setting for settings in flags.values() for setting in settings]
    every_setting.sort(key=lambda setting: _group_position(setting.group))
    parameters = [_parameter(setting) for setting in every_setting]

    def body(**flag_texts: Any) -> None:
        # help does without records and their libraries, and starts a third faster
        from structkit.records.stream import Options, run_stage

        if flag_texts.get("quiet"):
            hush()
        values_of = {kind: _values(settings, flag_texts) for kind, settings in flags.items()}
        instances: list[Any] = [make(kind, values) for kind, values in values_of.items()]
        if not any(
            isinstance(instance, Options) for instance in instances
        ):  # a `Stream` checks its own
            keep_apart(
                files_of(instances, "writes"), [path for _, path in files_of(instances, "reads")]
            )
        # data goes to descriptor 1; what a plugin prints does not
        with redirect_stdout(sys.stderr):
            (declared.main or partial(run_stage, declared))(*instances)

    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    program = typer.Typer(add_completion=False, rich_markup_mode=None)
    program.command(
        declared.name, cls=Flags, help=declared.help, context_settings=CONTEXT_SETTINGS
    )(body)
    typer_command: Any = typer.main.get_command(program)
    typer_command.settings = kinds
    return typer_command


def _values(flags: Sequence[Setting], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of settings from the texts of flags."""
    result = {}
    for setting in flags:
        if (value := texts[setting.name]) in (None, [], ()):
            continue
        if setting.is_list:
            result[setting.name] = tuple(parse_text(setting, text) for text in value)
        else:
            result[setting.name] = parse_text(setting, value) if isinstance(value, str) else value
    return result


def _group_position(group: str) -> int:
    """Return the position of a group in a help: common flags first, flags of runs last."""
    order = [*HELP_GROUPS]
    return order.index(group) if group in HELP_GROUPS else len(order) - 2


def _parameter(setting: Setting) -> inspect.Parameter:
    """Return the parameter from which typer makes a flag or an argument; its value is a text."""
    is_switch = bool in setting.types
    options: dict[str, Any] = {
        "help": f"{setting.help_text}{_default(setting)}",
        "show_default": False,
        "autocompletion": _completion(setting),
    }
    if setting.argument:
        info: Any = typer.Argument(**options, metavar=setting.metavar or setting.name.upper())
    else:
        names = [f"--{setting.name.strip('_').replace('_', '-')}"]
        if is_switch and (setting.hint is not bool or setting.default):
            names = [f"{names[0]}/{flag(setting.name, False)}"]
        names += [setting.short] if setting.short else []
        kind = "|".join(setting.choices) or setting.item_types[0].__name__
        metavar = setting.metavar or ("" if is_switch else f"<{kind}>")
        options["rich_help_panel"] = HELP_GROUPS.get(setting.group, spell_settings(setting.group))
        info = typer.Option(*names, metavar=metavar or None, **options)
    value_type: Any = str
    if is_switch:
        value_type = bool
    elif setting.is_list:
        value_type = list[str]
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[value_type | None, info],
    )


def _default(setting: Setting) -> str:
    """Return a setting's default and bounds, which end its help."""
    parts = []
    if setting.required:
        parts.append("required")
    elif default := setting.shown_default:
        parts.append(f"default: {default}")
    if setting.high is not None and setting.high < MAX_SHOWN_BOUND:
        parts.append(
            " … ".join(
                format_value(bound) for bound in (setting.low, setting.high) if bound is not None
            )
        )
    return f"  [{'; '.join(parts)}]" if parts else ""


def _completion(setting: Setting) -> Callable[[str], Any] | None:
    """Return the completion of a setting: its choices, or names of plugins, with descriptions."""

    def complete(incomplete: str) -> Rows:
        known = {plugin.name: plugin for plugin in registry.plugins_of(setting.complete)}
        matching = (name for name in known if name.startswith(incomplete))
        return [(name, first_words(known[name].summary())) for name in matching]

    if setting.choices:
        return lambda incomplete: [name for name in setting.choices if name.startswith(incomplete)]
    return complete if setting.complete else None


class Commands(HelpPage, TyperGroup):
    """The commands of a group, each made on first use: `structkit plot`, `plot trees`."""

    def __init__(self, group: Group | None = None, **options: Any) -> None:
        self.group = group or Program()
        own = {
            "rich_markup_mode": None,  # plain help starts twice as fast
            "context_settings": CONTEXT_SETTINGS,
            "no_args_is_help": True,
            "name": self.group.name,
            "help": self.group.help,
        }
        super().__init__(**options | own)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.group.names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.group.names() and getattr(ctx, "resilient_parsing", False):
            return None  # a shell completes after an unknown name
        declared = self.group.command(cmd_name)
        typer_command: Any = (
            Commands(declared) if isinstance(declared, Group) else command(declared)
        )
        typer_command.records = declared.records
        if examples := declared.examples.strip().splitlines():
            # they are not wrapped
            typer_command.epilog = "\n".join(
                ["\b", "Examples:", *(f"  {line}" for line in examples)]
            )
        return typer_command

    def rows(self, ctx: Any) -> Rows:
        """Return the commands with their summaries."""
        return [(name, self.group.summary(name)) for name in self.group.names()]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        with formatter.section(self.group.heading):
            formatter.write_dl(self.rows(ctx))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the commands or flags that complete the typed text."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        rows = [row for row in self.rows(ctx) if row[0].startswith(incomplete)]
        # a shell's completion; typer exports no class for it
        return [
            SimpleNamespace(value=name, help=first_words(about), type="plain")
            for name, about in rows
        ]


def version(given: bool) -> None:
    """Print the version and exit."""
    if given:
        typer.echo(f"structkit {__version__}")
        raise typer.Exit


def _shared_options(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=version, help="Show version and exit."),
    ] = False,
) -> None:
    """Hold the options that all commands share."""


app: Any = typer.main.get_group(
    typer.Typer(cls=Commands, callback=_shared_options, add_completion=False)
)
app.params.extend(get_install_completion_arguments())


def main() -> NoReturn:
    """Run the program, and turn errors that the user can fix into one line and an exit status."""
    _keep_closed()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a parent that ignores it hides ended children
    guard_streams()
    prepare_libraries()
    gc.set_threshold(10_000)  # looking for cycles more often takes 5 % of a first read
    with raise_at_signals() as came:
        try:
            status = _run()
        except BaseException:
            if not came:
                raise
            status = 128 + came[0]  # a library made another error of it
    exit_program(status)


def prepare_libraries() -> None:
    """Set the variables that libraries read when they are imported."""
    ignore_relative_folders()
    move_torch_cache()
    make_repeatable()
    # waiting threads sleep, because spinning ones take twice the time on a busy machine
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _keep_closed() -> None:
    """Let no file take the number of a standard stream that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # the lowest free number is this one; it cannot be read, or not be written
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_WRONLY)


def _run() -> int:
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False, prog_name="structkit")
        return status if isinstance(status, int) else 0  # 130 for Ctrl-C comes back as a value
    except UserError as error:
        return _fail(str(error), error.status)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # typer exports no class for it
            error.show()
            return 2
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "structkit"
        return _fail(f"{_problem(error)}see {path} --help", 2)
    except typer.Exit as exit:
        return exit.exit_code
    except SystemExit as exit:
        if isinstance(exit.__context__, BrokenPipeError):  # typer makes it a status of 1
            return 0  # the reader of the output has closed it
        return exit.code if isinstance(exit.code, int) else 1
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            from structkit.records.output import cannot_write

            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # buffered output cannot be written
            return _fail(str(cannot_write(error).at("stdout")), 1)
        if not (lack := _missing_resource(error) or str(registry.fault_of(error) or "")):
            raise
        return _fail(lack, 1)


# messages of libraries if the system gives them no more memory
NO_MEMORY = (
    "annot allocate memory",
    "failed to map segment",
    "an't start new thread",
    "bad_alloc",
    "without exception set",
    "without setting an exception",
)


def _missing_resource(error: Exception) -> str:
    """Return what is missing, with a remedy; "" for another error."""
    if isinstance(error, FileNotFoundError) and not error.filename:  # as os.getcwd raises it
        return "the current folder is gone; change to one that exists"
    if isinstance(error, ModuleNotFoundError):
        from structkit.extras import missing_training_package

        return str(missing_training_package(error) or "")
    number = error.errno if isinstance(error, OSError) else None
    message = f"{error} {error.__context__}"  # a pool that cannot start fails again when it ends
    if number in (errno.EMFILE, errno.ENFILE, errno.EAGAIN):  # files; processes
        return "too many open files or processes; raise ulimit -n and -u, or use fewer --workers"
    if isinstance(error, MemoryError) or any(text in message for text in NO_MEMORY):
        return "out of memory; try smaller batches or fewer --workers, or raise ulimit -v"
    return ""


def _problem(error: Any) -> str:
    """Return the problem with the flags, and the name that was probably meant."""
    if similar := getattr(error, "possibilities", None):  # similar flags, best first
        return f"{error.message.rstrip('.')}; did you mean {similar[0]}? "
    return f"{error.format_message().rstrip('.')}; "


# typer exports no base class of its usage errors
UsageError: Any = typer.BadParameter.__mro__[1]


def _fail(message: str, status: int) -> int:
    complain(message)
    return status
