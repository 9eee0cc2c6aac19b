"""What an attentive player remembers of a deal, and deals of the unseen cards that agree with it.

Every card that lies face down, in a hand or in the stock, is a *slot*: the set of kinds that it may be. A card that was
seen on its way there is a set of one: where the pile is turned without shuffling (CP-7.3), a player who paid attention
knows the whole stock from then on, and who draws what. A player who drew instead of laying a card held none that
fitted, as a rule, so those are taken out of the slots.

The memory is made from what its seat was shown. Nothing else ever comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from services.contracts.events.base import Fact
from services.contracts.events.cards import (
    Dealt,
    Drew,
    Lapsed,
    MacaoCaught,
    MacaoFined,
    Passed,
    PenaltyCancelled,
    PenaltyStacked,
    PenaltyTaken,
    PileShuffled,
    PileTurned,
    Played,
    SuitCalled,
    TurnedUp,
)
from services.contracts.events.match import PlayerEliminated
from services.engine.bots.bot import Situation
from services.engine.bots.shedding_deck import Deck
from services.engine.rules.cards import HIDDEN, SUITS, Card

Slots = list[int]
Deal = tuple[list[list[int]], list[int]]
"""The kinds in every hand, and in the stock, the next to draw last."""

MIXED_AHEAD: Final = 24
"""How many cards of the stock are mixed anew in every deal: about as many as a playout draws."""


class Memory:
    """One seat's memory of the running deal."""

    def __init__(self, deck: Deck, situation: Situation) -> None:
        """Remember the deal so far; where the history does not lead to what is seen now, only that counts."""
        self._deck = deck
        self._seat = situation.seat
        self._hands: list[Slots] = []
        self._stock: Slots = []
        self._away: Slots = []
        self._top = 0
        self._suit = ""
        self._penalty = 0
        for fact in situation.history:
            self._take_in(fact)
        view = situation.view
        pile = _kinds_in(deck, view.pile)
        own = [1 << kind for kind in _kinds_in(deck, view.players[self._seat].hand)]
        if not self._agrees_with(view):
            self._hands = [[deck.any] * player.cards for player in view.players]
            self._stock, self._away = [deck.any] * view.stock, []
        self._hands[self._seat] = own
        self._pool = self._unseen(pile)
        self._mixed = False
        self._hidden = sum(slot.bit_count() > 1 for hand in (*self._hands, self._away) for slot in hand)
        self._knows_stock = len(self._pool) != self._hidden + len(self._stock) or any(
            slot != deck.any for slot in self._stock
        )

    def _agrees_with(self, view: Any) -> bool:
        return len(self._stock) == view.stock and [len(hand) for hand in self._hands] == [
            player.cards for player in view.players
        ]

    def deal(self, chance: Random) -> Deal:
        """Deal the unseen cards at random, in agreement with what is remembered as far as that goes.

        The cards lie in random order since the first deal, so mixing those that come into play is enough for another.
        """
        pool = self._pool
        mixed = len(pool) if not self._mixed else self._hidden + MIXED_AHEAD
        self._mixed = True
        for at in range(len(pool) - 1, max(0, len(pool) - 1 - mixed), -1):
            other = int(chance.random() * (at + 1))
            pool[at], pool[other] = pool[other], pool[at]
        pool = pool.copy()
        hands = [[_dealt(slot, pool) for slot in hand] for hand in self._hands]
        for slot in self._away:
            _dealt(slot, pool)
        if not self._knows_stock:
            return hands, pool
        return hands, [_dealt(slot, pool) for slot in self._stock][::-1]

    def _unseen(self, pile: Sequence[int]) -> list[int]:
        """Return the kinds that lie face down somewhere and are not known to lie in any one slot."""
        left = [self._deck.copies] * len(self._deck.order)
        for kind in pile:
            left[kind] -= 1
        for slots in (*self._hands, self._stock, self._away):
            for slot in slots:
                if slot.bit_count() == 1:
                    left[slot.bit_length() - 1] -= 1
        return [kind for kind, count in enumerate(left) for _ in range(count)]

    # What happens to the cards

    def _take_in(self, fact: Fact) -> None:
        match fact:
            case Dealt():
                self._hands = [self._seen(hand, [self._deck.any] * len(hand)) for hand in fact.hands]
                self._stock = [self._deck.any] * (len(fact.draw.result) - sum(map(len, fact.hands)))
            case TurnedUp():
                self._stock.pop()
                self._top = self._deck.kinds[fact.card]
            case Played():
                self._laid(fact)
            case Drew():
                self._had_none(fact.seat, self._fitting())
                self._drawn(fact.seat, fact.cards)
            case Passed():
                self._had_none(fact.seat, self._fitting())
            case PenaltyTaken():
                self._had_none(fact.seat, self._deck.in_chain[self._top])
                self._drawn(fact.seat, fact.cards)
                self._penalty = 0
            case MacaoCaught() | MacaoFined():
                self._drawn(fact.seat, fact.cards)
            case PlayerEliminated():
                self._leaves(fact.seat)
            case _:
                self._look_at_table(fact)

    def _look_at_table(self, fact: Fact) -> None:
        match fact:
            case PileTurned():
                self._stock += [1 << kind for kind in _kinds_in(self._deck, fact.cards)]
            case PileShuffled():
                self._stock += [self._deck.any] * len(fact.draw.result)
            case SuitCalled():
                self._suit = fact.suit
            case PenaltyStacked():
                self._penalty = fact.total
            case PenaltyCancelled() | Lapsed():
                self._penalty = 0
            case _:
                pass

    def _fitting(self) -> int:
        if self._penalty:
            return self._deck.in_chain[self._top]
        return self._deck.on_suit[SUITS.index(self._suit)] if self._suit else self._deck.on_card[self._top]

    def _laid(self, fact: Played) -> None:
        slots = self._hands[fact.seat]
        for kind in _kinds_in(self._deck, fact.cards):
            # The card that was seen coming, else the newest that it may be, else the newest that was not seen.
            at = max(
                range(len(slots)),
                key=lambda at: (slots[at] == 1 << kind, slots[at] >> kind & 1, slots[at].bit_count() > 1, at),
            )
            slots.pop(at)
            self._top = kind
        self._suit = ""

    def _drawn(self, seat: int, cards: Sequence[Card]) -> None:
        from_stock, self._stock = self._stock[: len(cards)], self._stock[len(cards) :]
        self._hands[seat] += self._seen(cards, from_stock)

    def _had_none(self, seat: int, fitting: int) -> None:
        """Take kinds out, but never down to one: only a card that was seen is certain."""
        self._hands[seat] = [
            slot & ~fitting if (slot & ~fitting).bit_count() > 1 else slot for slot in self._hands[seat]
        ]

    def _leaves(self, seat: int) -> None:
        """In cards-places the cards leave the game, in cards-points they go under the stock (CP-7.5, PT-6.4)."""
        (self._away if self._deck.copies == 1 else self._stock).extend(self._hands[seat])
        self._hands[seat] = []

    def _seen(self, cards: Sequence[Card], slots: Sequence[int]) -> Slots:
        """Return slots, those of cards that are shown made certain."""
        return [
            slot if card == HIDDEN else 1 << self._deck.kinds[card]
            for card, slot in zip(cards, [*slots, *[self._deck.any] * len(cards)], strict=False)
        ]


def _kinds_in(deck: Deck, cards: Any) -> list[int]:
    return [deck.kinds[card] for card in cards]


def _dealt(slot: int, pool: list[int]) -> int:
    """Take a card for a slot from the end of a shuffled pool; where none agrees with it, the slot was misjudged."""
    if slot.bit_count() == 1:
        return slot.bit_length() - 1
    for at in range(len(pool) - 1, -1, -1):
        if slot >> pool[at] & 1:
            return pool.pop(at)
    return pool.pop()
