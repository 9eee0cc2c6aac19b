"""What the bots of both shedding games share: the word, the catch, and how people play among friends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Final

from msgspec import Struct

from services.engine.bots.bot import Situation
from services.engine.rules.cards import JOKERS, suit_of
from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Call, Catch, Draw, Pass, Play

FORGETS_THE_WORD: Final = 0.15
REMEMBERS_IT_LATE: Final = 0.3
NOTICES_SILENCE: Final = 0.5
"""How often a casual player does so when asked; a bot is asked again whenever something has happened."""


def say_or_catch(legal: Sequence[Struct]) -> Move | None:
    """Say the word that is owed, else catch the first who may be caught, else let it be."""
    for kind in (Call, Catch):
        for move in legal:
            if isinstance(move, kind):
                return move
    return None


def catch(legal: Sequence[Struct]) -> Catch | None:
    """Return the first catch there is."""
    return next((move for move in legal if isinstance(move, Catch)), None)


def plays(legal: Sequence[Struct]) -> list[Play]:
    """Return the ways to lay cards, each once, with the word wherever it can be said.

    Beside the first card, which is right in every way that is listed, only the set of cards, the last of them and the
    suit matter.
    """
    found: dict[tuple[frozenset[str], str, str | None], Play] = {}
    for move in legal:
        if isinstance(move, Play):
            key = frozenset(move.cards), move.cards[-1], move.suit
            if move.macao or key not in found:
                found[key] = move
    return list(found.values())


def others(legal: Sequence[Struct]) -> list[Move]:
    """Return what can be done on turn instead of laying cards: drawing, taking, sitting out, passing."""
    return [move for move in legal if isinstance(move, Move) and not isinstance(move, Play | Call | Catch)]


def casual(situation: Situation, chance: Random) -> Move | None:
    """Play as people do among friends.

    A casual player lays a card whenever one fits and gladly several at once, keeps aces for when nothing else goes and
    calls the suit held most, and answers whatever can be answered. The word is forgotten now and then, and a silent
    player often gets away. Nothing is counted.
    """
    seen = catch(situation.legal)
    if seen and chance.random() < NOTICES_SILENCE:
        return seen
    if not situation.on_turn:
        call = next((move for move in situation.legal if isinstance(move, Call)), None)
        return call if chance.random() < REMEMBERS_IT_LATE else None
    ways = plays(situation.legal)
    if not ways:
        return _draw_or_pass(situation.legal)
    play = _liked_best(ways, situation.view.players[situation.seat].hand, chance)
    if play.macao and chance.random() < FORGETS_THE_WORD:
        return Play(play.cards, play.suit)
    return play


def _draw_or_pass(legal: Sequence[Struct]) -> Move:
    return next((move for move in others(legal) if isinstance(move, Draw | Pass)), others(legal)[0])


def _liked_best(ways: Sequence[Play], hand: Sequence[str], chance: Random) -> Play:
    suits = Counter(suit_of(card) for card in hand if card not in JOKERS)

    def liking(play: Play) -> float:
        wild = play.cards[0][0] == "A"
        named = (
            suits[play.suit] - len(play.cards) * (play.suit == suit_of(play.cards[-1])) if play.suit else 0
        )
        return named + 2 * len(play.cards) * (not wild) - 10 * wild + 3 * chance.random()

    return max(ways, key=liking)
