"""What several tests train: forty records or eleven, a small BERT, and how."""

import json
from functools import reduce

import torch
from transformers import BertConfig, BertModel

from structkit.learning.encoders.models import train_tokenizer
from structkit.learning.training.data import Spool
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.records.jsonl import Records
from structkit.registry import load

WORDS = "red green blue black white house tree car door shirt".split()
SCRATCH = {"size": "tiny", "vocabulary_size": 450}  # the least that an encoder is made with


def train_on(file, name, folder, *, quiet=True, **values):
    """The summary of a training."""
    options = RunOptions(output=str(folder), quiet=quiet)
    return train_method(name, load("method", name)(**values), [str(file)], options)


def smallest(name, **values):
    """Of all these settings those that a method has: small enough for a second."""
    values |= {"size": "tiny", "vocabulary_size": 420, "embedding_size": 100, "channels": 10}
    values |= {"hidden_size": 64, "buckets": 10, "minimum_count": 1, "batch_size": 23, "epochs": 1}
    known = load("method", name).__dataclass_fields__
    return {key: value for key, value in values.items() if key in known}


def begun(name, file, **values):
    """A training as it begins: its module, its records and its plan."""
    method = load("method", name)(**values).complete()
    spool = Spool(Records.read([str(file)]), method.prepare)
    return method.build(spool), spool, method.plan(len(spool))


def first_batch(name, file, **values):
    """A training without dropout, the batch of all its records, these, and its first step."""
    module, spool, plan = begun(name, file, **values)
    records, step = [spool[place] for place in range(len(spool))], plan.step(0)
    return module.eval(), module.batch(records, step), records, step


def gradients(module, batch):
    """What a batch loses, and the gradients of all weights that have one."""
    module.zero_grad(set_to_none=True)
    torch.manual_seed(7)
    losses, named = module.backward(batch)(), module.named_parameters()
    return losses, {name: each.grad.clone() for name, each in named if each.grad is not None}


def stopping(kind, number, error):
    """A kind of method whose training raises an error in its step of this number, from 0."""

    def build(self, spool):
        module = kind.build(self, spool)
        batch = module.batch

        def stops(records, step):
            if step.number == number:
                raise error
            return batch(records, step)

        module.batch = stops
        return module

    return type("Stopping", (kind,), {"build": build})


def wait_for_step(process, step):
    """Read what a training prints until its first step is done."""
    for line in process.stderr:
        if line.startswith(b"{") and json.loads(line)["step"] >= step:
            return
    raise AssertionError(process.returncode)


def weights(folder):
    """The bytes of a model's weights."""
    return (folder / "model.safetensors").read_bytes()


def same(expected, found, rate):
    """Weights trained at a rate are the same.

    A gradient that is only rounding may turn its sign: then Adam moves as far as its rate.
    """
    assert expected.keys() == found.keys()
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, atol=rate, rtol=0)


def write_pairs(file, count=11, negatives=lambda number: 1):
    """Records for all methods: of batches of five, the last of eleven has one.

    `negatives` says how many negatives a record has; one without any lacks their fields.
    """
    with file.open("w") as handle:
        for number in range(count):
            words = [WORDS[number % 10], WORDS[number * 3 % 10], WORDS[number // 2 % 10]]
            text = " ".join(words * (1 + number % 3))
            four = f"{text} shirt"  # words at least, as some methods need
            tree = reduce(lambda before, word: f"(X {before} {word})", four.split())
            others = [" ".join(WORDS[each : number % 7 + 1]) for each in range(negatives(number))]
            record: dict[str, object] = {"id": str(number), "query": words[0], "positive": text}
            record |= {"text": four, "tree": tree}
            record |= {"tagged": f"<p>{text}</p>", "untagged": text}
            record |= {"masked": f"{text} <extra_id_0>"}
            record |= {"target": f"<extra_id_0> {words[0]} <extra_id_1>"}
            if others:
                names = ("negatives_tagged", "negatives_untagged", "negatives_masked")
                record |= dict.fromkeys(("negatives", *names), others)
            handle.write(json.dumps(record) + "\n")
    return file


def small_bert(folder, dtype=torch.float32):
    """Write a BERT without dropout, which several processes train as one does."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer(WORDS, 400, cls=True)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=64, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    BertModel(config).to(dtype).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def plain_loss(module, inputs):
    """The loss of a batch with its whole graph, computed at once, and its parts."""
    embeddings: dict[str, torch.Tensor] = {}
    single: dict[str, torch.Tensor] = {}
    for name, texts in inputs.texts.items():
        (rows,) = texts.chunks(0)
        embeddings[name], losses = module.embedded(inputs, name, rows)
        single |= losses
    loss, parts = module.objective(inputs, embeddings)
    for name in single:
        loss = loss + module.weights()[name] * single[name]
    return loss, {name: part.detach() for name, part in {**parts, **single}.items()}
