"""What type checkers see: the committed stub is what is generated; `make lint` has them read it."""

import re

import structkit
from docs.stubs import PATH, stub


def test_the_stub_is_made_of_the_settings_and_has_each_function(golden):
    golden(PATH, stub())
    named = re.findall(r"^(?:def|class) ([A-Za-z]\w*)|^from .* import (\w+) as", stub(), re.M)
    assert set(structkit.__all__) == {first or second for first, second in named}
