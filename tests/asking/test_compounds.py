"""Words that a question writes apart are found where they are written together."""

import pytest

from structkit import ask


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("when is the time condition met", "meets_timecondition"),
        ("what runs pre-transfer", "pretransfer"),
        ("where is the file system mounted", "FilesystemMount"),
        ("JsonProperty attribute", "jsonpropertyattribute"),
        ("compare a host name", "HOSTNAME_EQUAL"),
    ],
)
def test_two_words_of_a_question_are_one_in_code(tmp_path, question, name):
    others = ("condition", "transfer", "system", "property", "name")
    for number, other in enumerate(others):
        text = f"# the {other} of this file\nvalue_{number} = {number}\n"
        (tmp_path / f"a{number}.py").write_text(text)
    (tmp_path / "z.py").write_text(f"def {name}():\n    return 9\n")
    found = ask(tmp_path, [question], no_cache=True, no_model=True)
    assert name in [each for answer in found for each in answer.get("names", ())][:2]


def test_words_that_questions_consist_of_are_not_joined(tmp_path):
    (tmp_path / "a.py").write_text("howdoes = whereis = ofthe = 1\n")
    asked = ["how does it", "where is it", "part of the"]
    assert [] == list(ask(tmp_path, asked, no_cache=True, no_model=True))
