"""score against a bare pytrec_eval script, from the same JSONL files: 10,000 queries x 100.

    python -m tests.benchmarks.score

The script does the least that any program would have to do: it reads with orjson, fills the
dictionaries, evaluates and averages. Ours also refuses repeated documents, counts what is missing,
and gives an interval for each mean: what the intervals take in the script is in the last row, and
the start of a program with flags takes as much.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import orjson

from tests.benchmarks.pairs import PYTHON, Comparison, report

SCRIPT = """
import sys, orjson, pytrec_eval
run, qrels = {}, {}
with open(sys.argv[1], "rb") as lines:
    for line in lines:
        record = orjson.loads(line)
        run.setdefault(record["query_id"], {})[record["doc_id"]] = record["score"]
with open(sys.argv[2], "rb") as lines:
    for line in lines:
        record = orjson.loads(line)
        qrels.setdefault(record["query_id"], {})[record["doc_id"]] = record["relevance"]
names = {"ndcg_cut_10", "recip_rank", "recall_100", "success_1", "success_5"}
found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in sorted(names):
    print(name, sum(values[name] for values in found.values()) / len(qrels))
"""
INTERVALS = """
import numpy as np
values = np.array([[found[query][name] for name in names] for query in found])
draw = np.random.default_rng(0).integers
count = len(values)
means = [np.bincount(draw(0, count, count), minlength=count) @ values / count for _ in range(1000)]
print(np.quantile(means, [0.025, 0.975], axis=0))
"""
MEASURES = "nDCG@10 RR R@100 Success@1 Success@5"
QUERIES, DEPTH, DOCUMENTS, JUDGED = 10_000, 100, 100_000, 5


def write(folder: Path) -> tuple[str, str]:
    """A run and its judgements: half of the judged documents are found."""
    draw = random.Random(0)
    run, qrels = folder / "run.jsonl", folder / "qrels.jsonl"
    with run.open("wb") as rows, qrels.open("wb") as judgements:
        for number in range(QUERIES):
            query_id = f"query-{number:06}"
            found = draw.sample(range(DOCUMENTS), DEPTH)
            scores = sorted((draw.random() for _ in found), reverse=True)
            for rank, (document, score) in enumerate(zip(found, scores, strict=True), 1):
                row = {"query_id": query_id, "doc_id": f"document-{document:06}"}
                rows.write(orjson.dumps({**row, "score": score, "rank": rank}) + b"\n")
            others = [draw.randrange(DOCUMENTS, 2 * DOCUMENTS) for _ in range(JUDGED)]
            for document in dict.fromkeys([*draw.sample(found, JUDGED), *others]):
                row = {"query_id": query_id, "doc_id": f"document-{document:06}"}
                judgements.write(orjson.dumps({**row, "relevance": draw.randrange(4)}) + b"\n")
    return str(run), str(qrels)


def main(arguments: list[str] | None = None) -> None:
    """With the script's measures, and with the default ones, of which trec_eval lacks two."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5, help="runs of each command")
    pairs = parser.parse_args(arguments).pairs
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = write(Path(folder))
        ours = [PYTHON, "-m", "structkit", "score", run, "--qrels", qrels]
        script = [PYTHON, "-c", SCRIPT, run, qrels]
        thorough = [PYTHON, "-c", SCRIPT + INTERVALS, run, qrels]
        same = [*ours, "--measures", MEASURES]
        report(
            [
                Comparison("score, five measures / pytrec_eval script", same, script, 1.0),
                Comparison("score, its own six measures / pytrec_eval script", ours, script, 1.0),
                Comparison("pytrec_eval script with intervals / without", thorough, script, None),
            ],
            pairs,
        )


if __name__ == "__main__":
    main()
