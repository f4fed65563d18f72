"""SEAL: its stages, what it reads as a tag, and what it refuses."""

import pytest
import torch

from structkit import html_variants
from structkit.errors import UserError
from structkit.learning.encoders.models import new_model, train_tokenizer
from structkit.learning.training.data import Step
from structkit.registry import load
from structkit.structure.html.tags import TAG_TOKENS
from tests.jsonl import write
from tests.learning.training.materials import SCRATCH, begun, first_batch
from tests.tolerances import TINY, rounding

Method = load("method", "seal")
THINGS = "house tree car door shirt river".split()


def html(number):
    word = THINGS[number % 6]
    items = "".join(f"<li>{other} {number}</li>" for other in THINGS)
    return f"<h1>The {word}</h1><p>All about it.</p><ul>{items}</ul>"


def records(count=6, negatives=2):
    for number in range(count):
        record = {"id": f"d{number}", "query": f"a {THINGS[number % 6]}", "html": html(number)}
        if negatives:
            record["negatives"] = [html(number + 6 * each + 7) for each in range(negatives)]
        yield record


@pytest.fixture
def built(tmp_path):
    def build(count=4, negatives=2, **changes):
        file = write(tmp_path / "records.jsonl", *html_variants(records(count, negatives)))
        values = {**SCRATCH, "batch_size": count, **changes}
        module, _, rows, _ = first_batch("seal", file, **values)
        return module, rows

    return build


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ("element,structure", ["element"] * 4 + ["structure"] * 4),
        ("structure,element", ["structure"] * 4 + ["element"] * 4),
        ("joint", ["joint"] * 4),
        ("element", ["element"] * 4),
        ("structure", ["structure"] * 4),
    ],
)
def test_stages_are_passes_of_two_epochs(stages, expected):
    plan = Method(stages=stages).plan(16)
    assert expected == [plan.step(number).stage for number in range(plan.steps)]
    with pytest.raises(UserError, match="unknown --stages 'element,joint'"):
        Method(stages="element,joint")


def test_a_document_of_two_queries_is_no_negative(built):
    module, rows = built(negatives=0)
    rows[1] = {**rows[1], **{name: rows[0][name] for name in ("tagged", "untagged", "masked")}}
    for stage in ("element", "structure"):
        exclude = module.batch(rows, Step(0, stage, 0, [])).exclude
        assert exclude.nonzero().tolist() == [[0, 1], [1, 0]]


def test_tags_become_one_token_each_of_a_model_that_exists(built, tmp_path):
    tokenizer = train_tokenizer(["a tree <p> </p>"] * 9, 400, cls=True)
    model = new_model("bert", "tiny", tokenizer, decoder=False, head=False)
    folder = str(tmp_path / "model")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    encoders = {}
    for tags in (None, True):
        encoders[tags] = built(model=folder, pooling="cls", tag_tokens=tags)[0].encoder
    text = "The tree <b>is</b> one"
    both = [encoder.embed(encoder.tokens([text], "document")) for encoder in encoders.values()]
    torch.testing.assert_close(*both, **rounding(TINY))  # <b> is no structure
    assert len(encoders[None].inputs(["<h2>a</h2>"], "document")[0]) > 5
    ids = encoders[True].inputs(["<h2>a</h2>"], "document")[0]
    assert len(ids) == 5  # CLS, <h2>, a, </h2>, EOS
    pieces = tokenizer("<h2>", add_special_tokens=False)["input_ids"]
    weights = encoders[True].model.get_input_embeddings().weight
    assert torch.equal(weights[ids[1]], weights[pieces].mean(0))


def kept_tags(encoder, ids):
    return [token for token in encoder.tokenizer.convert_ids_to_tokens(ids) if token in TAG_TOKENS]


def test_a_tag_in_text_without_tags_is_no_tags_token(built, tmp_path):
    """As in tagged pages, where it is written with references."""
    existing, scratch = tmp_path / "existing", built()[0].encoder
    plain = built(tag_tokens=False)[0].encoder
    plain.model.save_pretrained(existing)
    plain.tokenizer.save_pretrained(existing)
    added = built(model=str(existing), tag_tokens=True)[0].encoder
    text = "a <p> is <extra_id_3> closed by </p>"
    for encoder in (scratch, added):
        tokenizing = encoder.tokenizing
        [ids] = tokenizing.ids([text], "document")
        assert ["<p>", "</p>"] == kept_tags(encoder, ids)
        for kind, field in (("query", "tagged"), ("document", "untagged")):
            tokenizing.read_field(field)
            [ids] = tokenizing.ids([text], kind)
            assert [] == kept_tags(encoder, ids)
            # sentinels keep their numbers, and no letter is lost
            assert "<extra_id_3>" in encoder.tokenizer.convert_ids_to_tokens(ids)
            assert "<p>" in encoder.tokenizer.decode(ids)
            [chunk] = encoder.chunks(text, kind, 60)
            assert list(ids) == chunk.ids and (0, len(text)) == (chunk.start, chunk.end)


def test_batches_know_which_documents_have_no_tags(built):
    module, rows = built(negatives=1)
    tags = "<p>a</p> of <li>b</li>"
    rows = [{**row, "query": "what is <p>", "untagged": "<li> <p>", "tagged": tags} for row in rows]
    rows = [{**row, "negatives_untagged": ["<li>"] * 9} for row in rows]
    texts = module.batch(rows, Step(0, "structure", 0, [])).texts
    found = {
        name: [bool(kept_tags(module.encoder, ids)) for ids in each.tokens.ids.tolist()]
        for name, each in texts.items()
    }
    assert not any(found["query"]) and not any(found["untagged"]) and found["tagged"][0]


def test_defaults_are_the_papers(built):
    assert 8 == built(negatives=9)[0].negatives
    method = Method().complete()
    assert (32, 4096, 0.02) == (method.query_length, method.document_length, method.temperature)
    assert (2, 8, 1e-5) == (method.epochs, method.batch_size, method.learning_rate)
    assert ("cls", True, "element,structure") == (method.pooling, method.normalize, method.stages)


GOOD = next(html_variants(records(1)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query": None}, '1: field "query" is missing; make such records with structkit pair'),
        ({"tagged": None}, '1: field "tagged" is missing; add it with structkit html-variants'),
        (
            {"negatives_masked": None},
            '1: field "negatives_masked" is missing; add it with structkit html-var',
        ),
        ({"negatives_tagged": ["x"]}, "1: the variants of the negatives differ in number"),
    ],
)
def test_bad_records_are_one_line(tmp_path, changes, message):
    bad = {key: value for key, value in (GOOD | changes).items() if value is not None}
    with pytest.raises(UserError, match=message):
        begun("seal", write(tmp_path / "records.jsonl", bad))
