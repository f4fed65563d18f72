"""Ignore files are read as git reads them: examples, and random trees compared with git."""

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from structkit.collecting.walking import LeftOut, Walk, WalkOptions
from tests.jsonl import write_files
from tests.repositories import git

# random trees, of which some are compared in one repository
COUNT, TOGETHER = 4 * int(os.environ.get("SOAK", "0")) or 500, 50
SEED = os.environ.get("SEED", "0")
needs_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


def of_git(folder):
    """The files that git does not ignore, but for hidden ones and links."""
    names = git(folder, "ls-files", "-co", "--exclude-standard", "-z").split(b"\0")
    paths = {os.fsdecode(name) for name in names if name}
    plain = {path for path in paths if not any(part[:1] == "." for part in path.split("/"))}
    return {path for path in plain if not (folder / path).is_symlink() and path[-1] != "/"}


def of_walk(folder, start="."):
    """The files that a walk finds, from the folder."""
    found = Walk(WalkOptions()).sources([str(folder / start)])
    return {
        os.path.relpath(each.file, os.path.realpath(folder))
        for each in found
        if not isinstance(each, LeftOut)
    }


NAMES = "a b c ab foo foobar bar a.o b.o a.py x1.txt build A a\\b [a] a] a-b * é - ^ !a #a".split()
NAMES += ["a b", "a ", "a\t"]
WORDS = "*.o *.py * ** ? ?? a* *a *a* f*o*r [ab] [!a] [^b]* [[:digit:]] [[:alpha:]]* [\\]] [] []a]"
WORDS += (
    " [a-c] [z-a] [a- [ x[0-9].txt \\a \\!a \\#a \\* \\[a\\] a\\ a\\\\b [[:x:]] [[:punct:]] ***"
)
WORDS += " foo** **bar a**b [a-b-z] [--a] [\\\\] *[[:space:]]* [!]] foo* *.* ?.o **o **/ ! #"
SIGNS = "ab*?[]!^-\\/ .:"
IDIOMS = ["*\n!*/\n!*.py\n", "/*\n!/a\n!/foo/\n", "a/\n!b/\n", "**/a\n!/b/**/a\n", "*.o\n!/b/*.o\n"]


def random_word(draw, paths):
    """A part of a pattern, often one that matches."""
    kind = draw.random()
    if kind < 0.4:
        return draw.choice(WORDS.split())
    if kind < 0.45:
        return "".join(draw.choice(SIGNS) for _ in range(draw.randint(1, 7)))
    parts = draw.choice(paths).split("/")
    start = draw.choice((0, draw.randrange(len(parts))))
    text = list("/".join(parts[start : draw.choice((None, start + 1))]))
    for _ in range(draw.choice((0, 0, 1, 2))):
        at = draw.randrange(len(text))
        text[at] = draw.choice(("?", "*", "**", f"[{text[at]}]", f"\\{text[at]}", "**/", "/**"))
    return "".join(text)


def random_line(draw, paths):
    """A line of an ignore file."""
    word = "/".join(random_word(draw, paths) for _ in range(draw.choice((1, 1, 1, 1, 2, 3))))
    word = draw.choice(("", "", "", "", "", "/", "**/", "./", "*/")) + word
    word += draw.choice(
        ("", "", "", "", "", "/", "/", "/*", "/**", "/**/", " ", "  ", "\t", "\\ ", "\r")
    )
    return draw.choice(("", "", "", "", "", "!", "!", "!", "#", " ")) + word


def random_rules(draw, paths):
    """The text of an ignore file."""
    lines = [random_line(draw, paths) for _ in range(draw.randint(1, 6))]
    text = draw.choice(("\n", "\n", "\n", "\r\n")).join(lines)
    text = draw.choice(("", "", "", draw.choice(IDIOMS))) + text
    return draw.choice(("", "", "", "\ufeff")) + text + draw.choice(("", "\n", "\f\n", "\n\n"))


def random_tree(draw):
    """Files and ignore files."""
    folders = [""]
    for _ in range(draw.randint(1, 6)):
        folders.append(draw.choice(folders) + draw.choice(NAMES) + "/")
    names = {draw.choice(folders) + draw.choice(NAMES) for _ in range(draw.randint(4, 20))}
    taken = {
        str(above)
        for name in (*names, *(f"{each}x" for each in folders[1:]))
        for above in Path(name).parents
    }
    paths = sorted(names - taken) or ["a"]
    files = dict.fromkeys(paths, "")
    for folder in folders:
        if not folder or draw.random() < 0.3:
            inner = [path.removeprefix(folder) for path in paths if path.startswith(folder)]
            files[f"{folder}.gitignore"] = random_rules(draw, inner or paths)
    return files


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """An empty repository, to be copied."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "--quiet", "--template=")
    return folder


def in_repository(tree, folder, repository):
    shutil.copytree(repository, folder)
    write_files(folder, tree)
    return folder


TREE = "a.py b.o m.o z.o 1.txt ].txt src/a.py src/deep/b.py packages/a/a.py"
TREE += " packages/a/node_modules/c.py"
EXAMPLES = {
    "folders are included again, files by ending": "*\n!*/\n!*.py\n",
    "a folder in one that is included again": "node_modules/\n!packages/\n",
    "only what is in one folder": "/*\n!/packages\n/packages/*\n!/packages/a\n",
    "a byte order mark": "\ufeffa.py\n!b.o",
    "a byte order mark and a comment": "\ufeff# x\n\ufeffa.py\n*.o",
    "classes": "[[:digit:]].txt\n[\\]].txt\n",
    "a reversed range": "[z-a].o\n",
    "classes that git does not know": "[[:word:]].txt\n[[:digit].o\n[a\n[!\n*.txt",
    "a form feed ends no line": "a.py\fb.o\nsrc/deep\f\n\x0bm.o\n\x85\n\u2028*.o\n",
    "CRLF": "*.o\r\n!m.o\r\n\r\n# x\r\nsrc/\r\n",
    "a lone CR ends no line": "a.py\rb.o\n",
    "blanks at the end": "a.py  \nb.o\t\nm.o\\ \nsrc/ \n",
    "backslashes": "\\a.py\nb.o\\\n\\\nsrc\\/deep\n",
    "stars in the middle": "src/**\n!src/**/b.py\npack**/a.py\n/pack**/a.py\n",
    "stars and slashes": "**/deep\n**/\n!src/**/\n/**/a.py\n",
    "no files, then some": "*.py\n!/src/\n!/src/*.py\n",
    "slashes": "/\n//\n/a.py/\nsrc//a.py\n./a.py\n",
    "a NUL": "a.py\0x\n\0b.o\n",
}


@needs_git
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_as_git_reads_them(name, repository, tmp_path):
    tree = {**dict.fromkeys(TREE.split(), ""), ".gitignore": EXAMPLES[name]}
    folder = in_repository(tree, tmp_path / "tree", repository)
    assert of_git(folder) == of_walk(folder)


@needs_git
def test_a_walk_that_starts_inside(repository, tmp_path):
    tree = dict.fromkeys(("a.py", "src/a.py", "src/b.o", "src/deep/a.py", "src/deep/b.py"), "")
    tree |= {".gitignore": "/src/deep/b.py\n*.o\n", "src/.gitignore": "/a.py\n"}
    tree |= {".git/info/exclude": "a.py\n", "src/deep/.gitignore": "!a.py"}
    folder = in_repository(tree, tmp_path / "tree", repository)
    assert {"src/deep/a.py"} == of_git(folder) == of_walk(folder) == of_walk(folder, "src")
    # a folder that is named is read, and its own rules count
    (folder / ".gitignore").write_text("/src/\n")
    assert set() == of_git(folder) == of_walk(folder)
    assert {"src/deep/a.py", "src/deep/b.py", "src/b.o"} == of_walk(folder, "src")


@needs_git
def test_a_repository_in_another_has_its_own_rules(repository, tmp_path):
    outer = in_repository(
        {".gitignore": "*.py\n", "a.py": "", "b.o": ""}, tmp_path / "t", repository
    )
    inner = in_repository({".gitignore": "*.o\n", "a.py": "", "b.o": ""}, outer / "in", repository)
    write_files(inner, {".git/info/exclude": "c\n", "c": "", "d": ""})
    assert {"a.py", "d"} == of_git(inner) == of_walk(inner)
    assert {"b.o"} == of_git(outer)
    assert (
        {"b.o", "in/a.py", "in/d"} == of_walk(outer) == of_walk(outer, ".") | of_walk(outer, "in")
    )


@needs_git
def test_a_worktree_has_the_rules_of_its_repository(repository, tmp_path):
    folder = in_repository({"a.py": "", ".git/info/exclude": "b.o\n"}, tmp_path / "t", repository)
    git(folder, "add", "a.py")
    git(folder, "commit", "--quiet", "-m", "a")
    git(folder, "worktree", "add", "--quiet", str(tmp_path / "other"))
    write_files(tmp_path / "other", {"b.o": "", "c.o": ""})
    assert {"a.py", "c.o"} == of_git(tmp_path / "other") == of_walk(tmp_path / "other")


@pytest.mark.parametrize("folder", ["", "src/"])
def test_the_rules_of_ignore_files_count_over_those_of_git(folder, tmp_path):
    write_files(
        tmp_path, {f"{folder}.gitignore": "*.py\n!a.o\n", f"{folder}.ignore": "!b.py\n*.o\n"}
    )
    write_files(tmp_path, dict.fromkeys((f"{folder}a.py", f"{folder}b.py", f"{folder}a.o"), ""))
    assert {f"{folder}b.py"} == of_walk(tmp_path)


def link_to_zero(path):
    path.symlink_to("/dev/zero")


def link_outside(path):
    outside = Path(str(path).partition("/tree/")[0], "rules")
    outside.write_text("*.py\n")
    path.symlink_to(outside)


def unreadable(path):
    path.write_text("*.py\n")
    path.chmod(0)


SPOILERS = {
    "not a regular file": [link_to_zero, link_outside, os.mkfifo],
    "more than 1,000,000 bytes": [lambda path: path.write_bytes(b"a.py\n" * 1_000_000)],
    "more than 100,000 bytes of patterns": [
        lambda path: path.write_bytes(
            b"".join(b"*%b?%d\n" % (b"a" * 90, number) for number in range(2_000))
        )
    ],
    "cannot be read": [unreadable],
}


@pytest.mark.parametrize(("why", "spoil"), [(w, each) for w in SPOILERS for each in SPOILERS[w]])
def test_files_whose_rules_are_not_read_are_named(why, spoil, tmp_path, here):
    names = [".git/info/exclude", ".gitignore", "src/.ignore"]
    tree = tmp_path / "tree"
    write_files(tree, {"a.py": "x = 1\n", "src/b.py": "y = 2\n", ".git/info/x": ""})
    for name in names:
        spoil(tree / name)
    if spoil is unreadable and os.access(tree / names[0], os.R_OK):
        pytest.skip("this user may read everything")
    done = here("collect", ".", "--unit", "file", "--rejects", "../left.jsonl", cwd=tree)
    assert (0, 2) == (done.returncode, done.stdout.count(b"\n")), done.stderr
    told = done.stderr.decode()
    reasons = (tmp_path / "left.jsonl").read_text()
    for name in names:
        assert f"the rules in {name.removeprefix('src/')} do not count: {why}" in told
        assert f'"{name}"' in reasons
    assert 3 == reasons.count("include everything with --no-ignore")
    strict = here("collect", ".", "--on-error", "fail", cwd=tree).stderr.decode()
    assert strict.startswith(tuple(f"structkit: {name}: the rules in " for name in names))


def test_rules_above_that_are_not_read_are_named(tmp_path, here):
    write_files(tmp_path, {"src/a.py": "x = 1\n"})
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    done = here("collect", "src")
    told = b"the rules in .gitignore do not count: not a regular file"
    assert told in done.stderr
    assert 1 == done.stdout.count(b"\n")
    assert 1 == here("collect", "src", "--no-ignore").stdout.count(b"\n")
    asked = here("ask", "src", "x", "--no-cache", "--no-model")
    assert told in asked.stderr
    assert 1 == asked.stdout.count(b"\n")


SLOW = ["*a" * 30 + "b", "*a" * 4000 + "b", "**/" + "*a*/**/" * 400 + "b", "*[!b]a?" * 60 + "b"]


@pytest.mark.parametrize("pattern", [*SLOW, "\n".join("*a" * number + "b" for number in range(99))])
def test_no_pattern_takes_for_ever(pattern, tmp_path):
    write_files(tmp_path, {"a" * 250: "", "a/" * 200 + "c": "", "c.o": "", "a.py": ""})
    (tmp_path / ".gitignore").write_text(f"{pattern}\n{pattern}\n*.o\n")
    start = time.process_time()
    assert {"a" * 250, "a/" * 200 + "c", "a.py"} == of_walk(tmp_path)
    assert 10 > time.process_time() - start


@needs_git
@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_random_trees_as_git_reads_them(part, repository, tmp_path):
    different = {}
    for start in range(part * COUNT // 10, (part + 1) * COUNT // 10, TOGETHER):
        draw = random.Random(f"{SEED} {start}")
        trees = {str(number): random_tree(draw) for number in range(start, start + TOGETHER)}
        files = {f"{at}/{name}": text for at, tree in trees.items() for name, text in tree.items()}
        if draw.random() < 0.3:
            files[".git/info/exclude"] = random_rules(draw, [*trees[str(start)]])
        folder = in_repository(files, tmp_path / "trees", repository)
        for path in of_git(folder) ^ of_walk(folder):
            number = path.partition("/")[0]
            rules = {name: text for name, text in trees[number].items() if "ignore" in name}
            different[path] = rules, files.get(".git/info/exclude")
        shutil.rmtree(folder)
    assert {} == different
