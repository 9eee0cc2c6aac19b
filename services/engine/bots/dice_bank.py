"""The bots of dice-bank.

``sharp`` takes the better of rolling and standing by `bank_dice`, as a player and as the bank; what is optimised stands
there, and how it stakes in `staking`. ``casual`` has a total that feels good enough; as the bank it wants to beat what
it sees, or has enough as well, and does not count what is staked on it.
"""

from __future__ import annotations

from random import Random
from typing import Final

from services.engine.bots.bank_dice import DIE, EQUAL, profile_of, round_to
from services.engine.bots.bot import Bot, Situation
from services.engine.bots.staking import casual_stake, enough_to_overtake, lead_of
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.games.dice_bank import Options, Roll, Stand, View
from services.engine.rules.kernel import Move

COMFORT: Final = 3
"""A casual player is content so far below the target, or one nearer or farther, as the mood is."""


def sharp(situation: Situation, chance: Random) -> Move:
    """Lay a stake, or take the better way."""
    del chance
    view: View = situation.view
    match situation.legal[0]:
        case StakeRange() as allowed:
            return _sharp_stake(allowed, situation.seat, view)
        case _:
            pass
    if not rolls_or_stands(situation):
        return Roll()
    stand, roll = values(situation)
    return Stand() if stand >= roll - EQUAL else Roll()


def _sharp_stake(allowed: StakeRange, seat: int, view: View) -> Stake:
    """Lay little, and catch up in the last lap."""
    lead = lead_of(seat, _wealth(view))
    in_last_lap = view.rounds - view.round < sum(player.place is None for player in view.players)
    return enough_to_overtake(allowed, lead) if in_last_lap and lead <= 0 else Stake(allowed.min)


def rolls_or_stands(situation: Situation) -> bool:
    """Say whether there is something to think about: not before a roll, nor for a player whom a roll cannot hurt."""
    view: View = situation.view
    total = view.players[situation.seat].total
    return total > 0 and (situation.seat == view.bank or total > view.target - DIE)


def values(situation: Situation) -> tuple[float, float]:
    """Return what standing and rolling are worth, in chips."""
    view: View = situation.view
    options: Options = situation.options
    rounds = round_to(options.target, exact_pays_double=options.exact_pays_double)
    players = {player.seat: player for player in view.players}
    profile = profile_of(
        (player.total, player.stake)
        for player in view.players
        if player.stake and player.seat not in view.to_roll
    )
    total = players[situation.seat].total
    if situation.seat == view.bank:
        turn = rounds.bank(profile)
        return turn.stand[total], turn.roll[total]
    stakes = tuple(players[seat].stake for seat in view.to_roll if seat != view.bank)
    return rounds.choices(profile, stakes, total)


def casual(situation: Situation, chance: Random) -> Move:
    """Stand on what feels good."""
    view: View = situation.view
    match situation.legal[0]:
        case StakeRange() as allowed:
            return casual_stake(allowed, chance)
        case _:
            pass
    total = view.players[situation.seat].total
    enough = view.target - COMFORT + chance.choice((-1, 0, 0, 1))
    if situation.seat == view.bank:
        standing = sorted(player.total for player in view.players if player.stake)
        enough = min(enough, standing[-1]) if chance.random() < 0.5 else standing[-1]  # noqa: PLR2004 - a coin
    return Roll() if total < enough or not total else Stand()


def _wealth(view: View) -> dict[int, int]:
    return {player.seat: player.chips + player.stake for player in view.players if player.place is None}


BOTS: Final = (Bot("dice-bank", "casual", casual), Bot("dice-bank", "sharp", sharp))
