"""The bots of dice-race.

``sharp`` takes the better of rolling and standing by `race_contest`, with dangerous stakes by `race_danger`; what is
optimised stands there. ``casual`` has a total that feels good enough, rolls on when it is behind (mostly), and does not
think of those who come after it.
"""

from __future__ import annotations

from random import Random
from typing import Final

from services.contracts.events.dice import PlayoffStarted
from services.contracts.events.match import PlayerEliminated
from services.engine.bots.bot import Bot, Situation
from services.engine.bots.race_contest import EQUAL, Kind, contest
from services.engine.bots.race_danger import dangerous_round
from services.engine.bots.race_die import Dice
from services.engine.rules.games.dice_race import Options, Roll, Stand, View
from services.engine.rules.kernel import Move

COMFORT: Final = 3
"""A casual player is content so far below the target, or one nearer or farther, as the mood is."""
GIVES_UP: Final = 0.25
"""How often a casual player stands although somebody has more, and it is not far to the target."""


def sharp(situation: Situation, chance: Random) -> Move:
    """Take the better way."""
    del chance
    if not situation.view.total:
        return Roll()
    stand, roll = values(situation)
    return Stand() if stand >= roll - EQUAL else Roll()


def values(situation: Situation) -> tuple[float, float]:
    """Return what standing and rolling are worth: a chance of the prize, or with dangerous stakes chips."""
    view: View = situation.view
    options: Options = situation.options
    dice = Dice.of(options)
    share = options.ties == "share"
    scores = [player.score for player in view.players]
    best, left = max(scores), len(view.to_play)
    tied = scores.count(best) if best else 0
    if options.stakes == "dangerous" and not view.playoff and view.kind == "round":
        costs = tuple(min(options.stake, view.players[seat].chips) for seat in view.to_play)
        danger = dangerous_round(dice, _size(situation), instant_win=options.instant_win, share=share)
        return danger.choices(costs, view.pot, best, tied, view.total)
    plain = contest(dice, instant_win=options.instant_win, share=share)
    kind: Kind = "playoff" if view.playoff else "round"
    return plain.choices(kind, _size(situation), left, best, tied, view.total)


def _size(situation: Situation) -> int:
    """Return how many take part in the running contest, those who have bust in it included."""
    view: View = situation.view
    if not view.playoff:
        return sum(player.place is None for player in view.players)
    field: set[int] = set(view.to_play)
    for fact in situation.history:
        match fact:
            case PlayoffStarted():
                field = set(fact.order)
            case PlayerEliminated():
                field.discard(fact.seat)
            case _:
                pass
    return len(field)


def casual(situation: Situation, chance: Random) -> Move:
    """Stand on what feels good."""
    view: View = situation.view
    if not view.total:
        return Roll()
    enough = view.target - COMFORT + chance.choice((-1, 0, 0, 1))
    best = max(player.score for player in view.players)
    behind = view.total < best and not (view.total >= enough and chance.random() < GIVES_UP)
    return Roll() if behind or view.total < enough else Stand()


BOTS: Final = (Bot("dice-race", "casual", casual), Bot("dice-race", "sharp", sharp))
