"""Commands and wrong flags import only what their work needs; test_help.py has their help."""

from conftest import python
from imported import imported, imported_by_each


def test_a_search_of_embeddings_reads_no_words(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": "1", "embedding": [1.0, 0.0]}\n')
    heavy, run = imported("search", str(path), "--queries", str(path))
    assert not heavy & {"scipy", "torch"}
    assert b'"doc_id":"1"' in run


def test_two_workers_import_no_more_than_one(tmp_path):
    cases = [
        ("html-variants", b'{"id": "1", "html": "<p>tea"}', {"lxml"}),
        ("mask-entities", b'{"id": "1", "language": "python", "code": "x = 1"}', set()),
        ("mask-entities", b'{"id": "1", "language": "go", "code": "x", "n": %d}' % 2**70, set()),
        ("pair", b'{"id": "1", "query": "tea", "positive": "green"}', set()),
    ]
    lines = []
    for number, (command, record, _) in enumerate(cases):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(record)
        lines += [[command, "--workers", workers, str(path)] for workers in ("1", "2")]
    found = imported_by_each(tmp_path, *lines)
    for (_, record, heavy), one, two in zip(cases, found[::2], found[1::2], strict=True):
        assert heavy == one[0] and two[0] <= heavy, record
        assert one[1] == two[1] and b'"id":"1"' in two[1]


def test_a_wrong_flag_of_a_method_is_told_without_its_model():
    script = (
        "import sys; from structkit import registry\n"
        "from structkit.errors import UserError\n"
        "method = registry.load('method', 'seal')\n"
        "for wrong in ({'epochs': 0}, {'model': chr(0xdcff)}):\n"
        "    try: method(**wrong)\n"
        "    except UserError as error: print(error.problem.encode('ascii', 'replace').decode())\n"
        "print('torch' in sys.modules)"
    )
    done = python("-c", script)
    told = ["--epochs 0 is not in 1 ? 1,000,000", "--model ? is not UTF-8", "False"]
    assert told == done.stdout.splitlines()
