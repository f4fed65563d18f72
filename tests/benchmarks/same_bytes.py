"""Whether an older commit wrote the same: python -m tests.benchmarks.same_bytes --commit OLD.

Runs the record stages, search, ranking and scores on the first 2,000 records of each set of
`--data`, with the working tree and with a copy of the other commit, and prints each line whose
output differs in a byte, its status or its messages told beside it. What a line needs of another
is made by the working tree, once, so that a difference shows where it is made.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson

from tests.benchmarks.mutants import copied

CODE = ("codesearch-train", "codesearch-dev", "codesearch-dev_adv_python", "cosqa-corpus")
PRODUCTS = (
    "products-matching-products", "products-amazon_gift_cards-products",
    "products-matching-query_side_products_train",
)  # fmt: skip
PAGES = ("structdoc-train_docs-00", "structdoc-train_docs-01", "structdoc-dev_docs")
RAW = "structdoc-raw_samples"
TEXTS = ("wikitext-wiki_sentences_train", "wikitext-extra_sentences_train")
TREES = ("trees-gum_train", "trees-ptb_sample_train", "wikitext2_parsed", "strae_eval_parsed")
# what lines below read, made once
MADE = {
    "qrels": "sed 's/\"id\"/\"query_id\"/;s/\"label\"/\"relevance\"/' cosqa-retrieval_dev",
    "run": "structkit search cosqa-corpus --method bm25 --queries cosqa-retrieval_dev -k 50",
    "pages-run": "structkit search structdoc-dev_docs --method bm25 --queries asked -k 20",
    "pages-qrels": "sed 's/{\"id\"/{\"relevance\": 1, \"query_id\"/' structdoc-dev_queries",
    "pairs": "structkit pair codesearch-train",
}  # fmt: skip


def lines() -> Iterator[str]:
    """Commands that both commits know."""
    for name in CODE:
        yield f"structkit mask-entities {name}"
        yield f"structkit mask-entities --strategy span --seed 3 {name}"
        yield f"structkit parse-trees --parser ast {name}"
        yield f"structkit pair {name}"
        yield f"structkit select --sample 300 {name}"
    for name in PRODUCTS:
        yield f"structkit mask-entities --profile official --on-error skip {name}"
        yield f"structkit mask-entities --keep-plain {name}"
        yield f"structkit pair --on-error skip {name}"
    for name in (*PAGES, RAW):
        field = " --field raw_html" if name == RAW else ""
        yield f"structkit html-variants{field} {name}"
        yield f"structkit html-variants --seed 7{field} {name}"
        yield f"structkit parse-trees --parser dom{field} {name}"
    for name in TEXTS:
        for parser in ("right-branching", "balanced", "builtin"):
            yield f"structkit parse-trees --parser {parser} {name}"
    for name in TREES:
        yield f"structkit parse-trees --parser brackets {name}"
        yield f"structkit convert --to ptb {name}"
    yield "structkit select --where language=go codesearch-train"
    yield "structkit collect repositories"
    yield "structkit collect repositories --unit file"
    yield "structkit search cosqa-corpus --method bm25 --queries cosqa-retrieval_dev -k 20"
    yield "structkit search structdoc-dev_docs --method bm25 --queries asked -k 20"
    yield "structkit fuse run --method rrf run -k 10"
    yield "structkit rerank run --for code --corpus cosqa-corpus --queries cosqa-retrieval_dev"
    yield "structkit score run --qrels qrels"
    yield "structkit score pages-run --qrels pages-qrels --per-query"
    yield "structkit convert --to trec run"
    for form in ("flagembedding", "sentence-transformers"):
        yield f"structkit convert --to {form} pairs"
    yield "structkit ask repositories 'read a configuration file' --no-model -k 20"


def cut(data: Path, folder: Path, most: int) -> None:
    """The first records of each set, named by its path, and the files of a repository."""
    for path in data.rglob("*.jsonl.gz"):
        name = "-".join(path.relative_to(data).parts).removesuffix(".jsonl.gz")
        with gzip.open(path) as file:
            (folder / name).write_bytes(b"".join(itertools.islice(file, most)))


def output(python: str, line: str, folder: Path, cache: Path) -> tuple[bytes, int, str]:
    """What a line writes, its status and its messages."""
    shell = f'structkit() {{ "{python}" -P -m structkit "$@"; }}\n{line}'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", shell],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80", "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
    )
    return done.stdout, done.returncode, done.stderr.decode(errors="replace").strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--most", type=int, default=2_000)
    parser.add_argument("--only", default="", help="lines that hold this")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="same-bytes") as name:
        place, folder = Path(name, "other"), Path(name, "data")
        place.mkdir()
        folder.mkdir()
        other = copied(given.commit, place)
        cut(given.data, folder, given.most)
        (folder / "asked").symlink_to("structdoc-dev_queries")
        (folder / "repositories").mkdir()
        files = gzip.open(given.data / "repositories/files.jsonl.gz")
        for record in map(orjson.loads, itertools.islice(files, given.most)):
            path = folder / "repositories" / record["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(record["code"], "utf-8")
        for made, line in MADE.items():
            written, status, told = output(sys.executable, line, folder, Path(name, "now"))
            assert 0 == status, f"{line}: {told}"
            (folder / made).write_bytes(written)

        def compared(line: str) -> tuple[str, list[tuple[bytes, int, str]]]:
            both = zip((other, sys.executable), ("before", "now"), strict=True)
            return line, [output(python, line, folder, Path(name, when)) for python, when in both]

        count = different = 0
        with ThreadPoolExecutor(2) as pool:
            for line, (before, now) in pool.map(
                compared, (line for line in lines() if given.only in line)
            ):
                count += 1
                same = before[:2] == now[:2]
                different += not same
                size = f"{len(now[0]):,} bytes, status {now[1]}"
                print("same  " if same else "DIFFER", line, f"({size})", flush=True)
                if not same or now[1]:
                    print(f"    before: {len(before[0]):,} bytes, status {before[1]}, {before[2]}")
                    print(f"    now: {now[2]}")
    print(f"{different} of {count} lines differ from those of {given.commit}")
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main())
