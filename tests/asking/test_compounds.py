"""Words are found where they are written together, apart, or shortened."""

import pytest

from structkit import ask


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("when is the time condition met", "meets_timecondition"),
        ("where is the file system mounted", "FilesystemMount"),
        ("JsonProperty attribute", "jsonpropertyattribute"),
        ("compare a host name", "HOSTNAME_EQUAL"),
        ("add a plug-in to the system", "plugins"),
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


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("pretransfer", "what happens before it: pre-transfer steps"),
        ("meets_timecondition", "whether a time condition is met"),
        ("JsonPropertyAttribute", "the JsonProperty attribute"),
        ("filename", "FILE_NAME = 1"),
        ("implementations", "impls = []"),
        ("impls", "the implementation of it"),
        ("utils", "a utility"),
        ("configure", "conf = 1"),
        ("repo", "repositories = []"),
    ],
)
def test_a_word_is_found_in_other_forms(tmp_path, question, text):
    for number, other in enumerate(("transfer", "condition", "json", "name", "im", "con", "rep")):
        (tmp_path / f"a{number}.md").write_text(f"The {other} of this file has no {number}.\n")
        (tmp_path / f"b{number}.py").write_text(f"# the {other} of this file\n{other} = 1\n")
    (tmp_path / "z.py").write_text(f"# {text}\n" if " " in text else f"{text}\n")
    first, *_ = ask(tmp_path, [question], no_cache=True, no_model=True)
    assert (tmp_path / "z.py").as_posix() == first["path"]


def test_an_abbreviation_counts_less_than_the_word_itself(tmp_path):
    for name in ("implementation", "impl", "impact"):
        (tmp_path / f"{name[:4]}-{len(name)}.py").write_text(f"# the {name} of it\nx = 1\n")
    found = ask(tmp_path, ["implementation"], no_cache=True, no_model=True)
    assert ["impl-14.py", "impl-4.py"] == [each["path"].split("/")[-1] for each in found]


@pytest.mark.parametrize("nonsense", ["zzzqqq xxyyzz", "blorf", "quuxes", "abcdefg"])
def test_three_letters_of_nonsense_are_no_word(tmp_path, nonsense):
    (tmp_path / "a.py").write_text("zzz = xxy = blo = quu = abc = 1\n")
    assert [] == list(ask(tmp_path, [nonsense], no_cache=True, no_model=True))
