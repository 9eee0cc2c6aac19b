"""A second, deliberately naive cards-bank, written from the clauses and apart from the kernel.

The table is a handful of dictionaries by seat that are changed in place: who has laid what, which cards lie in front
of whom, which of them lie open. It knows no facts. ``shuffles`` holds the decks to come, as the players found them
lying there. Where it and the kernel differ, one of them has misread a clause.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

DEFAULTS = {
    "decks": 1, "bank": "rotates", "starting_chips": 60, "min_stake": 1, "max_stake": 5, "points": False,
    "coups": None,
}  # fmt: skip


def points_of(card: str) -> int:
    """CB-1.2."""
    if card[0] == "A":
        return 1
    return int(card[0]) if card[0].isdigit() else 0


class NaiveCardsBank:
    """One match. ``bank`` is the seat that holds the bank first, wherever that was decided."""

    def __init__(
        self, options: dict[str, Any], seats: int, bank: int, shuffles: Sequence[Sequence[str]]
    ) -> None:
        self.o = DEFAULTS | options
        self.n = seats
        self.chips = [self.o["starting_chips"]] * seats
        self.place: dict[int, int] = {}
        self.shuffles = deque(shuffles)
        self.coup = 0
        self.bank = bank
        self.over = False
        self.begin_coup()

    # Who is who.

    def still_in(self) -> list[int]:
        return [seat for seat in range(self.n) if seat not in self.place]

    def from_left_of_bank(self) -> list[int]:
        return [
            s for s in ((self.bank + 1 + step) % self.n for step in range(self.n - 1)) if s not in self.place
        ]

    def remaining(self) -> list[int]:
        """The players whose stakes lie on the table."""
        return [seat for seat in self.from_left_of_bank() if seat in self.stake]

    def turn(self) -> int | None:
        if self.over:
            return None
        if not self.dealt:
            return self.to_lay[0]
        undecided = [seat for seat in self.remaining() if seat not in self.decided]
        return undecided[0] if undecided else self.bank

    def legal(self, seat: int) -> list[Any]:
        if seat != self.turn():
            return []
        return ["ask", "stand"] if self.dealt else [(self.o["min_stake"], self.highest())]

    def total(self, seat: int) -> int:
        return sum(map(points_of, self.cards[seat]))

    def natural(self, seat: int) -> int:
        first = points_of(self.cards[seat][0])
        return first - 6 if first >= 7 else 0

    def seen_by(self, viewer: int | None) -> list[list[str]]:
        """The cards in front of everybody, as one player, or a stranger, sees them."""
        seen = []
        for seat in range(self.n):
            cards = list(self.cards.get(seat, []))
            if cards and seat not in self.face_up and seat != viewer:
                cards[0] = "??"
            seen.append(cards)
        return seen

    def highest(self) -> int:
        """CB-2.2 and CB-2.4, word by word. Zero says: sits the coup out."""
        if self.o["points"]:
            return int(self.o["max_stake"])
        smallest, laid, later = self.o["min_stake"], sum(self.stake.values()), len(self.to_lay) - 1
        if self.bank_had - 3 * laid < 3 * smallest:
            return 0
        cover = max(smallest, int((self.bank_had - 3 * (laid + later * smallest)) / 3))
        return min(self.o["max_stake"], self.chips[self.to_lay[0]] // 3, cover)

    # What players do. The answer is None, or the code and clause of a refusal.

    def play(self, seat: int, move: str, amount: int = 0) -> tuple[str, str] | None:
        no = self.why_not(seat, move, amount)
        if no is None and move == "stake":
            self.lay(amount)
            self.lay_without_command()
        elif no is None and move in ("leave", "expire"):
            self.eliminate(seat)
        elif no is None:
            self.take_or_keep(seat, move)
        return no

    def why_not(self, seat: int, move: str, amount: int) -> tuple[str, str] | None:
        if self.over:
            return "match-over", "G9"
        if seat in self.place:
            return "already-out", "G14"
        if move != "leave" and seat != self.turn():
            return "not-your-turn", "CB-2.1"
        if move in ("leave", "expire"):
            return None
        if (move == "stake") == self.dealt:
            return "move-not-offered", "CB-2.1"
        if move == "stake":
            if amount < self.o["min_stake"] or amount > self.o["max_stake"]:
                return "stake-out-of-range", "CB-1.3"
            if amount > self.highest():
                return "stake-out-of-range", "CB-2.2"
        return None

    def take_or_keep(self, seat: int, move: str) -> None:
        self.decided.add(seat)
        if move == "ask":
            self.cards[seat].append(self.deck.popleft())
        if self.total(seat) > 9:
            self.face_up.add(seat)
            if seat == self.bank:
                for player in self.remaining():
                    self.pay(player, 1)
            else:
                self.take(seat, 1)
        elif seat == self.bank:
            self.face_up |= {*self.remaining(), self.bank}
            for player in self.remaining():
                self.compare(player, self.total(player), self.total(self.bank), 1, 1)
        self.see_whether_coup_is_over()

    # A coup.

    def begin_coup(self) -> None:
        self.coup += 1
        self.deck = deque(self.shuffles.popleft())
        self.bank_had = self.chips[self.bank]
        self.stake: dict[int, int] = {}
        self.to_lay = self.from_left_of_bank()
        self.cards: dict[int, list[str]] = {}
        self.face_up: set[int] = set()
        self.decided: set[int] = set()
        self.dealt = False
        self.lay_without_command()

    def lay(self, amount: int) -> None:
        seat = self.to_lay.pop(0)
        self.chips[seat] -= amount
        self.stake[seat] = amount

    def lay_without_command(self) -> None:
        while self.to_lay:
            if self.highest() == 0:
                self.to_lay.pop(0)
            elif self.o["min_stake"] == self.o["max_stake"]:
                self.lay(self.o["min_stake"])
            else:
                return
        self.deal()

    def deal(self) -> None:
        if not self.remaining():
            self.end_coup()
            return
        self.dealt = True
        for seat in [*self.remaining(), self.bank]:
            self.cards[seat] = [self.deck.popleft()]
        naturals = [seat for seat in self.cards if self.natural(seat)]
        self.face_up |= set(naturals)
        worth = self.natural(self.bank)
        for player in self.remaining():
            if worth:  # CB-3.3
                self.compare(player, self.natural(player), worth, self.natural(player), worth)
            elif player in naturals:  # CB-3.4
                self.pay(player, self.natural(player))
        self.see_whether_coup_is_over()

    def compare(self, player: int, own: int, banks: int, if_won: int, if_lost: int) -> None:
        if own > banks:
            self.pay(player, if_won)
        elif own < banks:
            self.take(player, if_lost)
        else:
            self.chips[player] += self.stake.pop(player)

    def pay(self, player: int, times: int) -> None:
        stake = self.stake.pop(player)
        self.chips[player] += stake + times * stake
        self.chips[self.bank] -= times * stake

    def take(self, player: int, times: int) -> None:
        stake = self.stake.pop(player)
        self.chips[player] -= (times - 1) * stake
        self.chips[self.bank] += times * stake

    def see_whether_coup_is_over(self) -> None:
        if not self.remaining():
            self.end_coup()

    def end_coup(self) -> None:
        poor = [
            s for s in self.still_in() if self.chips[s] < 3 * self.o["min_stake"] and not self.o["points"]
        ]
        first = len(self.still_in()) - len(poor) + 1
        for seat in poor:
            self.place[seat] = first + len([other for other in poor if self.chips[other] > self.chips[seat]])
        last = self.coup == (self.o["coups"] or 2 * self.n)
        if last or len(self.still_in()) < 2 or (self.o["bank"] == "stays" and self.bank in poor):
            self.end()
            return
        if self.o["bank"] == "rotates" or self.bank in self.place:
            while True:
                self.bank = (self.bank + 1) % self.n
                if self.bank not in self.place:
                    break
        self.begin_coup()

    # Places.

    def eliminate(self, seat: int) -> None:
        """G7, CB-3.10."""
        was_bank = seat == self.bank
        if was_bank:
            for player in self.remaining():
                self.chips[player] += self.stake.pop(player)
            self.to_lay = []
        elif seat in self.stake:
            self.take(seat, 1)
        self.place[seat] = len(self.still_in())
        self.chips[seat] = 0
        if seat in self.to_lay:
            self.to_lay.remove(seat)
        if was_bank:
            self.end_coup()
        elif self.dealt:
            self.see_whether_coup_is_over()
        else:
            self.lay_without_command()

    def end(self) -> None:
        left = self.still_in()
        self.place |= {seat: 1 + sum(self.chips[other] > self.chips[seat] for other in left) for seat in left}
        self.over = True
