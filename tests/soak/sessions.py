"""Good sessions of every command, each a line that works; what it reads is made once in a store."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import typer
from hostile.good import answered
from warcio.warcwriter import WARCWriter

from structkit.cli.main import app
from tests.jsonl import read, write

FIXTURES = Path(__file__).parents[2] / "fixtures"

# the first lines of fixtures
HEADS = {
    "code.jsonl": ("code/test.jsonl", 4),
    "products.jsonl": ("products/products.jsonl", 4),
    "judged.jsonl": ("products/products.jsonl", 99),
    "queries.jsonl": ("products/queries.jsonl", 99),
    "qrels.jsonl": ("products/qrels.jsonl", 99),
    "pages.jsonl": ("pages/test.jsonl", 4),
    "sentences.jsonl": ("sentences/train.jsonl", 8),
    "results.jsonl": ("formats/mteb/records/scores.jsonl", 1),
    "sentence-pairs.jsonl": ("sentences/pairs.jsonl", 8),
}

# command lines that make the rest of the store, and those that are spoiled, each with its name
STORE = Path(__file__).with_name("store.txt")
SESSIONS = Path(__file__).with_name("sessions.txt")

# words with a vector, as GloVe has them
VECTORS = ("the", "a", "is", "cat", "of")

# of a command line, in a folder, with a file as stdin
Run = Callable[[list[str], Path, Path | None], "subprocess.CompletedProcess[str]"]


def commands(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All commands of the app, each as its words."""
    group = group or app
    if not hasattr(group, "list_commands"):
        yield words
        return
    context = typer.Context(group)
    for name in group.list_commands(context):
        yield from commands(group.get_command(context, name), (*words, name))


known = cache(lambda: [*commands()])


@cache
def found(command: tuple[str, ...]) -> Any:
    """The command of these words, as typer made it."""
    group: Any = app
    for word in command:
        group = group.get_command(typer.Context(group), word)
    return group


@dataclass(frozen=True)
class Session:
    """A command line that works, and the store that it takes its input from."""

    name: str
    arguments: tuple[str, ...]
    stdin: str | None
    store: Path

    @cached_property
    def command(self) -> tuple[str, ...]:
        """The words of the command: `train santa`."""
        return next(words for words in known() if words == self.arguments[: len(words)])

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Files and folders of the store that the line names, and what stands beside a .npy."""
        words = self.arguments[len(self.command) :]
        named = [word for word in (*words, self.stdin) if word and word[0].isalnum()]
        found = [path for word in named if (path := self.store / word).exists()]
        # NAME.ids.txt, NAME.meta.json, NAME.fields.jsonl … beside NAME.npy
        matrices = [path for path in found if path.suffix == ".npy"]
        beside = [each for path in matrices for each in path.parent.glob(f"{path.stem}.*.*")]
        there = {path.name for path in self.store.iterdir()}
        return tuple(sorted({path.name for path in (*found, *beside)} & there))

    def files(self) -> list[str]:
        """Every file among the inputs, those inside folders too."""
        return [
            str(path.relative_to(self.store))
            for name in self.inputs
            for path in sorted([self.store / name, *(self.store / name).rglob("*")])
            if path.is_file()
        ]

    def copy(self, folder: Path) -> None:
        """Put the inputs into a folder of a case's own."""
        for name in self.inputs:
            source = self.store / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)


def sessions(store: Path) -> list[Session]:
    """All sessions; a format that `convert` reads has one for its fixture."""
    text = SESSIONS.read_text("utf-8")
    lines = [tuple(map(str.strip, line.split(":", 1))) for line in text.splitlines()]
    for folder in sorted((FIXTURES / "formats").iterdir()):
        form = folder.name.partition(".")[0].replace("_", "-")
        if form != "mteb":  # only written
            lines.append((f"from {folder.name}", f"convert --from {form} {folder.name} -o out/"))
    made = []
    for name, line in lines:
        words = shlex.split(line)
        stdin = words[words.index("<") + 1] if "<" in words else None
        words = words[: words.index("<")] if stdin else words
        made.append(Session(name, tuple(words), stdin, store))
    return made


def make_store(store: Path, run: Run, chosen: Iterable[Session]) -> None:
    """Make the inputs of these sessions, with the program itself."""
    for name, (source, count) in HEADS.items():
        with (FIXTURES / source).open(encoding="utf-8") as lines:
            (store / name).write_text("".join(islice(lines, count)), "utf-8")
    _label(store / "sentence-pairs.jsonl")
    for folder in (FIXTURES / "formats").iterdir():
        shutil.copytree(folder, store / folder.name, ignore=shutil.ignore_patterns("records"))
    make_tree(store)
    (store / "vectors.txt").write_text("".join(f"{word} {'0.5 ' * 7}-1\n" for word in VECTORS))
    words = {word for each in chosen for word in (*each.arguments, each.stdin or "")}
    for line in needed(STORE.read_text("utf-8").splitlines(), words):
        command, _, log = line.partition(" 2> ")
        outcome = run(shlex.split(command), store, None)
        if outcome.returncode:
            raise RuntimeError(f"structkit {command}: {outcome.stderr}")
        if log:
            lines = outcome.stderr.splitlines(keepends=True)
            records = [line for line in lines if line.startswith("{")]
            (store / log).write_text("".join(records), "utf-8")


def make_tree(store: Path) -> None:
    """A folder of code and documents, a list of its paths, and the same in archives."""
    for part in ("src", "docs"):
        shutil.copytree(FIXTURES / "collect" / part, store / "tree" / part)
    (store / "tree" / ".gitignore").write_text("*.rb\n/docs/notes.md\n")
    paths = sorted(path for path in (store / "tree").rglob("*") if path.is_file())
    (store / "paths.txt").write_text("".join(f"{path.relative_to(store)}\n" for path in paths))
    for form in ("zip", "gztar"):
        shutil.make_archive(str(store / "tree"), form, store, "tree")
    with (store / "pages.warc").open("wb") as handle:
        warc = WARCWriter(handle, gzip=False)
        for name in ("manual.html", "letter.txt"):
            page = (FIXTURES / "collect" / "docs" / name).read_bytes()
            answered(warc, f"http://a/{name}", page, Content_Type="text/html")


def needed(lines: list[str], words: set[str]) -> list[str]:
    """The lines that make what these words name, and what those lines name.

    >>> needed(["pair code -o pairs", "pair pages -o other", "mask pairs -o masked"], {"masked"})
    ['pair code -o pairs', 'mask pairs -o masked']
    """
    found: list[str] = []
    wanted = set(words)
    for line in reversed(lines):
        words = line.split()
        makers = ("-o", "--save-index", "2>")
        made = {made for maker, made in pairwise(words) if maker in makers}
        if made & wanted:
            found.append(line)
            wanted |= set(words)
    return found[::-1]


def _label(path: Path) -> None:
    """Give pairs what the tasks of `score` need."""
    records = read(path)
    for number, record in enumerate(records):
        record |= {"label": number // 2 % 2, "task": "MRPC", "split": ("train", "test")[number % 2]}
    write(path, *records)
