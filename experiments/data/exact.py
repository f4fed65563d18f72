"""The sets whose tables anybody can repeat, from git alone: the same bytes as we measured with."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.data.git import File, Repository

Record = dict[str, Any]
LANGUAGES = {
    **{"py": "python", "js": "javascript", "mjs": "javascript", "jsx": "javascript", "go": "go"},
    **{"java": "java", "php": "php", "rb": "ruby", "rs": "rust", "ts": "typescript"},
    **{"tsx": "typescript", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp"},
    **{"hh": "cpp", "cs": "csharp"},
}
LARGEST = 1_000_000  # bytes of a file of a checkout
LOOKED_AT = 8_000  # bytes of a file in which a zero byte says that it is no text, as in git
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? ")


@dataclass(frozen=True)
class Order:
    """A set that is to be made: what `sets.yaml` says about it, and the folders."""

    name: str
    set: Record
    beside: Path  # the folder of sets.yaml
    data: Path
    mirror: Path | None

    @property
    def folder(self) -> Path:
        """Where its files go."""
        return self.data / self.name

    def repository(self, source: Record) -> Repository:
        """Fetch a source: `github` at `revision`, or at several."""
        found = Repository(source["github"], self.data / "git", self.mirror)
        found.fetch(*source.get("revisions", [source.get("revision")]))
        return found

    def own(self, name: str) -> bytes:
        """Read a file of the project that is part of the set."""
        return (self.beside / name).read_bytes()


def lines(records: Iterable[Record]) -> bytes:
    """Return records as JSON Lines."""
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode()


def repositories(order: Order) -> Iterator[tuple[str, bytes]]:
    """Yield semble's questions, labels, and the source files that they are about."""
    labels = order.set["annotations"]
    questions, qrels, files = list[Record](), list[Record](), list[Record]()
    semble = order.repository(labels)
    for name, source in order.set["codebases"].items():
        own = semble.read(labels["revision"], f"{labels['folder']}/{name}.json")
        for number, each in enumerate(json.loads(own), 1):
            question = {"id": f"{name}-{number:03}", "repository": name}
            question["language"] = source["language"]
            questions.append(question | {key: each[key] for key in ("category", "query")})
            for relevance, key in ((2, "relevant"), (1, "secondary")):
                for target in each.get(key, []):
                    place = target if isinstance(target, dict) else {"path": target}
                    label = {"query_id": question["id"], "doc_id": f"{name}/{place['path']}"}
                    span = {key: place[key] for key in ("start_line", "end_line") if key in place}
                    qrels.append({**label, "relevance": relevance, **span})
        files += source_files(name, source, order.repository(source))
    yield "queries.jsonl.gz", lines(questions)
    yield "qrels.jsonl.gz", lines(qrels)
    yield "files.jsonl.gz", lines(files)
    yield "published.json", order.own("published.json")


def source_files(name: str, source: Record, repository: Repository) -> Iterator[Record]:
    """Yield the files below the folder that semble searches, in a known language."""
    listed = repository.files(source["revision"], source.get("root", ""))
    known = [each for each in listed if each.path.rpartition(".")[2] in LANGUAGES]
    for each, content in zip(known, repository.contents(known), strict=True):
        text = content.decode("utf-8", "replace").removeprefix("\ufeff")
        code = text.replace("\r\n", "\n").replace("\r", "\n")
        if code.strip():
            language = LANGUAGES[each.path.rpartition(".")[2]]
            about = {"id": f"{name}/{each.path}", "repository": name, "language": language}
            yield {**about, "path": each.path, "code": code}


def checkouts(order: Order) -> Iterator[tuple[str, bytes]]:
    """Yield an archive of each repository, with its text files of up to 1 MB."""
    for name, source in order.set["codebases"].items():
        repository = order.repository(source)
        files = repository.files(source["revision"])
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for each, content in zip(files, repository.contents(files), strict=True):
                if len(content) <= LARGEST and b"\0" not in content[:LOOKED_AT]:
                    member = tarfile.TarInfo(f"{name}/{each.path}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        yield f"{name}{order.set.get('ending', '.tar.xz')}", packed.getvalue()
    for name, source in order.set.get("own", {}).items():
        yield name, order.own(source)


def pages(order: Order) -> Iterator[tuple[str, bytes]]:
    """Yield the pages of each manual whose paths match its pattern."""
    for name, source in order.set["codebases"].items():
        repository = order.repository(source)
        listed = repository.files(source["revision"], source.get("root", ""))
        chosen = [each for each in listed if re.search(source["pages"], each.path)]
        records = list[Record]()
        for each, content in zip(chosen, repository.contents(chosen), strict=True):
            # a page may be named after its language and encoding, too
            path = re.sub(r"(?<=\.html)\..*", "", each.path)
            records.append({"id": path, "path": path, "html": content.decode("utf-8", "replace")})
        yield f"{name}.jsonl.gz", lines(records)


def localization(order: Order) -> Iterator[tuple[str, bytes]]:
    """Yield SWE-bench Lite's reports of some projects, and the Python files at each commit."""
    instances = order.set["instances"]
    found = order.repository(instances).read(instances["revision"], instances["file"])
    reports = [json.loads(line) for line in found.splitlines()]
    issues = [
        issue(each["instance_id"], each["meta_data"])
        for each in reports
        if each["meta_data"]["repo"] in order.set["projects"]
    ]
    yield "issues.jsonl.xz", lines(issues)
    trees, repositories_by_name = [], dict[str, Repository]()
    for project in order.set["projects"]:
        revisions = [each["commit"] for each in issues if each["repository"] == project]
        source = {"github": project, "revisions": revisions}
        repositories_by_name[project] = order.repository(source)
    for each in issues:
        listed = repositories_by_name[each["repository"]].files(each["commit"])
        files = {file.path: file.blob for file in listed if file.path.endswith(".py")}
        about = {"commit": each["commit"], "files": files, "repository": each["repository"]}
        trees.append(about)
    yield "trees.jsonl.xz", lines(trees)
    yield "blobs.jsonl.xz", lines(blobs(trees, repositories_by_name))


def issue(name: str, about: Record) -> Record:
    """Return a report, and the lines of the files that its repair changed."""
    files, hunks = [], []
    for line in about["patch"].splitlines():
        if line.startswith("--- "):
            files.append(line.removeprefix("--- a/"))
        elif hunk := HUNK.match(line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            hunks.append([files[-1], first, first + count - 1])
    text = about["problem_statement"].replace("\r\n", "\n")
    return {
        **{"commit": about["base_commit"], "files": files, "hunks": hunks, "id": name},
        **{"repository": about["repo"], "text": text, "title": text.partition("\n")[0]},
    }


def blobs(trees: Iterable[Record], repositories: dict[str, Repository]) -> Iterator[Record]:
    """Yield the text of each file once; versions of a path follow each other, which packs well."""
    paths = {(e["repository"], blob): path for e in trees for path, blob in e["files"].items()}
    placed = sorted((project, path, blob) for (project, blob), path in paths.items())
    for project, repository in repositories.items():
        own = [File(path, blob) for name, path, blob in placed if name == project]
        for each, content in zip(own, repository.contents(own), strict=True):
            yield {"sha": each.blob, "text": content.decode("utf-8", "replace")}


def cosqa(order: Order) -> Iterator[tuple[str, bytes]]:
    """Yield CoSQA's functions, and the questions of its development set."""
    source = order.set["source"]
    repository = order.repository(source)
    functions = json.loads(repository.read(source["revision"], source["functions"]))
    yield (
        "corpus.jsonl.gz",
        lines(
            {"id": f"cosqa-code-{number:05}", "language": "python", "code": code}
            for code, number in functions.items()
        ),
    )
    asked = json.loads(repository.read(source["revision"], source["questions"]))
    yield (
        "retrieval_dev.jsonl.gz",
        lines(
            {"id": each["idx"], "query": each["doc"]}
            | {"doc_id": f"cosqa-code-{each['retrieval_idx']:05}", "label": each["label"]}
            for each in asked
        ),
    )
