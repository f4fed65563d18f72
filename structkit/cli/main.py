"""Run the program: what the user can fix becomes one line and an exit status."""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_install_completion_arguments

from structkit.cli.flags import CONTEXT, Page, brief, command, examples_part
from structkit.errors import UserError
from structkit.processes import exit_program, raise_at_signals
from structkit.progress import complain
from structkit.records.output import cannot_write
from structkit.settings import Command, Group, Program


class Item(NamedTuple):
    """A word that completes what was typed, as shells are told it."""

    value: str
    help: str
    type: str = "plain"


class Commands(Page, TyperGroup):
    """The commands of a group, each made when it is asked for: `structkit plot`, `plot trees`."""

    def __init__(self, group: Group | None = None, **options: Any) -> None:
        self.group = group or Program()
        plain = {"rich_markup_mode": None, "context_settings": CONTEXT}
        about = {"name": self.group.name, "help": self.group.help}
        super().__init__(**{**plain, **about, **options})
        self.no_args_is_help, self.heading = True, self.group.heading

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.group.names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.group.names() and getattr(ctx, "resilient_parsing", False):
            return None  # a shell completes after an unknown name
        declared = self.group.command(cmd_name)
        made: Any = Commands(declared) if isinstance(declared, Group) else opened(declared)
        made.records = declared.records
        made.epilog = examples_part(declared.examples) if declared.examples else None
        return made

    def rows(self, ctx: Any) -> list[tuple[str, str]]:
        """The commands and what they are for."""
        return [(name, self.group.summary(name)) for name in self.group.names()]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        with formatter.section(self.heading):
            formatter.write_dl(self.rows(ctx))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The commands or flags that complete what was typed."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        rows = [row for row in self.rows(ctx) if row[0].startswith(incomplete)]
        return [Item(name, brief(summary)) for name, summary in rows]


def opened(declared: Command) -> Any:
    """A command as typer has it."""
    kinds = (declared.settings, *declared.also)
    return command(declared.name, declared.help, kinds, declared.main, without=declared.without)


def version(wanted: bool) -> None:
    """Print the versions of what results depend on, one a line, and end."""
    if wanted:
        from structkit.commands.doctor import versions

        told = versions().items()
        typer.echo("\n".join(f"{name} {found or 'is not installed'}" for name, found in told))
        raise typer.Exit


def _every(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=version, help="Show versions and exit."),
    ] = False,
) -> None:
    """What all commands share."""


app: Any = typer.main.get_group(
    typer.Typer(
        cls=Commands,
        callback=_every,
        help=Program.help,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain help starts twice as fast
        context_settings=CONTEXT,
    )
)
app.params.extend(get_install_completion_arguments())


def main() -> NoReturn:
    """Run the program, and turn what the user can fix into one line and an exit status."""
    _keep_closed()
    with raise_at_signals():
        status = _run()
    exit_program(status)


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
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered cannot be written
            return _fail(str(cannot_write(error).at("stdout")), 1)
        if not (lack := _lack(error)):
            raise
        return _fail(lack, 1)


# what libraries say where the system gives them no more memory
NO_MEMORY = re.compile(
    "[Cc]annot allocate memory|failed to map segment|[Cc]an't start new thread|bad_alloc|"
    "without exception set|without setting an exception"
)


def _lack(error: Exception) -> str:
    """What the system did not give, with what helps; empty where the error is another one."""
    number = error.errno if isinstance(error, OSError) else None
    said = f"{error} {error.__context__}"  # a pool that cannot start fails again when it ends
    if number in (errno.EMFILE, errno.ENFILE, errno.EAGAIN):  # files; processes
        return "too many open files or processes; raise ulimit -n and -u, or use fewer --workers"
    if isinstance(error, MemoryError) or NO_MEMORY.search(said):
        return "out of memory; try smaller batches or fewer --workers, or raise ulimit -v"
    return ""


def _problem(error: Any) -> str:
    """What is wrong with the flags, and the name that was probably meant."""
    text = error.format_message().rstrip(".")
    if similar := getattr(error, "possibilities", None):  # of a flag, the most similar first
        return f"{error.message.rstrip('.')}; did you mean {similar[0]}? "
    return f"{text}; "


# typer exports no base class of its usage errors
UsageError: Any = typer.BadParameter.__mro__[1]


def _fail(message: str, status: int) -> int:
    complain(message)
    return status
