"""Defaults are declared once: shown by the help, resolved where settings are made."""

import pickle
from dataclasses import dataclass, replace

import pytest
from soak.sessions import found, known

from structkit.commands.mask_entities import Settings as Masking
from structkit.commands.pair import Settings as Pairing
from structkit.commands.parse_trees import Settings as Parsing
from structkit.errors import Python, UserError, use_surface
from structkit.paths import cache_folder
from structkit.registry import load, names
from structkit.settings import format_value, given_values, make, setting, settings_of

KINDS = {kind for words in known() for kind in found(words).settings}
EVERY = [(kind, each) for kind in KINDS for each in settings_of(kind)]


def test_no_help_words_a_default_itself():
    plugins = [load(kind, name) for kind in ("parser", "ranker") for name in names(kind)]
    for kind in (*KINDS, *(each for each in plugins if hasattr(each, "__dataclass_fields__"))):
        for each in settings_of(kind):
            assert "default" not in each.help.lower(), (kind, each.name)


def test_a_default_is_a_value_that_may_be_given():
    infinity = float("inf")
    numbers = [
        (kind.__name__, each.name)
        for kind, each in EVERY
        for value in (each.default, each.usual)
        if isinstance(value, int | float) and not isinstance(value, bool)
        if value < (-infinity if each.low is None else each.low)
        or value > (infinity if each.high is None else each.high)
    ]
    chosen = [
        (kind.__name__, each.name)
        for kind, each in EVERY
        if each.choices and isinstance(each.default, str) and each.default not in each.choices
    ]
    assert [] == numbers + chosen


def test_what_the_help_shows_is_what_is_resolved():
    decided = 0
    for kind, each in EVERY:
        if each.usual is ...:
            continue
        needed = {one.name: "x.svg" for one in settings_of(kind) if one.required}
        needed |= {one.name: ("x",) for one in settings_of(kind) if one.required and one.is_list}
        value = getattr(kind(**needed), each.name)
        if each.name == "cache":  # in the user's folder
            value = value.removeprefix(str(cache_folder().parent) + "/")
        assert format_value(value) in each.shown_default, (kind, each.name)
        decided += 1
    assert decided >= 4


def usual_steps(settings):
    """10, or 100 with {way:slow}"""
    return 100 if settings.way == "slow" else 10


@dataclass(frozen=True, kw_only=True)
class Settings:
    way: str = setting("fast", "The way.", choices=("fast", "slow"))
    steps: int = setting(None, "Steps.", low=1, usual=usual_steps, requires="on")
    ends: int = setting(None, "The end.", usual=7, excludes="steps")
    on: bool = setting(False, "Whether it is on.")


class Slower(Settings):
    pass


@pytest.mark.parametrize("build", [lambda **values: make(Settings, values), Settings, Slower])
def test_a_default_follows_other_settings_however_they_are_made(build):
    assert (10, 7) == (build().steps, build().ends)
    assert 100 == build(way="slow").steps
    assert 100 == build(way="slow", steps=None).steps  # as Python may say it
    assert 3 == build(way="slow", steps=3, on=True).steps
    assert 100 == pickle.loads(pickle.dumps(build(way="slow"))).steps
    assert 7 == replace(build(), way="slow").ends


def test_a_default_is_not_given():
    assert None is given_values(Settings())["ends"]
    with pytest.raises(UserError, match="--steps needs --on; add it"):
        make(Settings, {"steps": 10})  # as its default is
    with pytest.raises(UserError, match="exclude each other"):
        make(Settings, {"steps": 10, "ends": 7, "on": True})


def test_the_help_spells_the_setting_that_decides():
    (steps,) = (each for each in settings_of(Settings) if each.name == "steps")
    assert "10, or 100 with --way slow" == steps.shown_default
    with use_surface(Python()):
        assert "10, or 100 with way='slow'" == steps.shown_default


def test_commands_and_methods_decide_by_other_settings():
    assert (1.0, 0.15, None) == tuple(
        Masking(**values).mask_ratio
        for values in ({}, {"strategy": "span"}, {"profile": "official"})
    )
    assert "balanced" == Parsing(parser="ast").factor
    assert ("right", "left") == (Parsing().factor, Parsing(parser="dom", factor="left").factor)
    assert 100 == Pairing().depth
    strae = load("method", "strae")
    rates = [strae(objective=each).learning_rate for each in ("contrastive", "ce", "both")]
    assert [1e-4, 1e-3, 1e-3] == rates
    assert 0.5 == strae(learning_rate=0.5).learning_rate
    assert 5e-5 == load("method", "roberta")().learning_rate
