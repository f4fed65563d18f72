"""Products: nouns of title and description, byte for byte, with and without NLTK's data."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tag.perceptron import PerceptronTagger

from structkit import mask_entities
from structkit.errors import UserError
from structkit.records.jsonl import Records
from structkit.structure.html.markup import tags, visible_text
from tests.cli.complaints import complaint
from tests.sentinels import unmask

product = import_module("structkit_plugins.languages.product")
DATA = Path("../shared/data/products")
SHOPS = ("amazon_gift_cards", "matching")
# products of our own; where the data is beside structkit, of shops too
REAL = [
    Path("fixtures/products/products.jsonl"),
    *(path for path in DATA.glob("*/products.jsonl.gz") if path.parent.name in SHOPS),
]


def masked(title, description, **fields):
    options = {name: fields.pop(name) for name in ("tagger", "profile") if name in fields}
    record = {"id": "1", "language": "product", "title": title, "description": description}
    [made] = mask_entities([{**record, **fields}], **options)
    return made


def words(text):
    return [text[start:end] for start, end in product.tokens(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop. Buy!", ["Do", "n't", "stop", ".", "Buy", "!"]),
        ("the U.S. and e.g. Inc. end.", "the|U.S.|and|e.g.|Inc|.|end|.".split("|")),
        ("wait... what", ["wait", "...", "what"]),
        ('24" x 5\' "a"', ["24", '"', "x", "5", "'", '"', "a", '"']),
        ("it’s ``a'' ''b", ["it", "’s", "``", "a", "''", "''", "b"]),
        ("<p>a</p>&nbsp;b", ["a", "b"]),
        ("", []),
        (" \n", []),
    ],
)
def test_tokens(text, expected):
    found = words(text)
    # two signs of one quote may come as one token or as two
    assert "".join(found) == "".join(expected)
    assert [word for word in found if word.isalnum()] == [w for w in expected if w.isalnum()]


@given(st.text(alphabet="aB.'\"`’“”<>/&;=- \n!é\U0001f600cannot", max_size=40))
def test_unmask_undoes_mask_and_no_tag_is_touched(text):
    title = "a B cannot é aB"
    try:
        made = masked(title, text)
    except UserError as error:
        assert "no entity" in str(error)
        return
    assert unmask(made["masked"], made["entities"]) == text
    folded = {title[start:end].casefold() for start, end in product.tokens(title)}
    assert {entity.casefold() for entity in made["entities"]} <= folded
    spans = product.Language().entities(text, {"title": title})
    markup = [(tag.start, tag.end) for tag in tags(text)]
    assert not [s for s in spans for m in markup if s[0] < m[1] and m[0] < s[1]]


@given(st.text(alphabet="ab<>/!-\"'=&; scriptle", max_size=50))
def test_visible_moves_nothing(text):
    plain = visible_text(text)
    assert len(plain) == len(text)
    assert all(p == t or p in " _" for p, t in zip(plain, text, strict=True))
    covered = [number for tag in tags(text) for number in range(tag.start, tag.end)]
    assert covered == sorted(set(covered))
    assert all(plain[number] == " " for number in covered)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"description": "x"}, 'field "title" is missing; entities of a product are nouns'),
        ({"title": "x"}, 'field "description" is missing; the record has: id, language, title'),
        ({"title": "x", "description": "x", "tags": [["x", 1]]}, "not a list of [word, tag]"),
        ({"title": "x", "description": "<x>", "tags": [["x", "NN"]]}, "word 1, 'x', is not in"),
    ],
)
def test_rejected(fields, reason):
    with pytest.raises(UserError) as error:
        list(mask_entities([{"id": "1", "language": "product", **fields}]))
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--language", "product", "--types"), "the language product takes no --types; leave it"),
        (("--language", "html", "--tagger", "nltk"), "the language html takes no --tagger"),
    ],
)
def test_flags_that_a_language_has_not(run, flags, reason):
    assert reason in complaint(run("mask-entities", *flags), 2)


@pytest.mark.long
def test_missing_data_names_the_command_that_installs_it(run, tmp_path):
    row = b'{"title":"Cup","description":"A cup.","language":"product"}\n'
    environment = {"NLTK_DATA": str(tmp_path), "HOME": str(tmp_path)}
    flags = ("--tagger", "nltk", "--on-error", "skip", "--workers", "2")
    done = run("mask-entities", *flags, input=row * 3, env=environment)
    assert (2, 1) == (done.returncode, done.stderr.count(b"\n"))
    assert b"`python -m nltk.downloader averaged_perceptron_tagger_eng`" in done.stderr
    assert 0 == run("mask-entities", input=row, env=environment).returncode


@pytest.fixture
def nltk_data(tmp_path):
    """A folder of NLTK's data with a small tagger of our own where NLTK's is looked for."""
    words = "Acme/NNP Drill/NNP The/DT acme/NN tool/NN by/IN Bosch/NNP ;/: a/DT cable/NN ./."
    sentence = [tuple(word.rsplit("/", 1)) for word in words.split()]
    tagger = PerceptronTagger(load=False)
    tagger.train([sentence[:2], sentence[2:]] * 9, nr_iter=9)
    folder = tmp_path / "nltk_data" / "taggers" / "averaged_perceptron_tagger_eng"
    folder.mkdir(parents=True)
    parts = {"weights": tagger.model.weights, "tagdict": tagger.tagdict}
    for name, part in (parts | {"classes": sorted(tagger.classes)}).items():
        (folder / f"{folder.name}.{name}.json").write_text(json.dumps(part))
    return tmp_path / "nltk_data"


def test_official_takes_proper_nouns_and_title_names(monkeypatch, nltk_data):
    monkeypatch.setattr("nltk.data.path", [str(nltk_data)])
    monkeypatch.setattr(product, "_perceptron", product._perceptron.__wrapped__)
    made = masked("Acme Drill", "The acme tool by Bosch; a cable.", profile="official")
    assert made["entities"] == ["acme", "Bosch"]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.name)
def test_laws_on_real_products(path):
    records = [record for record in Records.read([str(path)]) if record["description"]]
    records = records[:: 1 + len(records) // 200]
    found = 0
    for record in records:
        text, title = record["description"], record["title"].casefold()
        spans = product.Language().entities(text, record)
        assert spans == sorted(set(spans))
        for made in mask_entities([record] if spans else [], language="product"):
            assert unmask(made["masked"], made["entities"]) == text
            assert all(name.casefold() in title for name in made["entities"])
            found += 1
    assert found > len(records) // 3


def test_a_word_of_any_length_is_tagged_in_time():
    """Rules that go back over a word again and again would take minutes for this one."""
    tag = product.tag
    assert tag(["a-" * 100_000, "x" * 100_000 + "-colored"], "rules") == ["NN", "JJ"]
    assert tag(["-ed", "a-ed", "a-xed", "-a-bed"], "rules") == ["NN", "NN", "JJ", "JJ"]
