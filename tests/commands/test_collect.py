"""collect: what is found, what is left out and told, shards and workers."""

import json
import os
import tarfile

import pytest

from tests.collecting.projects import FIXTURES, project_in, read


@pytest.fixture
def project(tmp_path):
    return project_in(tmp_path)


FOUND = ["latin.py", "logs/deep/keep.py", "notes", "src/a.py", "src/a/b.py", "sub/b.py", "wide.txt"]


def test_a_folder_in_the_order_of_paths(project, run):
    done = run("collect", "project", "--unit", "file")
    assert 0 == done.returncode
    records = read(done.stdout)
    paths = [record["path"] for record in records]
    assert paths == sorted(paths, key=os.fsencode)
    expected = [
        *FOUND,
        *(
            str(path.relative_to(FIXTURES))
            for part in ("src", "docs")
            for path in (FIXTURES / part).iterdir()
        ),
    ]
    assert {f"project/{name}" for name in expected} == set(paths)
    [latin] = [record for record in records if record["path"].endswith("latin.py")]
    assert latin["code"].endswith("word = 'caf\u00e9'\n")
    assert latin["id"] == latin["path"]
    assert done.stdout == run("collect", "project", "--unit", "file", "--workers", "2").stdout
    [wide] = [record for record in records if record["path"].endswith("wide.txt")]
    assert wide["text"] == "A caf\u00e9."


def test_what_is_left_out_is_told(project, run):
    done = run("collect", "project", "--rejects", "rejects.jsonl")
    [told] = done.stderr.decode().splitlines()
    assert told.startswith("structkit: 13 paths left out (")
    rejects = read((project.parent / "rejects.jsonl").read_bytes())
    expected = {
        ".gitignore .hidden.py sub/.ignore": "hidden; include it with --hidden",
        "logs/a.py skipped.py sub/a.py": "ignored by .gitignore or .ignore; include it with "
        "--no-ignore",
        "dangling loop": "a symbolic link; name its target",
        "lib.min.js pressed.js": "minified; include it with --generated",
        "picture.py": "binary; convert it to text",
        "empty.py": "without text; write some, or leave it out",
        "parser.go": "generated; include it with --generated",
    }
    reasons = {f"project/{name}": why for names, why in expected.items() for name in names.split()}
    assert reasons == {each["record"]["path"]: each["reason"] for each in rejects}
    assert run("collect", "project", "-q").stderr == b""


def test_the_remedies_help(project, run):
    def paths(*flags):
        found = read(run("collect", "project", "--unit", "file", *flags).stdout)
        return {each["path"].removeprefix("project/") for each in found}

    without = paths()
    assert without | {".hidden.py", ".gitignore", "sub/.ignore"} == paths("--hidden")
    assert without | {"skipped.py", "logs/a.py", "sub/a.py"} == paths("--no-ignore")
    assert without | {"parser.go", "lib.min.js", "pressed.js"} == paths("--generated")


def test_rules_from_above_hold_inside_a_repository(project, run):
    (project / ".git").mkdir()
    assert read(run("collect", "project/logs").stdout)[0]["path"] == "project/logs/deep/keep.py"
    assert read(run("collect", ".", cwd=project / "logs").stdout)[0]["path"] == "deep/keep.py"
    # a file that is named is meant
    assert read(run("collect", "project/skipped.py").stdout)[0]["code"] == "z = 3"


def test_paths_by_list_and_pattern(project, run):
    names = [b"project/src/a.py", b"project/notes", b"project/src/a.py"]
    expected = ["project/notes", "project/notes", "project/src/a.py"]
    for sign in (b"\n", b"\0"):
        found = read(run("collect", "-", input=sign.join(names)).stdout)
        assert expected == [record["path"] for record in found]
    found = read(run("collect", "project/**/b.py").stdout)
    assert ["project/src/a/b.py", "project/sub/b.py"] == [record["path"] for record in found]


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["nowhere"], 1, "nowhere: does not exist; check the name"),
        (["no*where"], 2, "no path matches no*where; check the pattern"),
        (["project", "--shard", "2/2"], 2, "--shard 2/2 is not I/N"),
        (["project/notes", "-o", "project/notes"], 2, "-o project/notes is the input"),
        (
            ["project", "--on-error", "fail", "--max-file-bytes", "10"],
            1,
            "has more than 10 bytes; raise",
        ),
    ],
)
def test_errors(project, run, arguments, status, told):
    done = run("collect", *arguments)
    assert status == done.returncode
    [line] = done.stderr.decode().splitlines()
    assert told in line
    assert not any(path.name.endswith(".partial") for path in project.parent.rglob("*"))


def test_what_cannot_be_read_is_a_counted_reject(project, run):
    (project / "bad.txt").write_bytes(b"\xff\xfeA\xd8B")  # begins as UTF-16
    (project / "large.txt").write_bytes(b"word " * 1000)
    done = run("collect", "project", "--max-file-bytes", "4000", "--rejects", "rejects.jsonl")
    assert 0 == done.returncode
    reasons = {
        each["file"]: each["reason"]
        for each in read((project.parent / "rejects.jsonl").read_bytes())
    }
    assert reasons["project/bad.txt"].startswith("begins as utf-16-le, but is not all of it")
    assert reasons["project/large.txt"] == "has more than 4,000 bytes; raise --max-file-bytes"
    strict = run("collect", "project", "--on-error", "fail", "-o", "out.jsonl")
    assert 1 == strict.returncode
    assert strict.stderr.decode().startswith("structkit: project/bad.txt: begins as utf-16-le")
    assert not (project.parent / "out.jsonl").exists()


def test_the_output_may_stand_in_the_folder(project, run):
    alone = run("collect", ".", cwd=project).stdout
    for _ in range(2):
        assert 0 == run("collect", ".", "-o", "corpus.jsonl", "--hidden", cwd=project).returncode
        found = (project / "corpus.jsonl").read_bytes()
        assert not any("corpus" in record["path"] for record in read(found))
    assert {record["id"] for record in read(alone)} <= {record["id"] for record in read(found)}


def test_code_that_keeps_a_grammar_is_left_out(tmp_path, run):
    (tmp_path / "strange.js").write_text("a={b:[(" * 60_000)
    (tmp_path / "good.js").write_text("function f() {}\n")
    done = run("collect", ".", "--unit", "function", "--generated")
    assert 0 == done.returncode, done.stderr
    assert ["good.js#f"] == [record["id"] for record in read(done.stdout)]


RECORDS = [
    {"id": "r/a.py", "repository": "r", "path": "src/a.py", "code": "x = 1\n\n\ny = 2\n"},
    {"id": "2", "language": "go", "code": "package a\n"},
    {"id": "3", "html": "<title>T</title><p>Word."},
    {"id": "4"},
    {"id": "5", "path": "a.min.js", "code": "a = 1"},
]


def test_records_are_cut_as_files_are(tmp_path, run):
    (tmp_path / "in.jsonl").write_text("\n".join([*map(json.dumps, RECORDS), "nothing"]))
    done = run("collect", "--records", "in.jsonl", "--unit", "chunk", "--chunk-chars", "3")
    assert 0 == done.returncode
    records = read(done.stdout)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text(RECORDS[0]["code"])
    of_file = read(run("collect", "src/a.py", "--chunk-chars", "3").stdout)
    assert ["src/a.py#L1-1", "src/a.py#L4-4"] == [record["id"] for record in of_file]
    assert [
        {**record, "id": f"r/a.py#{record['id'].partition('#')[2]}", "repository": "r"}
        | {"doc_id": "r/a.py"}
        for record in of_file
    ] == records[:2]
    assert ["2#L1-1", "3#L1-1"] == [record["id"] for record in records[2:]]
    assert ["go", "html"] == [record["language"] for record in records[2:]]
    assert "3 paths left out" in done.stderr.decode()
    failed = run("collect", "--records", "in.jsonl", "--on-error", "fail")
    assert "in.jsonl:4: the record has none of the fields code, html" in failed.stderr.decode()


def test_records_are_no_folders(run):
    done = run("collect", "--records", "in.jsonl", "--hidden")
    assert 2 == done.returncode
    assert b"--records and --hidden exclude each other" in done.stderr


@pytest.mark.parametrize("paths", [["."], [b"a\xfe.py", b"a\xff.py"], ["a.tar"]], ids=str)
def test_names_that_are_not_utf8_stay_apart(tmp_path, run, paths):
    with tarfile.open(tmp_path / "a.tar", "w") as packed:
        for name in (b"a\xfe.py", b"a\xff.py"):
            (tmp_path / os.fsdecode(name)).write_text("a = 1\n")
            packed.add(tmp_path / os.fsdecode(name), os.fsdecode(name))
    done = run("collect", *map(os.fsdecode, paths))
    names = [record["path"].removeprefix("a.tar/") for record in read(done.stdout)]
    assert ["a\\xfe.py", "a\\xff.py"] == names, done.stderr


@pytest.mark.parametrize("paths", [["."], [b"a\\xff.py", b"a\xff.py"]], ids=str)
def test_a_name_that_is_the_escape_of_another_is_told(tmp_path, run, paths):
    for name in (b"a\\xff.py", b"a\xff.py"):
        (tmp_path / os.fsdecode(name)).write_text("a = 1\n")
    done = run("collect", *map(os.fsdecode, paths))
    assert ["a\\xff.py"] == [record["path"] for record in read(done.stdout)]
    assert b"1 path left out (1 x has the same name as another as UTF-8)" in done.stderr
