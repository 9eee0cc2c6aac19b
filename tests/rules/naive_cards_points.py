"""A second, deliberately naive cards-points, written from the clauses and apart from the kernel.

It keeps everything in lists that it changes in place, thinks out at every question which card goes on which, and
knows no facts: after each move it can say who holds what, whose turn it is, and who owes the word. Where it and
the kernel differ, one of them has misread a clause.
"""

from __future__ import annotations

from typing import Any

DEFAULTS = {"loss_limit": 500, "macao_call": "one_left"}
PENALTY = {"2": 2, "3": 3}


def penalty_of(card: str) -> int:
    return 5 if card == "KH" else PENALTY.get(card[0], 0)  # PT-3.1


def worth(card: str) -> int:
    """PT-6.2."""
    if card == "KH" or card[0] == "A":
        return 50
    if card[0] in "932":
        return {"9": 40, "3": 30, "2": 20}[card[0]]
    return 10 if card[0] in "TJQK" else 5


class NaiveCardsPoints:
    """One match. ``dealer`` is the seat that the lot drew, ``shuffles`` are the results of all shuffles in order."""

    def __init__(self, options: dict[str, Any], seats: int, dealer: int, shuffles: list[list[str]]) -> None:
        self.o = DEFAULTS | options
        self.n = seats
        self.shuffles = shuffles
        self.place = [0] * seats
        self.losses = [0] * seats
        self.over = False
        self.deal_number = 0
        self.begin_deal(dealer)

    def begin_deal(self, dealer: int) -> None:
        """PT-1.3, PT-1.4."""
        self.deal_number += 1
        self.dealer = dealer
        deck = self.shuffles.pop(0)
        self.hand: list[list[str]] = [[] for _ in range(self.n)]
        order = [seat for step in range(1, self.n + 1) if not self.place[seat := (dealer + step) % self.n]]
        for number in range(5 * len(order)):
            self.hand[order[number % len(order)]].append(deck[number])
        self.pile = [deck[5 * len(order)]]
        self.stock = deck[5 * len(order) + 1 :]
        self.turn: int | None = order[0]
        self.suit = ""
        self.unpaid = 0
        self.drew: int | None = None
        self.owes: int | None = None
        self.finished: list[int] = []
        self.history: list[str] = []  # one entry a turn: "nothing" where nothing was drawn and then passed

    # Looking.

    def in_match(self) -> list[int]:
        return [seat for seat in range(self.n) if not self.place[seat]]

    def fits(self, card: str) -> str:
        """Return nothing if the card may be laid, else the clause that forbids it."""
        top = self.pile[-1]
        if self.unpaid:
            if top == "KH":
                return "" if card == "KH" else "PT-3.2"
            return "" if card[0] == top[0] else "PT-3.2"
        if card[0] in ("9", "A"):
            return ""
        if self.suit:
            return "" if card[1] == self.suit else "PT-2.2"
        if card[1] == top[1]:
            return ""
        if card[0] == top[0]:
            return "PT-3.1" if card == "KH" else ""
        return "PT-2.1"

    # Doing. The answer is None, or the clause of a refusal.

    def play(self, seat: int, move: dict[str, Any]) -> str | None:
        kind = move["type"]
        if self.over:
            return "G9"
        if self.place[seat]:
            return "G14"
        if kind == "leave":
            self.eliminate(seat)
            return None
        if kind == "call":
            if self.owes != seat:
                return "PT-5.3"
            self.say(seat)
            if self.finished and not self.unpaid:
                self.count_deal()
            return None
        if seat != self.turn:
            return "PT-2.1"
        if kind == "expire":
            self.eliminate(seat)
            return None
        return {"play": self.lay, "draw": self.draw, "take": self.take, "pass": self.go_by}[kind](seat, move)

    def say(self, seat: int) -> None:
        self.owes = None
        if not self.hand[seat]:
            self.finished.append(seat)

    def lay(self, seat: int, move: dict[str, Any]) -> str | None:
        cards = list(move["cards"])
        left = list(self.hand[seat])
        for card in cards:
            if card not in left:
                return "PT-2.1"
            left.remove(card)
        if len(cards) != 1:
            return "PT-2.1"
        card = cards[0]
        if self.fits(card):
            return self.fits(card)
        suit = move.get("suit")
        if card[0] == "A" and not suit:
            return "PT-2.5"
        if card[0] != "A" and suit:
            return "PT-2.2"
        owed = len(left) == (1 if self.o["macao_call"] == "one_left" else 0) and not self.finished
        if move.get("macao") and not owed:
            return "PT-6.5" if self.finished else "PT-5.3"
        self.fine()
        answering = bool(self.finished)
        self.hand[seat] = left
        self.pile.append(card)
        self.suit = suit or ""
        if answering:  # PT-6.5
            self.unpaid = 0
            if not left:
                self.finished.append(seat)
        else:
            self.unpaid += penalty_of(card)
            if owed:
                self.owes = seat
                if move.get("macao"):
                    self.say(seat)
            elif not left:
                self.finished.append(seat)
        self.end_turn("played")
        return None

    def draw(self, seat: int, _move: dict[str, Any]) -> str | None:
        if self.unpaid:
            return "PT-3.4"
        if self.drew is not None:
            return "PT-2.3"
        self.fine()
        self.drew = self.give(seat, 1)
        return None

    def take(self, seat: int, _move: dict[str, Any]) -> str | None:
        if not self.unpaid:
            return "PT-3.3"
        self.fine()
        self.give(seat, self.unpaid)
        self.unpaid = 0
        self.end_turn("took")
        return None

    def go_by(self, _seat: int, _move: dict[str, Any]) -> str | None:
        if self.drew is None:
            return "PT-2.4"
        self.end_turn("nothing" if self.drew == 0 else "something")
        return None

    def fine(self) -> None:
        """PT-5.2, PT-5.3."""
        if self.owes is not None:
            self.give(self.owes, 2)
            self.owes = None

    def give(self, seat: int, count: int) -> int:
        given = 0
        for _ in range(count):
            if not self.stock and len(self.pile) > 1:  # PT-4.1
                self.stock = self.shuffles.pop(0)
                assert sorted(self.stock) == sorted(self.pile[:-1])
                self.pile = self.pile[-1:]
            if self.stock:
                self.hand[seat].append(self.stock.pop(0))
                given += 1
        return given

    # Turns.

    def end_turn(self, what: str) -> None:
        self.history.append(what)
        self.pass_turn()
        self.look_for_the_end()

    def pass_turn(self) -> None:
        self.drew = None
        assert self.turn is not None
        self.turn = (self.turn + 1) % self.n
        while self.place[self.turn]:
            self.turn = (self.turn + 1) % self.n

    def look_for_the_end(self) -> None:
        players = len(self.in_match())
        if players == 1:
            self.finish()
            return
        if self.finished:
            if not self.unpaid:
                self.count_deal()
            return
        turns = [what for what in self.history if what != "elimination"]
        if len(turns) >= 200 * players or self.history[-players:] == ["nothing"] * players:  # PT-6.6
            self.count_deal()

    def eliminate(self, seat: int) -> None:
        """G7, PT-6.4, PT-6.7."""
        self.place[seat] = len(self.in_match())
        self.stock += self.hand[seat]
        self.hand[seat] = []
        self.history.append("elimination")
        if self.owes == seat:
            self.owes = None
        if self.turn == seat:
            self.unpaid = 0
            self.pass_turn()
        self.look_for_the_end()

    # The end.

    def count_deal(self) -> None:
        for seat in self.in_match():
            self.losses[seat] += sum(map(worth, self.hand[seat]))
        self.owes = None
        if any(self.losses[seat] >= self.o["loss_limit"] for seat in self.in_match()):
            self.finish()
            return
        dealer = (self.dealer + 1) % self.n
        while self.place[dealer]:
            dealer = (dealer + 1) % self.n
        self.begin_deal(dealer)

    def finish(self) -> None:
        left = self.in_match()
        for seat in left:
            self.place[seat] = 1 + sum(self.losses[other] < self.losses[seat] for other in left)
        self.over = True
        self.turn = None
