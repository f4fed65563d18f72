"""An encoder: a Hugging Face model, its tokenizer, and how its states become an embedding.

It is built for a training, written to a model folder and read from one, for `encode` and `search`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional

from structkit import registry
from structkit.errors import UserError, flag
from structkit.learning.encoders.models import (
    DAMAGE,
    Bag,
    add_tokens,
    end_with_eos,
    explain,
    load_pretrained,
    new_model,
    positions,
    train_tokenizer,
    without_tokens,
)
from structkit.learning.encoders.packing import Packed, Tokens, pack, pad
from structkit.learning.encoders.poolings import OF_TOKENS, pool_mcls
from structkit.learning.encoders.settings import MCLS_EVERY, POOLINGS, EncoderSettings
from structkit.learning.folders import (
    POOLING_NAMES,
    has_facts,
    model_folder,
    own_facts,
    plain_facts,
    read_facts,
)
from structkit.learning.static import open_table
from structkit.learning.training.module import TorchModel, seed_parameters
from structkit.learning.training.spool import Spool
from structkit.learning.training.tokens import Chunk, Tokenizing, TokenModel
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.records.output import write_json
from structkit.structure.html.tags import TAG_TOKENS

PIECE = 16  # texts that a CPU computes at a time


def token_states(model: Any, tokens: Tokens) -> Tensor:
    """The last states of the encoder, (batch, length, dim)."""
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    states: Tensor = encoder(input_ids=tokens.ids, attention_mask=tokens.mask).last_hidden_state
    return states


class Encoder(TokenModel, TorchModel):
    """A model from texts to embeddings.

    `lengths` holds the most tokens of each kind of text: query, document, and what a method adds;
    `prompts` what goes before a query or a document. Errors: `UserError` where the tokenizer lacks
    the token that the pooling needs.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        pooling: str,
        normalize: bool,
        lengths: dict[str, int],
        *,
        prompts: Mapping[str, str] | None = None,
        mcls_every: int = MCLS_EVERY,
    ) -> None:
        super().__init__()
        if pooling in ("cls", "mcls"):
            check_cls(tokenizer, pooling)
        if not tokenizer.is_fast:
            problem = "the model's tokenizer has no tokenizer.json"
            raise UserError(problem, "convert it with transformers")
        self.model, self.tokenizer = model, tokenizer
        backend = tokenizer.backend_tokenizer
        backend.encode_special_tokens = bool(tokenizer.split_special_tokens)
        self.pooling, self.normalize, self.mcls_every = pooling, normalize, mcls_every
        most = positions(model)
        self.tokenizing = Tokenizing(
            backend,
            _readable(lengths, most),
            prompts,
            mcls_every if pooling == "mcls" else None,
            plain=without_tokens(backend, TAG_TOKENS),
            positions=most,
            padding=tokenizer.pad_token_id,
        )
        self.truncation = self.tokenizing.truncation

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def tokens(self, texts: Sequence[str], kind: str) -> Tokens:
        """Texts as one padded batch, on the model's device."""
        return self.batch(self.tokenizing.ids(texts, kind))

    def batch(self, inputs: Sequence[Sequence[int] | Chunk]) -> Tokens:
        """Some inputs, padded, on the model's device."""
        ids = [each.ids if isinstance(each, Chunk) else each for each in inputs]
        return pad(ids, self.tokenizing.padding).to(self.device)

    def embed(self, tokens: Tokens) -> Tensor:
        """One embedding per text, (batch, dim); a CPU computes no padding."""
        first = self.pooling == "cls"

        def embedded(rows: Tensor, piece: Tokens) -> Tensor:
            return self.pooled(self.states(piece, first=first), piece.mask)

        if self.packed and not self.model.training and not torch.is_grad_enabled():
            return embedded(tokens.mask, tokens)
        return self.in_pieces(tokens, embedded)

    def states(self, tokens: Tokens, *, first: bool = False) -> Tensor:
        """The last states, (batch, length, dim); `first` needs only those of the first tokens."""
        if self.packed:
            return self.packed.states(tokens, first=first)
        return token_states(self.model, tokens)

    @property
    def packed(self) -> Packed | None:
        """The model computed without padding, on a CPU."""
        return self._packed if self.device.type == "cpu" else None

    @cached_property
    def _packed(self) -> Packed | None:
        """The same, if the model is of a kind for which this was checked."""
        return pack(self.model)

    def in_pieces(self, tokens: Tokens, compute: Callable[[Tensor, Tokens], Tensor]) -> Tensor:
        """What `compute(rows, piece)` makes of the texts, in their order, (batch, dim).

        In pieces of about equal lengths a CPU computes little padding and stays in its cache.
        """
        rows = tokens.mask.sum(1).argsort(stable=True)  # (batch,)
        if self.device.type != "cpu" or len(rows) <= PIECE:
            return compute(torch.arange(len(rows), device=self.device), tokens)
        with self.packed.of_batch(tokens.ids) if self.packed else nullcontext():
            pieces = torch.split(rows, PIECE)
            computed = [compute(piece, tokens.shortened(piece)) for piece in pieces]
        return torch.cat(computed)[rows.argsort()]

    def pooled(self, states: Tensor, mask: Tensor) -> Tensor:
        """The embeddings of given states, (batch, dim)."""
        if self.pooling == "mcls":
            embeddings = pool_mcls(states, mask, self.mcls_every, len(self.tokenizing.closing))
        else:
            embeddings = OF_TOKENS[self.pooling](self.model, states, mask)
        return self.normalized(embeddings)

    def normalized(self, embeddings: Tensor) -> Tensor:
        embeddings = embeddings.float()
        return functional.normalize(embeddings, dim=-1) if self.normalize else embeddings

    def facts(self) -> Record:
        """What a model folder must say to load the encoder as it is."""
        return {
            "pooling": self.pooling,
            "mcls_every": self.mcls_every,
            "normalize": self.normalize,
            "prompts": self.tokenizing.prompts,
            "lengths": self.tokenizing.lengths,
        }


def after_first_text(encoder: Encoder, folder: Path) -> Encoder:
    """The encoder of a folder, after a first text, so that damaged files raise here."""
    try:
        with torch.inference_mode():
            encoder.embed(encoder.tokens(["a"], "query"))
    except DAMAGE as error:
        raise explain(folder, error) from None
    encoder.tokenizing.truncation.drain()
    return encoder


def build_encoder(
    settings: EncoderSettings,
    spool: Spool,
    *,
    head: bool = False,
    lengths: dict[str, int] | None = None,
    tags: bool = False,
) -> Encoder:
    """The encoder that a training starts from: `settings.model`, or a new one from scratch.

    The settings come from `complete`. `tags`: a tokenizer from scratch makes each structure tag one
    token, unless the settings say otherwise.
    """
    folder: Path | None = None
    pooling = settings.pooling
    assert pooling and settings.query_length and settings.document_length
    assert settings.mcls_every and settings.normalize is not None
    seed_parameters(settings.seed)
    if settings.model:
        folder = model_folder(settings.model, offline=True)
        model, tokenizer = load_pretrained(
            own_facts(folder, pooling=pooling).get("transformer", folder),
            decoder=pooling == "first-decoder-token",
            head=head,
        )
        if pooling == "last-token":
            end_with_eos(tokenizer)
        if settings.tag_tokens:
            add_tokens(model, tokenizer, TAG_TOKENS)
    else:
        whole = tags if settings.tag_tokens is None else settings.tag_tokens
        model, tokenizer = _from_scratch(settings, spool, pooling, head, whole)
    prompts = {"query": settings.query_prompt, "document": settings.document_prompt}
    limits = {"query": settings.query_length, "document": settings.document_length}
    encoder = Encoder(
        model,
        tokenizer,
        pooling,
        settings.normalize,
        limits | (lengths or {}),
        prompts={side: prompt for side, prompt in prompts.items() if prompt},
        mcls_every=settings.mcls_every,
    )
    return after_first_text(encoder, folder) if folder else encoder


def _from_scratch(
    settings: EncoderSettings, spool: Spool, pooling: str, head: bool, tags: bool
) -> tuple[Any, Any]:
    fields = [*settings.needs, *settings.optional]
    tokenizer = train_tokenizer(
        spool.texts(fields),
        settings.vocabulary_size,
        cls=settings.architecture == "bert" or pooling in ("cls", "mcls"),
        whole=TAG_TOKENS if tags else (),
    )
    decoder = pooling == "first-decoder-token"
    return (
        new_model(
            settings.architecture,
            settings.size,
            tokenizer,
            decoder=decoder,
            head=head,
        ),
        tokenizer,
    )


def check_cls(tokenizer: Any, pooling: str) -> None:
    """Raise if texts do not begin with a CLS token."""
    number = tokenizer.cls_token_id
    if number is None or tokenizer("a")["input_ids"][0] != number:
        raise UserError(
            f"the model puts no CLS token first, which --pooling {pooling} needs",
            "use --pooling mean, or last-token for a decoder-only model",
        )


def _readable(lengths: dict[str, int], most: int | None) -> dict[str, int]:
    """The lengths, limited to the model's positions."""
    if not most:
        return dict(lengths)
    for kind, length in lengths.items():
        if length > most:
            named = flag(f"{kind}_length", length)
            say(f"the model reads at most {most} tokens: {named} becomes {most}")
    return {kind: min(length, most) for kind, length in lengths.items()}


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Write the model, its tokenizer, and what sentence-transformers needs to load both.

    A pooling that it lacks is written as a module that it cannot find, so that it refuses the
    folder: without a list of modules it would silently take the mean.
    """
    if isinstance(encoder.model, Bag):
        table = encoder.model.table(encoder.tokenizer)
        table.write(folder, normalize=encoder.normalize)
        return
    tokenizer = encoder.tokenizer
    if tokenizer.pad_token_id is None:  # GPT-2's; others pad with it, and any masked token will do
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    encoder.model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if encoder.pooling in POOLING_NAMES:
        _save_sentence_transformers(encoder, folder)
    else:
        kind = f"structkit.only_structkit_encodes_with.pooling_{encoder.pooling.replace('-', '_')}"
        modules = [{"idx": 0, "name": "0", "path": "", "type": kind}]
        write_json(folder / "modules.json", modules)


def _save_sentence_transformers(encoder: Encoder, folder: Path) -> None:
    names = [("", "Transformer"), ("1_Pooling", "Pooling")]
    if encoder.normalize:
        names.append(("2_Normalize", "Normalize"))
    modules = [
        {
            "idx": number,
            "name": str(number),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, (path, kind) in enumerate(names)
    ]
    for path, _ in names[1:]:
        (folder / path).mkdir()
    write_json(folder / "modules.json", modules)
    pooling = {
        "word_embedding_dimension": encoder.model.config.hidden_size,
        "pooling_mode_cls_token": encoder.pooling == "cls",
        "pooling_mode_mean_tokens": encoder.pooling == "mean",
        "pooling_mode_lasttoken": encoder.pooling == "last-token",
    }
    write_json(folder / "1_Pooling" / "config.json", pooling)
    versions = {"transformers": transformers.__version__, "pytorch": torch.__version__}
    about = {"__version__": versions, "similarity_fn_name": "dot"}
    prompts = {side: encoder.tokenizing.prompts.get(side, "") for side in ("query", "document")}
    write_json(folder / "config_sentence_transformers.json", {**about, "prompts": prompts})
    length = encoder.tokenizing.lengths["document"]
    write_json(
        folder / "sentence_bert_config.json", {"max_seq_length": length, "do_lower_case": False}
    )


def load_encoder(folder: Path, facts: Record) -> Encoder:
    """The encoder that `save_encoder` wrote, with the poolings and lengths of its facts."""
    decoder = facts["pooling"] == "first-decoder-token"
    return _encoder(folder, *load_pretrained(folder, decoder=decoder), facts)


def open_model(name: str, *, offline: bool = False, **changes: Any) -> tuple[Any, Record]:
    """The trained model in a folder, ready to encode, and its facts.

    A plain Hugging Face folder or hub name works as well, and a sentence-transformers one with its
    own pooling, normalization, length and prompts. `changes` override what the model says, unless
    they are None. Errors: `UserError` that names the file and the remedy.
    """
    changes = {key: value for key, value in changes.items() if value is not None}
    if changes.get("pooling", "mean") not in POOLINGS:
        problem = f"{flag('pooling', changes['pooling'])} is not {' or '.join(POOLINGS)}"
        raise UserError(problem, "name one of them", status=2)
    folder = model_folder(name, offline=offline)
    if table := open_table(folder, changes):
        return table
    if has_facts(folder):
        facts = read_facts(folder) | changes
        method = registry.load("method", facts["method"], status=1)
        model = method.load(folder, facts)
    else:
        own = own_facts(folder, pooling=changes.get("pooling"))
        model, tokenizer = load_pretrained(
            own.pop("transformer", folder),
            decoder=changes.get("pooling") == "first-decoder-token",
        )
        facts = plain_facts(fitting_pooling(model, tokenizer)) | own | changes
        if facts["pooling"] == "last-token" and "pooling" not in own:
            end_with_eos(tokenizer)
        model = _encoder(folder, model, tokenizer, facts)
    if isinstance(model, nn.Module):  # a parser is not one
        model.eval()
    return model, facts | {"folder": folder}


def _encoder(folder: Path, model: Any, tokenizer: Any, facts: Record) -> Encoder:
    encoder = Encoder(
        model,
        tokenizer,
        facts["pooling"],
        facts["normalize"],
        facts["lengths"],
        prompts=facts.get("prompts"),
        mcls_every=facts.get("mcls_every", MCLS_EVERY),
    )
    return after_first_text(encoder, folder)


def fitting_pooling(model: Any, tokenizer: Any) -> str:
    """The pooling for a model that states none: cls where possible, or mean, or last-token."""
    if tokenizer.cls_token_id is not None:
        return "cls"
    return "mean" if model.config.is_encoder_decoder else "last-token"
