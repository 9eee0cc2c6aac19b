"""A second, deliberately naive dice-race, written from the clauses and apart from the kernel.

It keeps everything in plain lists that it changes in place, decides and remembers in one go, and knows no
facts: after each move it can say who is on turn, how many dice to throw, and who has which chips and places.
Where it and the kernel differ, one of them has misread a clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

DEFAULTS: dict[str, Any] = {
    "target": 9, "pontoon": False, "chips_to_win": 3, "instant_win": False, "stakes": "none",
    "ties": "playoff", "starting_chips": 20, "stake": 1, "max_rounds": 20,
}  # fmt: skip


class NaiveDiceRace:
    """One match. ``first`` is the seat that begins, wherever that was decided."""

    def __init__(self, options: dict[str, Any], seats: int, first: int) -> None:
        self.o = DEFAULTS | options
        self.n = seats
        self.target = 21 if self.o["pontoon"] else self.o["target"]  # DR-1.3
        self.stakes = self.o["stakes"] != "none"
        self.chips = [self.o["starting_chips"] if self.stakes else 0] * seats  # DR-4.1
        self.place: list[int | None] = [None] * seats
        self.pot = 0
        self.rounds_played = 0
        self.over = False
        self.begin_round(first, extra=False)

    # What can be seen.

    def still_in(self) -> list[int]:
        return [seat for seat in range(self.n) if self.place[seat] is None]

    def turn(self) -> int | None:
        """The first of the order who has no score yet (DR-2.1)."""
        return None if self.over else next(seat for seat in self.order if seat not in self.scores)

    def dice_count(self) -> int:
        return 2 if self.o["pontoon"] and sum(self.rolled) < 14 else 1  # DR-2.5

    def legal(self, seat: int) -> list[str]:
        if seat != self.turn():
            return []
        return ["roll", "stand"] if self.rolled else ["roll"]

    # What players do. The answer is None, or the code and clause of a refusal.

    def play(self, seat: int, move: str, dice: Sequence[int] = ()) -> tuple[str, str] | None:
        if self.over:
            return "match-over", "G9"
        if self.place[seat] is not None:
            return "already-out", "G14"
        if seat != self.turn() and move != "leave":  # G10: the clock, too, runs for the turn alone
            return "not-your-turn", "DR-2.1"
        if move in ("leave", "expire"):
            self.eliminate(seat)
            return None
        if move == "stand":
            if not self.rolled:
                return "must-roll-first", "DR-2.2"
            self.score(seat, sum(self.rolled))
            return None
        self.rolled += list(dice)
        if sum(self.rolled) > self.target:  # DR-2.3
            if self.o["stakes"] == "dangerous" and not self.playoff and not self.extra:  # DR-4.4, DR-4.7
                self.pay(seat, min(self.o["stake"], self.chips[seat]))
            self.score(seat, 0)
        elif sum(self.rolled) == self.target and self.o["instant_win"]:  # DR-3.4
            self.win_round([seat])
        return None

    # Rounds and playoffs.

    def begin_round(self, starter: int, *, extra: bool) -> None:
        self.starter = starter
        self.extra = extra
        self.playoff = False
        around = [(starter + step) % self.n for step in range(self.n)]
        self.round_order = [seat for seat in around if seat in self.still_in()]
        if self.stakes and not extra:
            for seat in self.round_order:
                self.pay(seat, self.o["stake"])
        self.begin_play(self.round_order)

    def begin_play(self, order: list[int]) -> None:
        self.order = list(order)
        self.scores: dict[int, int] = {}
        self.rolled: list[int] = []

    def begin_playoff(self, tied: list[int]) -> None:
        """DR-3.2: whoever of them had the last turn begins, and it goes counter-clockwise."""
        last = [seat for seat in self.order if seat in tied][-1]
        self.playoff = True
        self.begin_play(sorted(tied, key=lambda seat: (last - seat) % self.n))

    def score(self, seat: int, points: int) -> None:
        self.scores[seat] = points
        self.rolled = []
        self.finish_play()

    def finish_play(self) -> None:
        if self.playoff and len(self.order) == 1:  # DR-3.9
            self.win_round(self.order)
            return
        if len(self.scores) < len(self.order):
            return
        best = max(self.scores.values())
        tied = [seat for seat in self.order if self.scores[seat] == best]
        if best == 0 and not self.playoff:  # DR-3.3
            self.win_round([])
        elif len(tied) == 1 or self.o["ties"] == "share":
            self.win_round(tied)
        else:
            self.begin_playoff(tied)

    def win_round(self, winners: list[int]) -> None:
        if not self.stakes:
            for seat in winners:
                self.chips[seat] += 1  # DR-3.5
                if self.chips[seat] == self.o["chips_to_win"]:
                    self.end()
                    return
            self.begin_round(self.left_of(self.starter), extra=False)
            return
        self.rounds_played += not self.extra
        if winners:
            part = self.pot // len(winners)
            for seat in winners:
                self.take(seat, part)
        payers = [seat for seat in self.still_in() if self.chips[seat] >= self.o["stake"]]
        last = self.extra or self.rounds_played == self.o["max_rounds"] or len(payers) < 2  # DR-4.5
        if last and not winners:
            self.begin_round(self.left_of(self.starter), extra=True)  # DR-4.7
        elif last:
            for seat in winners[: self.pot]:  # DR-4.3
                self.take(seat, 1)
            self.end()
        else:
            self.send_out([seat for seat in self.still_in() if seat not in payers])
            self.begin_round(self.left_of(self.starter), extra=False)

    # Chips and places.

    def pay(self, seat: int, amount: int) -> None:
        self.chips[seat] -= amount
        self.pot += amount

    def take(self, seat: int, amount: int) -> None:
        self.chips[seat] += amount
        self.pot -= amount

    def left_of(self, seat: int) -> int:
        """G2: the next one clockwise who is still in."""
        return next(
            other for step in range(1, self.n + 1) if (other := (seat + step) % self.n) in self.still_in()
        )

    def send_out(self, seats: list[int]) -> None:
        """G12: all at one moment, by chips, for the last places still open."""
        best = len(self.still_in()) - len(seats) + 1
        places = {s: best + sum(self.chips[other] > self.chips[s] for other in seats) for s in seats}
        for seat, place in places.items():
            self.place[seat] = place

    def eliminate(self, seat: int) -> None:
        """G7, DR-3.9."""
        was_on_turn = seat == self.turn()
        self.place[seat] = len(self.still_in())
        self.chips[seat] = 0
        if len(self.still_in()) == 1:  # G9, DR-4.8
            self.take(self.still_in()[0], self.pot)
            self.end()
            return
        if seat in self.order:
            self.order.remove(seat)
            self.scores.pop(seat, None)
            if was_on_turn:
                self.rolled = []
            self.finish_play()

    def end(self) -> None:
        """DR-3.7, DR-4.5, G8."""
        left = self.still_in()
        for seat, place in [(s, 1 + sum(self.chips[o] > self.chips[s] for o in left)) for s in left]:
            self.place[seat] = place
        self.over = True
