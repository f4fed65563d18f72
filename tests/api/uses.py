"""Typical calls, right and wrong, for `make lint`: mypy and pyright read them, and nothing runs.

To ignore an error that does not occur is an error in both.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import structkit
from structkit import LoadedModel, UserError, load

Record = dict[str, Any]


def right(rows: list[Record]) -> None:
    assert_type(structkit.mask_entities(rows, mask_ratio=0.5), Iterator[Record])
    assert_type(structkit.collect(Path("src"), unit="function"), Iterator[Record])
    assert_type(
        structkit.pair(queries=rows, qrels="qrels.jsonl", corpus=iter(rows)), Iterator[Record]
    )
    assert_type(structkit.train("santa", rows, output="x", temperature=0.1), Record)
    assert_type(structkit.plot("trees", rows, output=Path("trees.svg")), None)
    assert_type(structkit.score({"mine": rows}, qrels=rows, measures=["RR@10"]), Iterator[Record])
    structkit.encode(["tea"], model="builtin", as_="query", field=["text"])
    assert_type(load(Path("models/santa"), engine="torch"), LoadedModel)
    assert_type(load("builtin").encode(rows, as_="query", length=8), NDArray[np.float32])
    structkit.search(rows, query="tea", model=load("builtin"))
    structkit.ask(Path("src"), "how is it read", model="builtin")
    assert_type(UserError("problem", "remedy").at("file", 3).line, int)


class Frame:
    """What a DataFrame of pandas or polars has."""

    columns = ("id", "text")


def frames(frame: Frame) -> None:
    assert_type(structkit.search(frame, query=["tea"], method="bm25"), Iterator[Record])
    assert_type(structkit.score({"mine": frame}, qrels=frame), Iterator[Record])
    assert_type(load("builtin").encode(frame), NDArray[np.float32])


def wrong(rows: list[Record], model: LoadedModel) -> None:
    structkit.train("santa", rows, outptu="x")  # type: ignore  # pyright: ignore
    structkit.train("santta")  # type: ignore  # pyright: ignore
    structkit.train("strae", rows, mask_ratio=0.5)  # type: ignore  # pyright: ignore
    structkit.plot("rank", rows, output="x.svg")  # type: ignore  # pyright: ignore
    structkit.mask_entities(rows, strategy="entitty")  # type: ignore  # pyright: ignore
    structkit.mask_entities(rows, mask_rate=0.5)  # type: ignore  # pyright: ignore
    structkit.select(rows, where="a=1")  # type: ignore  # pyright: ignore
    structkit.fuse()  # type: ignore  # pyright: ignore
    structkit.parse_trees(rows, model=model)  # type: ignore  # pyright: ignore
    structkit.encode(["tea"])  # type: ignore  # pyright: ignore
    load("builtin", as_="query")  # type: ignore  # pyright: ignore
    load([{"id": "1"}])  # type: ignore  # pyright: ignore
    model.encode(rows, as_="both")  # type: ignore  # pyright: ignore
    model.encode(rows, chunk=8)  # type: ignore  # pyright: ignore
