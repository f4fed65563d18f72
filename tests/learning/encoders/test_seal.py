"""SEAL: what each stage aligns queries with, its losses by hand, and what it refuses."""

import pytest
import torch
from torch.nn import functional

from structkit import html_variants
from structkit.errors import UserError
from structkit.learning.encoders.models import new_model, train_tokenizer
from structkit.learning.training.data import Spool, Step
from structkit.records.jsonl import Records
from structkit.registry import load
from structkit.structure.html.tags import TAG_TOKENS
from tests.jsonl import write
from tests.learning.training.materials import plain_loss
from tests.tolerances import TINY, bound, rounding

Method = load("method", "seal")
WIDTH, TEMPERATURE = 64, 0.02  # of unit vectors, and of their scores
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


def spool_of(tmp_path, method, found):
    return Spool(Records.read([write(tmp_path / "records.jsonl", *found)]), method.prepare)


@pytest.fixture
def built(tmp_path):
    def build(count=4, negatives=2, **changes):
        values = {"size": "tiny", "vocabulary_size": 500, "batch_size": count} | changes
        method = Method(**values).complete()
        spool = spool_of(tmp_path, method, html_variants(records(count, negatives)))
        return method.build(spool).eval(), [spool[place] for place in range(count)]

    return build


def embedding(module, text, kind):
    ids = torch.tensor(module.encoder.tokenizing.ids([text], kind))
    state = module.encoder.model(input_ids=ids).last_hidden_state[0, 0]
    return functional.normalize(state, dim=0)


def plain(module, rows, name, drawn):
    """The loss against one variant: a softmax over all positives and negatives for each query."""
    documents = []
    for row, places in zip(rows, drawn, strict=True):
        documents.append(row[name])
        documents += [row[f"negatives_{name}"][place] for place in places]
    vectors = torch.stack([embedding(module, text, "document") for text in documents])
    group = len(documents) // len(rows)
    total = 0.0
    for place, row in enumerate(rows):
        scores = vectors @ embedding(module, row["query"], "query") / TEMPERATURE
        total -= functional.log_softmax(scores, 0)[place * group].item()
    return total / len(rows)


@pytest.mark.parametrize("negatives", [0, 1, None])
def test_the_losses_of_the_stages(built, negatives):
    module, rows = built(negatives_per_query=negatives)
    assert (2 if negatives is None else negatives) == module.negatives
    step = Step(0, "joint", 1, [0, 1, 2, 3])
    drawn = [module.drawn(row, step, "negatives_tagged") for row in rows]
    masked, tagged, untagged = (
        plain(module, rows, name, drawn) for name in ("masked", "tagged", "untagged")
    )
    wanted = {
        "element": masked,
        "structure": (tagged + untagged) / 2,
        "joint": masked + (tagged + untagged) / 2,
    }
    for stage, loss in wanted.items():
        # the negatives are drawn for a stage and an epoch: here all of these must be the same
        module.drawn = lambda row, step, name: drawn[rows.index(row)]
        found = plain_loss(module, module.batch(rows, Step(0, stage, 1, [0, 1, 2, 3])))
        assert loss == pytest.approx(found[0].item(), abs=bound(WIDTH, 1 / TEMPERATURE))


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
    with pytest.raises(UserError, match="no --stages 'element,joint'"):
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


def test_defaults_are_the_papers():
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
        spool_of(tmp_path, Method(), [bad])
