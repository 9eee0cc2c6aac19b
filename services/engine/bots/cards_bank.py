"""The bots of cards-bank.

``sharp`` decides by exact odds over the unseen cards, all packs less every card in sight, in stakes that it expects to
win. What lies face down is judged by what its holder did: people ask up to four and stand from five. (Against a bank
that expects this it pays to stand on four already, against one that expects that, to ask: near enough to equal.)

- The bank weighs all who are left, each with the stake and with what the face-down card can be.
- A player weighs what the bank can hold, and that it then plays its best against this player alone. Who else is in the
  coup matters for what the unseen cards can be.

How it stakes is in `staking`. ``casual`` asks as one does among friends, sometimes once too often, and looks at its own
card only, as the bank too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Final

from services.engine.bots.bot import Bot, Situation
from services.engine.bots.card_odds import ANY, COUNTS, HIGHEST, IN_A_PACK, Range, Unseen, count_of
from services.engine.bots.staking import casual_stake, lead_of
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.cards import HIDDEN
from services.engine.rules.games.cards_bank import AIM, Ask, Options, PlayerView, Stand, View
from services.engine.rules.kernel import Move

ASKS_UP_TO: Final = 4
"""With what first cards people are taken to ask for another."""
EQUAL: Final = 1e-12

STOOD: Final[Range] = (ASKS_UP_TO + 1, HIGHEST)


def sharp(situation: Situation, chance: Random) -> Move:
    """Lay a stake, or take the better way."""
    del chance
    view: View = situation.view
    match situation.legal[0]:
        case StakeRange() as allowed:
            ahead = lead_of(situation.seat, _wealth(view)) > 0
            return Stake(allowed.min if ahead else allowed.max)
        case _:
            stand, ask = values(situation)
            return Ask() if ask > stand + EQUAL else Stand()


def values(situation: Situation) -> tuple[float, float]:
    """Return what standing and asking are worth: to the bank in chips, to a player in stakes."""
    view: View = situation.view
    options: Options = situation.options
    own = view.players[situation.seat]
    unseen = _unseen(options.decks, view)
    if situation.seat == view.bank:
        hands = [
            (_range_of(view, player), _second(player), player.stake)
            for player in view.players
            if player.stake and player.first == HIDDEN
        ]
        spectators = [_range_of(view, player) for player in _face_down(view) if not player.stake]
        return bank_values(unseen, _first(own), hands, spectators)
    others = [_range_of(view, player) for player in _face_down(view) if player.seat != view.bank]
    return player_values(unseen, _first(own), tuple(others))


# The bank


def bank_values(
    unseen: Sequence[int], own: int, hands: Sequence[tuple[Range, int, int]], others: Sequence[Range]
) -> tuple[float, float]:
    """Return what standing and drawing are worth to the bank, in chips.

    Args:
        unseen: the number of cards that the bank does not see, by count.
        own: its first card.
        hands: of each player left the range of the first card, the second card or 0, and the stake.
        others: the ranges of other cards that lie face down.
    """
    stakes: Counter[tuple[Range, int]] = Counter()
    for first, second, stake in hands:
        stakes[first, second] += stake
    face_down = Counter((*others, *(first for first, _, _ in hands)))
    stand = draw = 0.0
    for (first, second), stake in stakes.items():
        odds = Unseen(unseen, (face_down - Counter([first])).elements())
        total = 0.0
        won = [0.0, 0.0]
        for count in range(first[0], first[1] + 1):
            for drawn in COUNTS:
                weight = odds.weight(count, drawn)
                total += weight
                won[0] += weight * _sign(own - count - second)
                won[1] += weight * (-1 if own + drawn > AIM else _sign(own + drawn - count - second))
        if total:
            stand += stake * won[0] / total
            draw += stake * won[1] / total
    return stand, draw


# A player


@lru_cache(maxsize=4096)
def player_values(unseen: tuple[int, ...], own: int, others: tuple[Range, ...]) -> tuple[float, float]:
    """Return what standing and asking are worth to a player, in stakes.

    Args:
        unseen: the number of cards that the player does not see, by count, the bank's first card among them.
        own: the player's first card.
        others: the ranges of the other players' cards that lie face down.
    """
    odds = Unseen(unseen, others)
    stand = stand_total = ask = ask_total = 0.0
    for bank in range(HIGHEST + 1):
        stand_total += odds.weight(bank)
        stand += _against_bank(odds, own, bank, (), draws=_bank_draws(unseen, own, others, bank, None))
        for drawn in COUNTS:
            weight = odds.weight(bank, drawn)
            ask_total += weight
            if not weight:
                continue
            if own + drawn > AIM:
                ask -= weight
            else:
                draws = _bank_draws(unseen, own, others, bank, drawn)
                ask += _against_bank(odds, own + drawn, bank, (drawn,), draws=draws)
    return stand / (stand_total or 1), ask / (ask_total or 1)


def _against_bank(odds: Unseen, total: int, bank: int, drawn: tuple[int, ...], *, draws: bool) -> float:
    """Return what a player with ``total`` wins against this card of the bank, times the weight of it all."""
    if not draws:
        return odds.weight(bank, *drawn) * _sign(total - bank)
    won = weights = 0.0
    for count in COUNTS:
        weight = odds.weight(bank, *drawn, count)
        weights += weight
        won += weight * (1 if bank + count > AIM else _sign(total - bank - count))
    return odds.weight(bank, *drawn) * won / weights if weights else 0.0


def _bank_draws(
    unseen: tuple[int, ...], own: int, others: tuple[Range, ...], bank: int, drawn: int | None
) -> bool:
    """Say whether a bank with this card draws: it does not know the player's, and has seen another or none."""
    cards = list(unseen)
    cards[own] += 1
    cards[bank] -= 1
    if drawn is None:
        first, second = STOOD, 0
    else:
        cards[drawn] -= 1
        first, second = _asked(drawn), drawn
    if min(cards) < 0:
        return False
    stand, draw = bank_values(cards, bank, [(first, second, 1)], others)
    return draw > stand + EQUAL


# What is in sight


def _unseen(decks: int, view: View) -> tuple[int, ...]:
    cards = [decks * IN_A_PACK[count] for count in COUNTS]
    for player in view.players:
        for card in (player.first, player.second):
            if card is not None and card != HIDDEN:
                cards[count_of(card)] -= 1
    return tuple(cards)


def _face_down(view: View) -> list[PlayerView]:
    return [player for player in view.players if player.first == HIDDEN]


def _range_of(view: View, player: PlayerView) -> Range:
    """Return what the face-down card of a player can be."""
    if player.second is not None:
        return _asked(count_of(player.second))
    return ANY if player.seat in view.to_act or player.place is not None else STOOD


def _asked(drawn: int) -> Range:
    """Return what a card can be that was not enough, and with which this one was not too much."""
    return 0, min(ASKS_UP_TO, AIM - drawn)


def _first(player: PlayerView) -> int:
    return count_of(player.first) if player.first else 0


def _second(player: PlayerView) -> int:
    return count_of(player.second) if player.second else 0


def _wealth(view: View) -> dict[int, int]:
    return {player.seat: player.chips + player.stake for player in view.players if player.place is None}


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


# Casual


def casual(situation: Situation, chance: Random) -> Move:
    """Ask with little in hand, and with something in between as the mood is."""
    view: View = situation.view
    match situation.legal[0]:
        case StakeRange() as allowed:
            return casual_stake(allowed, chance)
        case _:
            asks_up_to = ASKS_UP_TO + chance.choice((-2, -1, 0, 0, 1, 2))
            return Ask() if _first(view.players[situation.seat]) <= asks_up_to else Stand()


BOTS: Final = (Bot("cards-bank", "casual", casual), Bot("cards-bank", "sharp", sharp))
