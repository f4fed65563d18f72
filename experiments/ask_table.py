"""The bundled table, of an aligned one: the tokens that occur, in 8 bits with a scale for each.

    python -m experiments.ask_table TABLE -o FOLDER < TEXTS

The records have a `text`. Single characters stay, for words that are new.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer

from structkit.embeddings.vectors import quantize
from structkit.learning.folders import write_weights
from structkit.learning.static import Table
from structkit.records.jsonl import Records, text_field


def smaller(table: Table, texts: Iterable[str]) -> Table:
    """Return the table without tokens that the texts do not have."""
    used: set[int] = set()
    for text in texts:
        used.update(table.tokenizer.encode(text, add_special_tokens=False).ids)
    kept, tokenizer = with_tokens(table.tokenizer, used)
    return Table(table.floats[kept], tokenizer, table.saturating)


def with_tokens(tokenizer: Tokenizer, used: set[int]) -> tuple[list[int], Tokenizer]:
    """Return the numbers and the tokenizer of these tokens, characters and the unknown one.

    Only tokens of WordPiece and whole words are not made of each other.
    """
    content = json.loads(tokenizer.to_str())
    model = content["model"]
    assert model["type"] in ("WordPiece", "WordLevel"), model["type"]
    prefix = model.get("continuing_subword_prefix", "")
    kept = sorted(
        number
        for name, number in model["vocab"].items()
        if number in used or len(name.removeprefix(prefix)) == 1 or name == model["unk_token"]
    )
    names = {number: name for name, number in model["vocab"].items()}
    model["vocab"] = {names[number]: new for new, number in enumerate(kept)}
    places = {number: new for new, number in enumerate(kept)}
    content["added_tokens"] = [
        each | {"id": places[each["id"]]}
        for each in content["added_tokens"]
        if each["id"] in places
    ]
    return kept, Tokenizer.from_str(json.dumps(content))


def write(table: Table, folder: Path) -> None:
    """Write a table with rows of 8 bits, which only structkit reads."""
    folder.mkdir(parents=True)
    table.write(folder, normalize=True)
    codes, scales = quantize(table.floats, "int8")
    assert scales is not None
    write_weights(folder, {"embeddings": codes, "weights": scales})


def main(words: Sequence[str] | None = None) -> None:
    """Write the table of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("texts", nargs="?", default="-")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(words)
    texts = (text_field(record, "text") for record in Records.read([given.texts]))
    write(smaller(Table.read(given.table), texts), given.output)


if __name__ == "__main__":
    main()
