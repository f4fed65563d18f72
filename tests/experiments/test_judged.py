"""The ranking of judged documents by the dot product of embeddings."""

from experiments.judged import main
from tests.jsonl import read, write


def embedded(file, **vectors):
    """A file of embeddings."""
    rows = ({"id": key, "embedding": each} for key, each in vectors.items())
    return write(file, *rows)


def test_each_query_has_its_judged_documents_by_their_dot_products(tmp_path, capsys, monkeypatch):
    documents = embedded(tmp_path / "d", long=[2.0, 2.0], near=[1.0, 0.0], other=[9.0, 9.0])
    queries = embedded(tmp_path / "q", one=[1.0, 0.0], two=[0.0, -1.0])
    judged = [("one", "near"), ("one", "long"), ("two", "near"), ("two", "long")]
    qrels = write(tmp_path / "j", *({"query_id": one, "doc_id": each} for one, each in judged))
    monkeypatch.setattr("sys.argv", ["judged", documents, queries, qrels])
    main()
    run = read(capsys.readouterr().out)
    # a cosine would put near first
    ranked = [("one", "long", 2.0, 1), ("one", "near", 1.0, 2)]
    ranked += [("two", "near", 0.0, 1), ("two", "long", -2.0, 2)]
    assert ranked == [tuple(each.values()) for each in run]
