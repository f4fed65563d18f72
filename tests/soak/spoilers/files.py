"""Files spoiled, wherever they stand: gone, a folder, empty, cut, compressed, of another kind."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ..cases import DATA, USAGE, Case, Scene
from ..sessions import Session

NOISE = random.Random(0).randbytes(3000)
CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "only line breaks": lambda data: b"\n\r\n\n",
    "cut in the middle": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "without its first byte": lambda data: data[1:],
    "with a byte more": lambda data: data + b"\0",
    "twice": lambda data: data + data,
    "gzip": lambda data: gzip.compress(data),
    "gzip, cut": lambda data: gzip.compress(data)[:-9],
    "gzip of noise": lambda data: b"\x1f\x8b\x08\0" + NOISE,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: b"\x28\xb5\x2f\xfd" + data,
    "noise": lambda data: NOISE,
    "zeros": lambda data: bytes(len(data)),
    "a page": lambda data: b"<!DOCTYPE html><html><body>404 Not Found</body></html>\n",
    "LFS pointer": lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
    "UTF-16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "Latin-1": lambda data: data.replace(b"e", b"\xe9"),
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "no line breaks": lambda data: data.replace(b"\n", b" "),
    "one line of 20 MB": lambda data: b"x" * 20_000_000,
    "a byte in the middle flipped": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0x55]) + data[len(data) // 2 + 1 :]
        if data
        else b"\x55"
    ),
    "sorted": lambda data: b"".join(sorted(data.splitlines(keepends=True))),
    "JSON array": lambda data: b"[\n" + data.replace(b"\n", b",\n").rstrip(b",\n") + b"\n]\n",
    "null": lambda data: b"null",
    "number": lambda data: b"17",
    "string": lambda data: b'"x"',
    "array": lambda data: b"[1]",
    "object": lambda data: b"{}",
}


def file_cases(session: Session) -> Iterator[Case]:
    """Each file of the input spoiled, and each folder; names that say another format."""
    for file in session.files():
        names = named(session, file)
        for how, change in CONTENTS.items():
            yield Case(session, file, how, partial(rewrite, file=file, change=change), names)
        for how, change_file in KINDS.items():
            if file != session.stdin or how not in UNSTARTED:
                yield Case(session, file, how, partial(change_file, file=file), names)
    for name in session.inputs:
        if name in session.arguments and (session.store / name).is_file():
            for suffix in (".gz", ".npy", ".parquet", ".zst", ".csv", ""):
                spoil = partial(rename, file=name, suffix=suffix)
                other = Path(name).stem + suffix
                yield Case(session, name, f"named {other}", spoil, (other,), DATA | USAGE)


def named(session: Session, file: str) -> tuple[str, ...]:
    """What an error about a file may name: the file, what it belongs to, stdin."""
    if file == session.stdin and "-" in session.arguments:
        return ()  # a list of paths: each is named for itself
    path = Path(file)
    beside = f"{path.name.partition('.')[0]}.npy"
    folders = [str(each) for each in path.parents][:-1]
    whole = ["the model", "the corpus"] if folders or path.suffix == ".npy" else []
    # a stopped run goes on with what it began with
    whole += [session.arguments[-1]] if "--resume" in session.arguments else []
    whole += ['id "'] if path.name.endswith(".ids.txt") else []  # one that an output cannot hold
    return ("stdin",) if file == session.stdin else (path.name, file, beside, *folders, *whole)


def rewrite(scene: Scene, *, file: str, change: Callable[[bytes], bytes]) -> None:
    path = scene.folder / file
    path.write_bytes(change(path.read_bytes()))


def rename(scene: Scene, *, file: str, suffix: str) -> None:
    """Another ending, the same content."""
    path = scene.folder / file
    path = path.rename(path.with_suffix(suffix))
    scene.arguments[:] = [path.name if word == file else word for word in scene.arguments]


def gone(scene: Scene, *, file: str) -> None:
    (scene.folder / file).unlink()
    if scene.stdin == scene.folder / file:
        scene.stdin = None


def folder_gone(scene: Scene, *, file: str) -> None:
    """The topmost folder of the file, or the file itself."""
    top = scene.folder / Path(file).parts[0]
    if top.is_dir():
        shutil.rmtree(top)
    else:
        gone(scene, file=file)


def folder_empty(scene: Scene, *, file: str) -> None:
    folder_gone(scene, file=file)
    (scene.folder / Path(file).parts[0]).mkdir()


def folder_instead(scene: Scene, *, file: str) -> None:
    (scene.folder / file).unlink()
    (scene.folder / file).mkdir()


def dangling_link(scene: Scene, *, file: str) -> None:
    (scene.folder / file).unlink()
    os.symlink("nowhere", scene.folder / file)


def link_loop(scene: Scene, *, file: str) -> None:
    (scene.folder / file).unlink()
    os.symlink(Path(file).name, scene.folder / file)


def unreadable(scene: Scene, *, file: str) -> None:
    """A file that not even root may read from its beginning."""
    (scene.folder / file).unlink()
    os.symlink("/proc/self/mem", scene.folder / file)


KINDS: dict[str, Callable[..., None]] = {
    "gone": gone,
    "folder gone": folder_gone,
    "folder empty": folder_empty,
    "a folder": folder_instead,
    "a link to nowhere": dangling_link,
    "a link to itself": link_loop,
    "unreadable": unreadable,
}
# with such a file as stdin no program starts
UNSTARTED = {"a folder", "a link to nowhere", "a link to itself"}
