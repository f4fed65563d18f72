"""What a report consists of, however it is written."""

import time

import pytest

import structkit
from structkit.asking.cache import open_store
from structkit.asking.report import Report, files_of, is_one

REPORT = """\
Pool.get() never returns a closed connection
<!--
Thanks for the report! Check the versions first.
-->

- [x] I have read the manual

### Describe the bug

When `max_size` is 0, `pool.get()` waits, see net/pool.py and [the page](https://example.org/x.py).

```python
pool = Pool(max_size=0)
```

### Versions

I have a server with many cores.
python: 3.11.2
urllib3==2.0.1
"""


def test_a_report_is_taken_apart():
    found = Report.of(REPORT)
    assert "Pool.get() never returns a closed connection" == found.title
    assert "When `max_size` is 0, `pool.get()` waits, see net/pool.py and the page." == found.prose
    assert "pool = Pool(max_size=0)" == found.code
    assert ("max_size", "pool.get()", "Pool.get", "pool.get") == found.names
    assert ("net/pool.py",) == found.paths


@pytest.mark.parametrize(
    "same",
    [
        REPORT.replace("\n", "\r\n"),
        "\ufeff" + REPORT,
        "# " + REPORT,
        REPORT.replace("```python", "~~~").replace("```", "~~~"),
        REPORT.replace("### Describe the bug", "**Describe the bug**"),
        REPORT.replace("### Versions", "Your environment:"),
        REPORT.replace("When", "> When"),
    ],
)
def test_it_may_be_written_in_other_ways(same):
    assert Report.of(REPORT) == Report.of(same)


TRACES = {
    "Python": (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/app/main.py", line 3, in main\n    run()\n'
        '  File "/usr/lib/app/net/pool.py", line 12, in get\n    raise Full\n',
        [("/usr/lib/app/net/pool.py", 12, "get"), ("/usr/lib/app/main.py", 3, "main")],
    ),
    "IPython": (
        "File ~/app/main.py:3, in main()\n----> 3 run()\n"
        "File ~/app/net/pool.py:12, in Pool.get(self)\n---> 12 raise Full\n",
        [("~/app/net/pool.py", 12, "Pool.get"), ("~/app/main.py", 3, "main")],
    ),
    "an older IPython": (
        "~/app/net/pool.py in get(self, wait)\n     11 \n---> 12 raise Full\n",
        [("~/app/net/pool.py", 0, "get")],
    ),
    "pytest": (
        "net/pool.py:12: in get\n    raise Full\nnet/wait.py:7: Full\n",
        [("net/wait.py", 7, ""), ("net/pool.py", 12, "get")],
    ),
    "Java": (
        "java.lang.IllegalStateException: full\n"
        "\tat org.app.net.Pool.get(Pool.java:12)\n\tat org.app.Main.main(Main.java:3)\n",
        [
            ("org/app/net/Pool.java", 12, "org.app.net.Pool.get"),
            ("org/app/Main.java", 3, "org.app.Main.main"),
        ],
    ),
    "JavaScript": (
        "Error: full\n    at Pool.get (/app/net/pool.js:12:9)\n    at /app/main.js:3:1\n",
        [("/app/net/pool.js", 12, "Pool.get"), ("/app/main.js", 3, "")],
    ),
    "Go": (
        "goroutine 1 [running]:\nmain.(*Pool).Get(0xc0)\n\t/app/net/pool.go:12 +0x1d\n",
        [("/app/net/pool.go", 12, "")],
    ),
    "Rust": (
        "   1: app::net::get\n             at ./src/net/pool.rs:12:5\n",
        [("./src/net/pool.rs", 12, "")],
    ),
    "Ruby": (
        "net/pool.rb:12:in `get': full (RuntimeError)\n\tfrom main.rb:3:in 'Main#run'\n",
        [("net/pool.rb", 12, "get"), ("main.rb", 3, "Main#run")],
    ),
    "C++": (
        "#0  0x0000 in Pool::get (this=0x0) at src/net/pool.cpp:12\n",
        [("src/net/pool.cpp", 12, "Pool::get")],
    ),
    "C#": (
        "   at App.Pool.Get(Int32 n) in C:\\app\\net\\Pool.cs:line 12\n",
        [("C:\\app\\net\\Pool.cs", 12, "App.Pool.Get")],
    ),
    "PHP": ("#0 /app/net/Pool.php(12): Pool->get()\n", [("/app/net/Pool.php", 12, "")]),
}


@pytest.mark.parametrize("language", TRACES)
@pytest.mark.parametrize("around", ["It fails\n{}", "It fails\n\n```\n{}```\n"])
def test_frames_of_traces_are_found_the_innermost_first(language, around):
    trace, frames = TRACES[language]
    assert frames == [tuple(each) for each in Report.of(around.format(trace)).frames]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/lib/python3/site-packages/app/net/pool.py", ["lib/app/net/pool.py"]),
        ("C:\\Users\\x\\app\\net\\POOL.py", ["lib/app/net/pool.py"]),
        ("pool.py", ["lib/app/net/pool.py", "tests/pool.py"]),
        ("net/pool.py", ["lib/app/net/pool.py"]),
        ("./main.py", ["lib/app/main.py"]),
        ("webpack/main.py", ["lib/app/main.py"]),  # of no other file
        ("/usr/lib/python3/main.py", []),  # of another program
        ("other/pool.py", []),
        ("", []),
    ],
)
def test_a_path_of_another_machine_is_found(path, expected):
    paths = ["lib/app/net/pool.py", "lib/app/main.py", "tests/pool.py"]
    names = {"pool.py": [0, 2], "main.py": [1]}
    assert expected == [paths[number] for number in files_of(path, paths, names)]


@pytest.mark.parametrize(
    ("lines", "one"),
    [
        ("where is the pool?\nhow is it closed?", False),
        ("where is the pool?\n\nhow is it closed?\n", False),
        ("It waits\n\nThe pool is empty, and waits for ever.", True),
        ("It waits\n```\npool.get()\n```", True),
        ("It waits\r\n    pool.get()\r\n", True),
        ("# It waits\nalways", True),
        ('It waits\nFile "pool.py", line 3, in get', True),
    ],
)
def test_lines_are_one_report_by_their_form(lines, one):
    assert one is is_one(lines)


@pytest.mark.parametrize("unit", ["a_", "/", "[", "<!--", "`", "#", "1.", 'File "x.py", line 1\n'])
def test_a_long_text_takes_no_long_time(unit):
    start = time.process_time()
    Report.of("It waits\n" + unit * 10_000)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(("system", "first"), [("Windows", "win"), ("Linux", "unix")])
def test_variants_for_windows_come_first_in_its_reports_alone(tmp_path, system, first):
    for folder, comment in (("win", "/* Opening: a pipe that was closed fails. */"), ("unix", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pipe.c").write_text(f"{comment}\nint open_pipe(int pipe);\n")
    report = f"Opening a pipe fails\n\n{'It happens when it was closed before. ' * 8}\nOn {system}."
    found = [each["path"] for each in structkit.ask(tmp_path, [report], no_cache=True)]
    assert first in found[0].split("/")


def test_a_report_needs_no_embeddings_of_the_folder(tmp_path):
    cache = str(tmp_path / "cache")
    source = "fixtures/collect/src"

    def embedded():
        (place,) = (tmp_path / "cache").glob("*.sqlite")
        with open_store(place) as store:
            return store.parts(["large embedded"]) is not None

    assert list(structkit.ask(source, [REPORT + "The area of a circle is wrong."], cache=cache))
    assert not embedded()
    assert list(structkit.ask(source, ["area of a circle"], cache=cache))
    assert embedded()
