"""Score runs against judgements, or embeddings on a task."""

from __future__ import annotations

from structkit.command import Choice
from structkit.commands.score import pairs, runs, trees

COMMAND = Choice(
    name="score",
    help=runs.COMMAND.help,
    by="task",
    otherwise="qrels",
    chooses="Score pairs of embeddings, or trees, instead of {qrels}",
    below={
        "": runs.COMMAND,
        "similarity": pairs.SIMILARITY,
        "classification": pairs.CLASSIFICATION,
        "space": pairs.SPACE,
        "suite": pairs.SUITE,
        "trees": trees.COMMAND,
    },
    reads="`query_id`, `doc_id`, `score`; judgements: `query_id`, `doc_id`, `relevance` or "
    "`label`; with {task}: `embedding` of both, `score` or `label`, or `tree`",
    writes="`run`, `queries`, `missing`, `unjudged`, and for each measure `MEASURE`, "
    "`MEASURE_low`, `MEASURE_high`",
    examples="""
structkit score dense.jsonl bm25.jsonl --qrels self --measures 'nDCG@10 RR@10'
structkit score dense.jsonl --qrels self --compare bm25.jsonl
structkit parse-trees sentences.jsonl -o found.jsonl
structkit score --task trees --gold trees.jsonl found.jsonl
""",
)
