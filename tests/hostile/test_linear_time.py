"""Time in the length of a text: every compiled pattern of the product, and every reader.

Patterns are collected from the modules, with the methods that call them, so a new one is tested.
"""

import gc
import importlib
import json
import pkgutil
import re
import signal
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import structkit_plugins

import structkit
from structkit.collecting.encodings import decode
from structkit.collecting.ignoring import Patterns
from structkit.collecting.kinds import content_kind, is_generated
from structkit.collecting.units import UNIT_READERS, Units
from structkit.errors import UserError
from structkit.structure.html.markdown import FrontMatter
from structkit.structure.html.markup import visible_text
from structkit.structure.html.reader import Reader
from structkit.structure.sentences import sentences
from structkit.structure.trees.brackets import read_trees
from structkit.structure.trees.words import words_of

ATOMS = (
    """
a|é|日|🚀|A|aA|a_b|a-b|a/b|a.b|a:b|a b |a, |0|1.|1.1|0,|x=|a@b.|http://a|//a
(|)|((a|[|]|[[|[a](|](a|![|![a](|[a]: b |{|}|{{|}}|${|{a}|<|>|<a|<a |<a b=|<a b="|</a
<!--|--|-->|<![CDATA[|]]>|<p>|<b>|</p>|<tr><td>a|<table><tr><td>|<dl><dt>a<dd>b|<li>a|<script>|<title>
<h1>a|<svg>|<template>|<a b='|&|&amp;|&#1
`|``a|```|*|**a|_a|__a|*a**|~~|~~~|#|##|$|$a|%|%%a|^|~|@|@a
!|?|;|:|::|a::|a: |,|.|..|...|"|'|\\|\\"|'''|\"\"\"|/*|*/|/**|//|+|-|=|==|=>|&&
def a |class a |fun a(|function a() {|#define a |#if a|<?php |<%|r"|R"(|@"|title: |\\begin{|:a:`
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
ATOMS += [
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\0",
    "\u0301",
    "\ufeff",
    "\u2028",
    "|",
    "|a",
    "|a|\n",
    "a\n",
    "\n\n",
]
ATOMS += [
    "a ",
    "- ",
    "- a\n",
    "- a\n  ",
    "> ",
    ">",
    "1. a\n",
    "# a\n",
    "a\n=\n",
    "a\n-\n",
    "---\n",
    "===\n",
]
ATOMS += [
    "a.b=1\n",
    "a.b.",
    "[a.b]\n",
    "a = [",
    "a: b\n",
    "a:\n ",
    "- - ",
    "* * ",
    "    a\n",
    "\\\n",
    "//\n",
]
ATOMS += [
    "#if a\n",
    "{\n",
    "(\n",
    "a {\n",
    "a::\n",
    "== a\n",
    "----\n",
    "|===\n",
    ".. a::\n",
    "\n\n\n",
]
SIZES = 20_000, 40_000
SEEN = 0.004  # seconds for a quarter of the smaller size: less is too short to grow noticeably
TICK = 0.02  # seconds that a system's clock may not see
GROWTH = 2.6
SUSPICIOUS_GROWTH = 2.2  # from a quarter of the smaller size to one of the larger
SECONDS = 10.0  # of a processor
CALL = r"\b(\w+)(?:\[\w+\])?\.(match|fullmatch|search|finditer|findall|sub|split)\b"


def modules():
    for package in (structkit, structkit_plugins):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def patterns_in(value):
    """Patterns in a value of a module, also in its containers."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from patterns_in(item)


def collected():
    """Every compiled pattern of the product once, by its place, with the methods that call it."""
    found, sources = {}, {}
    for module in modules():
        sources[module.__name__] = Path(module.__file__).read_text("utf-8")
        for name, value in vars(module).items():
            for number, pattern in enumerate(patterns_in(value)):
                found.setdefault(pattern, (module.__name__, name, number))
    calls = defaultdict(set)
    for name, method in re.findall(CALL, "\n".join(sources.values())):
        calls[name].add(method)
    for pattern, (module, name, number) in found.items():
        called = sorted(calls[name]) or ["match", "search"]
        yield pytest.param(pattern, called, id=f"{module}.{name}.{number}")


@contextmanager
def limited():
    """Raise in what takes too long; Python's patterns look for signals."""

    def stop(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(work, text):
    with limited(), suppress(UserError):
        start = time.process_time()
        work(text)
    return time.process_time() - start


def growth_of(work, atom):
    """How much longer twice the text takes; 1 where both are too short to measure."""
    small, large = (atom * (size // len(atom)) for size in SIZES)
    growth = 1.0
    with suppress(TimeoutError):
        # most texts pass by a look at a quarter of their size, which costs a third
        least = seconds(work, small[: len(small) // 4])
        if least < SEEN or seconds(work, large[: len(large) // 4]) <= SUSPICIOUS_GROWTH * least:
            return growth
        for _ in range(3):  # another process may take the caches of the processor
            growth = seconds(work, large) / max(seconds(work, small), TICK)
            if growth <= GROWTH:
                return growth
        return growth
    return float("inf")


def slow(work):
    found = {atom: growth_of(work, atom) for atom in ATOMS}
    return {atom: growth for atom, growth in found.items() if growth > GROWTH}


def called(pattern, method, text):
    text = text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
    if method == "sub":
        pattern.sub(text[:0], text)
    elif method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


@pytest.mark.long
@pytest.mark.parametrize(("pattern", "methods"), list(collected()))
def test_patterns(pattern, methods):
    assert {} == {
        (method, atom): growth
        for method in methods
        for atom, growth in slow(partial(called, pattern, method)).items()
    }


def records(name, unit, text):
    for _ in Units(unit=unit).records(name, text, content_kind(name, text)):
        pass


def read_bytes(text):
    decode(text.encode("utf-8", "replace"), "html")
    decode(text.encode("latin-1", "replace") + b"\xe9")


DOCUMENTS = ("a.md", "a.html", "a.rst", "a.adoc", "a.txt", "a.ipynb")
READERS = {
    f"{unit}s of {name}": partial(records, name, unit)
    for name in DOCUMENTS
    for unit in ("section", "row", "chunk")  # pages and sentences are read on the way to these
    if content_kind(name, "").name in UNIT_READERS[unit]
}
READERS |= {
    "rows of one table": lambda text: records("a.html", "row", f"<table><tr>{text}"),
    "a cell of a notebook": lambda text: records(
        "a.ipynb", "page", json.dumps({"cells": [{"cell_type": "code", "source": [*text]}]})
    ),
    "YAML": lambda text: FrontMatter.of(f"---\n{text}\n---\n"),
    "the title in YAML": lambda text: FrontMatter.of(f"---\ntitle: {text}x\n---\n"),
    "TOML": lambda text: FrontMatter.of(f"+++\n{text}b = 1\n+++\n"),
    "variants": Reader().read,
    "visible text": visible_text,
    "sentences": lambda text: list(sentences(text)),
    "words": words_of,
    "trees": lambda text: list(read_trees(text)),
    "ignore files": lambda text: Patterns.of(text.encode("utf-8", "replace").split(b"\n")),
    "encodings": read_bytes,
    "kinds": lambda text: (content_kind("a", text), is_generated("a.js", text)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_readers(name):
    assert {} == slow(READERS[name])
