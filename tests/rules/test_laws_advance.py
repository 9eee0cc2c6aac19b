"""The law of advancing: deciding a move with the position behind it is deciding it, and then folding the facts."""

from services.engine.rules import match as matches
from services.engine.rules.kernel import Leave, Refusal
from tests.rules.laws import for_tables, law
from tests.rules.test_laws_log import position
from tests.support.matches import only, played_out


@law
def test_advancing_is_deciding_and_folding(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed, leave_rate=0.03)
        match = matches.fold(game.opening, only(rules))
        for command in game.commands:
            advanced = matches.advance(match, command.seat, command.move, game.keys)
            assert not isinstance(advanced, Refusal)
            facts, after = advanced
            assert facts == command.facts == matches.decide(match, command.seat, command.move, game.keys)
            for fact in facts:
                match = matches.evolve(match, fact)
            assert position(after) == position(match)
        assert matches.advance(match, 0, Leave(), game.keys) == Refusal("match-over", "G9")

    for_tables(holds, rules, count)
