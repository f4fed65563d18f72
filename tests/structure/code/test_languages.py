"""Golden cases of every language: the folder of a case names the plugin that reads it."""

import json

import pytest

from structkit import mask_entities
from structkit.registry import load
from structkit.structure.code.grammar import keywords_of
from tests.sentinels import unmask
from tests.structure.code.sources import CODE, cases, files

CASES = files("*.txt")  # one text
RECORDS = files("*.json")  # a record with all that its language reads


def name(path):
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", CASES, ids=name)
def test_golden(path, golden):
    text = path.read_bytes().decode().split("---input---\n")[1].split("\n---masked---\n")[0]
    record = {"id": path.stem, "language": path.parent.name, "code": text}
    [made] = mask_entities([record])
    assert unmask(made["masked"], made["entities"]) == text
    golden(
        path,
        f"---input---\n{text}\n---masked---\n{made['masked']}\n---target---\n{made['target']}\n",
    )


@pytest.mark.parametrize("path", RECORDS, ids=name)
def test_golden_record(path, golden):
    case = json.loads(path.read_text("utf-8"))
    for expected in ("masked", "target", "entities"):
        case.pop(expected, None)
    [made] = mask_entities([{**case, "id": path.stem, "language": path.parent.name}])
    assert unmask(made["masked"], made["entities"]) in case.values()
    expected = {**case, **{field: made[field] for field in ("masked", "target", "entities")}}
    golden(path, json.dumps(expected, ensure_ascii=False, indent=2) + "\n")


@pytest.mark.parametrize(("language", "text", "names"), cases("keywords"))
def test_a_keyword_is_no_name(language, text, names):
    spans = load("language", language)().names(text)
    assert names == " ".join(text[start:end] for start, end in spans)


# the words of each grammar's table that are names in other places, or of no code
SOFT = {language: words for language, words, _ in cases("soft-keywords")}


@pytest.mark.parametrize("language", CODE)
def test_the_keywords_of_each_grammar_are_known(language):
    plugin = load("language", language)
    known = {*plugin.grammar.reserved, *plugin.outline.keywords}
    assert {*SOFT.get(language, "").split()} == keywords_of(plugin.grammar.pointer) - known
