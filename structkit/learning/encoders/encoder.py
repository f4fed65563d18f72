"""An encoder: a Hugging Face model, its tokenizer, and how its states become an embedding.

It is trained, written to a model folder, and read from one for `encode` and `search`.

Tests: tests/learning/encoders/test_encoders.py.
"""

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional

from structkit import registry
from structkit.errors import UserError, data_errors, flag, program, wrong_usage
from structkit.learning.encoders.adapters import Adapter
from structkit.learning.encoders.heads import (
    Dense,
    Normalize,
    read_head,
)
from structkit.learning.encoders.models import (
    TableModel,
    add_padding,
    end_with_eos,
    limit_lengths,
    load_pretrained,
    positions,
    state_width,
    without_tokens,
)
from structkit.learning.encoders.packing import PACKED_MODELS, Packed, equal_lengths, pack
from structkit.learning.encoders.poolings import (
    PAIR_MASK_MODELS,
    TOKEN_POOLINGS,
    Tokens,
    attention_mask,
    pad_tokens,
    pool_first_decoder_token,
    pool_mcls,
)
from structkit.learning.encoders.pretrained import (
    DAMAGE_ERRORS,
    error_summary,
    loading_error,
    natural_length,
)
from structkit.learning.encoders.rows import RowTokens
from structkit.learning.folders import model_folder, read_json, write_module_list
from structkit.learning.metadata import (
    LIBRARY_CONFIG_FILE,
    MAX_TEXT_TOKENS,
    MCLS_EVERY,
    MODULE_PREFIX,
    POOLING_FLAGS,
    POOLING_NAMES,
    POOLINGS,
    PYLATE_TYPE,
    TEXT_OUTPUT,
    TOKEN_OUTPUT,
    TRANSFORMER_CONFIG_FILE,
    has_metadata,
    head_modules,
    no_text_embedding_error,
    own_metadata,
    plain_metadata,
    read_metadata,
)
from structkit.learning.model import TokenModel
from structkit.learning.static import open_table
from structkit.learning.tokens import Tokenizing, batches_of
from structkit.learning.training.devices import TorchModel
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.records.output import write_json
from structkit.structure.html.tags import TAG_TOKENS

POOLING_FOLDER = "1_Pooling"
# texts that a CPU computes at a time
CPU_PIECE_TEXTS = 16
TABLE_PIECE_TEXTS = 64
# padded tokens that a GPU computes at a time: with fewer, a small model's kernels end sooner than
# the next ones are started
GPU_PIECE_TOKENS = 32768


def hidden_states_of(model: Any, tokens: Tokens) -> Tensor:
    """Return the encoder's last states, (batch, length, dim)."""
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    mask = attention_mask(model, tokens.mask, tokens.ids.shape[1])
    options = {}
    if "use_cache" in inspect.signature(encoder.forward).parameters:
        # a decoder would keep the keys and values of all layers, for tokens that never follow
        options["use_cache"] = False
    hidden_states: Tensor = encoder(input_ids=tokens.ids, attention_mask=mask, **options)[0]
    return hidden_states


class Encoder(TokenModel, TorchModel):
    """Model from texts to embeddings, which pools, cuts and scales as its metadata say.

    `lengths` holds the maximum tokens of each kind of text: query, document, and a method's own;
    `prompts` the text before a query or a document. `head` are the kinds and folders of the modules
    after the pooling. With the `part` tokens, texts have no embedding, but one row per token.
    """

    parts = ("chunk", "tokens")

    def __init__(
        self, model: Any, tokenizer: Any, metadata: Record, head: Sequence[tuple[str, Path]] = ()
    ) -> None:
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.part: str = metadata.get("part", "")
        self.head = read_head(head, TOKEN_OUTPUT if self.part else TEXT_OUTPUT) if head else None
        self.adapter: Adapter | None = None  # while one is trained
        self.mixes_padding = False  # whether padding changes the states of a text
        self.similarity = metadata.get("similarity")
        backend = tokenizer.backend_tokenizer
        backend.encode_special_tokens = bool(tokenizer.split_special_tokens)
        self.pooling, self.normalize = metadata["pooling"], metadata["normalize"]
        self.mcls_every: int = metadata.get("mcls_every", MCLS_EVERY)
        max_positions = positions(model)
        self.tokenizing = Tokenizing(
            backend,
            limit_lengths(metadata["lengths"], max_positions),
            metadata.get("prompts"),
            self.mcls_every if self.pooling == "mcls" else None,
            plain=without_tokens(backend, TAG_TOKENS),
            positions=max_positions,
            padding=tokenizer.pad_token_id,
            from_end=tokenizer.truncation_side == "left",
        )
        self.truncation = self.tokenizing.truncation
        self._row_metadata = metadata

    @cached_property
    def row_tokens(self) -> RowTokens:
        """Which tokens have a row."""
        return RowTokens(self.tokenizer, self._row_metadata)

    @property
    def width(self) -> int:
        """The dimensions of an embedding."""
        dense = [module.linear for module in self.head or () if isinstance(module, Dense)]
        return dense[-1].out_features if dense else state_width(self.model)

    def tokens(self, texts: Sequence[str], kind: str) -> Tokens:
        """Return texts as one padded batch, on the model's device."""
        return self.batch(self.inputs(texts, kind))

    def batch(self, inputs: Sequence[Sequence[int]]) -> Tokens:
        """Return some inputs, padded, on the model's device."""
        return self.padded(inputs).to(self.device)

    def padded(self, inputs: Sequence[Sequence[int]]) -> Tokens:
        """Return some inputs, padded, on the CPU."""
        return pad_tokens(inputs, self.tokenizing.padding)

    def embed(self, tokens: Tokens) -> Tensor:
        """Return one embedding per text, (batch, dim); a CPU computes no padding."""
        if self.part:
            raise no_text_embedding_error()
        first = self.pooling == "cls"

        def embed_piece(rows: Tensor, piece: Tokens) -> Tensor:
            return self.pooled(self.hidden_states(piece, first=first), piece)

        if self.packed and not self.model.training and not torch.is_grad_enabled():
            return embed_piece(tokens.mask, tokens)
        return self.in_pieces(tokens, embed_piece)

    def rows(self, tokens: Tokens, side: str) -> tuple[Tensor, Tensor]:
        """Return a row of length 1 per token of texts of a side, (batch, length, dim).

        It is 0 for tokens without one; the second tensor, (batch, length), says which have one.
        """
        tokens, has_row = self.row_tokens.expanded(tokens, side, self.tokenizing.lengths[side])
        length = has_row.shape[1]
        expands = side == "query" and self.row_tokens.query_expansion

        def compute_rows(_: Tensor, piece: Tokens) -> Tensor:
            # tokens of query expansion read the text though none reads them: they are not packed
            states = hidden_states_of(self.model, piece) if expands else self.hidden_states(piece)
            rows = functional.normalize(self.finish(states), dim=-1)
            return functional.pad(rows, (0, 0, 0, length - rows.shape[1]))

        return self.in_pieces(tokens, compute_rows) * has_row.unsqueeze(-1), has_row

    def hidden_states(self, tokens: Tokens, *, first: bool = False) -> Tensor:
        """Return the last states, (batch, length, dim); `first`: the first tokens'."""
        if self.packed:
            return self.packed.hidden_states(tokens, first=first)
        return hidden_states_of(self.model, tokens)

    @property
    def packed(self) -> Packed | None:
        """The model computed without padding, on a CPU."""
        return self._packed if self.device.type == "cpu" else None

    @cached_property
    def _packed(self) -> Packed | None:
        """The model without padding, if it is of a kind for which `Packed` is checked."""
        return pack(self.model) if type(self.model).__name__ in PACKED_MODELS else None

    def in_pieces(self, tokens: Tokens, compute: Callable[[Tensor, Tokens], Tensor]) -> Tensor:
        """Return `compute(rows, piece)` for the texts, in their order, (batch, dim).

        Chunks of about equal lengths have little padding, and keep a CPU in its cache; for each, a
        table adds a gradient as large as itself.
        """
        lengths = tokens.lengths
        rows = lengths.argsort(stable=True)  # (batch,)
        pieces: Sequence[Tensor]
        if self.mixes_padding:
            equal_runs = equal_lengths(lengths[rows].tolist())
            pieces = torch.split(rows, [run_texts for _, run_texts in equal_runs])
        elif self.device.type == "cpu":
            is_table = isinstance(self.model, TableModel)
            pieces = torch.split(rows, TABLE_PIECE_TEXTS if is_table else CPU_PIECE_TEXTS)
        else:
            pieces = [*map(torch.tensor, batches_of(lengths.tolist(), GPU_PIECE_TOKENS))]
        if len(pieces) == 1:
            return compute(torch.arange(len(rows)), tokens)
        with self.packed.of_batch(tokens.ids) if self.packed else nullcontext():
            computed = [compute(piece, tokens.shortened(piece)) for piece in pieces]
        order = torch.cat([*pieces]).argsort()  # of the texts
        return torch.cat(computed)[order]

    def pooled(self, hidden_states: Tensor, tokens: Tokens) -> Tensor:
        """Return the embeddings of given states, (batch, dim)."""
        mask = tokens.mask
        decodes = self.pooling == "first-decoder-token"
        if not decodes and next(self.model.parameters()).dtype == torch.bfloat16:
            hidden_states = hidden_states.float()  # for sums over long texts, and the head
        if self.pooling == "mcls":
            embeddings = pool_mcls(
                hidden_states, mask, self.mcls_every, len(self.tokenizing.closing)
            )
        elif decodes:
            embeddings = pool_first_decoder_token(self.model, hidden_states, mask)
        else:
            embeddings = TOKEN_POOLINGS[self.pooling](hidden_states, mask)
        return self.finish(embeddings)

    def finish(self, pooled: Tensor) -> Tensor:
        """Return pooled states after the head, and of length 1 if the model says so."""
        if self.head is not None:
            pooled = self.head(pooled.float() if pooled.dtype == torch.bfloat16 else pooled)
        embeddings = pooled.float()
        return functional.normalize(embeddings, dim=-1) if self.normalize else embeddings

    def metadata(self) -> Record:
        """Return the metadata with which a model folder loads the encoder unchanged."""
        return {
            "pooling": self.pooling,
            "mcls_every": self.mcls_every,
            "normalize": self.normalize,
            "prompts": self.tokenizing.prompts,
            "lengths": self.tokenizing.lengths,
            **({"similarity": self.similarity} if self.similarity else {}),
            **(self.row_tokens.metadata(self.part) if self.part else {}),
        }


def try_encoder(encoder: Encoder, folder: Path) -> Encoder:
    """Return a folder's encoder after a first text, so that damaged files raise here."""
    try:
        with torch.inference_mode():
            first = encoder.tokens(["a"], "query")
            encoder.rows(first, "query") if encoder.part else encoder.embed(first)
            encoder.mixes_padding = mixes_padding(encoder)
    except (RuntimeError, LookupError) as error:  # as Funnel, whose layers halve the length
        raise UserError(
            f'the model {folder} cannot read the text "a": {error_summary(error)}',
            "use another model",
        ) from None
    except DAMAGE_ERRORS as error:
        raise loading_error(folder, error) from None
    encoder.tokenizing.truncation.drain()
    return encoder


def mixes_padding(encoder: Encoder) -> bool:
    """Return whether padding changes the states of a text, as in FNet and ConvBERT."""
    if encoder.model.config.model_type in PAIR_MASK_MODELS:  # checked
        return False
    short_ids, long_ids = encoder.inputs(["a", "a b c d e f g h"], "query")
    unpadded = encoder.hidden_states(encoder.batch([short_ids]))
    padded = encoder.hidden_states(encoder.batch([short_ids, long_ids]))[:1, : len(short_ids)]
    error = (unpadded - padded).abs().max() / unpadded.abs().max()
    return bool(error > torch.finfo(unpadded.dtype).eps ** 0.5)


def fit_tokenizer(tokenizer: Any, pooling: str) -> None:
    """Make a tokenizer give the tokens that another pooling than the model's own needs."""
    if pooling in ("cls", "mcls"):
        check_cls(tokenizer, pooling)
    elif pooling == "last-token":
        end_with_eos(tokenizer)


def begins_with_cls(tokenizer: Any) -> bool:
    """Return whether texts begin with a CLS token; a tokenizer may have one and not use it."""
    cls_id = tokenizer.cls_token_id
    return cls_id is not None and tokenizer("a")["input_ids"][:1] == [cls_id]


def check_cls(tokenizer: Any, pooling: str) -> None:
    """Raise if texts do not begin with a CLS token."""
    if not begins_with_cls(tokenizer):
        raise UserError(
            f"the model puts no CLS token first, which {flag('pooling', pooling)} needs",
            f"use {flag('pooling', 'mean')}, or last-token for a decoder-only model",
        )


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Write the model, its tokenizer, and what sentence-transformers needs to load both."""
    if isinstance(encoder.model, TableModel):
        table = encoder.model.table(encoder.tokenizer.backend_tokenizer)
        table.write(folder, normalize=encoder.normalize)
        write_library_config(folder, encoder.metadata())
        return
    add_padding(encoder.tokenizer)  # others pad with it
    save = encoder.adapter.save if encoder.adapter else encoder.model.save_pretrained
    save(folder)
    encoder.tokenizer.save_pretrained(folder)
    write_modules(folder, encoder)


def write_modules(folder: Path, encoder: Encoder) -> None:
    """Write the modules of sentence-transformers that compute an encoder: its pooling and its head.

    A pooling that the library lacks is written as a module that it cannot find, so it refuses
    the folder: without a list of modules it would silently take the mean.
    """
    pooling = encoder.pooling
    rows = bool(encoder.part)  # one per token, in place of an embedding
    if is_ours := pooling not in POOLING_NAMES:
        kind = f"structkit.only_structkit_encodes_with.pooling_{pooling.replace('-', '_')}"
        modules = [(kind, "")]
    else:
        modules = [(f"{MODULE_PREFIX}Transformer", "")]
        modules += [] if rows else [(f"{MODULE_PREFIX}Pooling", POOLING_FOLDER)]
    # PyLate's models imply that rows are scaled
    modules_after_pooling = [
        *(encoder.head or ()),
        *([Normalize()] if encoder.normalize and not rows else ()),
    ]
    for place, module in enumerate(modules_after_pooling, 2):
        kind = type(module).__name__
        modules.append((f"{MODULE_PREFIX}{kind}", f"{place}_{kind}"))
    write_module_list(folder, modules)
    for place, module in enumerate(modules_after_pooling, 2):
        if isinstance(module, Dense):
            module.write(folder / f"{place}_Dense")
    if is_ours:
        return
    if not rows:
        config: Record = {"word_embedding_dimension": state_width(encoder.model)}
        config |= {key: name == POOLING_NAMES[pooling] for key, name in POOLING_FLAGS.items()}
        write_json(folder / POOLING_FOLDER / "config.json", config)
    metadata = encoder.metadata()
    lengths = metadata["lengths"]
    transformer_config = {"max_seq_length": lengths["document"]}
    if not rows and lengths["query"] != lengths["document"]:
        # version 5 of the library knows one length alone, and refuses a folder with two
        transformer_config["query_length"] = lengths["query"]
    write_json(folder / TRANSFORMER_CONFIG_FILE, transformer_config)
    write_library_config(folder, metadata)


def write_library_config(folder: Path, metadata: Record) -> None:
    """Write the prompts, the similarity and the dimensions of a model."""
    prompts = metadata.get("prompts") or {}
    config: Record = {
        "__version__": {"transformers": transformers.__version__, "pytorch": torch.__version__},
        "similarity_fn_name": metadata.get("similarity", "dot"),
        "prompts": {side: prompts.get(side, "") for side in ("query", "document")},
    }
    if metadata.get("part"):  # as PyLate, which sentence-transformers reads too
        config |= {"model_type": PYLATE_TYPE, "similarity_fn_name": "MaxSim"}
        config |= {f"{side}_prefix": "" for side in config["prompts"]}
        config |= {f"{side}_length": length for side, length in metadata["lengths"].items()}
        config |= {
            "skiplist_words": metadata["skipped"],
            "do_query_expansion": metadata["query_expansion"],
            "attend_to_expansion_tokens": False,
        }
    write_json(folder / LIBRARY_CONFIG_FILE, config)


def load_encoder(folder: Path, metadata: Record) -> Encoder:
    """Load the encoder that `save_encoder` wrote, with the poolings and lengths of its metadata."""
    pooling, head = metadata["pooling"], head_modules(folder)
    model, tokenizer = load_pretrained(folder, decoder=pooling == "first-decoder-token")
    if pooling in ("cls", "mcls"):
        check_cls(tokenizer, pooling)
    return try_encoder(Encoder(model, tokenizer, metadata, head), folder)


def open_model(name: str, *, offline: bool = False, **changes: Any) -> tuple[Any, Record]:
    """Return the trained model in a folder, ready to encode, and its metadata.

    A plain Hugging Face folder or Hub name works as well, and a sentence-transformers one with its
    own pooling, normalization, length and prompts. `changes` override the model's own settings.
    Errors: `UserError` that names the file and the remedy.
    """
    if changes.get("pooling", "mean") not in POOLINGS:
        raise wrong_usage(
            f"{flag('pooling', changes['pooling'])} is not {' or '.join(POOLINGS)}",
            "name one of them",
        )
    folder = model_folder(name, offline=offline)
    if table := open_table(folder, changes):
        return table
    if has_metadata(folder):
        metadata = read_metadata(folder) | changes
        known = metadata["method"] in registry.names("method")
        if (
            known
            or metadata.get("pooling") not in POOLINGS
            or not read_json(folder / "modules.json")
        ):
            with data_errors():
                method = registry.load("method", metadata["method"])
            model = method.load(folder, metadata)
        else:  # the plugin that trained it is not here, and an encoder needs none
            model = load_encoder(folder, metadata)
    else:
        model, metadata = _load_library_encoder(folder, changes)
    if metadata.get("part") and changes:
        raise wrong_usage(
            f"{flag(min(changes))} is for models with an embedding of a whole text", "leave it out"
        )
    if isinstance(model, nn.Module):  # a parser is not one
        model.eval()
    return model, metadata | {"folder": folder}


def _load_library_encoder(folder: Path, changes: Record) -> tuple[Encoder, Record]:
    """Return the encoder of a folder that structkit did not write, and its metadata."""
    library_metadata = own_metadata(folder)
    transformer_folder = library_metadata.pop("transformer", folder)
    head = library_metadata.pop("head", ())
    decoder = changes.get("pooling") == "first-decoder-token"
    model, tokenizer = load_pretrained(transformer_folder, decoder=decoder)
    length = natural_length(tokenizer, model.config)
    metadata = plain_metadata(usual_pooling(model, tokenizer)) | library_metadata | changes
    lengths = {"query": length, "document": length} | library_metadata.get("lengths", {})
    max_positions = positions(model) or MAX_TEXT_TOKENS
    metadata["lengths"] = {side: min(tokens, max_positions) for side, tokens in lengths.items()}
    pooling = metadata["pooling"]
    if pooling != library_metadata.get("pooling"):
        fit_tokenizer(tokenizer, pooling)
    if not library_metadata and "pooling" not in changes:
        change = f"{program('encode')} {flag('pooling')} changes it"
        say(f"the model {folder} names no pooling, and is pooled by {pooling}; {change}")
    return try_encoder(Encoder(model, tokenizer, metadata, head), folder), metadata


def usual_pooling(model: Any, tokenizer: Any) -> str:
    """Return the pooling for a model that states none: cls, mean, or last-token."""
    if begins_with_cls(tokenizer):
        return "cls"
    # as a T5's, which a configuration does not tell from a decoder
    is_encoder = model.config.is_encoder_decoder or type(model).__name__.endswith("EncoderModel")
    return "mean" if is_encoder else "last-token"
