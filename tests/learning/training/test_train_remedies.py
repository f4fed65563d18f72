"""What the messages of `train` advise helps: a bad command, its remedy, and then it works."""

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
REMEDIES = [
    (
        f"train seal {TINY} pages.jsonl",
        "structkit pair of qrels, queries and a corpus, then structkit html-variants",
        "pair --qrels qrels.jsonl --queries queries.jsonl --corpus pages.jsonl -o pairs.jsonl",
        "html-variants pairs.jsonl -o made.jsonl",
        f"train seal {TINY} made.jsonl",
    ),
    (
        "train contrastive --model builtin --checkpointing --max-steps 1 --quiet two.jsonl",
        "leave --checkpointing out",
        "train contrastive --model builtin --max-steps 1 --quiet two.jsonl",
    ),
    (
        f"train contrastive {TINY} code.jsonl",
        "add it with structkit pair",
        "pair code.jsonl -o made.jsonl",
        f"train contrastive {TINY} made.jsonl",
    ),
    (
        f"train santa {TINY} two.jsonl",
        "add it with structkit mask-entities",
        "pair code.jsonl -o pairs.jsonl",
        "mask-entities pairs.jsonl -o made.jsonl",
        f"train santa {TINY} made.jsonl",
    ),
    (
        f"train strae {SMALL} texts.jsonl",
        "add it with structkit parse-trees",
        "parse-trees --parser balanced texts.jsonl -o made.jsonl",
        f"train strae {SMALL} made.jsonl",
    ),
    (
        f"train contrastive {TINY} --batch-size 1 two.jsonl",
        "use at least two records and --batch-size 2",
        f"train contrastive {TINY} --batch-size 2 two.jsonl",
    ),
    (
        f"train contrastive {TINY} --negatives-per-query 3 negatives.jsonl",
        "set --negatives-per-query 2",
        f"train contrastive {TINY} --negatives-per-query 2 negatives.jsonl",
    ),
    (
        f"train contrastive {TINY} --architecture bert --pooling first-decoder-token two.jsonl",
        "use --architecture t5",
        f"train contrastive {TINY} --architecture t5 --pooling first-decoder-token two.jsonl",
    ),
    (
        "train self-strae --minimum-count 5 --max-steps 1 --quiet texts.jsonl",
        "lower --minimum-count, or use --subwords",
        "train self-strae --minimum-count 5 --max-steps 1 --quiet --subwords texts.jsonl",
    ),
    (
        "train fasttext --minimum-count 9 --buckets 100 --quiet texts.jsonl",
        "lower --minimum-count, or give more records",
        "train fasttext --minimum-count 1 --buckets 100 --quiet texts.jsonl",
    ),
    (
        f"train self-strae {SMALL} --max-length 4 long.jsonl",
        "leave the record out",
        f"train self-strae {SMALL} --max-length 4 --on-error skip long.jsonl",
    ),
    (
        f"train self-strae {SMALL} --rejects rejects.jsonl texts.jsonl",
        "--rejects needs --on-error; add it",
        f"train self-strae {SMALL} --rejects rejects.jsonl --on-error skip texts.jsonl",
    ),
]


def structkit(command):
    with hushed(False):  # a command's --quiet ends with it
        app(command.split(), standalone_mode=False)


@pytest.mark.parametrize(("bad", "said", "remedy"), [(b, s, r) for b, s, *r in REMEDIES])
def test_a_remedy_helps(tmp_path, monkeypatch, bad, said, remedy):
    monkeypatch.chdir(tmp_path)
    for name, records in FILES.items():
        write(tmp_path / name, *records)
    with pytest.raises(UserError) as caught:
        structkit(bad)
    assert said in str(caught.value)
    for step in remedy:
        structkit(step)
    assert (tmp_path / "models" / bad.split()[1] / "structkit.json").is_file()
