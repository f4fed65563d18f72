"""Functions and loaded models compose: a model stands for its name, texts for their embeddings."""

import inspect
import json

import pytest

import structkit
from structkit.errors import UserError

TEXTS = [
    {"id": "tea", "text": "green tea is a hot drink", "language": "en"},
    {"id": "ice", "text": "ice is cold water", "language": "en"},
    {"id": "cat", "text": "die Katze schläft", "language": "de"},
]
QUESTIONS = ["something hot to drink", "frozen water"]


@pytest.fixture(scope="module")
def model():
    return structkit.load("builtin")


@pytest.fixture(scope="module")
def expected():
    """The run of embeddings that are made first."""
    return list(
        structkit.search(
            structkit.encode(TEXTS, model="builtin"), query=QUESTIONS, model="builtin", k=2
        )
    )


def test_search_encodes_a_corpus_of_texts(expected, model, tmp_path, run):
    assert ["tea", "ice"] == [hit["doc_id"] for hit in expected if hit["rank"] == 1]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in TEXTS))
    for name in ("builtin", model):
        for corpus in (TEXTS, iter(TEXTS), path, str(path), [path]):
            assert expected == list(structkit.search(corpus, query=QUESTIONS, model=name, k=2))
    queries = [word for question in QUESTIONS for word in ("--query", question)]
    done = run("search", path, "-m", "builtin", *queries, "-k", "2")
    assert 0 == done.returncode, done.stderr
    assert expected == [json.loads(line) for line in done.stdout.splitlines()]


def test_a_corpus_of_texts_is_filtered_explained_saved_and_searched_by_both(model, tmp_path):
    found = structkit.search(
        TEXTS, query="water", model=model, filter=["language=de"], explain=True
    )
    assert [("cat", "de")] == [(hit["doc_id"], hit["best"]["language"]) for hit in found]
    saved = str(tmp_path / "saved")
    first = structkit.search(TEXTS, query="water", model=model, index="hnsw", save_index=saved)
    assert list(first) == list(structkit.search(saved, query="water", model=model))
    both = list(structkit.search(TEXTS, query="cold water", model=model, method="hybrid"))
    apart = structkit.search(
        structkit.encode(TEXTS, model=model),
        query="cold water", model=model, method="hybrid", texts=TEXTS,
    )  # fmt: skip
    assert both == list(apart)
    german = [{"id": "1", "de": "kalt", "text": "hot"}, {"id": "2", "de": "heiß", "text": "cold"}]
    of_field = structkit.search(german, query="cold", model=model, document_field="text", k=1)
    assert ["2"] == [hit["doc_id"] for hit in of_field]


@pytest.mark.parametrize(
    ("corpus", "problem"),
    [
        ([*TEXTS, TEXTS[0]], 'corpus:4: id "tea" is repeated; give each record its own id'),
        ([*TEXTS, {"id": "x"}], "corpus:4: the record has none of the fields"),
        ([*TEXTS, {"id": "x", "text": 3}], "corpus:4: "),
        ([{"id": "x", "embedding": "1"}], 'corpus:1: field "embedding" is not a list of numbers'),
        ([], "corpus: the corpus is empty"),
    ],
)
def test_a_bad_corpus_of_texts_is_refused_with_its_place(model, corpus, problem):
    with pytest.raises(UserError) as caught:
        list(structkit.search(corpus, query="tea", model=model))
    assert str(caught.value).startswith(problem)


def test_a_loaded_model_is_taken_wherever_a_name_is(model, tmp_path):
    assert list(structkit.encode(TEXTS, model="builtin")) == list(
        structkit.encode(TEXTS, model=model)
    )
    (tmp_path / "area.py").write_text("def area(radius):\n    return 3 * radius**2\n")
    asked = [
        list(structkit.ask(tmp_path, "size of a circle", model=each, no_cache=True))
        for each in (model, "builtin")
    ]
    assert asked[0] == asked[1] != []
    assert structkit.load(model)
    vectors = model.encode(["tea"], length=1)  # another call has changed nothing
    assert list(structkit.search(TEXTS, query="tea", model=model))
    assert (vectors == model.encode(["tea"], length=1)).all()


def test_a_setting_that_a_model_was_loaded_without_is_refused(model):
    for settings in ({"pooling": "cls"}, {"engine": "torch"}, {"dtype": "bf16"}):
        (name,) = settings
        with pytest.raises(UserError, match=f"{name}=.* is not how the model builtin was loaded"):
            list(structkit.encode(TEXTS, model=model, **settings))
    other = structkit.load("builtin", normalize=False)
    assert list(structkit.encode(TEXTS, model=other)) == list(
        structkit.encode(TEXTS, model=other, normalize=False)
    )


def test_one_question_may_be_a_string(model, tmp_path):
    (tmp_path / "area.py").write_text("def area(radius):\n    return 3 * radius**2\n")
    for questions in ("how large is an area", ["how large is an area"]):
        found = structkit.ask(tmp_path, questions, no_cache=True)
        assert {("1", "how large is an area")} == {
            (each["query_id"], each["query"]) for each in found
        }
    several = structkit.ask(tmp_path, ["area", "radius"], no_cache=True)
    assert {"area", "radius"} == {each["query"] for each in several}
    assert list(structkit.search(TEXTS, query="tea", model=model)) == list(
        structkit.search(TEXTS, query=["tea"], model=model)
    )


def test_dir_shows_the_functions_alone():
    shown = {name for name in dir(structkit) if not name.startswith("__")}
    assert set(structkit.__all__) == shown
    assert "__version__" in dir(structkit) and "__doc__" in dir(structkit)


def test_help_names_the_types_that_work():
    shown = str(inspect.signature(structkit.search))
    for parameter in ("corpus: Files", "query: str | list[str]", "model: Path | LoadedModel"):
        assert parameter in shown
    assert "records: Rows | Iterable[str]" in str(inspect.signature(structkit.encode))
    for function in (structkit.search, structkit.encode, structkit.ask):
        words = " ".join(function.__doc__.split())
        assert "Rows are dicts, or a DataFrame" in words and "Path is a str" in words
