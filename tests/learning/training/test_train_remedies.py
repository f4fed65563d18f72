"""What the messages of `train` advise helps: a bad command, its remedy, and then it works."""

import json

import pytest

from structkit.cli.main import app
from structkit.errors import UserError
from structkit.progress import hushed

PAGES = [
    {"id": f"d{number}", "html": f"<h1>{name}</h1><p>A page about <b>{name}s</b> and more.</p>"}
    for number, name in enumerate(("cat", "dog", "bird", "fish"))
]
FILES = {
    "pages.jsonl": PAGES,
    "asked.jsonl": [{**page, "query": f"number {page['id']}"} for page in PAGES],
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
PAIRED = [
    "pair --qrels qrels.jsonl --queries queries.jsonl --corpus pages.jsonl -o pairs.jsonl",
    "html-variants pairs.jsonl -o made.jsonl",
]

# what there is before, the bad command, what it says, what is done about it, and what works then
REMEDIES = [
    (
        [],
        f"seal {TINY} pages.jsonl",
        "structkit pair of qrels, queries and a corpus, then structkit html-variants",
        PAIRED,
        f"seal {TINY} made.jsonl",
    ),
    (
        [],
        f"contrastive {TINY} --document-field untagged asked.jsonl",
        "add it with structkit html-variants",
        ["html-variants asked.jsonl -o made.jsonl"],
        f"contrastive {TINY} --document-field untagged made.jsonl",
    ),
    (
        [],
        f"contrastive {TINY} code.jsonl",
        "add it with structkit pair",
        ["pair code.jsonl -o made.jsonl"],
        f"contrastive {TINY} made.jsonl",
    ),
    (
        ["pair code.jsonl -o pairs.jsonl"],
        f"santa {TINY} pairs.jsonl",
        "add it with structkit mask-entities",
        ["mask-entities pairs.jsonl -o made.jsonl"],
        f"santa {TINY} made.jsonl",
    ),
    (
        [],
        f"strae {SMALL} texts.jsonl",
        "add it with structkit parse-trees",
        ["parse-trees --parser balanced texts.jsonl -o made.jsonl"],
        f"strae {SMALL} made.jsonl",
    ),
    (
        [],
        f"contrastive {TINY} --batch-size 1 two.jsonl",
        "use at least two records and --batch-size 2",
        [],
        f"contrastive {TINY} --batch-size 2 two.jsonl",
    ),
    (
        [],
        f"contrastive {TINY} --negatives-per-query 2 negatives.jsonl",
        "set --negatives-per-query 1",
        [],
        f"contrastive {TINY} --negatives-per-query 1 negatives.jsonl",
    ),
    (
        [],
        f"contrastive {TINY} --architecture bert --pooling first-decoder-token two.jsonl",
        "use --architecture t5",
        [],
        f"contrastive {TINY} --architecture t5 --pooling first-decoder-token two.jsonl",
    ),
    (
        [f"train contrastive {TINY} --pooling mean -o made two.jsonl"],
        f"contrastive {TINY} --pooling cls --model made two.jsonl",
        "use --pooling mean",
        [],
        f"contrastive {TINY} --pooling mean --model made two.jsonl",
    ),
    (
        [],
        "self-strae --minimum-count 5 --max-steps 1 --quiet texts.jsonl",
        "lower --minimum-count, or use --subwords",
        [],
        "self-strae --minimum-count 5 --max-steps 1 --quiet --subwords texts.jsonl",
    ),
    (
        [],
        "fasttext --minimum-count 9 --buckets 100 --quiet texts.jsonl",
        "lower --minimum-count, or give more records",
        [],
        "fasttext --minimum-count 1 --buckets 100 --quiet texts.jsonl",
    ),
    (
        [],
        f"self-strae {SMALL} --max-length 4 long.jsonl",
        "leave the record out",
        [],
        f"self-strae {SMALL} --max-length 4 --on-error skip long.jsonl",
    ),
    (
        [],
        f"self-strae {SMALL} --rejects rejects.jsonl texts.jsonl",
        "--rejects needs --on-error; add it",
        [],
        f"self-strae {SMALL} --rejects rejects.jsonl --on-error skip texts.jsonl",
    ),
]


def structkit(command):
    with hushed(False):  # a command's --quiet ends with it
        app(command.split(), standalone_mode=False)


@pytest.mark.parametrize(("before", "bad", "said", "remedy", "good"), REMEDIES)
def test_a_remedy_helps(tmp_path, monkeypatch, before, bad, said, remedy, good):
    monkeypatch.chdir(tmp_path)
    for name, records in FILES.items():
        (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in records))
    for step in before:
        structkit(step)
    with pytest.raises(UserError) as caught:
        structkit(f"train {bad}")
    assert said in str(caught.value)
    for step in remedy:
        structkit(step)
    structkit(f"train {good}")
    assert (tmp_path / "models" / good.split()[0] / "structkit.json").is_file()
