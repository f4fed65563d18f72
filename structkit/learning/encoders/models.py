"""Models behind an encoder: pretrained ones, small ones from scratch, and tables of token vectors.

A pretrained one is loaded whole, or raises one clear error. One from scratch has a tokenizer that
is trained on the records themselves. Tests: tests/learning/encoders/test_start_models.py.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoModelForTextEncoding,
    AutoTokenizer,
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    T5Model,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES

from structkit.errors import UserError, flag
from structkit.learning.encoders.pretrained import (
    LOCAL_ONLY,
    LOCAL_SAFETENSORS,
    check_model,
    check_tokenizer,
    check_weights,
    error_summary,
    explain_damage,
    natural_length,
)
from structkit.learning.metadata import UNLIMITED_LENGTHS, OddModel
from structkit.learning.static import Table, is_table
from structkit.processes import return_freed
from structkit.progress import say
from structkit.structure.sentinels import SENTINELS

transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def load_pretrained(folder: Path, *, decoder: bool = False, head: bool = False) -> tuple[Any, Any]:
    """Load the model and tokenizer of a folder.

    `decoder` keeps the decoder of an encoder-decoder model, `head` also the layer that predicts
    tokens. Weights are float32. Errors: `UserError` that names the folder, or the missing or
    damaged file in it.
    """
    if is_table(folder):
        if decoder or head:
            raise UserError(
                f"the model {folder} is a table of token vectors", f"use {flag('pooling', 'mean')}"
            )
        return load_table_model(folder)
    check_model(folder)
    try:
        with explain_damage(folder):
            model = _load(folder, decoder, head)
    except ImportError as error:
        raise UserError(
            f"the model {folder} needs a package: {error_summary(error)}", "install it"
        ) from None
    with explain_damage(folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOCAL_ONLY)
        check_tokenizer(folder, tokenizer, model)
    return model.float(), tokenizer


def add_padding(tokenizer: Any) -> None:
    """Let a tokenizer without a padding token, as GPT-2's, pad with another; it is masked."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token


def limit_lengths(lengths: Mapping[str, int], most: int | None) -> dict[str, int]:
    """Limit the lengths of kinds of texts to the positions of a model, and say which change."""
    if not most:
        return dict(lengths)
    for kind, length in lengths.items():
        if length > most:
            length_flag = flag(f"{kind}_length", length)
            say(f"the model reads at most {most} tokens: {length_flag} becomes {most}")
    return {kind: min(length, most) for kind, length in lengths.items()}


def _load(name: Path, decoder: bool, head: bool) -> Any:
    config = AutoConfig.from_pretrained(name, **LOCAL_ONLY)
    if (decoder or head) and not config.is_encoder_decoder:
        raise UserError(f"the model {name} has no decoder", "use a T5 model, or another pooling")
    kind: Any = AutoModelForSeq2SeqLM if head else AutoModel
    if not decoder and not head and config.model_type in MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES:
        kind = AutoModelForTextEncoding  # of a T5, only the encoder
    elif config.is_encoder_decoder and not (decoder or head):
        raise OddModel(name, f"is a {config.model_type}, whose decoder reads the text")
    model, loading = kind.from_pretrained(
        name, **LOCAL_SAFETENSORS, output_loading_info=True, ignore_mismatched_sizes=True
    )
    check_weights(name, model, loading)
    return model


def natural_lengths(folder: Path) -> dict[str, int]:
    """Return the natural lengths of the model in a folder, of queries and of documents."""
    if is_table(folder):
        return dict(UNLIMITED_LENGTHS)
    check_model(folder)
    with explain_damage(folder):
        config = AutoConfig.from_pretrained(folder, **LOCAL_ONLY)
        length = natural_length(AutoTokenizer.from_pretrained(folder, **LOCAL_ONLY), config)
    return {"query": length, "document": length}


def add_tokens(model: Any, tokenizer: Any, names: Sequence[str]) -> None:
    """Make strings one token each, starting as the mean of the tokens that each was before."""
    vocabulary = tokenizer.get_vocab()
    new_names = [name for name in names if name not in vocabulary]
    pieces = [tokenizer(name, add_special_tokens=False)["input_ids"] for name in new_names]
    tokenizer.add_tokens([AddedToken(name, special=False, normalized=False) for name in new_names])
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    weights = model.get_input_embeddings().weight.data
    for name, ids in zip(new_names, pieces, strict=True):
        weights[tokenizer.convert_tokens_to_ids(name)] = weights[ids].mean(0)


# ids 0, 1, 2 as in T5; none is a tag of HTML, as T5's own </s> would be
PAD_TOKEN = "<|pad|>"
EOS_TOKEN = "<|eos|>"
UNKNOWN_TOKEN = "<|unk|>"
CLS_TOKEN = "<|cls|>"
MASK_TOKEN = "<|mask|>"
ABSENT_PREFIX = "\uf8ff\ufdd0"  # in no text: a private-use code point and a noncharacter


def train_tokenizer(
    texts: Iterable[str],
    size: int,
    *,
    words_alike: bool = False,
    cls: bool = False,
    whole: Sequence[str] = (),
) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer of at most `size` tokens, to which no text is unknown.

    Runs of whitespace become one space, as in T5's own tokenizer. Words are lowercased; `fooBar`,
    `HTTPServer` and `foo_bar` are split into words. Sentinels are kept, and the strings of `whole`
    (structure tags) are one token each. `cls` starts every text with a CLS token. A special token's
    name in a text is ordinary text. With `words_alike` a word is the same tokens after punctuation
    or a digit as after a space: `.retry(` has the token of `retry`.
    """
    kept = [*SENTINELS, *dict.fromkeys(whole)]
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN_TOKEN))
    tokenizer.normalizer = _normalizer(words_alike)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=max(size - len(kept), len(alphabet) + 5),
        special_tokens=[PAD_TOKEN, EOS_TOKEN, UNKNOWN_TOKEN, CLS_TOKEN, MASK_TOKEN],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_without_names(kept, texts), trainer)
    tokenizer.add_tokens(
        # not special tokens: a text's special tokens are read as text, but these are not.
        # The space before a sentinel belongs to it, or each would cost a token of its own
        [AddedToken(name, special=False, normalized=False, lstrip=True) for name in kept]
    )
    first = f"{CLS_TOKEN} " if cls else ""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first}$A {EOS_TOKEN}",
        pair=f"{first}$A {EOS_TOKEN} $B:1 {EOS_TOKEN}:1",  # types of tokens
        special_tokens=[(EOS_TOKEN, 1), (CLS_TOKEN, 3)],
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=PAD_TOKEN,
        eos_token=EOS_TOKEN,
        sep_token=EOS_TOKEN,
        unk_token=UNKNOWN_TOKEN,
        cls_token=CLS_TOKEN,
        mask_token=MASK_TOKEN,
        split_special_tokens=True,
    )


def _normalizer(words_alike: bool) -> normalizers.Normalizer:
    word_splits = [
        normalizers.Replace(Regex("(?<=[a-z0-9])(?=[A-Z])"), " "),
        normalizers.Replace(Regex("(?<=[A-Z])(?=[A-Z][a-z])"), " "),
        normalizers.Replace("_", " "),
        normalizers.Lowercase(),
    ]
    # a word begins with a space, also after punctuation and between letters and digits
    word_ends = normalizers.Replace(
        Regex(r"(?<=[^\w\s])(?=\w)|(?<=\d)(?=[^\W\d])|(?<=[^\W\d])(?=\d)"), " "
    )
    spacing = [
        # a word at the start is the same token as elsewhere, also after a sentinel
        normalizers.Prepend(" "),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Replace(Regex(r"\A (?=[^\w\s])"), ""),
    ]
    return normalizers.Sequence([*word_splits, *([word_ends] if words_alike else ()), *spacing])


def _without_names(names: Sequence[str], texts: Iterable[str]) -> Iterable[str]:
    """Return the texts without these names, so that no merges are learned from their letters."""
    pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return (pattern.sub(" ", text) for text in texts)


def end_with_eos(tokenizer: Any) -> None:
    """Make a tokenizer end every text with its EOS token, unless it ends with a special one.

    Last-token pooling of a decoder-only model needs this. It is saved with the tokenizer. Errors:
    `UserError` where there is no EOS token.
    """
    if tokenizer("a")["input_ids"][-1] in tokenizer.all_special_ids:
        return
    eos = tokenizer.eos_token
    eos_id = tokenizer.eos_token_id
    if eos_id is None:
        raise UserError("the model has no EOS token", f"use {flag('pooling', 'mean')}")
    backend = tokenizer.backend_tokenizer
    closing = processors.TemplateProcessing(
        single=["$A", eos], pair=["$A", eos, "$B", eos], special_tokens=[(eos, eos_id)]
    )
    processor = backend.post_processor
    backend.post_processor = processors.Sequence([processor, closing]) if processor else closing


def without_tokens(tokenizer: Tokenizer, names: Sequence[str]) -> Tokenizer:
    """Return a tokenizer that reads these tokens in a text as plain text; itself if it has none."""
    content = json.loads(tokenizer.to_str())
    removed = [token for token in content["added_tokens"] if token["content"] in names]
    if not removed:
        return tokenizer
    for token in removed:  # removing them would give their numbers to other tokens
        token["content"] = f"{ABSENT_PREFIX}{token['content']}"
    result = Tokenizer.from_str(json.dumps(content))
    result.encode_special_tokens = tokenizer.encode_special_tokens
    return result


# width, inner width, heads, layers, decoder layers
SIZES = {
    "tiny": (64, 128, 4, 2, 1),  # 0.6M parameters with 8,000 tokens: for tests and demos
    "mini": (256, 1024, 4, 3, 2),  # 6.5M
    "wide": (768, 768, 12, 1, 1),  # 15.6M: learns best from few pairs and passes
    "small": (512, 2048, 8, 6, 6),  # 48M: the shape of T5-small
}

# scales T5's initial values: the encoder's layers add a tenth to the word embeddings at first, so
# that an untrained model already matches words, and a step changes it more; the decoder is as T5's
T5_INITIAL_FACTOR = 0.1


def new_model(
    architecture: str,
    size: str,
    tokenizer: PreTrainedTokenizerFast,
    *,
    decoder: bool = False,
    head: bool = False,
) -> Any:
    """Return an untrained model whose parameters depend only on torch's seed."""
    width, inner, heads, layers, decoder_layers = SIZES[size]
    if architecture == "bert":
        shape = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            intermediate_size=inner,
            num_attention_heads=heads,
            num_hidden_layers=layers,
            pad_token_id=tokenizer.pad_token_id,
            max_position_embeddings=1024,
        )
        return BertModel(shape, add_pooling_layer=False)
    config = T5Config(  # type: ignore[call-arg]
        initializer_factor=T5_INITIAL_FACTOR,
        vocab_size=len(tokenizer),
        d_model=width,
        d_ff=inner,
        d_kv=width // heads,
        num_heads=heads,
        num_layers=layers,
        num_decoder_layers=decoder_layers,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    if not (head or decoder):
        return T5EncoderModel(config)
    model: Any = T5ForConditionalGeneration(config) if head else T5Model(config)
    with torch.no_grad():
        for name, weight in model.decoder.named_parameters():
            if not name.startswith("embed_tokens"):
                weight /= T5_INITIAL_FACTOR  # all initial values are proportional to it
    return model


# a block of such a size is returned to the system: the states of long texts
FREED_BLOCK_BYTES = 4 << 20
# names of tables of positions
POSITION_TABLES = ("position_embeddings", "embed_positions", "wpe")


def positions(model: Any) -> int | None:
    """Return the maximum tokens that a model can read, None if its positions have no limit.

    Its configuration says so, and the table of its position embeddings, less the rows before the
    first token's, which many kinds of models leave to the padding.
    """
    config = model.config
    encoder = model.get_encoder() if config.is_encoder_decoder else model
    limits = []
    for name, table in encoder.named_modules():
        if isinstance(table, nn.Embedding) and name.rpartition(".")[2] in POSITION_TABLES:
            padding = -1 if table.padding_idx is None else table.padding_idx
            limits.append(len(table.weight) - getattr(table, "offset", padding + 1))
    configured = getattr(config, "max_position_embeddings", None) or -1  # as XLNet, which reads any
    if configured > 0 and (limits or not config.is_encoder_decoder):
        limits.append(configured)
    return min(limits, default=None)


def state_width(model: Any) -> int:
    """Return the dimensions of a token's state."""
    config = model.config
    if not hasattr(config, "hidden_size"):  # as T5Gemma's, which has one for each of its parts
        config = model.get_encoder().config
    return int(config.hidden_size)


class TableModel(nn.Module):
    """A table that behaves like a model of transformers: the states of tokens are their vectors.

    Their mean is the text's embedding, as in `Table.means`.
    """

    def __init__(self, table: Table) -> None:
        super().__init__()
        count, width = table.floats.shape
        self.embedding = nn.Embedding(count, width, _weight=torch.from_numpy(table.floats))
        self.saturating = table.saturating
        self.config = SimpleNamespace(
            hidden_size=width,
            is_encoder_decoder=False,
            is_decoder=False,
            model_type="static",
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> BaseModelOutput:
        hidden_states: Tensor = self.embedding(input_ids)
        if self.saturating:
            counts = repetitions(input_ids, attention_mask)  # (texts, length)
            hidden_states = hidden_states * counts.rsqrt().unsqueeze(-1)
        return BaseModelOutput(last_hidden_state=hidden_states)  # (texts, length, dim)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def resize_token_embeddings(self, count: int, **options: Any) -> None:
        """Add rows of zeros, which `add_tokens` fills."""
        old = self.embedding.weight.data
        rows = functional.pad(old, (0, 0, 0, count - len(old)))
        self.embedding = nn.Embedding(count, old.shape[1], _weight=rows)

    def table(self, tokenizer: Tokenizer) -> Table:
        """Return the table as it is now."""
        rows = self.embedding.weight.detach().float().cpu().numpy()
        return Table(rows, tokenizer, self.saturating)


def repetitions(ids: Tensor, mask: Tensor) -> Tensor:
    """Count each token in its text, (texts, length), without padding.

    >>> repetitions(torch.tensor([[5, 7, 5, 0]]), torch.tensor([[1, 1, 1, 0]])).tolist()
    [[2, 1, 2, 1]]
    """
    texts = torch.arange(len(ids), device=ids.device).unsqueeze(1)
    keys = (texts * (ids.max() + 2) + ids + 1) * mask  # (texts, length); 0 is padding
    _, key_numbers, counts = torch.unique(keys, return_inverse=True, return_counts=True)
    return torch.where(mask.bool(), counts[key_numbers], 1)


def load_table_model(folder: Path) -> tuple[TableModel, PreTrainedTokenizerFast]:
    """Load the table in a folder, for training, and its tokenizer as one of transformers."""
    table = Table.read(folder)
    tokenizer = table.tokenizer
    # no special tokens around a text, and none within it
    tokenizer.post_processor = None
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer)  # type: ignore[no-untyped-call]
    return TableModel(table), wrapped


def recompute_layers(model: Any) -> None:
    """Keep only the input of each layer for the gradient, and compute the layer again.

    Errors: `UserError` where the model has no layers that can do this.
    """
    if not getattr(model, "supports_gradient_checkpointing", False):
        raise UserError(
            f"{type(model).__name__} cannot recompute its layers for {flag('checkpointing')}",
            f"leave {flag('checkpointing')} out; {flag('chunk_size')} saves memory, too",
        )
    # transformers 4 has only the second name
    enabling_names = ("activation_checkpointing_enable", "gradient_checkpointing_enable")
    enable = next(getattr(model, name) for name in enabling_names if hasattr(model, name))
    enable({"use_reentrant": False})
    return_freed(FREED_BLOCK_BYTES)
    # only reentrant recomputation needs gradients of frozen embeddings
    if hasattr(model, "_require_grads_hook"):
        model.disable_input_require_grads()
