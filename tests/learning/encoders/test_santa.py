"""SANTA's losses against a slow plain version: one record and one pass at a time."""

import re

import pytest
import torch
from torch.nn import functional
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    T5Config,
    T5ForConditionalGeneration,
)

from structkit.errors import UserError
from structkit.learning.training.data import Step
from structkit.registry import load
from tests.learning.encoders.small import save, word_tokenizer
from tests.learning.training.materials import first_batch, gradients, plain_loss
from tests.tolerances import bound, rounding

Method = load("method", "santa")
STEP = Step(0, "train", 0, [0, 1, 2])
TERMS = 500  # the longest sum: over the vocabulary
LINES = b"""
{"id": "1", "query": "add two numbers", "positive": "def add(a, b): return a + b", "masked": "def <extra_id_0>(<extra_id_1>, b): return <extra_id_1> + b", "target": "<extra_id_0> add <extra_id_1> a <extra_id_2>", "negatives": ["def sub(a, b): return a - b", "x = 1"]}
{"id": "2", "query": "open a file and read all of it", "positive": "def read(path): return open(path).read()", "masked": "def <extra_id_0>(path): return open(path).<extra_id_0>()", "target": "<extra_id_0> read <extra_id_1>", "negatives": ["def write(path): pass", "y = 2"]}
{"id": "3", "query": "sort", "positive": "def order(items): return sorted(items)", "masked": "def order(<extra_id_0>): return sorted(<extra_id_0>)", "target": "<extra_id_0> items <extra_id_1>", "negatives": ["items.sort()", "z = 3"]}
"""  # noqa: E501
PLAIN = b"""
{"id": "4", "query": "one", "positive": "1", "masked": "1", "target": "<extra_id_0>", "negatives": ["2", "3 + 3"]}
"""  # noqa: E501


@pytest.fixture
def built(tmp_path):
    def build(lines=LINES, **changes):
        file = tmp_path / "records.jsonl"
        file.write_bytes(lines)
        values = {"size": "tiny", "vocabulary_size": TERMS, "batch_size": 9, **changes}
        return first_batch("santa", file, **values)[:3]

    return build


def near(loss):
    """A loss, but for the rounding of its sums."""
    return pytest.approx(loss.item(), abs=bound(TERMS, max(1.0, loss.item())))


def ids(module, text, kind):
    return torch.tensor(module.encoder.tokenizing.ids([text], kind))


def embedding(module, text, kind):
    """The decoder's state after its start token, of one unpadded text."""
    model = module.encoder.model
    if module.settings.pooling == "mean":
        return model.encoder(input_ids=ids(module, text, kind)).last_hidden_state[0].mean(0)
    states = model.encoder(input_ids=ids(module, text, kind)).last_hidden_state
    start = torch.tensor([[0]])
    return model.decoder(input_ids=start, encoder_hidden_states=states).last_hidden_state[0, 0]


def plain(module, records):
    """Alignment and entity loss, each from passes of its own."""
    settings, model = module.settings, module.encoder.model
    field = "masked" if settings.align_on == "masked" else "positive"
    documents = []
    for record, negatives in zip(records, drawn(module, records), strict=True):
        documents.append(embedding(module, record[field], "document"))
        documents += [embedding(module, text, "document") for text in negatives]
    group = len(documents) // len(records)
    alignment, entity, count = 0.0, 0.0, 0
    for place, record in enumerate(records):
        query = embedding(module, record["query"], "query")
        scores = torch.stack([query @ document for document in documents])
        alignment += functional.cross_entropy(scores[None], torch.tensor([place * group]))
        if record["target"] == "<extra_id_0>":
            continue  # nothing is masked
        labels = ids(module, record["target"], "target")
        output = model(input_ids=ids(module, record["masked"], "document"), labels=labels)
        entity += output.loss * labels.numel()
        count += labels.numel()
    return {"alignment": alignment / len(records), "entity": entity / count}


def scores_of(head, states, table):
    """The scores of the whole vocabulary, (tokens, vocabulary)."""
    return functional.linear(head.norm(functional.gelu(head.dense(states))), table, head.bias)


def drawn(module, records):
    texts = module.documents(records, STEP)
    group = len(texts) // len(records)
    return [texts[place + 1 : place + group] for place in range(0, len(texts), group)]


@pytest.mark.parametrize("align_on", ["masked", "original"])
@pytest.mark.parametrize("pooling", ["first-decoder-token", "mean"])
@pytest.mark.parametrize(("lines", "negatives"), [(LINES, 0), (LINES, 2), (LINES + PLAIN, 1)])
def test_one_pass_agrees_with_many(built, align_on, pooling, lines, negatives):
    """Also where a document has no entities: it is aligned only."""
    options = {"align_on": align_on, "pooling": pooling, "entity_weight": 0.5}
    module, inputs, records = built(lines, negatives_per_query=negatives, **options)
    expected = plain(module, records)
    numbers, found = gradients(module, inputs)
    expected["loss"] = expected["alignment"] + 0.5 * expected["entity"]
    assert numbers == {name: near(loss) for name, loss in expected.items()}
    module.zero_grad()
    expected["loss"].backward()
    wanted = {name: weight.grad for name, weight in module.named_parameters()}
    # each is a sum over all tokens, of numbers as large as the largest
    scale = max(gradient.abs().max().item() for gradient in wanted.values())
    torch.testing.assert_close(found, wanted, **rounding(TERMS, scale))


@pytest.mark.parametrize("architecture", ["t5", "bert"])
def test_a_batch_without_any_entity_predicts_nothing(built, architecture):
    module, inputs, _ = built(PLAIN + PLAIN.replace(b"4", b"5"), architecture=architecture)
    total, parts = plain_loss(module, inputs)
    assert 0.0 == parts["entity"].item()
    assert total.item() == parts["alignment"].item()
    total.backward()


@pytest.mark.parametrize(
    ("changes", "parts", "absent"),
    [
        ({"entity_weight": 0}, {"alignment"}, ["originals"]),
        ({"entity_weight": 0, "align_on": "original"}, {"alignment"}, ["masked"]),
        ({"alignment_weight": 0}, {"entity"}, ["queries", "originals", "negatives"]),
    ],
)
def test_a_loss_with_weight_0_costs_nothing(built, changes, parts, absent):
    module, inputs, records = built(**changes)
    assert not {*absent} & {*inputs.texts}
    if "masked" in inputs.texts and not changes.get("entity_weight", 1):
        assert (None, 0) == (inputs.labels, inputs.count)
    total, found = plain_loss(module, inputs)
    assert parts == set(found)
    expected = plain(module, records) if not changes.get("alignment_weight", 1) else None
    if expected:
        assert expected["entity"].item() == near(total)


def test_without_a_decoder_masked_tokens_are_predicted(built):
    """Against a slow plain version: one unpadded record at a time."""
    module, inputs, records = built(
        architecture="bert",
        entity_weight=0.5,
        negatives_per_query=1,
        normalize=True,
        temperature=1.0,
    )
    assert ("cls", "cls") == (module.settings.pooling, module.encoder.pooling)
    tokenizer, model = module.encoder.tokenizer, module.encoder.model
    sums, count, found = 0.0, 0, []
    for record, negatives in zip(records, drawn(module, records), strict=True):
        text = record["positive"]  # each occurrence of a masked name, as mask-entities has it
        names = {"1": ["add", "a"], "2": ["read"], "3": ["items"]}[record["id"]]
        encoded = tokenizer(text, return_offsets_mapping=True)
        places = [match.span() for name in names for match in re.finditer(rf"\b{name}\b", text)]
        original = torch.tensor([encoded["input_ids"]])
        hidden = torch.tensor(
            [
                any(start < e and s < end for s, e in places) and start < end
                for start, end in encoded["offset_mapping"]
            ]
        )
        masked = original.masked_fill(hidden, tokenizer.mask_token_id)
        states = model(input_ids=masked).last_hidden_state[0]
        scores = scores_of(
            module.predictor.head, states[hidden], model.get_input_embeddings().weight
        )
        sums += functional.cross_entropy(scores, original[0, hidden], reduction="sum")
        count += int(hidden.sum())
        found.append(functional.normalize(states[0], dim=0))
        for negative in negatives:
            states = model(input_ids=ids(module, negative, "document")).last_hidden_state
            found.append(functional.normalize(states[0, 0], dim=0))
    asked = [model(input_ids=ids(module, record["query"], "query")) for record in records]
    queries = torch.stack([each.last_hidden_state[0, 0] for each in asked])
    scores = functional.normalize(queries, dim=1) @ torch.stack(found).T
    alignment = functional.cross_entropy(scores, torch.tensor([0, 2, 4]))
    total, parts = plain_loss(module, inputs)
    assert (sums / count).item() == near(parts["entity"])
    assert alignment.item() == near(parts["alignment"])
    assert (alignment + 0.5 * sums / count).item() == near(total)


def test_alignment_alone_needs_neither_masks_nor_sentinels(built, tmp_path):
    tokenizer = word_tokenizer(cls=True)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    bert = BertModel(BertConfig(vocab_size=12, num_hidden_layers=1, **shape))
    t5 = T5ForConditionalGeneration(
        T5Config(vocab_size=12, d_model=32, d_ff=64, num_layers=1, decoder_start_token_id=0)
    )
    starts = [save(tmp_path / "bert", bert, tokenizer), save(tmp_path / "t5", t5, tokenizer)]
    for start, lacks in zip(starts, ("no mask token", "no sentinels"), strict=True):
        module, batch, _ = built(model=start, entity_weight=0.0, align_on="original")
        assert ["alignment", "loss"] == sorted(module.backward(batch)())
        for changes in ({"entity_weight": 0.0}, {"align_on": "original"}):
            with pytest.raises(UserError, match=f"{lacks}.*--entity-weight 0 --align-on original"):
                built(model=start, **changes)


def test_the_head_of_a_bert_is_taken_over(built, tmp_path, capsys):
    """Scores of the whole model of transformers, and of ours with its head."""
    module, _, _ = built(architecture="bert")
    tokenizer, config = module.encoder.tokenizer, module.encoder.model.config
    whole = BertForMaskedLM(config).eval()
    torch.nn.init.normal_(whole.cls.predictions.bias)
    whole.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    module, *_ = built(model=str(tmp_path))
    assert "no head for masked tokens" not in capsys.readouterr().err
    text = ids(module, "def add(a, b)", "document")
    expected = whole(input_ids=text).logits[0]
    model = module.encoder.model
    states = model(input_ids=text).last_hidden_state[0]
    found = scores_of(module.predictor.head, states, model.get_input_embeddings().weight)
    terms = config.num_hidden_layers * config.intermediate_size + config.hidden_size
    scale = expected.abs().max().item()
    torch.testing.assert_close(found, expected, **rounding(terms, scale))
    model.save_pretrained(tmp_path)  # without the head
    built(model=str(tmp_path))
    assert "has no head for masked tokens: a new one is added" in capsys.readouterr().err


def test_targets_that_are_cut_are_counted(built):
    whole, _, records = built(target_length=100)
    expected = sum(ids(whole, record["target"], "target").numel() > 5 for record in records)
    assert expected > 0
    module, _, _ = built(target_length=5)
    assert {"query": 3, "document": 6, "target": 3} == dict(module.truncation.texts)
    assert expected == module.truncation.truncated["target"]


def test_defaults_are_the_papers():
    method = Method().complete()
    found = (method.learning_rate, method.epochs, method.batch_size, method.temperature)
    assert (5e-5, 6, 16, 1.0) == found
    lengths = (method.query_length, method.document_length, method.target_length)
    assert (50, 240, 35) == lengths
    assert ("first-decoder-token", False, 0.1) == (method.pooling, method.normalize, method.warmup)


@pytest.mark.parametrize("tokens", [0, 1, 2000])
def test_scores_in_blocks_give_the_loss_and_the_gradients_of_all_at_once(built, tokens):
    torch.manual_seed(0)
    head = built(architecture="bert")[0].predictor.head.double()  # no rounding hides a mistake
    words = 3000  # 4 blocks of 1,333 rows for 2,000 tokens
    head.bias = torch.nn.Parameter(torch.randn(words).double())
    states = torch.randn(tokens, 64, dtype=torch.float64, requires_grad=True)
    table = torch.randn(words, 64, dtype=torch.float64, requires_grad=True)
    wanted = torch.randint(words, (tokens,))
    weights = [states, table, *head.parameters()]
    expected = functional.cross_entropy(scores_of(head, states, table), wanted, reduction="sum")
    gradients = torch.autograd.grad(expected, weights)
    found = head.loss(states, table, wanted)
    pairs = [(found, expected)]
    if tokens:
        pairs += zip(torch.autograd.grad(found, weights), gradients, strict=True)
    for ours, theirs in pairs:
        near = rounding(tokens + words, max(1.0, theirs.abs().max().item()), torch.float64)
        torch.testing.assert_close(ours, theirs, **near)
