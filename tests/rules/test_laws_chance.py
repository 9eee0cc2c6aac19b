"""Laws about chance in a match: committed before it is drawn, revealed once, and recomputable."""

from random import Random

from services.contracts.events.catalogue import encode
from services.contracts.events.chance import ChanceCommitted, ChanceRevealed, SeedRevealed
from services.contracts.events.match import MatchEnded, MatchVoided
from services.engine.rules import chance
from services.engine.rules import match as matches
from tests.rules.laws import for_tables, law
from tests.support.matches import only, played_out, random_moves, start


def check_chance(game, facts):
    """Hold the laws of macao-fair/1 against the facts of a finished match, with nothing but the facts in hand."""
    seed = bytes.fromhex(facts[-1].seed)
    started = facts[0]
    assert chance.commitment_of(started.match, seed) == started.commitment
    key = chance.match_key(
        started.match, f"{started.game}@{started.rules_version}", [seat.seed for seat in started.seats], seed
    )
    committed: dict[int, str] = {}
    keys: dict[int, bytes] = {}
    open_round, ops, draws = None, 0, []
    for fact in facts:
        if isinstance(fact, ChanceCommitted):
            assert open_round is None, "one round at a time"
            assert fact.round not in committed, "a round is committed to once"
            assert all(fact.round > earlier for earlier in committed)
            committed[fact.round] = fact.commitment
            open_round, ops = fact.round, 0
        elif isinstance(fact, ChanceRevealed):
            assert fact.round == open_round, "what is revealed was committed to, and not revealed before"
            keys[fact.round] = bytes.fromhex(fact.key)
            open_round = None
        elif (draw := getattr(fact, "draw", None)) is not None:
            assert draw.round == open_round, "drawn while the round is committed and not yet revealed"
            assert draw.op == ops, "operations are numbered without a gap"
            ops += 1
            draws.append(draw)
    assert open_round is None
    assert set(keys) == set(committed), "every round that was committed to is revealed"
    for round, revealed in keys.items():
        assert chance.round_commitment(revealed) == committed[round]
        assert chance.round_key(key, round) == revealed
    for draw in draws:
        assert chance.redraw(keys[draw.round], draw) == draw
    return draws


@law
def test_every_draw_of_a_match_can_be_made_again_from_what_it_reveals(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed)
        draws = check_chance(game, game.facts)
        assert draws
        assert isinstance(game.facts[-2], MatchEnded)
        assert isinstance(game.facts[-1], SeedRevealed)

    for_tables(holds, rules, count)


@law
def test_a_match_that_ends_by_eliminations_reveals_all_the_same(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed, leave_rate=0.6)
        check_chance(game, game.facts)

    for_tables(holds, rules, count)


@law
def test_a_match_that_is_voided_reveals_all_the_same(rules, count):
    def holds(options, seats, seed):
        game = start(rules, options, seats, seed)
        rng = Random(seed)
        moves = random_moves(game, rng)
        for _ in range(rng.randint(0, 20)):
            if next(moves, None) is None:
                return  # it ended by itself
        if game.match.over:
            return
        facts = [*game.facts, *matches.void(game.match, "a test", game.keys)]
        check_chance(game, facts)
        assert isinstance(facts[-2], MatchVoided)
        match = matches.fold(facts, only(rules))
        assert (match.status, match.over, match.places) == ("voided", True, None)
        assert matches.pending(match) is None

    for_tables(holds, rules, count)


@law
def test_no_secret_is_told_before_its_time(rules, count):
    """G5: neither the service's seed, nor the match's key, nor the key of a round that is not over."""

    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed)
        facts = game.facts
        told = [encode(fact) for fact in facts]
        end = next(at for at, fact in enumerate(facts) if isinstance(fact, SeedRevealed))
        assert end == len(facts) - 1
        assert not any(game.keys.seed.hex().encode() in body for body in told[:end])
        assert not any(game.keys.key.hex().encode() in body for body in told)
        for at, fact in enumerate(facts):
            if isinstance(fact, ChanceRevealed):
                assert not any(fact.key.encode() in body for body in told[:at])

    for_tables(holds, rules, count)
