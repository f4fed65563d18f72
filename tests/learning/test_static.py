"""Tables of token vectors: distilled, random, trained; read by three libraries alike."""

import math
import shutil
from collections import Counter
from functools import cache
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from structkit_plugins.methods._static import common_words, with_words, zipf_weights
from tokenizers import Tokenizer, models, pre_tokenizers

from structkit import encode
from structkit.errors import UserError
from structkit.learning import tokens
from structkit.learning.encoders.encoder import Encoder, open_model
from structkit.learning.encoders.models import load_pretrained
from structkit.learning.folders import BUILTIN_FOLDER
from structkit.learning.static import BertWords, Table, open_table
from structkit.processes import group_by_size
from structkit.reproducibility import key
from structkit.structure.bags import Bags, pieces
from tests.jsonl import write
from tests.learning.training.materials import train_on
from tests.tolerances import bound, rounding

TEXTS = [
    "the river runs to the sea",
    "a boat on the river",
    "readHTTPBody(self, max_size)",
    "the the the sea",
    "a",
]


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = tmp_path_factory.mktemp("static") / "texts.jsonl"
    write(path, *({"id": str(number), "text": text} for number, text in enumerate(TEXTS * 5)))
    return path


def made(folder, records, name="static", **settings):
    train_on(records, name, folder, **settings)
    return folder


@pytest.fixture(scope="module")
def scratch(records):
    return made(records.parent / "scratch", records, dimensions=8, vocabulary_size=400)


@pytest.fixture(scope="module")
def encoder(records):
    """A small encoder to be distilled."""
    pairs = records.parent / "pairs.jsonl"
    write(pairs, *({"id": text, "query": text, "positive": text[::-1]} for text in TEXTS))
    settings = {"architecture": "bert", "size": "tiny", "vocabulary_size": 400, "max_steps": 0}
    return made(records.parent / "bert", pairs, "contrastive", **settings)


def embeddings(folder, texts, **options):
    given = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    found = encode(given, model=str(folder), as_="document", field=["text"], **options)
    return np.array([record["embedding"] for record in found])


def check(found, folder, texts):
    """They are what the folder's table gives, but for the rounding of sums over a text's tokens."""
    expected = embeddings(folder, texts)
    tokens = max(map(len, texts))  # there are no more than letters
    np.testing.assert_allclose(found, expected, **rounding(tokens + expected.shape[1]))


def test_a_text_is_the_mean_of_its_tokens():
    words = {"a": 0, "b": 1, "c": 2}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="c"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    rows = np.array([[1, 0], [0, 4], [0, 0]], np.float32)
    table = Table(rows, tokenizer)
    assert [[1 / 2, 2], [0, 0], [1, 0]] == table.means([[0, 1], [], [0, 0]]).tolist()
    # twice counts as √2 of once
    saturating = Table(rows, tokenizer, saturating=True)
    found = saturating.means([[0, 1, 0]])[0]
    np.testing.assert_allclose(found, [2**0.5 / 3, 4 / 3], **rounding(3, 4.0))


@pytest.mark.parametrize("saturating", [False, True])
def test_what_is_trained_is_what_encodes(records, tmp_path, saturating):
    settings = {"dimensions": 8, "vocabulary_size": 400, "saturating": saturating}
    folder = made(tmp_path / "model", records, **settings)
    lengths = {"query": 64, "document": 64}
    metadata = {"pooling": "mean", "normalize": True, "lengths": lengths}
    model = Encoder(*load_pretrained(folder), metadata)
    texts = [*TEXTS, ""]
    found = model.embed(model.tokens(texts, "document")).detach().numpy()
    check(found, folder, texts)
    assert not found[-1].any()
    if saturating:
        with pytest.raises(Exception, match="only_structkit_encodes_with"):
            SentenceTransformer(str(folder), device="cpu")


def test_contrastive_training_gives_a_table_again(scratch, encoder, tmp_path):
    pairs = encoder.parent / "pairs.jsonl"
    settings = {"model": str(scratch), "learning_rate": 0.01, "epochs": 5, "batch_size": 5}
    folder = made(tmp_path / "trained", pairs, "contrastive", **settings)
    assert {"config.json", "model.safetensors", "modules.json", "structkit.json"} <= {
        path.name for path in folder.iterdir()
    }
    before, after = (Table.read(each).rows for each in (scratch, folder))
    assert before.shape == after.shape
    assert not np.allclose(before, after)
    theirs = SentenceTransformer(str(folder), device="cpu").float().encode(TEXTS)
    check(theirs, folder, TEXTS)


def test_rows_are_the_components_of_the_tokens_embeddings(encoder, tmp_path, records):
    (tmp_path / "empty").touch()
    folder = made(tmp_path / "model", tmp_path / "empty", model=str(encoder), dimensions=5)
    table = Table.read(folder)
    model, _ = open_model(str(encoder), normalize=False)
    names = ["a", "e", "th", "river"]
    ids = [table.tokenizer.token_to_id(name) for name in names]
    kept = [place for place in range(len(table.rows)) if table.rows[place].any()]
    states = model.embed(
        model.batch([model.tokenizing.with_special_tokens([each]) for each in kept])
    )
    vectors = states.detach().numpy().astype(np.float64)
    # distances along the first components, however their axes are turned
    centered = vectors - vectors.mean(0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    wanted = left[:, :5] * sizes[:5] * zipf_weights(len(kept))[:, None]
    rows = table.rows[kept]
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(np.abs(rows), np.abs(wanted), **rounding(1, scale, torch.float16))
    assert all(each is None or each in kept for each in ids)


def test_rows_from_scratch_are_random_times_the_root_of_idf(scratch):
    table = Table.read(scratch)
    encode = table.tokenizer.encode
    (token,) = set(encode("sea").ids) - set(encode("a").ids)
    generator = np.random.default_rng(key(0, "parameters"))
    random = generator.standard_normal(table.rows.shape, np.float32)[token]
    # 10 of 25 texts have it
    wanted = random / math.sqrt(8) * math.sqrt(math.log(1 + 15.5 / 10.5))
    near = bound(2, kind=torch.float16)  # the table is written with 16 bits
    assert table.rows[token] == pytest.approx(wanted, rel=near)


def test_words_of_the_records_are_tokens(encoder, records, tmp_path):
    folder = made(tmp_path / "model", records, model=str(encoder), dimensions=5)
    own = load_pretrained(encoder)[1].backend_tokenizer
    tokenizer = Table.read(folder).tokenizer
    new = range(own.get_vocab_size(), tokenizer.get_vocab_size())
    assert len(new)
    for number in new:
        word = tokenizer.id_to_token(number).strip("Ġ")
        assert [number] == tokenizer.encode(f"x {word}", add_special_tokens=False).ids[-1:]


@pytest.mark.parametrize(
    "model",
    [
        models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"),
        models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -1.0)], 0),
        models.BPE({"a": 0, "b": 1}, []),
    ],
)
def test_each_kind_of_tokenizer_learns_words(model):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    assert ["ab"] == common_words(tokenizer, ["ab ab a", "ab ab", "ab"])
    assert [] == common_words(tokenizer, ["ab ab a", "ab ab"])
    size = tokenizer.get_vocab_size()
    assert [size, *tokenizer.encode("a").ids] == with_words(tokenizer, ["ab"]).encode("ab a").ids


def test_a_table_is_read_as_model2vec_and_sentence_transformers_write_it(scratch, tmp_path):
    for name in ("config.json", "structkit.json", "modules.json"):
        assert (scratch / name).is_file()
    modes = {file.stat().st_mode for file in scratch.glob("*.*") if file.is_file()}
    assert {(scratch / "config.json").stat().st_mode} == modes  # that of umask for all of them
    theirs = tmp_path / "theirs"
    SentenceTransformer(str(scratch), device="cpu").save_pretrained(str(theirs))
    check(embeddings(scratch, TEXTS), theirs, TEXTS)
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (bare / name).write_bytes((scratch / name).read_bytes())
    check(embeddings(scratch, TEXTS), bare, TEXTS)


THEIRS = [*TEXTS, "the river ☃ ran ☃", "☃", "sea " * 9, "a" * 60 + " boat", "a boat " * 300]


@pytest.mark.parametrize(
    ("config", "most"),
    [
        ({"model_type": "model2vec", "max_length": 4, "normalize": True}, 4),
        ({"max_length": 5}, 5),
        ({"model_type": "model2vec"}, 512),
        ({"max_length": None}, None),
    ],
)
def test_a_table_of_model2vec_is_read_as_there(scratch, tmp_path, config, most):
    """Cut at n tokens, and before at n times the median token's letters; without unknown ones."""
    table = Table.read(scratch)
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(scratch / name, tmp_path)
    write(tmp_path / "config.json", config)
    letters = int(np.median([*map(len, table.tokenizer.get_vocab())]))
    unknown = table.tokenizer.token_to_id(table.tokenizer.model.unk_token)
    for text, found in zip(THEIRS, embeddings(tmp_path, THEIRS), strict=True):
        part = text[: most and most * letters]
        ids = table.tokenizer.encode(part, add_special_tokens=False).ids[:most]
        rows = [table.floats[each] for each in ids if each != unknown]
        mean = np.mean(rows, axis=0) if rows else np.zeros(8)
        mean /= max(1e-12, np.linalg.norm(mean)) if config.get("normalize") else 1
        np.testing.assert_allclose(mean, found, **rounding(2000))


@pytest.mark.parametrize("direction", ["right", "left"])
def test_a_static_embedding_cuts_texts_as_its_tokenizer_says(scratch, tmp_path, direction):
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(scratch / name, tmp_path)
    tokenizer = Tokenizer.from_file(str(scratch / "tokenizer.json"))
    tokenizer.enable_truncation(3, direction=direction)
    weights = torch.from_numpy(Table.read(scratch).floats)
    theirs = SentenceTransformer(modules=[StaticEmbedding(tokenizer, weights)], device="cpu")
    theirs.save_pretrained(str(tmp_path / "theirs"))
    check(theirs.encode(THEIRS), tmp_path / "theirs", THEIRS)


def test_chunks_have_their_lines(scratch):
    text = "the river\nruns to the sea"
    record = {"id": "d", "text": text}
    rows = list(encode([record], model=str(scratch), as_="document", field=["text"], chunk=3))
    assert 1 < len(rows)
    assert 0 == rows[0]["start"]
    assert len(text) == rows[-1]["end"]
    parts = [text[row["start"] : row["end"]] for row in rows]
    check([row["embedding"] for row in rows], scratch, parts)


def test_another_model_s_config_is_told(scratch, tmp_path):
    folder = shutil.copytree(scratch, tmp_path / "copy")
    for content in ("{", '{"model_type": true}'):
        (folder / "config.json").write_text(content)
        with pytest.raises(UserError, match="config.json: "):
            embeddings(folder, TEXTS)


def test_without_records_a_model_is_needed(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(UserError, match="empty: without records there are no frequencies"):
        made(tmp_path / "model", tmp_path / "empty")


def test_the_builtin_table_is_below_nine_megabytes_and_says_what_it_is_made_of():
    table = open_table(BUILTIN_FOLDER, {})[0].table
    assert 256 == table.rows.shape[1]
    files = [path for path in BUILTIN_FOLDER.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 9_000_000
    card = (BUILTIN_FOLDER / "README.md").read_text()
    assert all(name in card for name in ("all-MiniLM-L6-v2", "spring-framework", "Apache-2.0"))
    near, far = (
        embeddings("builtin", ["remove a file", "delete files", "a bowl of soup"])[1:]
        @ (embeddings("builtin", ["remove a file"])[0])
    )
    assert far < near


@given(st.text(st.sampled_from("aZ9_-. \n\t\x00\x1c\x85\u00a0\u2028\u200béǅ中́[]UNK#ß")) | st.text())
def test_words_that_are_kept_are_cut_as_the_tokenizer_cuts_texts(text):
    words, tokenizer = builtin_words()
    for _ in range(2):  # new ones, and those met before
        ids = words.ids(text).tolist()
        assert tokenizer.encode(text, add_special_tokens=False).ids == ids


@given(st.text(st.sampled_from("aZ9_-. \n\t\u00a0\u2028\u200béǅ中́ß\u0338=(“x”")) | st.text())
@example("handler HTTPServer 0x1f max_size_ " + 100 * "a")
@example(101 * "a")
@example("qqwv" * 9)
def test_the_pieces_of_a_text_have_its_tokens(text):
    words, tokenizer = builtin_words()
    if not words.is_special(text):
        for _ in range(2):
            found = Counter(chain.from_iterable(words.of_pieces(pieces([text])[0])))
            assert Counter(tokenizer.encode(text, add_special_tokens=False).ids) == found


def test_bags_of_texts_embed_as_the_texts(scratch):
    """But for the rounding of sums; a text that is cut, or that has a control character, too."""
    texts = [*TEXTS, "", "a\x00b (c)", "sea " * 40, "[UNK] boat"]
    for folder, lengths in ((scratch, 16), (BUILTIN_FOLDER, 10**9)):
        encoder, _ = open_table(folder, {})
        assert encoder.reads_bags or folder == scratch
        if encoder.reads_bags:
            encoder.read_at_most("document", lengths)
            expected = encoder.embed(encoder.inputs(texts, "document"))
            found = encoder.of_bags(texts, Bags.of(texts))
            np.testing.assert_allclose(found, expected, atol=1e-6)
            alone = [encoder.of_bags([text], Bags.of([text]))[0] for text in texts]
            np.testing.assert_array_equal(np.array(alone), found)  # whatever is beside it


@cache
def builtin_words():
    tokenizer = Table.read(BUILTIN_FOLDER).tokenizer
    return BertWords.of(tokenizer), tokenizer


def test_texts_are_tokenized_some_at_a_time(scratch):
    table, _ = open_table(scratch, {})
    many = TEXTS * 2000  # more characters than a slice has
    slices = list(group_by_size(many, (len, tokens.MAX_SLICE_CHARACTERS)))
    assert many == sum(slices, []) and 1 < len(slices) < len(many)
    expected = np.tile(table.embed(table.inputs(TEXTS, "document")), (2000, 1))
    np.testing.assert_array_equal(expected, table.embed(table.inputs(many, "document")))
