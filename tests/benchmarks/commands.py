"""Commands beside scripts that do the minimum that any program would have to do, as processes.

A ratio is one of CPU time, or of the clock where its row says so, of runs in turn.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from textwrap import indent

import orjson

from structkit.learning.folders import model_folder
from tests.benchmarks.processes import PYTHON, STRUCTKIT, measured
from tests.benchmarks.table import Given, Race, Way, tell

LOOP = """
import sys, orjson
read = open(0, "rb", buffering=1 << 20, closefd=False)
write = open(1, "wb", buffering=1 << 20, closefd=False).write
{setup}
for line in read:
    record = orjson.loads(line)
    {work}
    write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
"""
# a command that does nothing: what is left is reading, checking, errors and writing
NOTHING = """
from structkit.records.jsonl import Stage
from structkit.records.stream import Stream
Stream().run(Stage(lambda record: record))
"""
LANGUAGES = ("python", "java", "go", "php", "javascript", "ruby")
PARSE = """
import tree_sitter, tree_sitter_{language} as grammar
parse = tree_sitter.Parser(tree_sitter.Language(grammar.{function}())).parse
"""
FILES = """
import sys
from pathlib import Path
for path in sorted(Path(sys.argv[1]).rglob("*.py")):
    parse(path.read_bytes())
"""
LXML = """
from lxml import etree
parser = etree.HTMLParser(huge_tree=True, encoding="utf-8")
def again(html):
    tree = etree.fromstring(html.encode(), parser)
    return etree.tostring(tree, method="html", encoding="unicode")
"""
PARSED = """
import sys, orjson
for path in sys.argv[1:]:
    with open(path, "rb") as lines:
        for line in lines:
            orjson.loads(line)
"""
SCORE = """
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
# lines of a run that becomes TREC's, and of one of its ranks; judgements of TREC and BEIR
TREC = """
hit = orjson.loads(line)
write(f"{hit['query_id']} Q0 {hit['doc_id']} {hit['rank']} {hit['score']!r} structkit\\n".encode())
"""
CHOSEN = """
if orjson.loads(line)["rank"] == 3:
    write(line)
"""
JUDGED = """
{cells}
record = {{"query_id": query, "doc_id": document, "relevance": int(grade)}}
write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
"""
TREC_CELLS = "query, _, document, grade = line.decode().split()"
BEIR_CELLS = 'query, document, grade = line.decode().rstrip("\\n").split("\\t")'
BEIR_TO_TREC = """
write(f"{query} 0 {document} {grade}\\n".encode())
"""
ENCODE = """
import sys
from sentence_transformers import SentenceTransformer
print(SentenceTransformer(sys.argv[1], device="cpu").encode([sys.stdin.read()]).tolist())
"""


def script(*parts: str) -> list[str]:
    return [PYTHON, "-c", "\n".join(parts)]


def loop(setup: str, work: str) -> list[str]:
    return script(LOOP.format(setup=setup, work=work))


def written(path: Path, rows: Iterable[bytes], size: int) -> Path:
    """The rows again and again, up to a number of bytes at which the start does not count."""
    with path.open("wb") as output:
        for row in cycle(rows):
            if output.tell() >= size:
                break
            output.write(row)
    return path


def lines(records: Iterable[Mapping[str, object]]) -> list[bytes]:
    return [orjson.dumps(record) + b"\n" for record in records]


def cases(folder: str, end: str) -> list[str]:
    """The inputs of our own fixtures."""
    texts = [path.read_text("utf-8") for path in sorted(Path("fixtures", folder).glob("*.txt"))]
    return [text.split("---input---\n")[1].partition(f"\n---{end}---\n")[0] for text in texts]


def functions() -> Iterator[dict[str, str]]:
    """Records with three functions of the fixtures: 700 bytes of code, the mean of real ones."""
    rows = [json.loads(row) for row in Path("fixtures/code/train.jsonl").read_text().splitlines()]
    for at in cycle(range(len(rows))):
        some = [rows[(at + step) % len(rows)] for step in (0, 7, 31)]
        yield {**some[0], "code": "\n".join(record["code"] for record in some)}


def records(given: Given, folder: Path) -> None:
    """A command that does nothing over a loop with orjson; the start of the program."""
    fixtures = [json.loads(row) for row in Path("fixtures/code/train.jsonl").open()]
    # 1.1 kB a record, as real functions with their documentation are
    padded = lines({**record, "note": "x" * 800} for record in fixtures)
    flat = written(folder / "flat.jsonl", padded, 400 * sum(map(len, padded)))
    race = Race(given, {
        "command": (script(NOTHING), flat),
        "bare": (loop("", "pass"), flat),
        "help": [*STRUCTKIT, "--help"],
        "nothing": script("pass"),
    })  # fmt: skip
    race.row("records through a command / bare orjson loop", "command", "bare", 1.45, "bare")
    race.row("structkit --help / python -c pass", "help", "nothing", 8)


def html(given: Given, folder: Path) -> None:
    """Variants over a round trip through lxml, both parsers of BeautifulSoup; two workers."""
    if given.data:
        with gzip.open(given.data / "structdoc/dev_docs.jsonl.gz", "rb") as rows:
            pages = list(islice(rows, 400))
    else:  # pages, each of which holds all our own cases that end
        texts = [case for case in cases("html", "tagged") if "never closed" not in case]
        orders = ["\n".join((texts[at:] + texts[:at]) * 4) for at in range(len(texts))]
        pages = lines({"id": str(at), "html": html} for at, html in enumerate(orders))
    source = written(folder / "docs.jsonl", pages, 12_000_000)
    command = [*STRUCTKIT, "html-variants", "-q", "--workers", "1"]
    soup = "BeautifulSoup's parse alone"
    commands = {
        "variants": command,
        "2": [*command, "--workers", "2"],
        "once": loop(LXML, 'record["html"] = again(record["html"])'),
        **{
            name: loop("from bs4 import BeautifulSoup", f'BeautifulSoup(record["html"], "{name}")')
            for name in ("lxml", "html.parser")
        },
    }
    race = Race(given, {name: (words, source) for name, words in commands.items()})
    title = "html-variants / JSONL + lxml parse and serialize"
    race.row(title, "variants", "once", 2.3, "once")
    for name in ("lxml", "html.parser"):
        race.row(f"html-variants / {soup} ({name})", "variants", name, 1 / 6)
    race.row("html-variants --workers 2 / 1", "2", "variants", 1.3, "once")


def languages(given: Given, folder: Path) -> None:
    """Masking over the parse of each language."""
    for language in LANGUAGES:
        if given.data:
            with gzip.open(given.data / "codesearch/train.jsonl.gz", "rb") as rows:
                some = [row for row in rows if orjson.loads(row)["language"] == language]
        else:
            codes = enumerate(cases(f"languages/{language}", "masked"))
            some = lines({"id": str(at), "language": language, "code": code} for at, code in codes)
        source = written(folder / f"{language}.jsonl", some, 8_000_000)
        function = "language_php_only" if language == "php" else "language"
        setup = PARSE.format(language=language, function=function)
        parse = loop(setup, 'parse(record["code"].encode())')
        mask = [*STRUCTKIT, "mask-entities", "-q", "--workers", "1"]
        race = Race(given, {"mask": (mask, source), "parse": (parse, source)})
        title = f"mask-entities, {language} / JSONL + tree-sitter parse"
        race.row(title, "mask", "parse", 2.2, "parse")


def installed(folder: Path) -> None:
    """Fill a folder with 500 files of installed Python."""
    spec = find_spec("tree_sitter")
    assert spec and spec.origin
    place = Path(spec.origin).parents[1]
    for path in islice(sorted(place.rglob("*.py")), 500):
        copy = folder / path.relative_to(place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def collect(given: Given, folder: Path) -> None:
    """Chunks and functions of installed Python over their bare parse, and over git's count."""
    installed(folder)
    chunks = [*STRUCTKIT, "collect", "-q", "--workers", "1", "--generated", str(folder)]
    functions = [*chunks, "--unit", "function"]
    parse = script(PARSE.format(language="python", function="language"), FILES)
    count = ["git", "-C", str(folder), "grep", "--no-index", "-c", "."]
    ways = {"chunks": chunks, "functions": functions, "parse": [*parse, str(folder)]}
    race = Race(given, {**ways, "count": count})
    race.row("collect / tree-sitter's bare parse", "chunks", "parse", 2.5)
    title = "collect --unit function / tree-sitter's bare parse"
    race.row(title, "functions", "parse", 2.5)
    race.row("collect / git grep -c .", "chunks", "count", 80)
    race = Race(given, {"2": [*chunks, "--workers", "2"], "1": chunks}, clock=True)
    race.row("collect --workers 2 / 1, by the clock", "2", "1", 0.62)


def rows(given: Given, folder: Path) -> None:
    """300,000 hits or judgements to and from TREC and BEIR, and one rank, over bare scripts."""
    source, draw = folder / "run.jsonl", random.Random(0)
    with source.open("wb") as output:
        for query in range(3_000):
            ranked = sorted((draw.random() for _ in range(100)), reverse=True)
            for rank, score in enumerate(ranked, 1):
                document = f"document-{draw.randrange(100_000):06}"
                hit = {"query_id": f"query-{query:06}", "doc_id": document}
                output.writelines(lines([{**hit, "score": score, "rank": rank}]))
    judged, tables = folder / "qrels.txt", folder / "test.tsv"
    with judged.open("w") as trec, tables.open("w") as beir:
        beir.write("query-id\tcorpus-id\tscore\n")
        for number in range(300_000):
            pair = f"query-{number // 100:06}", f"document-{draw.randrange(10**6):06}"
            trec.write(f"{pair[0]} 0 {pair[1]} {number % 4}\n")
            beir.write(f"{pair[0]}\t{pair[1]}\t{number % 4}\n")
    start, _, _ = LOOP.partition("for line in read:")
    skip = "next(read)"  # the header
    bare = {
        name: script(start.format(setup=""), first, "for line in read:", indent(work, "    "))
        for name, first, work in (
            ("trec", "", TREC),
            ("chosen", "", CHOSEN),
            ("of trec", "", JUDGED.format(cells=TREC_CELLS)),
            ("of beir", skip, JUDGED.format(cells=BEIR_CELLS)),
            ("beir to trec", skip, BEIR_CELLS + BEIR_TO_TREC),
        )
    }
    convert = [*STRUCTKIT, "convert", "-q"]
    qrels = ["--part", "qrels", "--from"]
    ways = {
        "trec": ([*convert, "--to", "trec"], source, "convert --to trec"),
        "of trec": ([*convert, *qrels, "trec"], judged, "convert --from trec, qrels"),
        "of beir": ([*convert, *qrels, "beir"], tables, "convert --from beir, qrels"),
        "beir to trec": ([*convert, *qrels, "beir", "--to", "trec"], tables,
                         "convert --from beir --to trec"),
        "chosen": ([*STRUCTKIT, "select", "-q", "--where", "rank=3"], source,
                   "select --where rank=3"),
    }  # fmt: skip
    for name, (command, file, title) in ways.items():
        race = Race(given, {"ours": (command, file), "bare": (bare[name], file)})
        target = None if name == "chosen" else 3
        race.row(f"{title}, 300,000 lines / a bare script", "ours", "bare", target, "bare")


def score(given: Given, folder: Path) -> None:
    """10,000 queries x 100 documents, by a bare script with pytrec_eval from the same files.

    Ours also refuses repeated documents, counts what is missing, and gives intervals.
    """
    draw, run, qrels = random.Random(0), folder / "run.jsonl", folder / "qrels.jsonl"
    with run.open("wb") as rows, qrels.open("wb") as judgements:
        for number in range(10_000):
            query = f"query-{number:06}"
            found = draw.sample(range(100_000), 100)
            scores = sorted((draw.random() for _ in found), reverse=True)
            for rank, (document, value) in enumerate(zip(found, scores, strict=True), 1):
                hit = {"query_id": query, "doc_id": f"document-{document:06}"}
                rows.writelines(lines([{**hit, "score": value, "rank": rank}]))
            others = [draw.randrange(100_000, 200_000) for _ in range(5)]
            for document in dict.fromkeys([*draw.sample(found, 5), *others]):
                pair = {"query_id": query, "doc_id": f"document-{document:06}"}
                judgements.writelines(lines([{**pair, "relevance": draw.randrange(4)}]))
    files = [str(run), str(qrels)]
    ours = [*STRUCTKIT, "score", files[0], "--qrels", files[1]]
    race = Race(given, {
        "five": [*ours, "--measures", "nDCG@10 RR R@100 Success@1 Success@5"],
        "bare": [*script(SCORE), *files],
        "read": [*script(PARSED), *files],
    })  # fmt: skip
    race.row("score, five measures / pytrec_eval script", "five", "bare", 1.2, "read")


# what runs in two workers and in one, on what, and its bytes, which take ten seconds or so;
# `pair` is cheap, and has one by itself
STAGES = {
    "mask-entities": ("code", 20_000_000),
    "html-variants": ("pages", 40_000_000),
    "parse-trees": ("sentences", 2_000_000),
    "parse-trees --parser ast": ("code", 4_000_000),
    "parse-trees --parser dom": ("pages", 4_000_000),
}
# `make bench` gives its programs one thread, users do not
AS_USERS = ["env", "-u", "OMP_NUM_THREADS"]


def workers(given: Given, folder: Path) -> None:
    """Each stage that computes in workers: `auto` over one by the clock, with a user's threads.

    `collect` has its row below its others. The first read of `ask` has its workers by itself: two
    processors over one.
    """
    tree = folder / "tree"
    installed(tree)
    pages = enumerate(text for text in cases("html", "tagged") if "never closed" not in text)
    texts = Path("fixtures/sentences/train.jsonl").read_bytes().splitlines(keepends=True)
    made = {
        "code": lines(islice(functions(), 4_000)),
        "pages": lines({"id": str(at), "html": html} for at, html in pages),
        "sentences": texts,
    }
    for name, (kind, size) in STAGES.items():
        source = written(folder / "input.jsonl", made[kind], size)
        auto = [*AS_USERS, *STRUCTKIT, *name.split(), "-q"]
        ways: dict[str, Way] = {"auto": (auto, source), "1": ([*auto, "--workers", "1"], source)}
        race = Race(given, ways, clock=True)
        race.row(f"{name} --workers auto / 1, by the clock", "auto", "1", 0.6)
    ask = [*AS_USERS, *STRUCTKIT, "ask", "-q", "--no-cache", str(tree), "parse"]
    race = Race(given, {"2": ask, "1": ["taskset", "-c", "0", *ask]}, clock=True)
    race.row("ask, first read, two processors / one", "2", "1", 0.7)


# arguments, the maximum of seconds
STARTS = {
    "encode, one text": ("encode -m minilm", 0.6),
    "search --model, one query": ("search CORPUS -m minilm", 0.6),
    "train seal --help": ("train seal --help", 0.4),
    "parse-trees, one sentence": ("parse-trees", 0.8),
    "plugins": ("plugins", 0.2),
    "ask, the next question": ("ask structkit how is a question split --cache CORPUS.ask", 0.35),
}


def start(given: Given, folder: Path) -> None:
    """CPU seconds of commands with one record, each a new process, and floors: bare imports.

    What is exported for ONNX Runtime the first time, and the cache of `ask`, are there before
    anything is measured.
    """
    corpus, text = folder / "corpus.npy", folder / "text.jsonl"
    text.write_text('{"id": "1", "text": "Green tea, two cups."}\n')
    measured([*STRUCTKIT, "encode", "-q", "-m", "minilm", "-o", str(corpus), str(text)])
    measured([*STRUCTKIT, "ask", "structkit", "words", "--cache", f"{corpus}.ask"])
    ways: dict[str, Way] = {
        name: ([*STRUCTKIT, *words.replace("CORPUS", str(corpus)).split()], text)
        for name, (words, _) in STARTS.items()
    }
    for modules in ("typer", "typer, orjson, numpy, tokenizers, onnxruntime"):
        ways[f"python -c 'import {modules}'"] = script(f"import {modules}")
    peer = [*script(ENCODE), str(model_folder("minilm"))]
    ways["sentence-transformers, one text"] = (peer, text)
    for name, found in Race(given, ways).times.items():
        highest = STARTS[name][1] if name in STARTS else None
        tell(f"CPU seconds of a process: {name}", found, highest, unit=" s")
