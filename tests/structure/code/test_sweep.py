"""Functions are found and end where they end: statement sweeps, and files of real projects."""

import pytest

from structkit.collecting.kinds import content_kind
from structkit.records.jsonl import Records
from tests.structure.code.sources import CODE
from tests.structure.code.sweep import DATA, functions, overlaps, problem, texts, unfound


def test_every_language_of_code_has_a_sweep():
    assert all(list(texts(language)) for language in CODE)


@pytest.mark.parametrize("language", CODE)
def test_functions_end_where_they_end(language):
    every = list(texts(language))
    wrong = [told for text in every if (told := problem(language, text))]
    assert len(wrong) <= 0.02 * len(every), wrong
    assert not any(overlaps(functions(language, text)) for text in every)


@pytest.mark.long
@pytest.mark.skipif(not DATA.exists(), reason="the repositories are not beside structkit")
def test_each_definition_of_real_projects_is_found():
    """But for 2 %: of methods without a body, and in strings and comments."""
    begun, missing = 0, 0
    for record in Records.read([str(DATA)]):
        language = content_kind(record["path"], record["code"]).language
        if language in CODE:
            lines, without = unfound(language, record["code"])
            begun, missing = begun + len(lines), missing + len(without)
            assert not overlaps(functions(language, record["code"])), record["id"]
    assert missing <= 0.02 * begun
