"""Bots for cards-points.

`sharp` always says the word, and chooses what to lay by playing the deal out: it remembers who had nothing that fitted
(`shedding_memory`), deals the unseen cards in agreement with that, and tries every way on the same deals
(`shedding_search`, `points_playout`). What counts is what the seat loses in the deal, against what the others lose on
the average: places go by losses.
"""

from __future__ import annotations

from random import Random
from typing import Final

from msgspec.structs import replace

from services.engine.bots.bot import Bot, Situation
from services.engine.bots.points_playout import (
    DECK,
    Lay,
    Position,
    favourite,
    hand_of,
    hands_after,
    points_in,
)
from services.engine.bots.shedding import casual, others, plays, say_or_catch
from services.engine.bots.shedding_deck import NO_SUIT
from services.engine.bots.shedding_memory import Memory
from services.engine.bots.shedding_search import best_of
from services.engine.rules.cards import SUITS
from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Play

PLAYOUTS: Final = 400


def sharp(situation: Situation, chance: Random) -> Move | None:
    """Return the move that does best in playouts."""
    if not situation.on_turn:
        return say_or_catch(situation.legal)
    ways: list[Move] = [*plays(situation.legal), *others(situation.legal)]
    if len(ways) == 1:
        return ways[0]
    memory = Memory(DECK, situation)
    playing = tuple(player.seat for player in situation.view.players if player.place is None)

    def value(position: Position, way: tuple[Lay, Move]) -> float:
        lost = [points_in(hand) for hand in hands_after(position, playing, way[0])]
        own = lost[situation.seat]
        return (sum(lost) - own) / (len(playing) - 1) - own

    table = _table(situation)

    def deal() -> Position:
        hands, stock = memory.deal(chance)
        return replace(table, hands=[hand_of(hand) for hand in hands], stock=stock)

    usual = favourite(deal(), playing)
    tried = sorted(((_step(move), move) for move in ways), key=lambda way: way[0] != usual)
    return best_of(tried, deal, value, PLAYOUTS)[1]


def _step(move: Move) -> Lay:
    if not isinstance(move, Play):
        return Lay()
    return Lay(DECK.kinds[move.cards[0]], SUITS.index(move.suit) if move.suit else NO_SUIT)


def _table(situation: Situation) -> Position:
    """Return what lies open, as yet without hands and stock."""
    view = situation.view
    return Position(
        hands=[],
        stock=[],
        pile=[DECK.kinds[card] for card in view.pile],
        turn=situation.seat,
        suit=SUITS.index(view.suit) if view.suit else NO_SUIT,
        penalty=view.penalty,
        drew=view.drew,
        answering=bool(view.out),
    )


BOTS: Final = (Bot("cards-points", "casual", casual), Bot("cards-points", "sharp", sharp))
