"""What holds for any folder: each line once, no file touches another, archives are folders."""

import os
import random
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from structkit.collecting.units import UNIT_READERS
from structkit.collecting.walking import IS_HIDDEN, LeftOut, is_packed
from structkit.commands.collect import Settings, collected_batches
from structkit.records.jsonl import Record
from tests.jsonl import write_files

Tree = dict[str, bytes]

PARTS = st.sampled_from(
    [
        "def f(a):\n    '''Adds. Twice.'''\n    return a + 1\n",
        "class A:\n    @property\n    def g(self):\n        return 2\n",
        "function f(x) { return x; }\n",
        "/** Doc. */\nclass B { m() { return 1; } }\n",
        "func F() int {\n\treturn 1\n}\n",
        "# Heading\n\nA sentence. Another one!\n",
        "<h2 id=b>Head</h2><p>One. Two.</p>\n",
        *("```\n", "}\n", "\n\n", "    \n", "\r\n", "é… 語。\n", '"""', "/*", "<!--", "\f", "\x85"),
    ]
)
CONTENT = st.lists(PARTS | st.text(max_size=20), max_size=6).map(
    lambda collected_batches: "".join(collected_batches).encode("utf-8", "replace")
)
ENDINGS = ["py", "js", "go", "md", "html", "txt", "zip", "yaml"]
NAME = st.tuples(st.sampled_from("ab.-"), st.sampled_from(ENDINGS)).map(".".join)
PATH = st.tuples(st.sampled_from(["", "a/", "a.py/", "a/b/", ".c/"]), NAME).map("".join)
UNITS = st.sampled_from([None, *sorted(UNIT_READERS)])
# each reads a folder, in a process of its own
SOME = settings(max_examples=100 if os.environ.get("HYPOTHESIS_PROFILE") == "random" else 5)


def standing_together(files: Tree, rules: bytes | None) -> Tree:
    """Files of which none has the name of another's folder."""
    folders = {str(folder) for path in files for folder in Path(path).parents}
    files = {path: content for path, content in files.items() if path not in folders}
    return files | ({".gitignore": rules} if rules else {})


TREES = st.builds(
    standing_together,
    st.dictionaries(PATH, CONTENT | st.binary(max_size=30), max_size=6),
    st.none() | st.sampled_from([b"*.js\n", b"a/*\n!a/b\n", b"/a.py\n"]),
)


@contextmanager
def written(tree: Tree) -> Iterator[None]:
    """In a folder where such a project stands."""
    with TemporaryDirectory() as folder, chdir(folder):
        os.mkdir("project")
        write_files(Path("project"), tree)
        yield


def made(path="project", unit=None, chars=40, **flags) -> tuple[list[Record], list[LeftOut]]:
    """The records of a project, and what is left out."""
    flags |= {"unit": unit, "chunk_chars": chars, "generated": True}
    whole = list(collected_batches(Settings(paths=(path,), **flags)))
    lines = [line for part in whole for line in part.output.splitlines()]
    return [orjson.loads(line) for line in lines], [
        left for part in whole for left in part.left_out
    ]


@SOME
@given(TREES, st.integers(1, 60))
@example({"a.js": b"0\r\n"}, 1)
@example({"a.js": b"0\r1\r\n2\n"}, 1)
def test_chunks_cover_every_line_that_is_not_blank_once(tree, chars):
    with written(tree):
        found, left = made(unit="chunk", chars=chars)
        texts = {record["path"]: record for record in made(unit="file")[0]}
    assert {record["path"] for record in found} == set(texts)
    assert not {each.path for each in left} & set(texts)
    for path, whole in texts.items():
        lines = re.split("\r\n?|\n", content(whole))
        chunks = [record for record in found if record["path"] == path]
        covered = [
            row for chunk in chunks for row in range(chunk["lines"][0], chunk["lines"][1] + 1)
        ]
        assert covered == sorted(set(covered))
        assert {row for row, line in enumerate(lines, 1) if line.strip()} <= set(covered)
        for chunk in chunks:
            covered_lines = lines[chunk["lines"][0] - 1 : chunk["lines"][1]]
            assert re.split("\r\n?|\n", content(chunk)) == covered_lines


def content(record):
    return next(record[field] for field in ("html", "code", "text") if field in record)


@SOME
@given(TREES, UNITS, PATH, CONTENT)
def test_a_file_changes_no_record_of_another(tree, unit, path, other):
    changed = standing_together(tree | {path: other}, None)
    gone = {name: text for name, text in tree.items() if name != path}
    assume(changed.keys() == gone.keys() | {path})
    assert of_others(changed, unit, path) == of_others(gone, unit, path)


def of_others(tree, unit, path):
    with written(tree):
        return [each for each in made(unit=unit)[0] if each["path"] != f"project/{path}"]


@SOME
@given(TREES, UNITS, st.integers(1, 4))
def test_shards_are_the_whole(tree, unit, count):
    with written(tree):
        whole = made(unit=unit)
        shards = [made(unit=unit, shard=f"{index}/{count}") for index in range(count)]
    for of_whole, of_shards in zip(whole, zip(*shards, strict=True), strict=True):
        together = [each for some in of_shards for each in some]
        assert sorted(of_whole, key=repr) == sorted(together, key=repr)


def test_a_file_is_in_the_same_shard_by_any_name_of_its_folder():
    files = [f"a/{number}.py" for number in range(12)]
    with written(dict.fromkeys(files, b"1\n")), chdir("project"):
        zipped("../p.zip", ".")
        names = [".", "./", os.getcwd(), "../project", "a/../../project", "../p.zip"]
        of_names = [[each["path"] for each in made(name, shard="1/3")[0]] for name in names]
    below = [[path[path.rindex("a/") :] for path in paths] for paths in of_names]
    assert 0 < len(below[0]) < len(files) and not [each for each in below if each != below[0]]


def test_a_file_below_two_named_folders_is_in_one_shard():
    files = [f"a/{number}.py" for number in range(12)]
    with written(dict.fromkeys(files, b"1\n")):
        shards = [
            Settings(paths=("project/a", "project"), shard=f"{index}/3") for index in range(3)
        ]
        found = [part.records for shard in shards for part in collected_batches(shard)]
    assert len(files) == sum(found)


@pytest.mark.long
@pytest.mark.parametrize("unit", [None, "chunk"])
def test_workers_change_nothing(unit):
    draw = random.Random(0)
    texts = ["def f(a):\n    return a + 1\n", "# Heading\n\nA sentence.\n", "\xe9\n", "", "}"]
    names = (f"{draw.choice('abc')}/{number}.{draw.choice(ENDINGS)}" for number in range(700))
    with written({name: draw.choice(texts).encode("latin-1") for name in names}):  # three batches
        assert made(unit=unit) == made(unit=unit, workers=2)


def zipped(file, folder="project"):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(Path(folder).rglob("*"), reverse=True):
            packed.write(path, path.relative_to(folder))


def tarred(file):
    with tarfile.open(file, f"w:{file.partition('.tar')[2][1:]}") as packed:
        for path in sorted(Path("project").rglob("*"), reverse=True):
            packed.add(path, path.relative_to("project"), recursive=False)


@pytest.mark.parametrize(
    ("file", "pack"),
    [
        ("p.zip", zipped),
        ("p.tar.gz", tarred),
        pytest.param("p.tar", tarred, marks=pytest.mark.long),
        pytest.param("p.tar.bz2", tarred, marks=pytest.mark.long),
    ],
)
@SOME
@given(TREES, UNITS, st.booleans())
def test_an_archive_is_a_folder(file, pack, tree, unit, two_names):
    tree = {path: text for path, text in tree.items() if not is_packed(path)}
    with written(tree):
        if two_names and tree:
            os.link(Path("project", min(tree)), "project/linked.py")
        pack(file)
        of_folder, left = made(unit=unit, no_ignore=True)
        of_archive, left_there = made(file, unit)
    for record in of_archive:
        for name in ("id", "path"):
            record[name] = record[name].replace(file, "project", 1)
    assert in_order(of_folder) == in_order(of_archive)
    assert reasons(left) == reasons(left_there)


def in_order(records):
    """By path: a compressed tar has its own order."""
    return sorted(records, key=lambda record: os.fsencode(record["path"]))


def reasons(left):
    """Why each file is left out; of a hidden folder the files are not looked for."""
    read = [each for each in left if each.problem != IS_HIDDEN[0]]
    return sorted((os.path.basename(each.path), each.problem) for each in read)
