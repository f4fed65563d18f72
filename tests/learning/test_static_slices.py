"""Long texts are tokenized some at a time, which changes nothing but the memory."""

import numpy as np

from structkit.learning import static
from structkit.learning.static import opened_table
from tests.learning.test_static import TEXTS, records, scratch  # noqa: F401


def test_texts_are_tokenized_some_at_a_time(scratch, monkeypatch):  # noqa: F811
    table, _ = opened_table(scratch, {})
    expected = table.embed(table.inputs(TEXTS, "document"))
    monkeypatch.setattr(static, "SLICE", 30)
    slices = list(static._slices(TEXTS))
    assert TEXTS == sum(slices, []) and 1 < len(slices) < len(TEXTS)
    np.testing.assert_array_equal(expected, table.embed(table.inputs(TEXTS, "document")))
