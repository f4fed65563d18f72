"""What the messages of `train` advise helps: a bad command, its remedy, and then it works."""

from pathlib import Path

import pytest

from structkit.cli.main import app
from structkit.errors import UserError
from structkit.progress import hushed
from tests.jsonl import write

PAGES = [
    {"id": f"d{number}", "html": f"<h1>{name}</h1><p>A page about <b>{name}s</b> and more.</p>"}
    for number, name in enumerate(("cat", "dog", "bird", "fish"))
]
FILES = {
    "pages.jsonl": PAGES,
    "queries.jsonl": [{"id": f"q{number}", "query": f"which {number}"} for number in range(4)],
    "qrels.jsonl": [
        {"query_id": f"q{query}", "doc_id": f"d{page}", "relevance": int(query == page)}
        for query in range(4)
        for page in range(4)
    ],
    "code.jsonl": [
        {
            "id": str(number),
            "language": "python",
            "code": f"def add_{number}(left):\n    return left + {number}\n",
            "docstring": f"Add {number} to a number.",
        }
        for number in range(4)
    ],
    "texts.jsonl": [{"id": str(number), "text": f"word_{number} alone"} for number in range(4)],
    "long.jsonl": [{"id": "1", "text": "a b c"}, {"id": "2", "text": "a b c d e f"}],
    "two.jsonl": [{"query": "a", "positive": "b"}, {"query": "c", "positive": "d"}],
    "negatives.jsonl": [
        {"query": "a", "positive": "b", "negatives": ["x", "y"]},
        {"query": "c", "positive": "d", "negatives": ["x"]},
    ],
}
TINY = "--size tiny --vocabulary-size 400 --max-steps 1 --quiet"
SMALL = "--minimum-count 1 --max-steps 1 --quiet"

# the bad command, what it says, what is done about it
TABLE = Path(__file__).with_name("remedies.txt").read_text("utf-8")
REMEDIES = TABLE.replace("TINY", TINY).replace("SMALL", SMALL).strip().split("\n\n")


def structkit(command):
    with hushed(False):  # a command's --quiet ends with it
        app(command.split(), standalone_mode=False)


@pytest.mark.parametrize("lines", REMEDIES, ids=lambda lines: lines.partition("\n")[0])
def test_a_remedy_helps(tmp_path, monkeypatch, lines):
    bad, said, *remedy = lines.splitlines()
    monkeypatch.chdir(tmp_path)
    for name, records in FILES.items():
        write(tmp_path / name, *records)
    with pytest.raises(UserError) as caught:
        structkit(bad)
    assert said in str(caught.value)
    for step in remedy:
        structkit(step)
    assert (tmp_path / "models" / bad.split()[1] / "structkit.json").is_file()
