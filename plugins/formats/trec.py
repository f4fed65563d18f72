"""TREC: the six columns of a run, the four of qrels."""

from structkit import plugin
from structkit.formats.interchange import CellForm, Parts

RUN_COLUMNS = {
    "query_id": "query_id",
    "Q0": "Q0",
    "doc_id": "doc_id",
    "rank": "rank",
    "score": "score",
    "tag": "structkit",
}
TREC_QRELS_COLUMNS = {
    "query_id": "query_id",
    "iteration": "0",
    "doc_id": "doc_id",
    "relevance": "relevance",
}


class Format(plugin.Format):
    """Run and judgements; another tag or iteration than usual is kept."""

    def parts(self, split: str) -> Parts:
        return {
            "run": CellForm(RUN_COLUMNS).part("run.trec", "*.trec", "*.run"),
            "qrels": CellForm(TREC_QRELS_COLUMNS).part("qrels.txt", "qrels*", "*.qrels"),
        }
