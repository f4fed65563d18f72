"""What is searched of a report, and what is found by it."""

import time

import pytest

import structkit
from structkit.asking.cache import open_store
from structkit.asking.report import is_report_text, report_parts

REPORT = """\
Pool.get() never returns a closed connection

### Describe the bug

When `max_size` is 0, `pool.get()` waits, see net/pool.py and [the page](https://example.org/x).

```python
pool = Pool(max_size=0)
```
"""


@pytest.mark.parametrize("same", [REPORT, REPORT.replace("\n", "\r\n"), f"\n# {REPORT}"])
def test_a_report_is_searched_as_a_whole_by_its_title_and_by_its_names(same):
    found = report_parts(same)
    assert same == found["text"]
    assert "Pool.get() never returns a closed connection" == found["title"]
    assert "max_size pool.get() Pool.get() pool.py example.org" == found["names"]


@pytest.mark.parametrize(
    "name",
    ["get_pool", "_pool", "getPool", "Pool.get", "Pool::get", "pool->get", "Pool#get", "get()"],
)
def test_a_name_of_code_is_unlike_a_word(name):
    assert name == report_parts(f"It waits in {name} (see there), 3.5 times, e-mail me.")["names"]


TRACES = {
    "Python": '  File "/usr/lib/net/pool.py", line 12, in get_open\n    raise Full',
    "Java": "\tat org.app.net.Pool.get_open(Pool.java:12)",
    "Rust": "   1: app::net::pool::get_open\n             at ./src/net/pool.rs:12:5",
}


@pytest.mark.parametrize("language", TRACES)
def test_the_file_of_a_trace_comes_before_its_test(tmp_path, language):
    for path in ("net/pool.py", "net/wait.py", "tests/pool.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        name = "wait" if "wait" in path else "get_open"
        (tmp_path / path).write_text(f"def {name}(returns):\n    return returns or seconds\n")
    report = f"It waits\n\nNothing returns, for seconds.\n{TRACES[language]}\n"
    found = [each["path"] for each in structkit.ask(tmp_path, [report], no_cache=True)]
    assert found[0].endswith("net/pool.py")


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
    assert one is is_report_text(lines)


@pytest.mark.parametrize("unit", ["a_", "/", "[", "<!--", "`", "#", "1.", 'File "x.py", line 1\n'])
def test_a_long_text_takes_no_long_time(unit):
    start = time.process_time()
    is_report_text("It waits\n" + unit * 10_000)
    report_parts("It waits\n" + unit * 10_000)
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
            return store.part("rows large codes") is not None

    assert list(structkit.ask(source, [REPORT + "The area of a circle is wrong."], cache=cache))
    assert not embedded()
    assert list(structkit.ask(source, ["area of a circle"], cache=cache))
    assert embedded()
