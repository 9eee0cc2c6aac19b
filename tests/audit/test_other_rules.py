"""A change of the rules: every match is sound under its own, and the move is shown at which the new ones differ."""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from services.cli.commands import verify
from services.contracts.envelope import Event
from services.contracts.events.catalogue import fact_of
from services.contracts.events.dice import Busted, Rolled
from services.contracts.events.match import MatchVoided
from services.engine.audit import (
    Comparison,
    NotComparableError,
    audit_lines,
    compare,
    describe_comparison,
)
from services.engine.audit.comparison import compare_facts
from services.engine.audit.facts import Told
from services.engine.record import read_record
from services.engine.rules import catalogue
from services.engine.rules.catalogue import CATALOGUE, Catalogue
from services.engine.rules.games.dice_race import DICE_RACE, Stand
from services.engine.rules.kernel import Refusal
from tests.audit.play import Table, chained, play, record, sit_down
from tests.support.matches import played_out
from tests.support.toy_game import TOY_1, TOY_2
from tests.support.toy_game import Options as ToyOptions

# dice-race@2: nobody may stand below six.
CAREFUL = dataclasses.replace(
    DICE_RACE,
    version=2,
    decide=lambda state, seat, move, chance: (
        Refusal("must-roll-first", "DR-2.2")
        if isinstance(move, Stand) and 0 < state.total < 6
        else DICE_RACE.decide(state, seat, move, chance)
    ),
    story=None,  # it tells what the version before decides
)
# dice-race@3: one more than the target is no bust.
LENIENT = dataclasses.replace(
    DICE_RACE,
    version=3,
    initial=lambda options, seats: DICE_RACE.initial(replace(options, target=options.target + 1), seats),
)


class FewerOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    target: int = 9


# dice-race@4: hardly any option is left.
BARE = dataclasses.replace(DICE_RACE, version=4, options=FewerOptions)
# dice-race@5: for two only.
DUEL = dataclasses.replace(DICE_RACE, version=5, seats_max=2)
SAME = dataclasses.replace(DICE_RACE, version=6)
ALL = Catalogue([*CATALOGUE.every_version(), CAREFUL, LENIENT, BARE, DUEL, SAME])

TABLE = sit_down(CATALOGUE, "dice-race", {"chips_to_win": 2}, 3)
LINES = record(play(TABLE, random.Random(8)))
RECORD = read_record(LINES)


def first_where(holds: Any) -> Event:
    """The first event after which something holds that the test chooses by the facts."""
    return next(event for event in RECORD.events if holds(event, fact_of(event)))


def assert_parts_at(comparison: Comparison, version: int) -> None:
    assert comparison.difference is not None
    assert comparison.difference.version == version
    assert f"another way from version {version} on" in describe_comparison(comparison)


def test_a_match_is_sound_under_its_own_rules_whatever_came_after():
    verdict = audit_lines(LINES, ALL)
    assert verdict.sound
    assert verdict.rules == "dice-race@1"


def test_the_same_rules_lead_to_the_same():
    for rules in (DICE_RACE, SAME):
        comparison = compare(RECORD, rules)
        assert comparison.difference is None
        assert comparison.commands == audit_lines(LINES, ALL).commands
        assert describe_comparison(comparison) == (
            f"Under {rules.id} the match goes the same way, all {comparison.commands} commands."
        )


def test_a_move_that_the_new_rules_refuse():
    stood = first_where(lambda event, fact: event.type == "stood" and fact.score < 6)
    comparison = compare(RECORD, CAREFUL)
    assert_parts_at(comparison, stood.version)
    difference = comparison.difference
    assert difference
    assert difference.command_version == stood.version
    assert f"p_01KB9YTEST00000000000000{difference.seat:02}" == stood.actor
    assert difference.move == "stand"
    assert difference.clause == "DR-2.2"
    assert difference.decided == "The move is refused: The first roll is compulsory"
    assert difference.recorded
    assert "stands" in difference.recorded or "stood" in difference.recorded


def test_a_consequence_that_the_new_rules_do_not_have():
    """The roll itself is the same: what parts is the bust behind it."""
    busted = first_where(lambda event, fact: isinstance(fact, Busted) and total_before(event.version) == 10)
    comparison = compare(RECORD, LENIENT)
    assert_parts_at(comparison, busted.version)
    difference = comparison.difference
    assert difference
    assert difference.command_version == busted.version - 1
    assert difference.move == "roll"
    assert difference.decided is None
    assert comparison.commands == len({event.command for event in RECORD.events[: busted.version - 2]})
    assert "nothing more follows" in describe_comparison(comparison)


def total_before(version: int) -> int:
    rolled = fact_of(RECORD.events[version - 2])
    return rolled.total if isinstance(rolled, Rolled) else 0


def test_and_the_other_way_round():
    """Played under the newer rules, sound under them; under the older ones it parts where somebody would have bust."""
    table = sit_down(Catalogue([LENIENT]), "dice-race", {"chips_to_win": 1}, 2)
    lines = record(play(table, random.Random(3)))
    verdict = audit_lines(lines, ALL)
    assert verdict.sound
    assert verdict.rules == "dice-race@3"
    assert not audit_lines(lines, CATALOGUE).sound
    comparison = compare(read_record(lines), DICE_RACE)
    assert comparison.difference
    assert comparison.difference.recorded != comparison.difference.decided
    ten = next(
        event.version for event in table.events if event.type == "rolled" and b'"total":10}' in event.body
    )
    assert comparison.difference.version == ten + 1
    assert comparison.difference.decided
    assert "bust" in comparison.difference.decided


def test_options_and_seats_that_the_new_rules_do_not_have():
    for rules in (BARE, DUEL):
        comparison = compare(RECORD, rules)
        assert_parts_at(comparison, 1)
        assert comparison.commands == 0
        assert comparison.difference
        assert comparison.difference.clause == "DR-1.3"


def test_a_match_that_was_stopped():
    table = sit_down(CATALOGUE, "dice-race", {"chips_to_win": 9}, 3)
    table.move(table.match.game.to_play[0], DICE_RACE.legal(table.match.game, table.match.game.to_play[0])[0])  # type: ignore[arg-type]
    table.void("the operator stopped it")
    stopped = read_record(record(table.events))
    assert compare(stopped, SAME).difference is None
    assert any(event.type == MatchVoided.__struct_config__.tag for event in stopped.events)


def test_rules_of_another_game_are_no_comparison():
    other = CATALOGUE.game("dice-bank")
    assert other
    with pytest.raises(NotComparableError, match="another game"):
        compare(RECORD, other)
    with pytest.raises(NotComparableError, match="over"):
        compare_facts([], DICE_RACE)


@pytest.mark.parametrize(("own", "other"), [(TOY_1, TOY_2), (TOY_2, TOY_1)])
@pytest.mark.parametrize("seed", range(5))
def test_the_toy_parts_at_the_first_round_that_another_card_wins(own, other, seed):
    """Highest wins under one version, lowest under the other: everything is the same up to the end of a round."""
    table, facts = toy(own, seed)
    told = [
        Told(line, event, fact) for line, (event, fact) in enumerate(zip(table.events, facts, strict=True), 2)
    ]
    assert compare_facts(told, own).difference is None
    comparison = compare_facts(told, other)
    ended = next(event.version for event in table.events if event.type == "round-ended")
    assert comparison.difference
    assert comparison.difference.version == ended
    assert comparison.difference.move.startswith("play ")


def toy(rules: Any, seed: int) -> tuple[Table, list[Any]]:
    played = played_out(rules, ToyOptions(), 2, seed, leave_rate=0)
    events = chained(played)
    table = Table(Catalogue([rules]), played.match, played.keys.seed, events)
    return table, played.facts


class TestCommand:
    """``macao verify FILE --rules GAME@VERSION``."""

    @pytest.fixture
    def verified(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(catalogue, "CATALOGUE", ALL)

        def run(*arguments: str, lines: list[bytes] = LINES) -> tuple[int, str, str]:
            path = tmp_path / "match.ndjson"
            path.write_bytes(b"".join(lines))
            parser = argparse.ArgumentParser()
            verify.configure(parser)
            code = verify.run(parser.parse_args([str(path), *arguments]))
            said = capsys.readouterr()
            return code, said.out, said.err

        return run

    def test_the_move_is_named_and_the_record_is_sound_all_the_same(self, verified):
        code, said, _ = verified("--rules", "dice-race@2")
        assert code == 0
        assert said.startswith("Sound: ")
        assert "Under dice-race@2 the match goes another way from version " in said
        assert "(DR-2.2)" in said

    def test_as_json(self, verified):
        said = json.loads(verified("--rules", "dice-race@3", "--json")[1])
        assert said["sound"]
        assert said["comparison"]["other"] == "dice-race@3"
        assert said["comparison"]["difference"]["move"] == "roll"
        assert "comparison" not in json.loads(verified("--json")[1])

    def test_a_record_that_is_not_sound_is_not_compared(self, verified):
        code, said, _ = verified("--rules", "dice-race@2", lines=[*LINES[:5], *LINES[6:]])
        assert code == 1
        assert "Under" not in said

    @pytest.mark.parametrize(
        ("wanted", "reason"),
        [
            ("dice-race@9", "there are no rules dice-race@9 here; there are dice-race@1, "),
            ("chess", "there are no rules chess here"),
            ("dice-bank@1", "are rules of another game"),
        ],
    )
    def test_rules_that_are_not_there(self, verified, wanted, reason):
        code, said, problem = verified("--rules", wanted)
        assert (code, said) == (2, "")
        assert reason in problem
