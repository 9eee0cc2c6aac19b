"""A second, deliberately naive cards-places, written from the clauses and apart from the kernel.

It keeps everything in lists that it changes in place, thinks out at every question which card goes on which, and
knows no facts: after each move it can say who holds what, whose turn it is, and who may be caught. Where it and
the kernel differ, one of them has misread a clause.
"""

from __future__ import annotations

from typing import Any

DEFAULTS = {
    "several_at_once": True, "voluntary_draw": True, "seven_cancels": False, "joker_wild": False,
    "king_reverses": False, "points_limit": None,
}  # fmt: skip
RED, BLACK = "DH", "CS"
WORTH = {"A": 50, "9": 40, "3": 30, "2": 20, "T": 10, "J": 10, "Q": 10, "K": 10}


def is_joker(card: str) -> bool:
    return card in ("BJ", "RJ")


def is_red(card: str) -> bool:
    return card[0] == "R" if is_joker(card) else card[1] in RED


def worth(card: str) -> int:
    return 50 if is_joker(card) or card == "KH" else WORTH.get(card[0], 5)  # CP-8.4


class NaiveCardsPlaces:
    """One match. ``first`` is the seat that the lot drew, ``decks`` are the shuffled packs, one a deal."""

    def __init__(self, options: dict[str, Any], seats: int, first: int, decks: list[list[str]]) -> None:
        self.o = DEFAULTS | options
        self.n = seats
        self.decks = decks
        self.place = [0] * seats
        self.points = [0] * seats
        self.gone: list[int] = []  # eliminated
        self.over = False
        self.deal_number = 0
        self.begin_deal(first)

    def begin_deal(self, first: int) -> None:
        """CP-1.3, CP-8.5."""
        self.deal_number += 1
        deck = self.decks.pop(0)
        self.first = first
        around = [(first + step) % self.n for step in range(self.n)]
        dealt_in = [seat for seat in around if self.place[seat] == 0]
        self.hand: list[list[str]] = [[] for _ in range(self.n)]
        for _ in range(5):
            for seat in dealt_in:
                self.hand[seat].append(deck.pop(0))
        at = 0
        while is_joker(deck[at]) or deck[at][0] in "234A":
            at += 1
        self.pile = [deck.pop(at)]
        self.stock = deck
        self.clockwise = True
        self.suit = ""
        self.penalty = 0
        self.fours = 0
        self.layer: int | None = None
        self.to_sit = [0] * self.n
        self.said = False
        self.owing: set[int] = set()
        self.last_answer = False
        self.turn: int | None = dealt_in[0]
        self.turns_without_progress = 0
        self.progress_now = False
        self.lowest = 5

    # Looking.

    def holders(self) -> list[int]:
        return [seat for seat in range(self.n) if self.hand[seat]]

    def in_match(self) -> list[int]:
        return [seat for seat in range(self.n) if self.place[seat] == 0]

    def catchable(self) -> list[int]:
        return [] if self.penalty else sorted(self.owing)

    def fits(self, card: str) -> str:
        """Return nothing if the card may be laid first, else the clause that forbids it."""
        top = self.pile[-1]
        wild = self.o["joker_wild"]
        if self.fours:
            return "" if card[0] == "4" else "CP-3.2"
        if self.penalty:
            if card[0] == "7" and self.o["seven_cancels"]:
                same = is_red(card) == is_red(top) if is_joker(top) else card[1] == top[1]
                return "" if same else "CP-8.1"
            if is_joker(card):
                return "" if wild or is_joker(top) or is_red(card) == is_red(top) else "CP-4.1"
            if card[0] not in "23":
                return "CP-4.4"
            if is_joker(top):
                return "" if is_red(card) == is_red(top) else "CP-4.1"
            return "" if card[0] == top[0] or card[1] == top[1] else "CP-4.1"
        if card[0] == "A":
            return ""
        if self.suit:
            if is_joker(card):
                return "" if wild or is_red(card) == (self.suit in RED) else "CP-2.2"
            return "" if card[1] == self.suit else "CP-2.2"
        if is_joker(card) or is_joker(top):
            both = is_joker(card) and is_joker(top)
            return "" if wild or both or is_red(card) == is_red(top) else "CP-2.4"
        return "" if card[0] == top[0] or card[1] == top[1] else "CP-2.1"

    def early_call_allowed(self) -> bool:
        """CP-6.5: some play would leave exactly one card."""
        assert self.turn is not None
        hand = self.hand[self.turn]
        if self.said:
            return False
        for card in hand:
            if self.fits(card):
                continue
            most = 1
            if self.o["several_at_once"] and not is_joker(card):
                most = sum(other[0] == card[0] for other in hand)
            if 1 <= len(hand) - 1 <= most:
                return True
        return False

    # Doing. The answer is None, or the clause of a refusal.

    def play(self, seat: int, move: dict[str, Any]) -> str | None:
        kind = move["type"]
        if self.over:
            return "G9"
        if kind == "catch":
            return self.catch(seat, move["seat"])
        if self.place[seat]:
            return "G14"
        if kind == "leave":
            return self.eliminate(seat)
        if kind == "call":
            if seat in self.owing:
                self.owing.discard(seat)
            elif seat == self.turn and self.early_call_allowed():
                self.said = True
            else:
                return "CP-6.5"
            return None
        if seat != self.turn:
            return "CP-2.1"
        if kind == "expire":
            return self.eliminate(seat)
        return {"play": self.lay, "draw": self.draw, "take": self.take, "sit-out": self.sit}[kind](seat, move)

    def catch(self, by: int, seat: int) -> str | None:
        if by in self.gone:
            return "CP-6.6"
        if seat not in self.owing:
            return "CP-6.2" if by == seat else "CP-6.4"
        if by == seat:
            return "CP-6.2"
        if self.penalty:
            return "CP-6.3"
        self.give(seat, 5)
        self.owing.discard(seat)
        return None

    def why_not_lay(self, seat: int, cards: list[str], suit: str | None, *, calls: bool) -> str:
        """Return nothing if the cards may be laid like this, else the clause that forbids it."""
        hand = self.hand[seat]
        if not cards or any(cards.count(card) > hand.count(card) for card in cards):
            return "CP-2.1"
        if len(cards) > 1 and is_joker(cards[0]):
            return "CP-5.3"
        if len(cards) > 1 and (not self.o["several_at_once"] or {card[0] for card in cards} != {cards[0][0]}):
            return "CP-5.1"
        if self.fits(cards[0]):
            return self.fits(cards[0])
        is_ace = cards[0][0] == "A"
        if is_ace and suit is None:
            return "CP-2.5"
        if not is_ace and suit is not None:
            return "CP-2.2"
        return "CP-6.5" if calls and (len(hand) - len(cards) != 1 or self.said) else ""

    def lay(self, seat: int, move: dict[str, Any]) -> str | None:
        cards, suit = list(move["cards"]), move.get("suit")
        no = self.why_not_lay(seat, cards, suit, calls=bool(move.get("macao")))
        if no:
            return no
        rank = cards[0][0]
        left = [card for card in self.hand[seat] if card not in cards]
        if self.o["king_reverses"] and rank == "K" and len(self.holders()) >= 3:  # CP-8.3, CP-8.7
            for _ in cards:
                self.clockwise = not self.clockwise
        self.hand[seat] = left
        self.pile += cards
        self.suit = suit or ""
        self.layer = seat
        if self.last_answer:  # CP-8.5
            self.count_deal()
            return None
        if len(left) == 1 and not self.said and not move.get("macao"):
            self.owing.add(seat)
        self.take_effect(cards)
        self.after_play(seat, left)
        return None

    def take_effect(self, cards: list[str]) -> None:
        """CP-3.1, CP-3.2, CP-5.2, CP-8.1."""
        if cards[0][0] == "7" and self.penalty:
            self.penalty = 0
        for card in cards:
            self.penalty += {"2": 2, "3": 3, "BJ": 5, "RJ": 10}.get(card if is_joker(card) else card[0], 0)
            self.fours += card[0] == "4"

    def after_play(self, seat: int, left: list[str]) -> None:
        if not left:
            if self.o["points_limit"]:
                if not self.penalty:
                    self.count_deal()
                    return
                self.last_answer = True
            else:
                self.place[seat] = 1 + sum(1 for other in self.place if other) - len(self.gone)
                if len(self.holders()) == 1:
                    self.finish()
                    return
            self.note_progress()
        elif len(left) < self.lowest:
            self.progress_now = True
            self.lowest = len(left)
        self.end_turn()

    def draw(self, seat: int, _move: dict[str, Any]) -> str | None:
        if self.fours:
            return "CP-3.2"
        if self.penalty:
            return "CP-4.1"
        if not self.o["voluntary_draw"] and any(not self.fits(card) for card in self.hand[seat]):
            return "CP-2.3"
        self.give(seat, 1)
        self.end_turn()
        return None

    def take(self, seat: int, _move: dict[str, Any]) -> str | None:
        if not self.penalty:
            return "CP-4.1"
        self.give(seat, self.penalty)
        self.penalty = 0
        if self.last_answer:
            self.count_deal()
        else:
            self.end_turn()
        return None

    def sit(self, seat: int, _move: dict[str, Any]) -> str | None:
        if not self.fours:
            return "CP-2.3"
        self.to_sit[seat] = self.fours - 1
        self.fours = 0
        self.end_turn()
        return None

    def give(self, seat: int, count: int) -> None:
        for _ in range(count):
            if not self.stock:  # CP-7.3
                self.stock, self.pile = self.pile[:-1], self.pile[-1:]
            if self.stock:
                self.hand[seat].append(self.stock.pop(0))

    # Turns.

    def end_turn(self, *, counts: bool = True) -> None:
        if counts:
            self.turns_without_progress += 1
        if self.progress_now:
            self.turns_without_progress = 0
        self.progress_now = False
        self.said = False
        assert self.turn is not None
        seat = self.turn
        while True:
            seat = (seat + (1 if self.clockwise else -1)) % self.n
            if self.hand[seat]:
                break
        self.turn = seat
        self.owing.discard(seat)  # CP-6.2
        players = len(self.holders())
        if self.turns_without_progress >= max(200, 60 * players):  # CP-7.4
            if self.o["points_limit"]:
                self.count_deal()
            else:
                self.finish()
            return
        if self.to_sit[seat]:  # CP-3.3
            self.to_sit[seat] -= 1
            self.end_turn()
            return
        if self.layer == seat:  # CP-3.4
            self.penalty = 0
            self.fours = 0

    def note_progress(self) -> None:
        self.progress_now = True
        self.lowest = min(len(hand) for hand in self.hand if hand)

    def eliminate(self, seat: int) -> None:
        self.place[seat] = self.n - len(self.gone)
        self.gone.append(seat)
        self.hand[seat] = []
        self.owing.discard(seat)
        self.to_sit[seat] = 0
        if len(self.in_match()) == 1:
            self.finish()
            return
        if seat == self.turn:
            self.penalty = 0
            self.fours = 0
            if self.last_answer:
                self.count_deal()
                return
        if self.holders():
            self.note_progress()
        if seat == self.turn:
            self.end_turn(counts=False)

    # The end.

    def count_deal(self) -> None:
        """CP-8.4, CP-8.5."""
        for seat in self.in_match():
            self.points[seat] += sum(worth(card) for card in self.hand[seat])
        if max(self.points[seat] for seat in self.in_match()) >= self.o["points_limit"]:
            self.finish()
            return
        first = (self.first + 1) % self.n
        while self.place[first]:
            first = (first + 1) % self.n
        self.begin_deal(first)

    def finish(self) -> None:
        left = self.in_match()
        best = 1 + self.n - len(left) - len(self.gone)
        results = {s: self.points[s] if self.o["points_limit"] else len(self.hand[s]) for s in left}
        for seat in left:
            self.place[seat] = best + sum(results[other] < results[seat] for other in left)
        self.over = True
        self.turn = None
