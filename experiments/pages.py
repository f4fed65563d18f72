"""Pages by their parts, and sums of runs with weights that other questions chose: `make pages`.

    python -m experiments.pages documents PARTS --best N -o RUN
    python -m experiments.pages fit RUN… --queries FILE -o FOLDER/NAME.jsonl
    python -m experiments.pages ask PAGES --queries FILE --model NAME --folder CACHE -o RUN
    python -m experiments.pages positives VECTORS ASKED SECTIONS --queries FILE -o X.qrels
    python -m experiments.pages table --folder FOLDER SCORES -o TABLE

`fit` also writes NAME+documents.jsonl and NAME+source.jsonl: the hits of each fifth of the pages,
or of each source, with weights that were fitted to the other ones. `positives` also writes
X.run: the section of each query's page that is closest to it, of a question one with a table
where there is one, and sections of other pages, from which `pair` draws.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import orjson

import structkit
from experiments.repositories import read, spent, table_row
from structkit.embeddings.reading import read_embeddings
from structkit.records.jsonl import Record
from structkit.records.output import write_records
from structkit.reproducibility import key
from structkit.scoring.runs import Run, read_run
from structkit.searching.fusion import min_max, round_to_float32, top_hits, weighted_sum
from structkit.searching.hits import run_records

ANSWERS = 30  # passages, of which ten pages or more are left
NEGATIVES = 200  # sections of other pages
MARGIN = 0.05  # they score so much lower: others may be right themselves
GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5)
SMALLEST_GAIN = 0.0005  # of a change: less is chance
ROUNDS = 4
FITTED = ("lead", "question")  # kinds; the others are judged apart
KINDS = (*FITTED, "title", "anchor")
# what is collected, by the ends of names
UNITS = {
    "pages": ("pages",),
    "sections": ("sections",),
    "rows": ("rows",),
    "passages": ("sections", "rows"),
}
# how a query is put into one of the parts for cross-validation
FOLDS: dict[str, Callable[[Record], str]] = {
    "documents": lambda query: str(key(0, query["doc_id"]) % 5),
    "source": lambda query: query["source"],
}


def documents(parts: str, best: int) -> Iterator[Record]:
    """A run of parts as one of their documents: the mean score of the best parts of each."""
    for query_id, scores in read_run(parts).items():
        of_documents = defaultdict[str, list[float]](list)
        for part, score in scores.items():
            of_documents[part.partition("#")[0]].append(score)
        means = {
            name: sum(sorted(each, reverse=True)[:best]) / best
            for name, each in of_documents.items()
        }
        yield from run_records(query_id, top_hits(round_to_float32(means), len(means)))


def ask(pages: str, queries: Sequence[Record], model: str, cache: str, output: str) -> None:
    """The answers of `ask` about a folder of the pages, and what reading the folder takes."""
    options: Record = {"cache": cache, **({"model": model} if model else {"no_model": True})}
    with tempfile.TemporaryDirectory() as folder:
        for page in read(pages):
            Path(folder, f"{page['id']}.html").write_text(page["html"], "utf-8")
        start = spent()
        list(structkit.ask(folder, ["page"], k=1, **options))
        base = output.removesuffix(".jsonl")
        write_records([{"cpu": spent() - start}], f"{base}.index.seconds")
        texts = [" ".join(query["query"].split()) for query in queries]
        best = defaultdict[str, dict[str, float]](dict)
        for hit in structkit.ask(folder, texts, k=ANSWERS, **options):
            name = Path(hit["path"]).stem
            best[hit["query_id"]].setdefault(name, hit["score"])
    found = (
        run_records(query["id"], top_hits(best[str(number)], 100))
        for number, query in enumerate(queries, 1)
    )
    write_records((record for records in found for record in records), output)


def positives(files: Sequence[str], queries: Sequence[Record], output: str) -> None:
    """Write each query's best section, by embeddings of sections and queries, and a run of it."""
    sections, asked = (read_embeddings([file]) for file in files[:2])
    pages = np.array([name.partition("#")[0] for name in sections.ids])
    with_table = {each["id"] for each in read(files[2]) if "<table" in each["html"]}
    tables = np.array([name in with_table for name in sections.ids])
    vectors = sections.vectors[:]
    run: list[Record] = []
    qrels: list[Record] = []
    for query, vector in zip(queries, asked.vectors[:], strict=True):
        scores, own = vectors @ vector, pages == query["doc_id"]
        fitting = own & tables if query["kind"] == "question" and (own & tables).any() else own
        best = int(np.where(fitting, scores, -np.inf).argmax())
        others = np.flatnonzero(~own & (scores < scores[best] - MARGIN))
        others = others[scores[others].argsort()[::-1][:NEGATIVES]]
        rows = {sections.ids[row]: float(scores[row]) for row in (best, *others)}
        run += run_records(query["id"], top_hits(rows, len(rows)))
        qrels.append({"query_id": query["id"], "doc_id": sections.ids[best], "relevance": 1})
    write_records(run, f"{output.removesuffix('qrels')}run")
    write_records(qrels, output)


class Scores:
    """The scaled scores of several runs: (runs, queries, documents), 0 where nothing was found."""

    def __init__(self, runs: Sequence[Run], queries: Sequence[Record]) -> None:
        names = sorted({name for run in runs for found in run.values() for name in found})
        place = {name: number for number, name in enumerate(names)}
        self.scores = np.zeros((len(runs), len(queries), len(names)), np.float32)
        self.relevant = np.array([place[query["doc_id"]] for query in queries])
        for run, rows in zip(runs, self.scores, strict=True):
            for query, row in zip(queries, rows, strict=True):
                for name, score in min_max(run.get(query["id"]) or {names[0]: 0.0}).items():
                    row[place[name]] = score

    def ndcg(self, weights: Sequence[float]) -> np.ndarray:
        """nDCG@10 of each query, equal scores after each other; one document is relevant."""
        total = np.tensordot(np.array(weights, np.float32), self.scores, 1)
        own = np.take_along_axis(total, self.relevant[:, None], 1)
        rank = (total >= own).sum(1)
        return np.where(rank <= 10, 1 / np.log2(rank + 1), 0.0)

    def ascend(self, chosen: np.ndarray) -> list[float]:
        """The best weights for the chosen queries, by coordinate ascent; the first is 1."""
        weights = [1.0] + [0.0] * (len(self.scores) - 1)
        best = self.ndcg(weights)[chosen].mean()
        for _ in range(ROUNDS):
            before = best
            for place in range(1, len(weights)):
                for value in GRID:
                    tried = [*weights[:place], value, *weights[place + 1 :]]
                    mean = self.ndcg(tried)[chosen].mean()
                    if mean > best + SMALLEST_GAIN:
                        best, weights = mean, tried
            if best == before:
                break
        return weights


def fit(files: Sequence[str], queries: Sequence[Record], output: Path) -> None:
    """Write the sum with the weights of all questions, and those that others chose."""
    runs = [read_run(file) for file in files]
    scores = Scores(runs, queries)
    fitted = np.array([query["kind"] in FITTED for query in queries])
    every = scores.ascend(fitted)
    report = {"runs": [Path(file).stem for file in files], "weights": every}
    write_records(sums(runs, queries, lambda _: every), str(output))
    for name, fold_of in FOLDS.items():
        folds = np.array([fold_of(query) for query in queries])
        of_fold = {str(fold): scores.ascend(fitted & (folds != fold)) for fold in np.unique(folds)}
        held_out = output.with_name(f"{output.stem}+{name}.jsonl")
        choose = lambda query, of=of_fold, fold=fold_of: of[fold(query)]  # noqa: E731
        write_records(sums(runs, queries, choose), str(held_out))
        report[name] = of_fold
    output.with_name(f"{output.stem}.weights.json").write_bytes(orjson.dumps(report))


def sums(
    runs: Sequence[Run], queries: Iterable[Record], weights: Callable[[Record], list[float]]
) -> Iterator[Record]:
    """What `fuse --method weighted` gives, with the weights of each query."""
    for query in queries:
        found = [
            (run[query["id"]], weight)
            for run, weight in zip(runs, weights(query), strict=True)
            if query["id"] in run and weight
        ]
        total = weighted_sum(found, min_max)
        yield from run_records(query["id"], top_hits(round_to_float32(total), 100))


def table(folder: str, scores: str) -> Iterator[str]:
    """Lines of Markdown: a row for each system, with what its index takes."""
    values: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in read(scores):
        values[record["run"]][record.get("kind") or record["part"]] = record
    yield f"| system | lead and question | {' | '.join(KINDS)} | index s | index MB |"
    yield f"| --- | --- |{' ---: |' * (len(KINDS) + 2)}"
    for system, of in values.items():
        yield table_row(system, of["asked"], (of[kind] for kind in KINDS), costs(folder, system))
    yield ""
    counts = ", ".join(f"{next(iter(values.values()))[kind]['queries']} {kind}" for kind in KINDS)
    yield (
        f"nDCG@10 over pages, with 95 % bootstrap intervals; queries: {counts}. `+documents` and "
        "`+source`: weights fitted to leads and questions of the other fifths of the pages, or of "
        "the other sources; a sum alone: fitted to what it is judged by. CPU seconds and bytes of "
        "the indexes of a system, each command with its start."
    )
    yield ""
    for system in values:
        if (file := Path(folder, f"{system}.weights.json")).exists():
            found = orjson.loads(file.read_bytes())
            pairs = zip(found["runs"], found["weights"], strict=True)
            told = [f"{name} {weight:g}" for name, weight in pairs if weight]
            yield f"- {system}: {', '.join(told)}"


def costs(folder: str, system: str) -> tuple[str, str]:
    """CPU seconds and megabytes of the indexes whose runs a system sums."""
    weights = Path(folder, f"{system.partition('+')[0]}.weights.json")
    runs = [system]
    if weights.exists():
        found = orjson.loads(weights.read_bytes())
        runs = [run for run, each in zip(found["runs"], found["weights"], strict=True) if each]
    seconds, size = 0.0, 0
    runs = [run.partition("+")[0] for run in runs]
    units = {unit for run in runs for unit in UNITS.get(run.partition("-")[2], ())}
    for step in [*units, *(f"{run}.index" for run in runs)]:
        seconds += read(Path(folder, f"{step}.seconds"))[0]["cpu"]
    for run in runs:
        index = Path(folder, f"{run}.index")
        files = index.iterdir() if index.is_dir() else [index.with_suffix(".npy")]
        size += sum(file.stat().st_size for file in files)
    return f"{seconds:.1f}", f"{size / 1e6:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="pages")
    parser.add_argument("action", choices=("ask", "documents", "fit", "positives", "table"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--best", type=int, default=1)
    for flag in ("--queries", "--folder", "--model", "-o"):
        parser.add_argument(flag, default="")
    options = parser.parse_intermixed_args()
    if options.action == "documents":
        write_records(documents(options.files[0], options.best), options.o)
    elif options.action == "ask":
        queries = read(options.queries)
        ask(options.files[0], queries, options.model, options.folder, options.o)
    elif options.action == "positives":
        positives(options.files, read(options.queries), options.o)
    elif options.action == "fit":
        fit(options.files, read(options.queries), Path(options.o))
    else:
        lines = table(options.folder, options.files[0])
        Path(options.o).write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
