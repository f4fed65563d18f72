"""Chance: how close passages come to questions that mean nothing, in numbers worked by hand."""

import numpy as np
import pytest

import structkit
from structkit.asking.answers import fuse
from structkit.asking.cache import (
    IndexedFile,
    Segment,
    Segments,
    Target,
    open_store,
)
from structkit.asking.folder import Folder
from structkit.asking.meaning import (
    NONSENSE_QUESTIONS,
    ROW_SEGMENTS,
    Chance,
    MaxsimScorer,
    nonsense,
)
from structkit.collecting.walking import Walk, WalkOptions
from structkit.embeddings.vectors import Int8Rows, quantize
from structkit.learning.encoding.encoding import Encoding, of_side
from structkit.learning.encoding.settings import EncodingSettings
from structkit.records.fields import document_text
from tests.learning.encoders.zoo import rows_folder


def int8(*rows):
    """Rows of two dimensions as codes."""
    return Int8Rows(*quantize(np.array(rows, np.float32).reshape(-1, 2), "int8"))


def test_standard_scores_by_hand():
    # a question along the first axis, another along the second
    chance = Chance.of(int8([1, 0], [0.6, 0.8], [0, 0]), np.eye(2, dtype=np.float32))
    near = {"abs": 0.005}  # codes have 8 bits
    assert [0.5, 0.5, 0.7, 0.1, 0.0, 0.0] == pytest.approx(chance.moments.ravel().tolist(), **near)
    assert pytest.approx(1.0) == chance.threshold  # each question is one deviation above some mean
    # the second passage is as close as the first, and unlike it never was; an empty one never is
    assert [False, True, False] == chance.exceeds(np.array([0.9, 0.9, 9.0])).tolist()


@pytest.mark.parametrize("gone", [[], [0], [1], [2], [0, 1], [1, 2], [0, 1, 2]])
def test_joined_segments_have_the_rows_of_the_wanted_files(gone):
    rows = np.random.default_rng(0).normal(size=(3, 20, 2))
    some = [
        Segment([IndexedFile(name, "", 20)], int8(*own))
        for name, own in zip("abc", rows, strict=True)
    ]
    kept = [at for at in range(3) if at not in gone]
    wanted = [some[at].files[0] for at in kept]
    before = Segments(ROW_SEGMENTS, [some[0].files[0], some[1].files[0]], some[:2])
    found = Int8Rows.merge(before.update(wanted, some[2]).numbered)
    assert int8(*rows[kept]).codes.tolist() == found.codes.tolist()


def test_nonsense_is_always_the_same():
    questions = nonsense(NONSENSE_QUESTIONS)
    assert questions == nonsense(NONSENSE_QUESTIONS)
    assert NONSENSE_QUESTIONS == len(set(questions))
    assert {1, 2, 3, 4, 5, 6} == {len(question.split()) for question in questions}


@pytest.mark.long
@pytest.mark.parametrize("model", ["minilm", "table"])
def test_what_chance_finds_is_no_answer(model, tmp_path, capsys):
    if model == "table":  # of the words of some functions
        code = "fixtures/code/functions.jsonl"
        model = structkit.train(
            "static", code, dimensions=64, output=tmp_path / "table", quiet=True
        )["folder"]
    asked = ["zzzqqq xxyyzz", "qwertz", "radius", "surface of a disc"]
    found = structkit.ask("fixtures/collect/src", asked, k=5, model=model, no_cache=True)
    paths = {question: set() for question in asked}
    for record in found:
        paths[record["query"]].add(record["path"])
    assert not paths["zzzqqq xxyyzz"] | paths["qwertz"]
    assert paths["radius"]
    told = capsys.readouterr().err
    for question in asked[:2]:
        why = "none of its words occurs, and no passage matches it better than random text"
        assert f'fixtures/collect/src: nothing answers "{question}": {why}; ask in' in told
    if model == "minilm":  # which knows that without a word of it
        assert "fixtures/collect/src/shapes.py" in paths["surface of a disc"]


def test_random_words_find_nothing_in_a_small_folder_and_paraphrases_do(tmp_path):
    code = {"clean": "import os\n\n\ndef erase(path):\n    os.unlink(path)\n"}
    code["wait"] = "import time\n\n\ndef pause(seconds):\n    time.sleep(seconds)\n"
    for name, text in code.items():
        (tmp_path / f"{name}.py").write_text(text)
    letters = ["zzzqqq xxyyzz", "blorf quux snarg", "vvkw", *nonsense(60)[20:]]
    found = structkit.ask(tmp_path, ["delete files", *letters], k=1, no_cache=True)
    questions = {answer["query_id"] for answer in found}
    assert "1" in questions
    assert len(questions) <= 2  # one in 43


@pytest.fixture(scope="module")
def rows_model(tmp_path_factory):
    """A model that has embeddings of tokens, and none of a whole text."""
    return str(rows_folder(tmp_path_factory.mktemp("models") / "rows"))


def test_rows_are_of_the_best_passages_and_are_kept(rows_model, tmp_path):
    for name, word in zip("xDE", "bxa", strict=True):
        (tmp_path / f"{name}.md").write_text(f"# T\n\n{name} {word} a b.\n")
    settings = EncodingSettings(model=rows_model, field=("text",))
    made = {side: Encoding(of_side(settings, side)) for side in ("query", "document")}
    read = list[str]()  # texts of documents

    def embedded(records, encode=made["document"].embedded):
        read.extend(each["text"] for each in records)
        return encode(records)

    def rows(text, side):
        return next(made[side].embedded([{"id": "1", "text": text}]))[1]

    with open_store(None) as store:
        folder = Folder.read(store, Target.of(str(tmp_path)), Walk(WalkOptions()))
        texts = {n: document_text(each) for n, each in folder.records([0, 2]).items()}
        products = {n: rows("a b", "query") @ rows(text, "document").T for n, text in texts.items()}
        expected = [products[n].max(axis=1).sum() if n in products else 0 for n in range(3)]
        made["document"].embedded = embedded
        for _ in range(2):
            # the words find two passages, the meaning one of them
            first = fuse(folder, np.array([1.0, 0, 2]), np.array([0, 0, 1.0]), 9, 0.5)
            scores = MaxsimScorer(folder, made.__getitem__).scores("a b", *first)
            np.testing.assert_allclose(scores, expected, atol=2e-3)
            assert {*texts.values()} == {*read} and 2 == len(read)


@pytest.mark.parametrize("like", [False, True])
def test_ask_with_rows_gives_the_same_from_its_cache_and_an_open_model(rows_model, tmp_path, like):
    code, cache = "fixtures/collect/src", str(tmp_path / "cache")
    wanted = {"like": f"{code}/shapes.py:4"} if like else {"questions": ["area of a circle"]}

    def ask(model, **values):
        return list(structkit.ask(code, k=50, **wanted, model=model, **{"cache": cache, **values}))

    first = ask(rows_model)
    assert first == ask(rows_model) == ask(rows_model, no_cache=True)
    assert first == ask(structkit.load(rows_model))
    table = ask("builtin")
    assert {each["doc_id"] for each in table} == {each["doc_id"] for each in first}
    assert [each["score"] for each in table] != [each["score"] for each in first]
