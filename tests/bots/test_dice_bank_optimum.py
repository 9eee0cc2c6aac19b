"""``sharp`` plays dice-bank as well as it can be played: compared with the optimum computed from the rules.

That nobody stands where a roll cannot go wrong is assumed by `bank_dice` alone; here everybody may.
"""

from typing import Any

import pytest

from services.engine.bots import dice_bank
from services.engine.bots.bank_dice import profile_of, round_to
from services.engine.bots.bot import Situation
from services.engine.rules.catalogue import read_options
from services.engine.rules.games.dice_bank import DICE_BANK, Roll, Stand, State, observe
from services.engine.rules.kernel import Refusal, Waiting
from tests.bots.engine_optimum import Optimum, as_it_is, chips
from tests.rules.counting import openings, successors


def after_stakes(stakes: tuple[int, ...], **given: Any) -> State:
    """The only round of a match in points, when these stakes are laid, in turn from the bank's left."""
    seats = len(stakes) + 1
    most = {"max_stake": 9} if len(set(stakes)) > 1 else {"min_stake": stakes[0], "max_stake": stakes[0]}
    options = read_options(DICE_BANK, {"points": True, "rounds": 1, "first_bank": 0, **most, **given}, seats)
    assert not isinstance(options, Refusal), options
    (state,) = openings(DICE_BANK, options, seats)
    for seat, stake in enumerate(stakes, start=1):
        if state.ledger.to_stake:
            (state,) = (after for after in successors(DICE_BANK, state) if after.stakes[seat] == stake)
    assert state.stakes == (0, *stakes)
    result: State = state
    return result


def seen(state: State) -> Situation:
    waiting = DICE_BANK.pending(state)
    assert isinstance(waiting, Waiting)
    return Situation(
        game="dice-bank", options=state.options, seat=waiting.turn, view=observe(state, waiting.turn),
        legal=DICE_BANK.legal(state, waiting.turn), turn=waiting.turn, may_act=waiting.may_act, history=(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stakes", "given"),
    [
        ((1,), {}), ((3,), {"exact_pays_double": True}), ((1,), {"target": 21}), ((1, 1), {}), ((1, 5), {}),
        ((5, 1), {"exact_pays_double": True}), ((2, 3), {"exact_pays_double": True}),
        pytest.param((1, 1, 1), {}, marks=pytest.mark.slow),
        pytest.param((1, 4, 2), {"exact_pays_double": True}, marks=pytest.mark.slow),
        pytest.param((2, 1), {"target": 21, "exact_pays_double": True}, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_every_decision_is_worth_what_the_rules_say(stakes: tuple[int, ...], given: dict[str, Any]) -> None:
    optimum = Optimum(DICE_BANK, [after_stakes(stakes, **given)], as_it_is, chips)
    compared = 0
    for state in optimum.moves:
        situation = seen(state)
        expected = dict(optimum.of_moves(state))
        if not dice_bank.rolls_or_stands(situation):
            # Nothing to think about: rolling is at least as good.
            assert Stand() not in expected or expected[Roll()] >= expected[Stand()] - 1e-9, state
            continue
        # The rules count chips from 0, with the stakes laid, lost and won so far; a bot counts from now on.
        so_far = state.chips[situation.seat] + state.stakes[situation.seat]
        stand, roll = dice_bank.values(situation)
        assert roll + so_far == pytest.approx(expected[Roll()], abs=1e-9), state
        assert stand + so_far == pytest.approx(expected[Stand()], abs=1e-9), state
        compared += 1
    assert compared > 10


def test_the_bank_rolls_for_the_larger_stake() -> None:
    """Ahead of a small stake and behind a large one it rolls, the other way round it stands."""
    bank = round_to(9, exact_pays_double=False).bank
    rich_ahead, poor_ahead = bank(((7, 1), (9, 10))), bank(((7, 10), (9, 1)))
    assert rich_ahead.roll[7] > rich_ahead.stand[7]
    assert poor_ahead.roll[7] < poor_ahead.stand[7]


@pytest.mark.parametrize("target", [9, 21])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("players", range(1, 6))
def test_the_odds_are_with_the_bank(*, players: int, target: int, double: bool) -> None:
    """Where all stake alike, everybody loses on average: the reason why ``sharp`` stakes little."""
    rounds = round_to(target, exact_pays_double=double)
    for at in range(players):
        assert -0.34 < rounds.before((), (1,) * players, at) < -0.11


def test_profiles_add_up() -> None:
    assert profile_of([(9, 1), (4, 2), (9, 3), (0, 5)]) == ((4, 2), (9, 4))
