"""``sharp`` plays dice-race as well as it can be played: compared with the optimum computed from the rules."""

from itertools import product
from typing import Any

import pytest

from services.contracts.events.dice import PlayoffStarted
from services.contracts.events.match import RoundStarted
from services.engine.bots.bot import Situation
from services.engine.bots.dice_race import values
from services.engine.bots.race_contest import contest
from services.engine.bots.race_danger import dangerous_round
from services.engine.bots.race_die import Dice
from services.engine.rules.catalogue import read_options
from services.engine.rules.games.dice_race import DICE_RACE, Roll, Stand, observe
from services.engine.rules.kernel import Refusal, Waiting
from tests.bots.engine_optimum import Optimum, first_place, without_count
from tests.rules.counting import openings


def options_of(seats: int, **given: Any) -> Any:
    options = read_options(DICE_RACE, given, seats)
    assert not isinstance(options, Refusal), options
    return options


def seen(state: Any) -> Situation:
    """What the player on turn sees of a state; of the history only what tells who takes part."""
    waiting = DICE_RACE.pending(state)
    assert isinstance(waiting, Waiting)
    started = PlayoffStarted(1, state.field) if state.playoff else RoundStarted(1, "round", state.field)
    return Situation(
        game="dice-race", options=state.options, seat=waiting.turn, view=observe(state, waiting.turn),
        legal=DICE_RACE.legal(state, waiting.turn), turn=waiting.turn, may_act=waiting.may_act, history=(started,),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seats", "given"),
    [
        (2, {}), (2, {"target": 12}), (2, {"target": 15}), (2, {"instant_win": True}),
        pytest.param(2, {"pontoon": True}, marks=pytest.mark.slow),
        pytest.param(2, {"pontoon": True, "instant_win": True}, marks=pytest.mark.slow),
        pytest.param(3, {}, marks=pytest.mark.slow),
        pytest.param(3, {"instant_win": True}, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_every_decision_is_worth_what_the_rules_say(seats: int, given: dict[str, Any]) -> None:
    """A match for one chip: the chance of winning it, in every state that can be, rolling and standing."""
    options = options_of(seats, chips_to_win=1, first=0, **given)
    optimum = Optimum(DICE_RACE, list(openings(DICE_RACE, options, seats)), without_count, first_place)
    assert len(optimum.moves) > 100
    for state in optimum.moves:
        expected = dict(optimum.of_moves(state))
        stand, roll = values(seen(state))
        assert roll == pytest.approx(expected[Roll()], abs=1e-9), state
        if Stand() in expected:
            assert stand == pytest.approx(expected[Stand()], abs=1e-9), state


def test_two_seats_as_one_would_reason() -> None:
    """The last of two stands as soon as it is ahead, and rolls as long as it is behind."""
    plain = contest(Dice(9), instant_win=False, share=False)
    for best, total in product(range(1, 10), range(1, 10)):
        stand, roll = plain.choices("round", 2, 1, best, 1, total)
        if total > best:
            assert stand == 1.0 >= roll
        if total < best:
            assert roll > stand == 0.0


@pytest.mark.parametrize("size", range(2, 17))
@pytest.mark.parametrize("dice", [Dice(9), Dice(21, pontoon=True)])
def test_somebody_wins(dice: Dice, size: int) -> None:
    plain = contest(dice, instant_win=False, share=False)
    assert sum(plain.opening("round", size).values) == pytest.approx(1, abs=1e-9)
    assert sum(plain.playoff(size)) == pytest.approx(1, abs=1e-9)


# Stakes


class NaiveRound:
    """A round with stakes, one roll after the other, everybody's chips in full."""

    def __init__(self, dice: Dice, size: int, cost: int, *, share: bool, instant_win: bool) -> None:
        self.dice, self.size, self.cost, self.share = dice, size, cost, share
        self.wins_at = dice.target if instant_win else 0
        self.plain = contest(dice, instant_win=instant_win, share=share)
        self.known: dict[Any, tuple[float, ...]] = {}

    def after(self, scores: tuple[int, ...], pot: int) -> tuple[float, ...]:
        """Return what everybody can expect when so many have had their turn."""
        key = (scores, pot)
        if key not in self.known:
            self.known[key] = (
                self.settled(scores, pot) if len(scores) == self.size else self.turn(scores, pot, 0)
            )
        return self.known[key]

    def turn(self, scores: tuple[int, ...], pot: int, total: int) -> tuple[float, ...]:
        """Return what everybody can expect when the next player has this much."""
        key = (scores, pot, total)
        if key not in self.known:
            at = len(scores)
            roll, stand = self.roll(scores, pot, total), self.stand(scores, pot, total)
            self.known[key] = stand if total and stand[at] >= roll[at] - 1e-12 else roll
        return self.known[key]

    def stand(self, scores: tuple[int, ...], pot: int, total: int) -> tuple[float, ...]:
        return self.after((*scores, total), pot)

    def roll(self, scores: tuple[int, ...], pot: int, total: int) -> tuple[float, ...]:
        at = len(scores)
        expected = [0.0] * self.size
        two = self.dice.pontoon and total < 14
        throws = [sum(faces) for faces in product(range(1, 7), repeat=2 if two else 1)]
        for thrown in throws:
            now = total + thrown
            if now > self.dice.target:
                after = list(self.after((*scores, 0), pot + self.cost))
                after[at] -= self.cost
            elif now == self.wins_at:
                after = [0.0] * self.size
                after[at] = float(pot)
            else:
                after = list(self.turn(scores, pot, now))
            for seat, value in enumerate(after):
                expected[seat] += value / len(throws)
        return tuple(expected)

    def settled(self, scores: tuple[int, ...], pot: int) -> tuple[float, ...]:
        best = max(scores)
        values = [0.0] * self.size
        if not best:
            opening = self.plain.opening("round", self.size).values
            return tuple(pot * opening[seat - 1] for seat in range(self.size))
        leaders = [seat for seat, score in enumerate(scores) if score == best]
        order = leaders if self.share else leaders[::-1]
        chances = (
            (1 / len(order),) * len(order)
            if self.share or len(order) == 1
            else self.plain.playoff(len(order))
        )
        for seat, chance in zip(order, chances, strict=True):
            values[seat] = pot * chance
        return tuple(values)


@pytest.mark.parametrize(
    ("dice", "size", "share", "instant_win"),
    [
        (Dice(9), 2, False, False), (Dice(9), 3, False, False), (Dice(9), 3, True, False), (Dice(9), 3, True, True),
        (Dice(12), 3, False, True), (Dice(21, pontoon=True), 2, False, False), (Dice(21, pontoon=True), 2, True, True),
    ],
)  # fmt: skip
def test_dangerous_stakes_are_weighed_as_the_naive_way_does(
    *, dice: Dice, size: int, share: bool, instant_win: bool
) -> None:
    naive = NaiveRound(dice, size, 2, share=share, instant_win=instant_win)
    fast = dangerous_round(dice, size, instant_win=instant_win, share=share)
    pot = 2 * size
    naive.after((), pot)
    decisions = [key for key in naive.known if len(key) == 3]
    assert len(decisions) > 50
    for scores, now, total in decisions:
        best, at = max((0, *scores)), len(scores)
        costs = (2,) * (size - at)
        stand, roll = fast.choices(costs, now, best, scores.count(best) if best else 0, total)
        assert roll == pytest.approx(naive.roll(scores, now, total)[at], abs=1e-9)
        if total:
            assert stand == pytest.approx(naive.stand(scores, now, total)[at], abs=1e-9)


def test_it_can_be_right_to_give_a_round_up() -> None:
    """With a small pot and a leader at the target, a bust costs more than the round is worth."""
    stand, roll = dangerous_round(Dice(9), 2, instant_win=False, share=True).choices((5,), 2, 9, 1, 6)
    assert stand == 0.0 > roll


def test_a_share_of_the_pot_is_worth_its_part() -> None:
    plain = contest(Dice(9), instant_win=False, share=True)
    stand, _ = plain.choices("round", 2, 1, 9, 1, 9)
    assert stand == 0.5
