"""One encoder for queries and documents, its losses, and how a training begins.

Tests: tests/learning/encoders/test_grad_cache.py, tests/learning/encoders/test_teachers.py.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

from structkit.errors import UserError, flag, program, wrong_usage
from structkit.learning.encoders.adapters import Adapter
from structkit.learning.encoders.encoder import (
    Encoder,
    fit_tokenizer,
    save_encoder,
    try_encoder,
)
from structkit.learning.encoders.models import (
    add_tokens,
    load_pretrained,
    new_model,
    recompute_layers,
    train_tokenizer,
)
from structkit.learning.encoders.poolings import Tokens
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.folders import model_folder
from structkit.learning.metadata import own_metadata
from structkit.learning.tokens import batches_of
from structkit.learning.training.data import Spool, Step
from structkit.learning.training.devices import (
    gather_rows,
    matmul,
    share,
    total,
    with_tensors,
)
from structkit.learning.training.method import GradientSettings
from structkit.learning.training.trainer import LossReader, TrainingModule, seed_parameters
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.reproducibility import random_for
from structkit.structure.html.tags import TAG_TOKENS


@dataclass(frozen=True)
class LocalTexts:
    """The part of a batch's texts for this process, and where it begins in the batch."""

    tokens: Tokens | None  # none where the part is empty
    first: int  # number of its first text in the batch
    batch_texts: int  # number of texts in the batch

    def chunks(self, size: int) -> Iterator[Tensor]:
        """Yield the rows of at most `size` texts, shortest first; 0: all at once.

        On a GPU a chunk has as many padded tokens as `size` of the longest texts.
        """
        if self.tokens is None:
            return
        lengths = self.tokens.lengths
        if size and self.tokens.ids.device.type == "cpu":
            yield from torch.split(lengths.argsort(stable=True), size)
        elif size:
            chunks = batches_of(lengths.tolist(), size * int(lengths.max()))
            yield from map(torch.tensor, reversed([*chunks]))
        else:
            yield torch.arange(len(lengths))


@dataclass(frozen=True)
class Pairs:
    """A batch: texts by name, the queries first; the positive of query i is document i * group."""

    texts: dict[str, LocalTexts]  # of (batch, query length) and (documents, document length)
    exclude: Tensor | None  # (batch, batch * group): which documents are no negatives of a query
    present: Tensor | None = None  # (batch * group,): which documents there are, if some are not
    teacher: Tensor | None = None  # (batch, group): a teacher's scores, NaN where no document is


class RngState:
    """The state of the random numbers that dropout uses, to use them again."""

    def __init__(self, device: torch.device) -> None:
        self.module: Any = torch if device.type == "cpu" else getattr(torch, device.type)
        self.cpu_state = torch.get_rng_state()
        self.device_state = self.module.get_rng_state()

    def restore(self) -> None:
        torch.set_rng_state(self.cpu_state)
        self.module.set_rng_state(self.device_state)


@dataclass(frozen=True)
class _EmbeddedChunk:
    """Some texts and their embeddings; if without a graph, the random state before them."""

    name: str
    rows: Tensor
    rng_state: RngState | None
    embeddings: Tensor
    losses: dict[str, Tensor]


class DualEncoder(TrainingModule):
    """Contrastive training of one encoder on queries, positives and, where given, negatives.

    A method with other documents overrides `batch` and `objective`; one whose texts have a loss by
    themselves overrides `embedded` and `weights`.

    Only a chunk of a batch is in memory at a time. First all texts are embedded without a graph;
    the loss over all embeddings gives each of them its gradient; then the texts are embedded again
    chunk by chunk, with the same random numbers, and their embeddings' gradients are passed on to
    the parameters. The last chunk, of the longest documents, has its graph from the start: this
    takes no more memory than later, and saves a pass. Source: Gao et al. 2021, "Scaling Deep
    Contrastive Learning Batch Size under Memory Limited Setup" (arXiv 2101.06983), section 3.
    """

    settings: EncoderSettings

    allow_tf32 = True  # but not the products of the loss
    prefetch = True

    def __init__(self, settings: EncoderSettings, encoder: Encoder, negatives: int) -> None:
        super().__init__(settings)
        self.encoder = encoder
        if settings.lora_rank:
            encoder.adapter = Adapter(encoder.model, settings.lora_rank)
        if settings.checkpointing:
            recompute_layers(encoder.model)
        self.negatives = negatives
        self.truncation = encoder.tokenizing.truncation
        self.document_fields = settings.document_fields
        self.width = encoder.width
        check_loss(settings, negatives, encoder.width)

    @classmethod
    def of(cls, settings: EncoderSettings, spool: Spool) -> Self:
        """Return the training by these settings, from `complete`. Errors: no negatives."""
        negatives = count_negatives(settings, spool)
        check_contrast(spool, settings, negatives)
        return cls(settings, build_encoder(settings, spool), negatives)

    def batch(self, records: list[Record], step: Step) -> Any:
        documents = self.documents(records, step)
        queries = [record["query"] for record in records]
        return Pairs(
            {
                "query": self.local_texts(queries, len(records), "query"),
                "document": self.local_texts(
                    documents, len(records), "document", self.document_fields[0]
                ),
            },
            false_negatives(queries, documents),
            self.document_mask(documents),
            self.teacher(records, step),
        )

    def local_texts(
        self, texts: Sequence[str | None], records: int, kind: str, field: str = ""
    ) -> LocalTexts:
        """Return the texts of a batch for this process, tokenized.

        Each record has equally many places, of which some may hold no text.
        """
        self.encoder.tokenizing.read_field(field)
        group = len(texts) // records
        local = share(records)
        first, last = local.start * group, local.stop * group
        chosen = [text for text in texts[first:last] if text is not None]
        inputs = self.encoder.tokenizing.ids(chosen, kind) if chosen else []
        tokens = self.encoder.padded(inputs) if inputs else None
        first -= texts[:first].count(None)  # places without a text are not counted
        return LocalTexts(tokens, first, len(texts) - texts.count(None))

    def documents(
        self,
        records: list[Record],
        step: Step,
        name: str = "positive",
        negatives: str = "negatives",
        drawn_by: str = "negatives",
    ) -> list[str | None]:
        """Return each record's document in a field and its negatives, record by record.

        They are chosen by the field `drawn`; there is None for each that a record lacks.
        """
        texts: list[str | None] = []
        for record in records:
            drawn = self.draw_negatives(record, step, drawn_by)
            chosen = [record[negatives][place] for place in drawn]
            texts += [record[name], *chosen, *[None] * (self.negatives - len(chosen))]
        return texts

    def draw_negatives(self, record: Record, step: Step, name: str) -> list[int]:
        """Return the places of a record's negatives for an epoch."""
        available = len(record.get(name, ()))
        if not self.negatives or not available:
            return []
        draw = random_for(self.settings.seed, record["id"], step.stage, step.epoch)
        return draw.sample(range(available), min(available, self.negatives))

    def document_mask(self, documents: Sequence[str | None]) -> Tensor | None:
        """Return the places that hold a document, (batch * group,); None if all do."""
        is_present = [text is not None for text in documents]
        return None if all(is_present) else torch.tensor(is_present)

    def teacher(self, records: list[Record], step: Step, name: str = "negatives") -> Tensor | None:
        """Return a teacher's scores of positives and drawn negatives, (batch, group)."""
        if self.settings.distill is None:
            return None
        rows = []
        for record in records:
            scores = record["scores"]
            drawn = self.draw_negatives(record, step, name)
            rows.append([scores[0], *(scores[1 + place] for place in drawn)])
        return teacher_rows(rows, 1 + self.negatives)

    def contrast(self, queries: Tensor, documents: Tensor, inputs: Pairs) -> Tensor:
        """Return the contrastive loss of embeddings, with this training's settings.

        With `matryoshka`, it is the sum over the prefixes of embeddings, each with its difference
        from a teacher.
        """
        losses = []
        for width in self.settings.prefixes or (None,):
            query_prefixes = queries[..., :width]
            document_prefixes = documents[..., :width]
            if width and self.encoder.normalize:
                query_prefixes = functional.normalize(query_prefixes, dim=-1)
                document_prefixes = functional.normalize(document_prefixes, dim=-1)
            losses.append(self._contrast(query_prefixes, document_prefixes, inputs))
        return torch.stack(losses).sum()

    def _contrast(self, queries: Tensor, documents: Tensor, inputs: Pairs) -> Tensor:
        settings = self.settings
        temperature = settings.temperature
        assert temperature
        scores = self.scores(queries, documents)  # (batch, batch * group)
        loss = info_nce(scores, temperature, inputs.exclude, settings.symmetric)
        if settings.distill is None or inputs.teacher is None:
            return loss
        batch = len(queries)
        own_scores = scores.view(batch, batch, -1)[range(batch), range(batch)]  # (batch, group)
        return loss + distillation_loss(
            settings.distill,
            own_scores,
            inputs.teacher,
            temperature=temperature,
            teacher_temperature=settings.teacher_temperature,
        )

    def texts_to_rank(self, record: Record) -> tuple[Hashable, list[Hashable]]:
        field = self.document_fields[0]
        positive = record["positive" if "positive" in record else field]
        negatives = record.get("negatives") or record.get(f"negatives_{field}") or []
        return record["query"], [positive, *negatives]

    def text_embeddings(self, texts: Sequence[str], side: str) -> Tensor:
        field = self.document_fields[0] if side == "document" else ""
        inputs = Pairs({side: self.local_texts(texts, len(texts), side, field)}, None)
        inputs = with_tensors(inputs, lambda tensor: tensor.to(self.device))
        return self._gather_embeddings(inputs, list(self._embed_chunks(inputs)), side)

    def embedded(self, inputs: Any, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return embeddings of some texts, (rows, *shape), and these texts' own losses.

        Such a loss is the texts' part of a sum over the whole batch.
        """
        return self.encoder.embed(inputs.texts[name].tokens.shortened(rows)), {}

    def objective(
        self, inputs: Any, embeddings: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss over the embeddings of all processes, by names of texts, and its parts.

        The parts are for the log.
        """
        documents = spread(embeddings["document"], inputs.present)
        return self.contrast(embeddings["query"], documents, inputs), {}

    def weights(self) -> dict[str, float]:
        """Return the losses that `embedded` may return, and the weight of each in the sum."""
        return {}

    def backward(self, inputs: Any) -> LossReader:
        chunks = list(self._embed_chunks(inputs))
        embeddings = {name: self._gather_embeddings(inputs, chunks, name) for name in inputs.texts}
        # the scores are divided by a temperature: bfloat16 or TF32 would be too coarse for them
        with nullcontext() if self.device.type == "cpu" else matmul("highest"):
            loss, parts = self.objective(inputs, embeddings)
            self.pass_back(loss)
        if torch.is_grad_enabled():
            self._pass_through(inputs, chunks, embeddings)
        return self._loss_reader(loss, parts, chunks)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16)

    def _embed_chunks(self, inputs: Pairs) -> Iterator[_EmbeddedChunk]:
        """Yield all texts of this process, embedded in chunks; the last has a graph."""
        size = self.settings.chunk_size
        chunks = [
            (name, rows) for name, texts in inputs.texts.items() for rows in texts.chunks(size)
        ]
        for number, (name, rows) in enumerate(chunks, 1):
            recompute = bool(size) and number < len(chunks) and torch.is_grad_enabled()
            rng_state = RngState(self.device) if recompute else None
            # a context of its own: weights cast without a graph must not be used with one
            with torch.no_grad() if recompute else nullcontext(), self._autocast():
                yield _EmbeddedChunk(name, rows, rng_state, *self.embedded(inputs, name, rows))

    def shape(self, embedded: list[Tensor]) -> tuple[int, ...]:
        """Return the shape of an embedding for all of them in all processes; theirs may be less."""
        return (self.width,)

    def _gather_embeddings(self, inputs: Pairs, chunks: list[_EmbeddedChunk], name: str) -> Tensor:
        """Return the embeddings of all processes, (total, *shape), detached from their graphs."""
        matching = [chunk for chunk in chunks if chunk.name == name]
        count = sum(len(chunk.rows) for chunk in matching)
        shape = self.shape([chunk.embeddings for chunk in matching])
        embeddings = torch.zeros(count, *shape, device=self.device)
        for chunk in matching:
            embedded = chunk.embeddings.detach().float()
            embeddings[chunk.rows, : embedded.shape[1]] = embedded
        texts = inputs.texts[name]
        return gather_rows(embeddings, texts.first, texts.batch_texts).requires_grad_()

    def _pass_through(
        self, inputs: Pairs, chunks: list[_EmbeddedChunk], leaves: dict[str, Tensor]
    ) -> None:
        """Pass the embeddings' gradients, and the losses of single texts, on to the parameters."""
        rng_state = RngState(self.device)  # of the next step, which the chunks' states replace
        weights = self.weights()
        outputs: list[Tensor] = []
        gradients: list[Tensor | None] = []
        for number, chunk in enumerate(reversed(chunks), 1):  # the one with its graph comes first
            embeddings, losses = chunk.embeddings, chunk.losses
            if chunk.rng_state:
                chunk.rng_state.restore()
                with self._autocast():
                    embeddings, losses = self.embedded(inputs, chunk.name, chunk.rows)
            gradient = leaves[chunk.name].grad
            if gradient is not None:
                rows = inputs.texts[chunk.name].first + chunk.rows
                outputs.append(embeddings)
                gradients.append(gradient[rows, : embeddings.shape[1]])
            outputs += [weights[name] * part for name, part in losses.items()]
            gradients += [None] * len(losses)
            if outputs and (self.settings.chunk_size or number == len(chunks)):
                torch.autograd.backward(outputs, gradients)
                outputs, gradients = [], []
        rng_state.restore()

    def _loss_reader(
        self, loss: Tensor, parts: dict[str, Tensor], chunks: list[_EmbeddedChunk]
    ) -> LossReader:
        """Return the reader of the batch's loss and its parts, the same in all processes."""
        losses = [(name, part.detach()) for chunk in chunks for name, part in chunk.losses.items()]
        objective = loss.detach()
        weights = self.weights()

        def read() -> dict[str, float]:
            sums = {}
            for name in weights:
                own_parts = (part.item() for part_name, part in losses if part_name == name)
                sums[name] = total(sum(own_parts))
            weighted = sum(weights[name] * part for name, part in sums.items())
            logged = {name: part.item() for name, part in parts.items()}
            return {"loss": objective.item() + weighted, **logged, **sums}

        return read

    def save(self, folder: Path) -> None:
        save_encoder(self.encoder, folder)

    def metadata(self) -> Record:
        return {**self.encoder.metadata(), "document_fields": self.document_fields}


def info_nce(
    scores: Tensor,
    temperature: float,
    exclude: Tensor | None = None,
    symmetric: bool = False,
) -> Tensor:
    """Return the mean over queries of -log softmax of the positive's score among all documents.

    `scores` is (batch, batch * group) with the positive of query i at i * group; `exclude`, of the
    same shape, is true where a document is a false negative. `symmetric` averages with the loss of
    the positives among all queries. Source: van den Oord et al. 2018, eq. 4; SANTA eq. 5.

    >>> round(info_nce(torch.eye(2), temperature=1.0).item(), 6)  # log(1 + exp(-1))
    0.313262
    """
    batch, documents = scores.shape
    group = documents // batch
    scores = scores / temperature
    if exclude is not None:
        scores = scores.masked_fill(exclude, float("-inf"))
    rows = torch.arange(batch, device=scores.device)  # (batch,)
    loss = functional.cross_entropy(scores.float(), rows * group)
    if symmetric:
        # only for positives: a hard negative belongs to no query
        transposed = scores[:, ::group].T  # (batch positives, batch queries)
        loss = (loss + functional.cross_entropy(transposed.float(), rows)) / 2
    return loss


def distillation_loss(
    kind: str,
    scores: Tensor,
    teacher: Tensor,
    *,
    temperature: float,
    teacher_temperature: float,
) -> Tensor:
    """Return the difference of a query's scores of its own documents from a teacher's.

    `scores` and `teacher` are (batch, group), the positive first, NaN in the latter where there is
    no document. `kl`: the divergence of the softmax of scores / temperature from the teacher's,
    mean over queries (Lin et al. 2020, arXiv 2010.11386). `margin-mse`: the squared differences of
    the margins between positive and negatives, mean over negatives (Hofstätter et al. 2020, arXiv
    2010.02666).

    >>> teacher, plain = torch.tensor([[3.0, 1.0]]), {"temperature": 1, "teacher_temperature": 1}
    >>> distillation_loss("margin-mse", torch.tensor([[1.0, 0.0]]), teacher, **plain)
    tensor(1.)
    """
    absent = teacher.isnan()
    if kind == "margin-mse":
        is_present = ~absent[:, 1:]
        margins = (scores[:, :1] - scores[:, 1:])[is_present]  # (negatives,)
        targets = (teacher[:, :1] - teacher[:, 1:])[is_present]
        return ((margins - targets) ** 2).sum() / max(1, len(margins))
    lowest = torch.finfo(scores.dtype).min
    student = (scores / temperature).masked_fill(absent, lowest).log_softmax(1)
    targets = (teacher / teacher_temperature).masked_fill(absent, float("-inf")).softmax(1)
    return functional.kl_div(student, targets, reduction="batchmean")


def teacher_rows(scores: Sequence[Sequence[float]], group: int) -> Tensor:
    """Return a teacher's scores of some groups as one tensor, (batch, group), NaN behind the last.

    >>> teacher_rows([[1.0, 2.0], [3.0]], 2)
    tensor([[1., 2.],
            [3., nan]])
    """
    return torch.tensor([[*row, *[math.nan] * (group - len(row))] for row in scores])


def false_negatives(queries: Sequence[Hashable], documents: Sequence[Hashable]) -> Tensor | None:
    """Return documents that are no negatives of a query, (batch, batch * group), or None.

    `queries` and `documents` are texts or ids, laid out as in `info_nce`. A document is excluded
    if it equals a positive of the query or of an equal query, anywhere in the batch; a query's own
    positive never is. None is no document, and always excluded.

    >>> false_negatives(["a", "b"], ["x", "x"])
    tensor([[False,  True],
            [ True, False]])
    >>> false_negatives(["a", "b"], ["x", "y"]) is None
    True
    """
    group = len(documents) // len(queries)
    rows = {query: row for row, query in enumerate(dict.fromkeys(queries))}
    columns = {document: column for column, document in enumerate(dict.fromkeys(documents))}
    if len(rows) == len(queries) and len(columns) == len(documents) and None not in columns:
        return None
    row = torch.tensor([rows[query] for query in queries])
    column = torch.tensor([columns[document] for document in documents])
    # (distinct queries, distinct documents)
    no_negative = torch.zeros(len(rows), len(columns), dtype=torch.bool)
    no_negative[row, column[::group]] = True
    if None in columns:
        no_negative[:, columns[None]] = True
    excluded = no_negative[row][:, column]
    rows_of_queries = torch.arange(len(queries))
    excluded[rows_of_queries, rows_of_queries * group] = False
    return excluded


def count_negatives(settings: EncoderSettings, spool: Spool) -> int:
    """Return the negatives per query.

    A record with fewer uses what it has. Errors: `UserError` if no record has so many.
    """
    most_negatives = spool.most_negatives
    count = settings.negatives_per_query
    if count is None:
        count = min(settings.usual_negatives, most_negatives)
    fewest_negatives, record_id = spool.fewest_negatives
    if most_negatives < count:
        raise UserError(
            f"no record has more than {most_negatives:,} negatives, but each query needs {count}",
            f"add negatives, or set {flag('negatives_per_query')} {most_negatives}",
        ).at(spool.source)
    if fewest_negatives < count:
        say(
            f"record {record_id} has {fewest_negatives:,.0f} negatives, "
            f"and others have up to {most_negatives:,}: each uses what it has, at most {count}"
        )
    return count


def check_loss(settings: EncoderSettings, negatives: int, width: int) -> None:
    """Raise where no negatives are compared with a teacher, or a prefix is too long."""
    if settings.distill and not negatives:
        raise UserError(
            f"no query has negatives, which {flag('distill')} compares",
            f"add some with {program('pair')} {flag('negatives_from')}",
        )
    if longer := [prefix for prefix in settings.prefixes if prefix > width]:
        raise wrong_usage(
            f"{flag('matryoshka')} names {longer[0]}, but an embedding has {width} numbers",
            f"name at most {width}",
        )
    if settings.prefixes and width not in settings.prefixes:
        say(f"the whole embedding of {width} numbers is not trained: {flag('matryoshka')} lacks it")


def check_contrast(spool: Spool, settings: GradientSettings, negatives: int) -> None:
    """Raise if no query can have a negative: the loss would always be 0."""
    if not negatives and min(len(spool), settings.batch_size) < 2 and settings.max_steps != 0:
        raise UserError(
            f"{len(spool)} records in batches of {settings.batch_size} give no negatives",
            f"use at least two records and {flag('batch_size', 2)}",
        )


def build_encoder(
    settings: EncoderSettings,
    spool: Spool,
    *,
    head: bool = False,
    lengths: dict[str, int] | None = None,
) -> Encoder:
    """Return the encoder of `settings.model`, or a new one from scratch, without a part.

    The settings come from `complete`.
    """
    folder: Path | None = None
    start_metadata: Record = {}  # of the start model
    pooling = settings.pooling
    assert pooling
    seed_parameters(settings.seed)
    if settings.model:
        folder = model_folder(settings.model, offline=True)
        start_metadata = own_metadata(folder)
        model, tokenizer = load_pretrained(
            start_metadata.get("transformer", folder),
            decoder=pooling == "first-decoder-token",
            head=head,
        )
        if pooling != start_metadata.get("pooling"):
            fit_tokenizer(tokenizer, pooling)
        if settings.tag_tokens:
            add_tokens(model, tokenizer, TAG_TOKENS)
    else:
        model, tokenizer = _from_scratch(settings, spool, pooling, head)
    prompts = {"query": settings.query_prompt, "document": settings.document_prompt}
    limits: Record = {"query": settings.query_length, "document": settings.document_length}
    metadata = start_metadata | {
        "pooling": pooling,
        "normalize": settings.normalize,
        "lengths": limits | (lengths or {}),
        "prompts": {side: prompt for side, prompt in prompts.items() if prompt},
        "mcls_every": settings.mcls_every,
    }
    encoder = Encoder(model, tokenizer, metadata, start_metadata.get("head", ()))
    if encoder.part:  # rows are not compared as whole texts are
        encoder.part, encoder.similarity = "", None
    return try_encoder(encoder, folder) if folder else encoder


def _from_scratch(
    settings: EncoderSettings, spool: Spool, pooling: str, head: bool
) -> tuple[Any, Any]:
    fields = [*settings.needs, *settings.optional]
    tokenizer = train_tokenizer(
        spool.texts(fields),
        settings.vocabulary_size,
        cls=settings.architecture == "bert" or pooling in ("cls", "mcls"),
        whole=TAG_TOKENS if settings.tag_tokens else (),
    )
    decoder = pooling == "first-decoder-token"
    kind, size = settings.architecture, settings.size
    return new_model(kind, size, tokenizer, decoder=decoder, head=head), tokenizer


def spread(documents: Tensor, present: Tensor | None) -> Tensor:
    """Return documents (documents, …) at their places (places, …), else zeros.

    >>> spread(torch.tensor([[1.0], [2.0]]), torch.tensor([True, False, True])).tolist()
    [[1.0], [0.0], [2.0]]
    """
    if present is None:
        return documents
    rows = documents.new_zeros(len(present), *documents.shape[1:])  # (places, …)
    return rows.index_copy(0, present.nonzero()[:, 0], documents)


def interleave(positives: Tensor, negatives: Tensor | None) -> Tensor:
    """Return positives and negatives (batch * n, dim) in the layout of `info_nce`.

    >>> interleave(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0]])).tolist()
    [[1.0], [3.0], [2.0], [4.0]]
    """
    if negatives is None:
        return positives
    batch, dim = positives.shape
    group = [positives[:, None], negatives.view(batch, -1, dim)]  # (batch, 1, dim), (batch, n, dim)
    return torch.cat(group, dim=1).view(-1, dim)  # (batch * (1 + n), dim)
