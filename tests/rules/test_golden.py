"""The golden records come out byte for byte as they are kept, and they cover every event type."""

import json
from collections import Counter
from typing import get_args, get_type_hints

import pytest

from services.contracts.events.match import MatchStarted
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.match import COMMON_FACTS
from tests.rules.golden import FILES, RECIPES, cooked, replayed
from tests.support.matches import TEST_CATALOGUE

NAMES = sorted(path.name for path in FILES.glob("*.ndjson"))


def types_in(name):
    return Counter(json.loads(line).get("type") for line in (FILES / name).read_bytes().splitlines())


def tags(kinds):
    return {str(kind.__struct_config__.tag) for kind in kinds}


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_record_is_played_again_byte_for_byte(name):
    record = (FILES / name).read_bytes()
    assert b"".join(line + b"\n" for line in replayed(record, TEST_CATALOGUE)) == record


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.file)
def test_a_recipe_makes_its_record(recipe):
    assert cooked(recipe) == (FILES / recipe.file).read_bytes(), (
        "python -m tests.rules.golden, and read the difference"
    )


def test_every_record_has_its_recipe():
    assert sorted(recipe.file for recipe in RECIPES) == NAMES


@pytest.mark.parametrize("rules", CATALOGUE.every_version(), ids=lambda rules: rules.id)
def test_ten_records_cover_every_event_type_of_a_game(rules):
    own = [name for name in NAMES if name.startswith(f"{rules.id}-")]
    assert len(own) >= 10
    emitted = get_args(get_type_hints(rules.evolve)["event"])
    assert len(emitted) > 3
    needed = tags([*emitted, *COMMON_FACTS, MatchStarted])
    assert needed - set().union(*map(types_in, own)) == set()


def test_the_records_of_dice_race_show_what_their_names_say():
    def lines(name):
        return [json.loads(line) for line in (FILES / f"dice-race@1-{name}.ndjson").read_bytes().splitlines()]

    def has(name, **fields):
        return any(all(line.get(key) == value for key, value in fields.items()) for line in lines(name))

    assert has("playoffs", type="playoff-started")
    assert has("instant-win", type="stood", instant_win=True)
    assert has("stakes", type="went-out")
    assert has("dangerous", type="staked", reason="danger")
    assert has("dangerous", type="went-out")
    assert has("shared-pot", type="paid", source="remainder")
    assert has("extra-round", type="round-started", kind="extra")
    assert has("eliminations", type="player-eliminated", reason="left")
    assert has("eliminations", type="player-eliminated", reason="timeout")
    assert has("voided", type="match-voided")
    assert any(len(line["draw"]["result"]) == 2 for line in lines("pontoon") if line.get("type") == "rolled")
