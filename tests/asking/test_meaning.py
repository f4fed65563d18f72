"""Chance: how close passages come to questions that mean nothing, in numbers worked by hand."""

import numpy as np
import pytest

import structkit
from structkit.asking.meaning import NONSENSE, Chance, nonsense


class Given:
    """An encoding of questions with given vectors."""

    def __init__(self, *vectors):
        self.vectors = np.array(vectors, np.float32)

    def embedded(self, records, source=None):
        questions = list(records)
        assert NONSENSE == len(questions)
        yield [], np.resize(self.vectors, (len(questions), self.vectors.shape[1]))

    def meta(self):
        return {}


def test_standard_scores_by_hand():
    # half of the questions along the first axis, half along the second, whatever their lengths
    passages = np.array([[1, 0], [0.6, 0.8], [0, 0]], np.float32)
    chance = Chance.of(passages, Given([3, 0], [0, 0.5]))
    assert [0.5, 0.7, 0.0] == pytest.approx(chance.means.tolist())
    assert [0.5, 0.1, 0.0] == pytest.approx(chance.deviations.tolist())
    assert pytest.approx(1.0) == chance.least  # each question is one deviation above some mean
    again = Chance.read(chance.data())
    # the second passage is as close as the first, and unlike it never was; an empty one never is
    assert [False, True, False] == again.exceeds(np.array([0.9, 0.9, 9.0])).tolist()
    assert chance.least == again.least


def test_nonsense_is_always_the_same():
    questions = nonsense(NONSENSE)
    assert questions == nonsense(NONSENSE)
    assert NONSENSE == len(set(questions))
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
