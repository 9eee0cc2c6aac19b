"""Bots for cards-places.

`sharp` always says the word, catches whoever forgets it, and chooses what to lay by playing the deal out: it remembers
what lies where (`shedding_memory`), deals the unseen cards in agreement with that, and tries every way on the same
deals (`shedding_search`, `places_playout`). When to let go of a four, an ace or the red joker, and which suit the next
player lacks, comes out of that by itself.
"""

from __future__ import annotations

from random import Random
from typing import Final

from msgspec.structs import replace

from services.contracts.events.cards import Played
from services.engine.bots.bot import Bot, Situation
from services.engine.bots.places_playout import Lay, Policy, Position, favourite, policy_for, value_of
from services.engine.bots.shedding import casual, catch, others, plays, say_or_catch
from services.engine.bots.shedding_deck import NO_SUIT
from services.engine.bots.shedding_memory import Memory
from services.engine.bots.shedding_search import best_of
from services.engine.rules.cards import SUITS
from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Play

PLAYOUTS: Final = 400
NOBODY: Final = -1


def sharp(situation: Situation, chance: Random) -> Move | None:
    """Return the move that does best in playouts."""
    if not situation.on_turn:
        return say_or_catch(situation.legal)
    silent = catch(situation.legal)
    if silent:
        return silent
    ways: list[Move] = [*plays(situation.legal), *others(situation.legal)]
    if len(ways) == 1:
        return ways[0]
    policy = policy_for(situation.options)
    memory = Memory(policy.deck, situation)
    table = _table(policy, situation)

    def deal() -> Position:
        hands, stock = memory.deal(chance)
        return replace(table, hands=[sum(1 << kind for kind in hand) for hand in hands], stock=stock)

    usual = favourite(policy, deal())
    tried = sorted(((_step(policy, move), move) for move in ways), key=lambda way: way[0] != usual)
    return best_of(
        tried, deal, lambda position, way: value_of(policy, position, situation.seat, way[0]), PLAYOUTS
    )[1]


def _step(policy: Policy, move: Move) -> Lay:
    if not isinstance(move, Play):
        return Lay()
    suit = SUITS.index(move.suit) if move.suit else NO_SUIT
    return Lay(policy.deck.mask(move.cards), policy.deck.kinds[move.cards[-1]], suit)


def _table(policy: Policy, situation: Situation) -> Position:
    """Return what lies open, as yet without hands and stock."""
    view = situation.view
    return Position(
        hands=[],
        stock=[],
        pile=[policy.deck.kinds[card] for card in view.pile],
        turn=situation.seat,
        step=1 if view.direction == "clockwise" else -1,
        suit=SUITS.index(view.suit) if view.suit else NO_SUIT,
        penalty=view.penalty,
        skips=view.skips,
        sitting=[player.turns_to_sit_out for player in view.players],
        laid_by=next((fact.seat for fact in reversed(situation.history) if isinstance(fact, Played)), NOBODY),
    )


BOTS: Final = (Bot("cards-places", "casual", casual), Bot("cards-places", "sharp", sharp))
