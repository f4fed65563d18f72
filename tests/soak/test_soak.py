"""Bad input, one thing at a time: a few cases of quick commands, or with SOAK=N so many of all."""

import os
import random
import shlex

import pytest
from conftest import WARM, completed, environment

from soak.sessions import commands, found, make_store, sessions
from soak.spoilers import Scene, cases
from soak.verdicts import state, verdicts

COUNT, SEED = int(os.environ.get("SOAK", "0")), os.environ.get("SEED", "0")
QUICK = {
    *("mask code", "mask products", "html pages", "pair code", "pair judged", "search bm25"),
    *("score qrels", "fuse rrf", "from beir", "from trec", "from wands"),
}
LIMIT = 120  # seconds that a spoiled command may take on a busy machine


def structkit(arguments, folder, stdin, **variables):
    """What came of a command line."""
    with open(stdin or os.devnull, "rb") as source:
        kinds = {"timeout": LIMIT, "encoding": "utf-8", "errors": "replace"}
        variables = environment(**variables)
        return completed([*WARM, *arguments], cwd=folder, stdin=source, env=variables, **kinds)


@pytest.fixture(scope="module")
def soaked(tmp_path_factory):
    """The sessions, whose inputs are made with the program itself."""
    store = tmp_path_factory.mktemp("soak") / "store"
    store.mkdir()
    chosen = [each for each in sessions(store) if COUNT or each.name in QUICK]
    make_store(store, structkit, chosen)
    return chosen


@pytest.mark.long
@pytest.mark.parametrize("number", range(COUNT or 60))
def test_bad_input_is_one_clear_line(soaked, tmp_path, number):
    draw = random.Random(f"{SEED} {number}")
    case = draw.choice(list(cases(draw.choice(soaked))))
    folder, scratch = tmp_path / "case", tmp_path / "scratch"
    for each in (folder, scratch):
        each.mkdir()
    case.session.copy(folder)
    stdin = folder / case.session.stdin if case.session.stdin else None
    scene = Scene(folder, list(case.session.arguments), stdin)
    case.spoil(scene)
    before = state(folder)
    done = structkit(scene.arguments, folder, scene.stdin, TMPDIR=str(scratch))
    found = [*verdicts(case, done, before, folder), *scratch.iterdir()]
    assert [] == found, f"{case}: structkit {shlex.join(scene.arguments)}"
    assert case.place != "nothing" or done.returncode == 0, done.stderr


def test_there_is_a_session_of_every_command_with_flags_that_it_has(tmp_path):
    made = sessions(tmp_path)
    assert set(commands()) == {session.command for session in made}
    told = {}
    for session in made:
        known = {
            name
            for each in found(session.command).params
            for name in (*each.opts, *each.secondary_opts)
        }
        words = [word for word in session.arguments if word.startswith("--")]
        if wrong := [word for word in words if word.partition("=")[0] not in known]:
            told[session.name] = wrong
    assert {} == told
