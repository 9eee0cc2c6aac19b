"""The match around a game: its first event, its commitments, its ends."""

import msgspec
import pytest

from services.contracts.events.chance import ChanceCommitted, ChanceRevealed, SeedRevealed
from services.contracts.events.match import MatchEnded, MatchVoided, RoundEnded, RoundStarted
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.games.dice_race import DICE_RACE, Options, Roll, Stand
from services.engine.rules.kernel import SPECTATOR, Expire, Leave, Refusal
from tests.support.matches import played_out, start


def kinds(facts):
    return [str(fact.__struct_config__.tag) for fact in facts]


def test_a_match_opens_with_its_lot_and_the_first_round_each_committed_to_before():
    game = start(DICE_RACE, Options(), 3, 1)
    assert kinds(game.facts) == [
        "match-started", "chance-committed", "lot-drawn", "chance-revealed", "chance-committed", "round-started",
    ]  # fmt: skip
    assert [fact.round for fact in game.facts if isinstance(fact, ChanceCommitted)] == [0, 1]


def test_without_a_lot_there_is_no_round_zero():
    game = start(DICE_RACE, Options(first=1), 3, 1)
    assert kinds(game.facts) == ["match-started", "chance-committed", "round-started"]


def test_a_round_is_revealed_when_it_ends_and_the_next_one_committed_to():
    game = played_out(DICE_RACE, Options(), 3, 5, leave_rate=0)
    for before, fact, after in zip(game.facts, game.facts[1:], game.facts[2:], strict=False):
        if isinstance(fact, RoundStarted):
            assert isinstance(before, ChanceCommitted)
            assert before.round == fact.round
        if isinstance(fact, RoundEnded):
            assert isinstance(after, ChanceRevealed)
            assert after.round == fact.round


def test_no_round_is_open_after_its_key_was_told():
    game = played_out(DICE_RACE, Options(), 3, 5, leave_rate=0)
    for at, fact in enumerate(game.facts, 1):
        if isinstance(fact, ChanceRevealed):
            assert matches.fold(game.facts[:at], CATALOGUE).round == matches.NO_ROUND
        if isinstance(fact, ChanceCommitted):
            between = matches.fold(game.facts[:at], CATALOGUE)
            assert (between.round, between.ops) == (fact.round, 0)


def test_a_match_ends_with_places_and_the_seed():
    game = played_out(DICE_RACE, Options(), 3, 5, leave_rate=0)
    assert kinds(game.facts)[-2:] == ["match-ended", "seed-revealed"]
    assert game.match.status == "ended"
    assert min(game.match.places or ()) == 1
    assert matches.legal(game.match, 0) == ()


@pytest.mark.parametrize("move", [Roll(), Stand(), Leave(), Expire()])
def test_a_match_that_is_over_refuses_everything(move):
    game = played_out(DICE_RACE, Options(), 2, 3)
    for seat in range(2):
        assert matches.decide(game.match, seat, move, game.keys) == Refusal("match-over", "G9")


def test_leaving_in_the_first_round_ends_a_match_of_two_and_reveals_everything():
    game = start(DICE_RACE, Options(first=0), 2, 1)
    facts = game.play(1, Leave())
    assert not isinstance(facts, Refusal)
    assert kinds(facts) == ["player-eliminated", "chance-revealed", "match-ended", "seed-revealed"]
    assert game.match.places == (1, 2)


def test_a_voided_match_has_no_places_and_takes_no_moves():
    game = start(DICE_RACE, Options(first=0), 2, 1)
    game.play(0, Roll())
    facts = matches.void(game.match, "ruled so in a dispute", game.keys)
    assert [type(fact) for fact in facts] == [ChanceRevealed, MatchVoided, SeedRevealed]
    for fact in facts:
        game.match = matches.evolve(game.match, fact)
    assert (game.match.status, game.match.places) == ("voided", None)
    assert matches.decide(game.match, 0, Roll(), game.keys) == Refusal("match-over", "G9")
    assert matches.pending(game.match) is None
    assert matches.legal(game.match, 0) == ()


def test_an_eliminated_player_stays_in_the_match_s_list_of_seats():
    game = start(DICE_RACE, Options(first=0), 3, 1)
    game.play(1, Leave())
    assert game.match.seat_of("p_" + "1".rjust(26, "0")) == 1
    assert game.match.seat_of("p_stranger") is None


def test_common_facts_are_told_to_everybody():
    game = played_out(DICE_RACE, Options(), 2, 3)
    for fact in game.facts:
        if type(fact) in matches.COMMON_FACTS:
            assert matches.redact(DICE_RACE, fact, SPECTATOR) is fact


def test_a_match_begins_with_match_started():
    game = start(DICE_RACE, Options(), 2, 1)
    with pytest.raises(ValueError, match="match-started"):
        matches.fold(game.facts[1:], CATALOGUE)
    with pytest.raises(ValueError, match="match-started"):
        matches.fold([], CATALOGUE)


@pytest.mark.parametrize(("name", "version"), [("dice-race", 999), ("dice-race", 0), ("no-such-game", 1)])
def test_rules_that_this_service_does_not_have_are_named(name, version):
    started = start(DICE_RACE, Options(), 2, 1).match.started
    with pytest.raises(matches.UnknownRulesError, match=f"{name}@{version}"):
        matches.begin(msgspec.structs.replace(started, game=name, rules_version=version), CATALOGUE)


def test_the_move_decoder_reads_what_records_hold():
    decoder = matches.move_decoder(DICE_RACE)
    for move in (Roll(), Stand(), Leave(), Expire()):
        assert decoder.decode(msgspec.json.encode(move)) == move
    with pytest.raises(msgspec.ValidationError):
        decoder.decode(b'{"type":"draw"}')


def test_clients_cannot_send_the_clock():
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"expire"}', type=DICE_RACE.moves)


def test_chance_goes_on_where_the_record_stands():
    """A match folded from its record draws the same next die as the one that was never put away."""
    game = start(DICE_RACE, Options(first=0), 2, 1)
    game.play(0, Roll())
    again = matches.fold(game.facts, CATALOGUE)
    assert (again.round, again.ops) == (1, 1)
    assert matches.decide(again, 0, Roll(), game.keys) == matches.decide(game.match, 0, Roll(), game.keys)


def test_match_ended_tells_one_place_per_seat():
    game = played_out(DICE_RACE, Options(), 4, 9)
    (ended,) = [fact for fact in game.facts if isinstance(fact, MatchEnded)]
    assert len(ended.places) == 4
