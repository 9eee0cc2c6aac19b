"""A second, deliberately naive dice-bank, written from the clauses and apart from the kernel.

Every player is a little record that is changed in place; a round goes through its phases "stakes", "rolls" and
"done", and nothing remembers how it came about. It knows no facts, only what chips lie where, who is on turn and
what that player may do. Where it and the kernel differ, one of them has misread a clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DEFAULTS = {
    "target": 9, "exact_pays_double": False, "starting_chips": 20, "min_stake": 1, "max_stake": 1,
    "points": False, "laps": 3, "rounds": None,
}  # fmt: skip


@dataclass
class Player:
    seat: int
    chips: int
    place: int | None = None
    stake: int | None = None
    """What lies on the table; None before laying, and for who does not take part or no longer."""
    asked: bool = False
    """Whether the time to lay a stake has come and gone in this round."""
    dice: int = 0
    done: bool = False


class NaiveDiceBank:
    """One match. ``bank`` is the seat that holds the bank first, wherever that was decided."""

    def __init__(self, options: dict[str, Any], seats: int, bank: int) -> None:
        self.o = DEFAULTS | options
        self.players = [Player(seat, self.o["starting_chips"]) for seat in range(seats)]
        self.first_bank = bank
        self.number = 0  # of the round, those not played included
        self.over = False
        self.begin(bank)

    # Who is who.

    def around(self, seat: int) -> list[Player]:
        """Everybody still in, clockwise, beginning left of a seat and ending with it (G2)."""
        n = len(self.players)
        ring = [self.players[(seat + step) % n] for step in range(1, n + 1)]
        return [player for player in ring if player.place is None]

    def others(self) -> list[Player]:
        return [player for player in self.around(self.bank) if player.seat != self.bank]

    def in_play(self) -> list[Player]:
        return [player for player in self.others() if player.stake is not None]

    def turn(self) -> int | None:
        if self.over:
            return None
        if self.phase == "stakes":
            return next(player.seat for player in self.others() if not player.asked)
        waiting = [player.seat for player in self.in_play() if not player.done]
        return waiting[0] if waiting else self.bank

    def legal(self, seat: int) -> list[Any]:
        if seat != self.turn():
            return []
        if self.phase == "stakes":
            return [(self.o["min_stake"], self.highest())]
        return ["roll", "stand"] if self.players[seat].dice else ["roll"]

    def highest(self) -> int:
        """DB-2.4, word by word. Zero says: sits the round out."""
        if self.o["points"]:
            return int(self.o["max_stake"])
        m = 2 if self.o["exact_pays_double"] else 1
        still_to_lay = [player for player in self.others() if not player.asked]
        on_the_table = sum(player.stake or 0 for player in self.others())
        smallest = self.o["min_stake"]
        if self.bank_had - m * on_the_table < m * smallest:
            return 0
        left = self.bank_had - m * (on_the_table + (len(still_to_lay) - 1) * smallest)
        cover = 0
        while m * (cover + 1) <= left:  # "÷ m rounded down"
            cover += 1
        return min(self.o["max_stake"], still_to_lay[0].chips, max(smallest, cover))

    # What players do. The answer is None, or the code and clause of a refusal.

    def play(self, seat: int, move: str, amount: int = 0, dice: Sequence[int] = ()) -> tuple[str, str] | None:
        player = self.players[seat]
        no = self.why_not(player, move, amount)
        if no is not None:
            return no
        if move in ("leave", "expire"):
            self.eliminate(player)
            return None
        if move == "stake":
            self.lay(player, amount)
        if move == "stand":
            player.done = True
        if move == "roll":
            player.dice += sum(dice)
            if player.dice > self.o["target"]:
                player.done = True
                if seat != self.bank:
                    self.lose(player)
        if seat == self.bank and player.done:
            self.settle()
        self.go_on()
        return None

    def why_not(self, player: Player, move: str, amount: int) -> tuple[str, str] | None:
        if self.over:
            return "match-over", "G9"
        if player.place is not None:
            return "already-out", "G14"
        if move == "leave":
            return None
        if player.seat != self.turn():
            return "not-your-turn", "DB-2.1"
        if move == "expire":
            return None
        if (move == "stake") != (self.phase == "stakes"):
            return "move-not-offered", "DB-2.1"
        if move == "stake":
            return self.why_not_stake(player, amount)
        if move == "stand" and not player.dice:
            return "must-roll-first", "DB-3.1"
        return None

    def why_not_stake(self, player: Player, amount: int) -> tuple[str, str] | None:
        if amount not in range(self.o["min_stake"], self.o["max_stake"] + 1):
            return "stake-out-of-range", "DB-1.2"
        if not self.o["points"] and amount > player.chips:
            return "stake-out-of-range", "DB-2.2"
        return ("stake-out-of-range", "DB-2.3") if amount > self.highest() else None

    # A round.

    def begin(self, bank: int) -> None:
        self.number += 1
        self.bank = bank
        self.bank_had = self.players[bank].chips
        self.phase = "stakes"
        for player in self.players:
            player.stake, player.asked, player.dice, player.done = None, False, 0, False
        self.go_on()

    def lay(self, player: Player, amount: int) -> None:
        player.chips -= amount
        player.stake, player.asked = amount, True

    def lose(self, player: Player) -> None:
        self.players[self.bank].chips += player.stake or 0
        player.stake = None

    def go_on(self) -> None:
        while not self.over:
            if self.phase == "stakes":
                to_come = [player for player in self.others() if not player.asked]
                if not to_come:
                    self.phase = "rolls"
                elif self.highest() == 0:
                    to_come[0].asked = True
                elif self.o["min_stake"] == self.o["max_stake"]:  # G17
                    self.lay(to_come[0], self.o["min_stake"])
                else:
                    return
            elif self.phase == "rolls" and self.in_play():
                return
            else:
                self.end_round()

    def settle(self) -> None:
        """DB-3.4, DB-3.5."""
        bank = self.players[self.bank]
        bust = bank.dice > self.o["target"]
        for player in self.in_play():
            if not bust and player.dice <= bank.dice:
                self.lose(player)
                continue
            assert player.stake is not None
            won = player.stake
            if self.o["exact_pays_double"] and player.dice == self.o["target"]:
                won *= 2
            bank.chips -= won
            player.chips += won + player.stake
            player.stake = None

    def end_round(self) -> None:
        if not self.o["points"]:
            broke = [
                player
                for player in self.players
                if player.place is None and player.chips < self.o["min_stake"]
            ]
            self.send_out(broke)
        if len(self.around(0)) <= 1:
            self.end()
            return
        n = len(self.players)
        if self.o["rounds"] is not None:
            if self.number == self.o["rounds"]:
                self.end()
            else:
                self.begin(self.around(self.bank)[0].seat)
            return
        while self.number < self.o["laps"] * n:
            # In laps the round's number says whose bank it is.
            holder = self.players[(self.first_bank + self.number) % n]
            if holder.place is None:
                self.begin(holder.seat)
                return
            self.number += 1
        self.end()

    # Places.

    def send_out(self, broke: list[Player]) -> None:
        """G12."""
        best = len(self.around(0)) - len(broke) + 1
        places = [best + sum(other.chips > player.chips for other in broke) for player in broke]
        for player, place in zip(broke, places, strict=True):
            player.place = place

    def eliminate(self, player: Player) -> None:
        """G7, DB-3.8."""
        if player.seat == self.bank:
            for other in self.in_play():
                other.chips += other.stake or 0
                other.stake = None
            self.phase = "done"
        elif player.stake is not None:
            self.lose(player)
        player.place = len(self.around(0))
        player.chips = player.dice = 0
        self.go_on()

    def end(self) -> None:
        left = self.around(0)
        places = [1 + sum(other.chips > player.chips for other in left) for player in left]
        for player, place in zip(left, places, strict=True):
            player.place = place
        self.over = True
