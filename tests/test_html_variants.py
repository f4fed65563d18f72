"""html-variants: goldens, the rules for what is kept, and what is rejected."""

import pytest

from structkit.commands.html_variants import Variation, html_variants
from structkit.errors import UserError


def made(html, **options):
    [record] = html_variants([{"id": "1", "html": html}], Variation(**options))
    return record


def test_the_three_variants():
    record = made("<h1 class=x>Tea</h1><p>is <b>ho</b>t</p>", mask_ratio=0.5)
    assert record["tagged"] == "<h1>Tea</h1><p>is hot</p>"
    assert record["untagged"] == "Tea is hot"
    assert record["masked"] == "<h1>Tea</h1>is hot"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"html": ""}, "the document holds no text; leave the record out"),
        ({"html": " <p> &nbsp; </p><script>1</script>"}, "the document holds no text"),
        ({"html": "bare"}, "the document holds no element to mask"),
        ({"text": "x"}, 'field "html" is missing; the record has: id, text'),
        ({"html": 3}, 'field "html" is a JSON number, not a string'),
        ({"html": "<p>x", "negatives": "<p>y"}, '"negatives" is a JSON string, not an array'),
        ({"html": "<p>x", "negatives": ["a", 1]}, "holds a JSON number (at 1)"),
        ({"html": "<p>x", "negatives": ["<p>"]}, "the document holds no text"),
    ],
)
def test_rejected(record, reason):
    with pytest.raises(UserError) as error:
        list(html_variants([{"id": "1", **record}]))
    assert reason in str(error.value)
